// The findings page: sorts and filters its cards, and selects the one that the address names.
"use strict";

graphbound.findings = (function () {
  const state = graphbound.state;
  // Sorting is part of the address under a name of its own; the other names are those of the choices.
  const FILTERS = ["rule", "file", "in"];
  let list = null;

  const cards = () => Array.from(list.querySelectorAll("article[data-finding]"));
  const choice = (name) => document.querySelector(`select[data-findings="${name}"]`);

  function matches(card) {
    const { rule, file, graphs } = card.dataset;
    const [wantedRule, wantedFile, wantedGraph] = FILTERS.map((name) => chosen(name));
    return (!wantedRule || rule === wantedRule) && (!wantedFile || file === wantedFile) &&
      (!wantedGraph || graphs.split(" ").includes(wantedGraph));
  }

  // What the address asks for, as far as there is such a choice.
  function chosen(name) {
    const select = choice(name);
    const asked = state.get(name) || "";
    return select && Array.from(select.options).some((option) => option.value === asked) ? asked : "";
  }

  function sorted(all) {
    const order = (card) => Number(card.dataset.order);
    const by = chosen("sort");
    const key = by === "place" || by === "rule" ? by : null;
    return all.sort((a, b) => {
      const [left, right] = key ? [a.dataset[key], b.dataset[key]] : ["", ""];
      return left < right ? -1 : left > right ? 1 : order(a) - order(b);
    });
  }

  function show() {
    if (!list) return;
    [...FILTERS, "sort"].forEach((name) => {
      const select = choice(name);
      if (select) select.value = chosen(name) || (name === "sort" ? "cost" : "");
    });
    const all = sorted(cards());
    const before = cards();
    if (all.some((card, at) => card !== before[at])) all.forEach((card) => list.append(card));
    all.forEach((card) => { card.hidden = !matches(card); });
    const shown = all.filter((card) => !card.hidden).length;
    const said = document.getElementById("gb-findings-count");
    const hidden = all.length - shown;
    said.textContent = hidden ? `${shown} of ${all.length} findings, ${hidden} are filtered out` : `${all.length} findings`;
    if (all.length === 1) said.textContent = "one finding";
  }

  function select(scrolls) {
    if (!list) return;
    const asked = state.get("finding");
    cards().forEach((card) => {
      const is = card.dataset.finding === asked;
      if (is) card.setAttribute("aria-current", "true");
      else card.removeAttribute("aria-current");
      if (is && scrolls && !card.hidden && card.offsetParent !== null) {
        card.scrollIntoView({ block: "nearest" });
      }
    });
  }

  function started() {
    list = document.getElementById("gb-findings");
    document.querySelectorAll("select[data-findings]").forEach((one) => {
      one.addEventListener("change", () => {
        const name = one.dataset.findings;
        state.set({ [name]: one.value === "cost" && name === "sort" ? null : one.value || null });
        show();
      });
    });
    list.addEventListener("click", function (event) {
      const link = event.target.closest("[data-finding-link]");
      if (!link) return;
      event.preventDefault();
      state.set({ finding: link.dataset.findingLink });
      select(true);
    });
    show();
    select(true);
  }

  graphbound.pages.whenDrawn("#gb-findings", started);
  state.onChange(() => { show(); select(true); });
  window.addEventListener("gb-page", () => select(true));
  return { show };
})();
