// The recordings that stand one above the other, and which moment of each the axis has its zero at. Draws nothing.
"use strict";

graphbound.sides = (function () {
  const { state } = graphbound;
  const LEAST_NS = 200;
  const MARGIN = 0.02;
  let all = [];   // as the server told them
  let shift = 0;  // steps or calls from the one that is shown first

  function clamp(number, low, high) { return Math.min(Math.max(number, low), high); }

  // The graph whose calls the sides are aligned at, null for steps.
  function graphKey() {
    const align = state.get("align") || "step";
    return align.startsWith("graph:") ? align.slice(6) : null;
  }

  function stepOrigin(side) {
    if (side.step === null || !side.steps.length) return { at: side.start, text: "no step marked" };
    const number = clamp(side.step + (graphKey() ? 0 : shift), 0, side.steps.length - 1);
    const [start, end] = side.steps[number];
    return { at: start, end, text: `step ${number + 1} of ${side.steps.length}` };
  }

  function origin(side) {
    const step = stepOrigin(side);
    const graph = graphKey() && side.graphs.find((one) => one.key === graphKey());
    if (!graph) return graphKey() ? { ...step, text: step.text + ", without this graph" } : step;
    const first = Math.max(graph.starts.findIndex((start) => start >= step.at), 0);
    const number = clamp(first + shift, 0, graph.starts.length - 1);
    return { at: graph.starts[number], text: `call ${number + 1} of ${graph.calls}` };
  }

  function numberOf(lane) {
    return all.findIndex((side) => side.groups.some((g) => lane >= g.first && lane < g.first + g.count));
  }

  // The moment of a lane's own trace that is 0 on the axis.
  function originOf(lane) { return origin(all[numberOf(lane)]).at; }

  function groupOf(lane) {
    return all[numberOf(lane)].groups.find((g) => lane >= g.first && lane < g.first + g.count);
  }

  // The longest of the aligned steps, with a margin.
  function whole() {
    const spans = all.map((side) => {
      const own = origin(side), step = stepOrigin(side);
      return step.end === undefined ? side.end - own.at : step.end - step.at;
    });
    const to = Math.max(...spans, LEAST_NS);
    return { from: -to * MARGIN, to: to * (1 + MARGIN) };
  }

  // A window within what any side has, and never narrower than a few hundred nanoseconds.
  function within(from, to) {
    const low = Math.min(...all.map((side) => side.start - origin(side).at));
    const high = Math.max(...all.map((side) => side.end - origin(side).at));
    const room = Math.max((high - low) * MARGIN, LEAST_NS);
    const span = clamp(to - from, LEAST_NS, high - low + 2 * room);
    const start = clamp(from, low - room, Math.max(high + room - span, low - room));
    return rounded({ from: start, to: start + span });
  }

  function rounded(window_) {
    const from = Math.round(window_.from);
    return { from, to: Math.max(Math.round(window_.to), from + LEAST_NS) };
  }

  // What a request says of where each side counts from.
  function words() {
    const found = {};
    all.forEach((side, number) => { found["origin" + number] = String(origin(side).at); });
    return found;
  }

  return {
    LEAST_NS, clamp, graphKey, origin, numberOf, originOf, groupOf, whole, within, rounded, words,
    all: () => all,
    take: (sides) => { all = sides; },
    shift: () => shift,
    setShift: (number) => { shift = number; },
  };
})();
