// The page Graphs: the chosen row is in the address, and the card below is that of the address. Copies commands.
"use strict";

(function () {
  const { state, pages } = graphbound;
  const TABLE = "graphs-table", STORE = "graphs-asked", CARD = "graphs-card";
  let asked;

  // Asks for the card, once the page is looked at: a figure draws itself badly where it cannot be seen.
  function show() {
    const section = document.getElementById("graphs");
    if (!section || section.hidden || !window.dash_clientside || !window.dash_clientside.set_props) return;
    const key = state.get("graph");
    if (key === asked) return;
    asked = key;
    window.dash_clientside.set_props(STORE, { data: { graph: key } });
    graphbound.markRow(TABLE, key);
  }

  window.addEventListener("gb-row", function (event) {
    if (event.detail.table !== TABLE) return;
    state.set({ graph: event.detail.key });
    show();
  });
  window.addEventListener("gb-page", show);
  pages.whenDrawn("#" + CARD, function () {
    state.onChange(show);
    show();
  });

  document.addEventListener("click", function (event) {
    const button = event.target.closest("[data-gb-copy]");
    if (!button) return;
    const holder = button.dataset.gbCopy ? document.getElementById(button.dataset.gbCopy) : button.parentElement;
    const code = holder.querySelector("pre, code");
    if (!code || !navigator.clipboard) return;
    navigator.clipboard.writeText(code.textContent).then(function () {
      const before = button.textContent;
      button.textContent = "copied";
      setTimeout(() => { button.textContent = before; }, 1500);
    });
  });
})();
