// Pages that ask the server: the choices of a page are kept in its address, and sent when it is shown or one changes.
"use strict";

graphbound.runs = (function () {
  const last = new Map();

  function shownPage() {
    const section = document.querySelector("section[data-page]:not([hidden])");
    return section ? section.dataset.page : null;
  }

  function choices(page) {
    return Array.from(document.querySelectorAll(`section[data-page="${page}"] select[data-gb-state]`));
  }

  // A name of the address that is no choice is sent as it is: the server says that there is no such thing.
  function words(page) {
    const found = {};
    for (const select of choices(page)) {
      const name = select.dataset.gbState;
      const asked = graphbound.state.get(name);
      if (asked !== null && Array.from(select.options).some((option) => option.value === asked)) select.value = asked;
      found[name] = asked !== null ? asked : select.value;
    }
    // What is drawn only after the first answer has its word in the address alone.
    if (page === "history" && graphbound.state.get("line") !== null) found.line = graphbound.state.get("line");
    return found;
  }

  function ask() {
    const page = shownPage();
    const store = page && document.querySelector(`section[data-page="${page}"] [data-gb-asks]`);
    if (!store || !window.dash_clientside || !window.dash_clientside.set_props) return;
    const said = words(page), text = JSON.stringify(said);
    if (last.get(page) === text) return;
    last.set(page, text);
    window.dash_clientside.set_props(store.dataset.gbAsks, { data: said });
  }

  function choose(select) {
    const change = {};
    change[select.dataset.gbState] = select.value;
    // Both of a pair, so that a link says which two were shown.
    for (const other of choices(shownPage())) change[other.dataset.gbState] = other.value;
    graphbound.state.set(change);
    ask();
  }

  function swap(button) {
    const [a, b] = button.dataset.gbSwap.split(",").map((name) => document.querySelector(`select[data-gb-state="${name}"]`));
    const was = a.value;
    a.value = b.value;
    b.value = was;
    choose(a);
  }

  function openRun(select) {
    location.href = select.value + location.hash;
  }

  function onRow(event) {
    if (event.detail.table !== "gb-history-runs") return;
    const how = document.querySelector("[data-gb-open]");
    const name = event.detail.key;
    if (how && how.dataset.gbOpen === "run") {
      location.href = "../" + encodeURIComponent(name) + "/#page=overview";
    } else {
      const after = document.querySelector('select[data-gb-state="b"]');
      graphbound.state.set({ page: "compare", a: name, b: after ? after.value : name });
      graphbound.pages.whenDrawn("section[data-page]", graphbound.runs.turn);
    }
  }

  // To the page that the state names, as a link would.
  function turn() {
    const link = document.querySelector(`[data-page-link="${graphbound.state.get("page")}"]`);
    if (link) link.click();
  }

  document.addEventListener("change", function (event) {
    if (event.target.matches("select[data-gb-state]")) choose(event.target);
    if (event.target.matches("select[data-gb-runs]")) openRun(event.target);
  });
  document.addEventListener("click", function (event) {
    const button = event.target.closest("button[data-gb-swap]");
    if (button) swap(button);
  });
  window.addEventListener("gb-row", onRow);
  window.addEventListener("gb-page", ask);
  graphbound.pages.whenDrawn("section[data-page]", () => setTimeout(ask, 0));
  return { ask, turn };
})();
