// Searching for kernels and operators: marks what is found, counts it, and goes to the next or the one before.
"use strict";

graphbound.search = (function () {
  const { state, wire, sides, shown, selection } = graphbound;
  const { parts } = shown;
  const DELAY_MS = 120;
  let hits = null, typing = null;

  // `step` 1 selects the next match, -1 the one before, 0 none.
  async function search(step) {
    clearTimeout(typing);
    const query = parts.search.value;
    state.set({ q: query });
    shown.changed();
    if (!query.trim()) { parts.found.textContent = ""; hits = null; return; }
    const words = { q: query, ...(step ? from(step) : {}) };
    try {
      hits = await wire.json("find", words);
    } catch (error) {
      parts.found.textContent = error.message;
      return;
    }
    if (parts.search.value !== query) return;
    tell(hits, words.side);
    if (hits.next) selection.select(hits.next[0], hits.next[1]);
    else if (step) goOn();
  }

  // `at` is the side on which a match was gone to.
  function tell(found, at) {
    parts.found.textContent = found.sides.map((side, number) => {
      const which = found.number !== null && number === at ? `${found.number.toLocaleString("en")} of ` : "";
      return `${side.name}: ${which}${side.events.toLocaleString("en")} events, ${side.text}`;
    }).join(" · ");
  }

  // Matches of the side that is looked at; of the first that has any, where it has none.
  function from(step) {
    const chosen = selection.now();
    const side = hits && chosen ? sides.numberOf(chosen.lane) : firstWithHits();
    const words = { side, from: shown.view().from + sides.origin(sides.all()[side]).at, back: step < 0 ? "1" : "0" };
    return chosen ? { ...words, lane: chosen.lane, at: chosen.at } : words;
  }

  function firstWithHits() {
    const found = hits ? hits.sides.findIndex((side) => side.events > 0) : 0;
    return Math.max(found, 0);
  }

  // The selected event's own side has no match: another may.
  async function goOn() {
    const side = hits.sides.findIndex((one) => one.events > 0);
    if (side < 0) { parts.live.textContent = "nothing found"; return; }
    const told = await wire.json("find", { q: parts.search.value, side, from: "0" }).catch(() => null);
    if (!told || !told.next) return;
    tell(told, side);
    selection.select(told.next[0], told.next[1]);
  }

  function listen() {
    parts.search.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => search(0), DELAY_MS);
    });
    parts.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") search(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") { parts.search.value = ""; search(0); parts.canvas.focus(); }
    });
  }

  return { search, listen };
})();
