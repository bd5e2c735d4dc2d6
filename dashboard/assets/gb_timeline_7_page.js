// The timeline's part of the page: its elements, what the address says of it, and its start.
"use strict";

graphbound.timeline = (function () {
  const { state, wire, details, sides, shown, selection, search, saving, input } = graphbound;
  const { parts } = shown;
  const { make } = details;
  const HOW = `Wheel or shift-drag zooms, drag moves, alt-wheel scrolls. Keys: ${input.KEYS}. A pixel shows the longest event in `
    + "it, the paler the less of it is covered; the shortest event keeps a mark at any zoom. A gap has the colour of its "
    + "largest cause; the sums below are of all that was recorded, not of the window.";
  const ALL = Number.MAX_SAFE_INTEGER / 4;

  function button(text, label, does) {
    const made = make("button", { type: "button", text, title: label, "aria-label": label });
    made.addEventListener("click", does);
    return made;
  }

  function chooser(label, ...options) {
    return make("select", { "aria-label": label }, ...options.map(([value, text]) => make("option", { value, text })));
  }

  function elements(root) {
    parts.root = root;
    parts.keys = input.KEYS;
    parts.search = make("input", { type: "search", placeholder: "kernel or operator", "aria-label": "search for a kernel or operator" });
    parts.found = make("span", { class: "gb-quiet", role: "status" });
    parts.align = chooser("align the timelines by");
    parts.by = chooser("colour kernels by", ["graph", "colour by graph"], ["bound", "colour by bound"]);
    parts.canvas = make("canvas", { tabindex: "0", role: "application", "aria-roledescription": "timeline", "aria-label": `Timeline. ${input.KEYS}` });
    parts.spacer = make("div", { "aria-hidden": "true" });
    parts.stage = make("div", { class: "gb-stage" }, parts.canvas, parts.spacer);
    parts.live = make("div", { class: "gb-hidden", "aria-live": "polite" });
    parts.note = make("p", { class: "gb-loud", role: "alert" });
    parts.details = make("div", { class: "gb-details" });
    parts.table = make("div", { class: "gb-lane-table", tabindex: "0", role: "region", "aria-label": "the events of the lane" });
    parts.more = make("details", {}, make("summary", { text: "The lane of the selected event as a table" }), parts.table);
    parts.legend = make("div", { role: "group", "aria-label": "what the colours and patterns stand for" });
    parts.tip = make("div", { class: "gb-tip", hidden: "" });
    shown.takeContext(parts.canvas.getContext("2d", { alpha: false }));
  }

  function build(root) {
    elements(root);
    root.append(
      make("div", { class: "gb-bar" }, parts.search, button("‹", "previous match", () => search.search(-1)),
        button("›", "next match", () => search.search(1)),
        parts.align, button("‹", "earlier step or call", () => move(-1)),
        button("›", "later step or call", () => move(1)), parts.by, button("−", "zoom out", () => shown.zoom(1 / 0.6)),
        button("+", "zoom in", () => shown.zoom(0.6)), button("step", "show the whole step", shown.goWhole),
        button("all", "show the whole recording", () => shown.go(-ALL, ALL)), parts.found),
      parts.note, parts.stage, make("p", { class: "gb-quiet", text: HOW }),
      parts.details, parts.more, saving.build(make, button), parts.legend, parts.live, parts.tip);
  }

  function listen() {
    input.listen();
    search.listen();
    parts.more.addEventListener("toggle", () => { state.set({ table: parts.more.open ? "1" : null }); selection.fillTable(); });
    parts.by.addEventListener("change", () => { state.set({ by: parts.by.value === "graph" ? null : parts.by.value }); shown.changed(); });
    parts.align.addEventListener("change", () => {
      sides.setShift(0);
      state.set({ align: parts.align.value === "step" ? null : parts.align.value, shift: null });
      realigned();
    });
    parts.stage.addEventListener("scroll", () => { state.set({ y: Math.round(parts.stage.scrollTop) || null }); shown.changed(); });
    new ResizeObserver(() => { if (parts.stage.clientWidth) again(); }).observe(parts.root);
    const repaint = () => { shown.replan(); shown.later(); };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    new MutationObserver(repaint).observe(document.documentElement, { attributes: true, attributeFilter: ["data-look"] });
    window.addEventListener("gb-page", again);
    state.onChange(() => { restore(); again(); });
  }

  function again() {
    shown.replan();
    shown.changed();
  }

  function move(by) {
    sides.setShift(sides.shift() + by);
    state.set({ shift: sides.shift() || null });
    realigned();
  }

  function realigned() {
    const view = shown.view();
    shown.replan();
    shown.go(view.from, view.to);
  }

  function whole(text) { return text !== null && /^-?\d{1,16}$/.test(text) ? Number(text) : null; }

  // Takes over what the address says; what it does not say, or says wrongly, is as on a first visit.
  function restore() {
    sides.setShift(whole(state.get("shift")) || 0);
    parts.search.value = state.get("q") || "";
    parts.by.value = state.get("by") === "bound" ? "bound" : "graph";
    parts.align.value = state.get("align") || "step";
    if (parts.align.selectedIndex < 0) parts.align.value = "step";
    shown.takeFolds(state.get("fold"));
    const edges = (state.get("w") || "").split(",").map(whole);
    const isWindow = edges.length === 2 && edges.every((edge) => edge !== null) && edges[1] > edges[0];
    shown.setView(isWindow ? sides.within(edges[0], edges[1]) : sides.whole());
    shown.replan();
    shown.scrollTo(whole(state.get("y")) || 0);
    parts.more.open = state.get("table") === "1";
    const chosen = /^(\d{1,6})\.(\d{1,10})$/.exec(state.get("sel") || "");
    // Where the address says what is folded or how far it is scrolled, the event may have been out of sight.
    const asIs = state.get("y") !== null || state.get("fold") !== null;
    const lane = chosen && Number(chosen[1]), at = chosen && Number(chosen[2]), was = graphbound.since.takeSelected();
    if (chosen && was) selection.selectAgain(lane, at, was);
    else if (chosen) selection.select(lane, at, { still: true, asIs });
    else selection.clear();
    if (parts.search.value) search.search(0);
  }

  function fillFrom(facts) {
    const byCode = [];
    facts.shades.forEach((shade) => { byCode[shade.code] = shade; });
    shown.takeShades(byCode);
    sides.take(facts.sides);
    const graphs = new Map();
    facts.sides.forEach((side) => side.graphs.forEach((graph) => graphs.set(graph.key, graph.label)));
    parts.align.append(make("option", { value: "step", text: "align by step" }),
      ...Array.from(graphs, ([value, label]) => make("option", { value: "graph:" + value, text: "align by " + label })));
    const notes = facts.sides.filter((side) => side.note).map((side) => `${side.name}: ${side.note}`);
    if (notes.length) parts.stage.before(make("p", { class: "gb-empty", text: notes.join(" ") }));
    return byCode;
  }

  // Dash takes longer to draw all pages than the first window takes to come. Where the timeline is asked for, it is
  // shown at once below what Dash will draw, and put into its place then.
  function showEarly(root) {
    if (state.get("page") !== "timeline" || root.isConnected) return;
    document.body.append(make("div", { class: "gb-page gb-early" }, root));
  }

  function place(root) {
    const early = document.querySelector(".gb-early"), focused = document.activeElement;
    shown.scrollTo(parts.stage.scrollTop || whole(state.get("y")) || 0);
    document.getElementById("gb-timeline").append(root);
    if (early) early.remove();
    if (root.contains(focused)) focused.focus();
    if (sides.all().length) again();
  }

  async function start(root) {
    let facts;
    try {
      facts = await wire.facts;
    } catch (error) {
      shown.say(`The timeline could not be loaded: ${error.message}`);
      return;
    }
    if (!facts.sides.length) return;
    const byCode = fillFrom(facts);
    showEarly(root);
    restore();
    const explain = () => details.legend(parts.legend, byCode.filter(Boolean), shown.tiles(), facts.sides, parts.by.value);
    explain();
    listen();
    parts.by.addEventListener("change", explain);
    state.onChange(explain);
    again();
  }

  const root = make("div", { class: "gb-timeline" });
  build(root);
  start(root);
  graphbound.pages.whenDrawn("#gb-timeline", () => place(root));
  return { zoom: shown.zoom, pan: shown.pan, go: shown.go, view: shown.view, selected: selection.now, place: selection.place };
})();
