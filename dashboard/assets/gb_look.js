// Light, dark, or as the system is: chosen on any page, kept in the address.
"use strict";

(function () {
  const { state, pages } = graphbound;

  function chosen() {
    const look = state.get("look");
    return look === "light" || look === "dark" ? look : null;
  }

  function dress() {
    const look = chosen(), root = document.documentElement, chooser = document.querySelector("[data-gb-look]");
    if (look) root.dataset.look = look;
    else delete root.dataset.look;
    if (chooser) chooser.value = look || "system";
  }

  document.addEventListener("change", function (event) {
    if (!event.target.matches("[data-gb-look]")) return;
    state.set({ look: event.target.value === "system" ? null : event.target.value });
    dress();
  });
  state.onChange(dress);
  dress();
  pages.whenDrawn("[data-gb-look]", dress);
})();
