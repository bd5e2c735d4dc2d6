// Shows the page that the address names, and hides the others.
"use strict";

graphbound.pages = (function () {
  const FIRST = "overview";

  function show() {
    const sections = Array.from(document.querySelectorAll("section[data-page]"));
    const known = new Set(sections.map((section) => section.dataset.page));
    const asked = graphbound.state.get("page");
    const page = known.has(asked) ? asked : FIRST;
    sections.forEach((section) => { section.hidden = section.dataset.page !== page; });
    document.querySelectorAll("[data-page-link]").forEach((link) => {
      if (link.dataset.pageLink === page) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
    return page;
  }

  function started() {
    document.querySelectorAll("[data-page-link]").forEach((link) => {
      link.addEventListener("click", function (event) {
        event.preventDefault();
        graphbound.state.set({ page: link.dataset.pageLink });
        show();
        window.dispatchEvent(new Event("gb-page"));
      });
    });
    document.querySelectorAll("[data-gb-skip]").forEach((link) => {
      link.addEventListener("click", function (event) {
        event.preventDefault();
        document.querySelector("main").focus();
      });
    });
    graphbound.state.onChange(() => { show(); window.dispatchEvent(new Event("gb-page")); });
    show();
  }

  // Dash draws the page after its scripts have run.
  function whenDrawn(selector, then) {
    if (document.querySelector(selector)) { then(); return; }
    const watcher = new MutationObserver(function () {
      if (!document.querySelector(selector)) return;
      watcher.disconnect();
      then();
    });
    watcher.observe(document.documentElement, { childList: true, subtree: true });
  }

  whenDrawn("section[data-page]", started);
  return { whenDrawn };
})();
