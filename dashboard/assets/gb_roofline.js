// The roofline: the selected mark and the window are in the address, and a mark leads to its graph and its events.
"use strict";

graphbound.roofline = (function () {
  const state = graphbound.state;
  const ID = "gb-roofline";
  const WINDOW = ["xaxis.range[0]", "xaxis.range[1]", "yaxis.range[0]", "yaxis.range[1]"];
  const ARROW_PX = 46;
  const MOST_RESTORED = 12;
  let restored = 0;
  let shown = null;
  let first = null;

  const plot = () => document.querySelector(`#${ID} .js-plotly-plot`);

  function find(id) {
    for (const trace of plot().data) {
      const at = (trace.customdata || []).findIndex((one) => one[0] === id);
      if (at >= 0) return { told: trace.customdata[at], x: trace.x[at], y: trace.y[at] };
    }
    return null;
  }

  function link(text, href) {
    const made = document.createElement("a");
    made.textContent = text;
    made.href = href;
    return made;
  }

  // Names are the program's own: text, never markup.
  function tell(found) {
    const place = document.getElementById(`${ID}-details`);
    const [, name, graph, ...lines] = found.told;
    const title = document.createElement("h3");
    title.textContent = lines[0];
    const list = document.createElement("ul");
    lines.slice(1).forEach((line) => list.append(Object.assign(document.createElement("li"), { textContent: line })));
    const leads = document.createElement("p");
    leads.className = "gb-leads";
    leads.append(link("in the timeline", `#page=timeline&q=${encodeURIComponent(name)}`));
    if (graph) leads.append(link("card of its graph", `#page=graphs&graph=${encodeURIComponent(graph)}`));
    place.replaceChildren(title, list, leads);
  }

  // On a logarithmic axis an annotation stands at the logarithm.
  function point(found) {
    const at = { x: Math.log10(found.x), y: Math.log10(found.y), text: "selected", showarrow: true, ax: 0, ay: ARROW_PX };
    Plotly.relayout(plot(), { annotations: [at] });
  }

  function select(id) {
    if (!id || shown === id) return;
    shown = id;
    const found = find(id);
    if (!found) {
      const said = "This mark is not among those that are drawn: its figures are in the table.";
      document.getElementById(`${ID}-details`).replaceChildren(said);
      return;
    }
    tell(found);
    point(found);
    if (graphbound.markRow) graphbound.markRow(`${ID}-table`, id);
  }

  function choose(id) {
    state.set({ mark: id });
    select(id);
  }

  function shownWindow() {
    const { xaxis, yaxis } = plot().layout;
    return [...xaxis.range, ...yaxis.range].map((edge) => Number(edge).toFixed(3)).join(",");
  }

  function reopen() {
    if (!plot() || first === null) return;
    const text = state.get("roof") || first;
    const edges = text.split(",").map(Number);
    const isWindow = edges.length === 4 && edges.every((edge) => Number.isFinite(edge) && Math.abs(edge) < 40) &&
      edges[0] < edges[1] && edges[2] < edges[3];
    if (isWindow && text !== shownWindow()) {
      Plotly.relayout(plot(), Object.fromEntries(WINDOW.map((name, at) => [name, edges[at]])));
    }
    select(state.get("mark"));
  }

  function started() {
    const drawn = plot();
    first = shownWindow();
    drawn.on("plotly_click", function (event) {
      const told = event.points.map((point) => point.customdata).find(Boolean);
      if (told) choose(told[0]);
    });
    drawn.on("plotly_relayout", function (change) {
      if (Object.keys(change).some((name) => /^[xy]axis/.test(name))) {
        const now = shownWindow();
        state.set({ roof: now === first ? null : now });
      }
    });
    // Dash draws the figure again after each change, and the first time as it was given.
    drawn.on("plotly_react", function () {
      // Never for ever, whatever a later Dash does.
      if (++restored > MOST_RESTORED) return;
      reopen();
      const found = shown && !(drawn.layout.annotations || []).length ? find(shown) : null;
      if (found) point(found);
    });
    reopen();
  }

  graphbound.pages.whenDrawn(`#${ID} .scatterlayer .point`, started);
  state.onChange(reopen);
  window.addEventListener("gb-row", function (event) {
    if (event.detail.table === `${ID}-table` && plot()) choose(event.detail.key);
  });
  return { select: choose };
})();
