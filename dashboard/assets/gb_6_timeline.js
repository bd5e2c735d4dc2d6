// The timeline: keeps the window, asks the server for it, listens to pointer and keys, and says what is selected.
"use strict";

graphbound.timeline = (function () {
  const { state, wire, draw, details } = graphbound;
  const LEAST_NS = 200;
  const MARGIN = 0.02;
  const KEYS = "w/s zoom, a/d move, arrows select, Enter follows, f fits the selection, 0 shows the step, / searches";

  let facts = null;        // what the server said there is
  let view = { from: 0, to: 1 };
  let shift = 0;           // steps or calls from the one that is shown first
  let frame = null;        // the last answer
  let asking = false, stale = false, drawing = false;
  let selected = null;     // { lane, at, told }
  let hits = null;
  const parts = {};        // elements
  let paint = null, plan = null, context = null;
  const foldedByHand = new Map();

  // --- sides and their origins -------------------------------------------------------------------------------------

  function clamp(number, low, high) { return Math.min(Math.max(number, low), high); }

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

  function sideOf(lane) {
    return facts.sides.findIndex((side) => side.groups.some((g) => lane >= g.first && lane < g.first + g.count));
  }

  function groupOf(lane) {
    return facts.sides[sideOf(lane)].groups.find((g) => lane >= g.first && lane < g.first + g.count);
  }

  // --- windows -----------------------------------------------------------------------------------------------------

  function whole() {
    const spans = facts.sides.map((side) => {
      const own = origin(side);
      const step = stepOrigin(side);
      return [0, step.end === undefined ? side.end - own.at : step.end - step.at];
    });
    const to = Math.max(...spans.map((span) => span[1]), LEAST_NS);
    return { from: -to * MARGIN, to: to * (1 + MARGIN) };
  }

  // Within what any side has, and never narrower than a few hundred nanoseconds.
  function go(from, to) {
    const bounds = facts.sides.map((side) => [side.start - origin(side).at, side.end - origin(side).at]);
    const low = Math.min(...bounds.map((b) => b[0])), high = Math.max(...bounds.map((b) => b[1]));
    const room = Math.max((high - low) * MARGIN, LEAST_NS);
    let span = clamp(to - from, LEAST_NS, high - low + 2 * room);
    const start = clamp(from, low - room, Math.max(high + room - span, low - room));
    view.from = Math.round(start);
    view.to = Math.round(start + span);
    state.set({ w: `${view.from},${view.to}` });
    changed();
  }

  function zoom(factor, around) {
    const at = around === undefined ? (view.from + view.to) / 2 : around;
    go(at - (at - view.from) * factor, at + (view.to - at) * factor);
  }

  function pan(share) {
    const by = (view.to - view.from) * share;
    go(view.from + by, view.to + by);
  }

  // --- asking and drawing ------------------------------------------------------------------------------------------

  function size() {
    return { width: Math.max(parts.stage.clientWidth, 120), height: parts.stage.clientHeight };
  }

  function shownLanes() {
    const top = parts.stage.scrollTop, { height } = size();
    const groups = new Map();
    plan.rows.forEach((row) => {
      if (row.kind !== "head") return;
      const bottom = row.y + 20 + row.shown * 24;
      if (bottom >= top && row.y <= top + height) groups.set(row.group, row);
    });
    return Array.from(groups.values(), (row) => `${row.group.first}-${row.group.first + row.shown - 1}`).join(",");
  }

  function wanted() {
    const words = { from: String(view.from), to: String(view.to), bins: String(Math.min(size().width, 4000)),
      lanes: shownLanes(), by: state.get("by") || "graph", q: state.get("q") || "" };
    facts.sides.forEach((side, number) => { words["origin" + number] = String(origin(side).at); });
    return words;
  }

  function changed() {
    later();
    ask();
  }

  async function ask() {
    if (parts.stage.clientWidth === 0) return;  // another page is shown
    if (asking) { stale = true; return; }
    asking = true;
    const words = wanted();
    try {
      const answer = await wire.marks(words);
      frame = answer;
      frame.from = Number(words.from);
      frame.to = Number(words.to);
      frame.key = JSON.stringify(words);
      say("");
    } catch (error) {
      say(`The server does not answer (${error.message}). Is \`analyze dashboard\` still running?`);
    }
    asking = false;
    paintNow();
    if (stale) { stale = false; ask(); } else settled();
  }

  function later() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => { drawing = false; paintNow(); });
  }

  function paintNow() {
    if (!frame || !plan || parts.stage.clientWidth === 0) return;
    const { width, height } = size();
    const ratio = window.devicePixelRatio || 1;
    if (parts.canvas.width !== Math.round(width * ratio) || parts.canvas.height !== Math.round(height * ratio)) {
      parts.canvas.width = Math.round(width * ratio);
      parts.canvas.height = Math.round(height * ratio);
      parts.canvas.style.width = width + "px";
      parts.canvas.style.height = height + "px";
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const now = { ...view, width, height, scroll: parts.stage.scrollTop, searching: Boolean(state.get("q")) };
    draw.frame(context, now, frame, plan, paint);
    if (selected && selected.told) {
      const from = origin(facts.sides[sideOf(selected.lane)]).at;
      draw.outline(context, now, plan,
        { lane: selected.lane, from: selected.told.start - from, to: selected.told.end - from }, paint.look);
    }
    const fresh = frame.key === JSON.stringify(wanted());
    parts.stage.dataset.state = fresh ? "painted" : "stale";
    if (!fresh) return;
    graphbound.painted = { key: frame.key, at: performance.now(), marks: frame.marks, bytes: frame.bytes };
    graphbound.firstPainted = graphbound.firstPainted || graphbound.painted.at;
  }

  let settle = null;
  function settled() {
    clearTimeout(settle);
    settle = setTimeout(fillTable, 200);
  }

  function replan() {
    const titles = facts.sides.map((side) => `${side.name}: ${origin(side).text}, ${side.events.toLocaleString("en")} events`);
    plan = draw.layout(facts.sides, isFolded);
    paint = { look: draw.colours(document.documentElement), tiles: paint ? paint.tiles : draw.tiles(context),
      shades: facts.shades, titles };
    const most = Math.max(Math.round(window.innerHeight * 0.72), 240);
    parts.stage.style.height = Math.min(plan.height + 4, most) + "px";
    parts.spacer.style.height = plan.height - parts.stage.clientHeight + "px";
  }

  function isFolded(group) {
    if (foldedByHand.has(group.first)) return foldedByHand.get(group.first);
    if (group.kind === "stream") return group.label.startsWith("ranges,");
    if (group.kind !== "host") return group.count > 6;
    const side = facts.sides.find((one) => one.groups.includes(group));
    return group !== side.groups.find((one) => one.kind === "host") || group.count > 12;
  }

  function fold(group, folded) {
    foldedByHand.set(group.first, folded);
    const listed = Array.from(foldedByHand, ([first, is]) => (is ? "-" : "+") + first).join(",");
    state.set({ fold: listed });
    replan();
    changed();
  }

  // --- selecting ---------------------------------------------------------------------------------------------------

  async function select(lane, at, options) {
    if (sideOf(lane) < 0 || at < 0) { if (!selected) clear(); return; }
    let told;
    try {
      told = await wire.json("event", { lane, at });
    } catch (error) {
      parts.live.textContent = error.message;
      if (!selected) clear();
      return;
    }
    selected = { lane, at, told };
    state.set({ sel: `${lane}.${at}` });
    reveal(lane, told, options || {});
    details.show(parts.details, told, (toLane, toAt) => { select(toLane, toAt, { focus: true }); });
    parts.live.textContent = details.sentence(told);
    parts.canvas.setAttribute("aria-label", `Timeline. Selected: ${details.sentence(told)}. ${KEYS}`);
    later();
    settled();
  }

  function reveal(lane, told, options) {
    const group = groupOf(lane);
    let row = plan.rows.find((one) => one.kind === "lane" && one.lane === lane);
    if (!row) { fold(group, false); row = plan.rows.find((one) => one.kind === "lane" && one.lane === lane); }
    const y = row.y;
    const { height } = size();
    if (y < parts.stage.scrollTop || y + row.height + draw.AXIS > parts.stage.scrollTop + height) {
      parts.stage.scrollTop = Math.max(y - height / 2, 0);
    }
    if (!options.still) {
      const at = origin(facts.sides[sideOf(lane)]).at;
      const from = told.start - at, to = told.end - at, span = view.to - view.from;
      if (to < view.from || from > view.to) go((from + to) / 2 - span / 2, (from + to) / 2 + span / 2);
    }
    if (options.focus) parts.canvas.focus();
  }

  function fit() {
    if (!selected) return;
    const at = origin(facts.sides[sideOf(selected.lane)]).at;
    const length = Math.max(selected.told.end - selected.told.start, LEAST_NS / 3);
    go(selected.told.start - at - length, selected.told.end - at + length);
  }

  function clear() {
    selected = null;
    state.set({ sel: null });
    details.show(parts.details, null);
    later();
  }

  // The mark under a point of the canvas; the nearest within a few pixels, for what is thin.
  function markAt(x, y) {
    const row = rowAt(y);
    if (!row || row.kind !== "lane" || !frame) return null;
    return nearest(row.lane, x, 4);
  }

  function rowAt(y) {
    const at = y - draw.AXIS + parts.stage.scrollTop;
    return y < draw.AXIS ? null : plan.rows.find((row) => at >= row.y && at < row.y + row.height) || null;
  }

  function nearest(lane, x, reach) {
    const own = frame.lanes.get(lane);
    if (!own) return null;
    const { width } = size();
    const factor = ((frame.to - frame.from) / (view.to - view.from)) * width;
    const offset = ((frame.from - view.from) / (view.to - view.from)) * width;
    let best = null, least = reach;
    for (let mark = own.first; mark < own.first + own.count; mark += 1) {
      const left = frame.left[mark] * frame.scale * factor + offset;
      const right = Math.max(frame.right[mark] * frame.scale * factor + offset, left + 1);
      const away = x < left ? left - x : x > right ? x - right : 0;
      if (away < least || (away === 0 && best === null)) { best = mark; least = away; if (away === 0) break; }
    }
    return best === null ? null : { lane, at: frame.event[best], name: frame.names.get(best) };
  }

  function neighbour(direction) {
    const lanes = plan.rows.filter((row) => row.kind === "lane");
    if (!selected) {
      const first = lanes.find((row) => nearest(row.lane, 0, Infinity));
      if (first) choose(nearest(first.lane, 0, Infinity));
      return;
    }
    const at = origin(facts.sides[sideOf(selected.lane)]).at;
    const middle = (selected.told.start + selected.told.end) / 2 - at;
    const x = clamp((middle - view.from) / (view.to - view.from), 0, 1) * size().width;
    let index = lanes.findIndex((row) => row.lane === selected.lane) + direction;
    for (; index >= 0 && index < lanes.length; index += direction) {
      const found = nearest(lanes[index].lane, x, Infinity);
      if (found) { choose(found); return; }
    }
  }

  function choose(found) { select(found.lane, found.at); }

  function beside(direction) {
    if (!selected) { neighbour(1); return; }
    const at = selected.at + direction;
    if (at >= 0 && at < selected.told.of) select(selected.lane, at);
    else parts.live.textContent = direction > 0 ? "last event of the lane" : "first event of the lane";
  }

  async function fillTable() {
    if (!parts.more.open) return;
    if (!selected) { details.table(parts.table, null); return; }
    const at = origin(facts.sides[sideOf(selected.lane)]).at;
    const lane = selected.lane;
    try {
      const told = await wire.json("table", { lane, from: view.from + at, to: view.to + at });
      details.table(parts.table, told, (event) => select(lane, event, { focus: true }));
    } catch (error) {
      say(error.message);
    }
  }

  // --- searching ---------------------------------------------------------------------------------------------------

  async function search(step) {
    const query = parts.search.value;
    state.set({ q: query });
    changed();
    if (!query.trim()) { parts.found.textContent = ""; hits = null; return; }
    const words = { q: query };
    if (step) {
      const own = selected && hits ? sideOf(selected.lane) : 0;
      Object.assign(words, { side: own, from: view.from + origin(facts.sides[own]).at, back: step < 0 ? "1" : "0" });
      if (selected) Object.assign(words, { lane: selected.lane, at: selected.at });
    }
    try {
      hits = await wire.json("find", words);
    } catch (error) {
      parts.found.textContent = error.message;
      return;
    }
    if (parts.search.value !== query) return;
    parts.found.textContent = hits.sides.map((side) => `${side.name}: ${side.events.toLocaleString("en")} events, ${side.text}`).join(" · ");
    if (hits.next) select(hits.next[0], hits.next[1]);
    else if (step) parts.live.textContent = "nothing found";
  }

  // --- pointer and keys --------------------------------------------------------------------------------------------

  function place(event) {
    const box = parts.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  function timeAt(x) {
    return view.from + (x / size().width) * (view.to - view.from);
  }

  function listen() {
    let drag = null;
    parts.canvas.addEventListener("wheel", (event) => {
      if (event.altKey) return;  // scrolls the lanes
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 20 : 1;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(((event.deltaX || event.deltaY) * unit) / 1000);
      else zoom(Math.exp(clamp(event.deltaY * unit, -300, 300) / 400), timeAt(place(event).x));
    }, { passive: false });
    parts.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = { ...place(event), from: view.from, to: view.to, scroll: parts.stage.scrollTop, box: event.shiftKey, moved: false };
      parts.canvas.setPointerCapture(event.pointerId);
    });
    parts.canvas.addEventListener("pointermove", (event) => {
      const at = place(event);
      if (!drag) { hover(at, event); return; }
      if (Math.abs(at.x - drag.x) + Math.abs(at.y - drag.y) > 4) drag.moved = true;
      if (!drag.moved || drag.box) return;
      const by = ((drag.x - at.x) / size().width) * (drag.to - drag.from);
      go(drag.from + by, drag.to + by);
      if (event.pointerType === "mouse") parts.stage.scrollTop = drag.scroll + drag.y - at.y;
    });
    parts.canvas.addEventListener("pointerup", (event) => {
      const begun = drag, at = place(event);
      drag = null;
      if (!begun) return;
      if (begun.moved && begun.box) {
        const [left, right] = [timeAt(Math.min(begun.x, at.x)), timeAt(Math.max(begun.x, at.x))];
        go(left, right);
      } else if (!begun.moved) click(at);
    });
    parts.canvas.addEventListener("pointercancel", () => { drag = null; });
    parts.canvas.addEventListener("pointerleave", () => { parts.tip.hidden = true; });
    parts.canvas.addEventListener("dblclick", () => fit());
    parts.canvas.addEventListener("keydown", key);
    parts.stage.addEventListener("scroll", changed);
    new ResizeObserver(() => { if (parts.stage.clientWidth) { replan(); changed(); } }).observe(parts.root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { replan(); later(); });
    window.addEventListener("gb-page", () => { replan(); changed(); });
    state.onChange(() => { restore(); replan(); changed(); });
  }

  function click(at) {
    const row = rowAt(at.y);
    if (row && row.kind === "head" && row.group.count > 1) { fold(row.group, !row.folded); return; }
    const found = markAt(at.x, at.y);
    if (found) select(found.lane, found.at, { still: true });
    else clear();
  }

  let asked = null;
  function hover(at, event) {
    const found = markAt(at.x, at.y);
    parts.tip.hidden = !found;
    clearTimeout(asked);
    if (!found) return;
    parts.tip.style.left = clamp(event.clientX + 12, 0, window.innerWidth - 260) + "px";
    parts.tip.style.top = event.clientY + 16 + "px";
    parts.tip.textContent = found.name || "…";
    asked = setTimeout(async () => {
      const told = await wire.json("event", { lane: found.lane, at: found.at }).catch(() => null);
      if (told) parts.tip.textContent = `${told.title.slice(0, 300)} · ${draw.time(told.end - told.start)}`;
    }, 90);
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const does = {
      w: () => zoom(0.6), s: () => zoom(1 / 0.6), "+": () => zoom(0.6), "-": () => zoom(1 / 0.6),
      a: () => pan(-0.2), d: () => pan(0.2), ArrowLeft: () => beside(-1), ArrowRight: () => beside(1),
      ArrowUp: () => neighbour(-1), ArrowDown: () => neighbour(1), f: fit, Escape: clear,
      "0": () => { const all = whole(); go(all.from, all.to); },
      Enter: () => { const next = selected && selected.told.follows[0]; if (next) select(next[1], next[2]); },
      "/": () => parts.search.focus(), n: () => search(1), N: () => search(-1),
    }[event.key.length === 1 && event.key !== "N" ? event.key.toLowerCase() : event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  // --- the page ----------------------------------------------------------------------------------------------------

  function say(text) {
    if (parts.note.textContent !== text) parts.note.textContent = text;
  }

  function build(root) {
    const { make } = details;
    const button = (text, label, does) => {
      const made = make("button", { type: "button", text, title: label, "aria-label": label });
      made.addEventListener("click", does);
      return made;
    };
    parts.root = root;
    parts.search = make("input", { type: "search", placeholder: "kernel or operator", "aria-label": "search for a kernel or operator" });
    parts.found = make("span", { class: "gb-quiet", role: "status" });
    parts.align = make("select", { "aria-label": "align the timelines by" });
    parts.by = make("select", { "aria-label": "colour kernels by" }, make("option", { value: "graph", text: "colour by graph" }),
      make("option", { value: "bound", text: "colour by bound" }));
    parts.look = make("select", { "aria-label": "light or dark" }, ...["system", "light", "dark"].map((look) =>
      make("option", { value: look, text: look === "system" ? "look of the system" : look })));
    parts.canvas = make("canvas", { tabindex: "0", role: "application", "aria-roledescription": "timeline", "aria-label": "Timeline. " + KEYS });
    parts.spacer = make("div", { "aria-hidden": "true" });
    parts.stage = make("div", { class: "gb-stage" }, parts.canvas, parts.spacer);
    parts.live = make("div", { class: "gb-hidden", "aria-live": "polite" });
    parts.note = make("p", { class: "gb-loud", role: "alert" });
    parts.details = make("div", { class: "gb-details" });
    parts.table = make("div", { class: "gb-wide" });
    parts.more = make("details", {}, make("summary", { text: "The lane of the selected event as a table" }), parts.table);
    parts.legend = make("ul", { class: "gb-legend" });
    parts.tip = make("div", { class: "gb-tip", hidden: "" });
    context = parts.canvas.getContext("2d", { alpha: false });
    root.append(
      make("div", { class: "gb-bar" }, parts.search, button("‹", "previous match", () => search(-1)),
        button("›", "next match", () => search(1)), parts.found),
      make("div", { class: "gb-bar" }, parts.align, button("‹", "earlier step or call", () => move(-1)),
        button("›", "later step or call", () => move(1)), parts.by, button("−", "zoom out", () => zoom(1 / 0.6)),
        button("+", "zoom in", () => zoom(0.6)), button("step", "show the whole step", () => { const all = whole(); go(all.from, all.to); }),
        button("all", "show the whole recording", () => go(-Number.MAX_SAFE_INTEGER / 4, Number.MAX_SAFE_INTEGER / 4)), parts.look),
      parts.note, parts.stage, make("p", { class: "gb-quiet", text: `Wheel or shift-drag zooms, drag moves, alt-wheel scrolls. Keys: ${KEYS}.` }),
      parts.details, parts.more, parts.legend, parts.live, parts.tip);
    parts.more.addEventListener("toggle", fillTable);
    parts.search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => search(0), 120); });
    parts.search.addEventListener("keydown", (event) => { if (event.key === "Enter") { clearTimeout(typing); search(event.shiftKey ? -1 : 1); } });
    parts.by.addEventListener("change", () => { state.set({ by: parts.by.value === "graph" ? null : parts.by.value }); changed(); });
    parts.align.addEventListener("change", () => {
      shift = 0;
      state.set({ align: parts.align.value === "step" ? null : parts.align.value, shift: null });
      realigned();
    });
    parts.look.addEventListener("change", () => { state.set({ look: parts.look.value === "system" ? null : parts.look.value }); dress(); });
  }

  let typing = null;

  function dress() {
    const look = state.get("look");
    if (look === "light" || look === "dark") document.documentElement.dataset.look = look;
    else delete document.documentElement.dataset.look;
    parts.look.value = look === "light" || look === "dark" ? look : "system";
    if (plan) { replan(); later(); }
  }

  function move(by) {
    shift += by;
    state.set({ shift: shift || null });
    realigned();
  }

  function realigned() {
    replan();
    go(view.from, view.to);
  }

  // Takes over what the address says; what it does not say, or says wrongly, is as on a first visit.
  function restore() {
    const whole_number = (text) => (text !== null && /^-?\d{1,16}$/.test(text) ? Number(text) : null);
    shift = whole_number(state.get("shift")) || 0;
    parts.search.value = state.get("q") || "";
    parts.by.value = state.get("by") === "bound" ? "bound" : "graph";
    parts.align.value = state.get("align") || "step";
    if (parts.align.selectedIndex < 0) parts.align.value = "step";
    foldedByHand.clear();
    (state.get("fold") || "").split(",").forEach((text) => {
      const found = /^([+-])(\d{1,6})$/.exec(text);
      if (found) foldedByHand.set(Number(found[2]), found[1] === "-");
    });
    const edges = (state.get("w") || "").split(",").map(whole_number);
    view = edges.length === 2 && edges.every((edge) => edge !== null) && edges[1] > edges[0] ? { from: edges[0], to: edges[1] } : rounded(whole());
    const chosen = /^(\d{1,6})\.(\d{1,10})$/.exec(state.get("sel") || "");
    if (chosen) select(Number(chosen[1]), Number(chosen[2]), { still: true });
    else { selected = null; details.show(parts.details, null); }
    if (parts.search.value) search(0);
  }

  function rounded(window_) {
    return { from: Math.round(window_.from), to: Math.max(Math.round(window_.to), Math.round(window_.from) + LEAST_NS) };
  }

  async function start() {
    const root = document.getElementById("gb-timeline");
    build(root);
    try {
      facts = await wire.facts;
    } catch (error) {
      say(`The timeline could not be loaded: ${error.message}`);
      return;
    }
    const byCode = [];
    facts.shades.forEach((shade) => { byCode[shade.code] = shade; });
    facts.shades = byCode;
    const graphs = new Map();
    facts.sides.forEach((side) => side.graphs.forEach((graph) => graphs.set(graph.key, graph.label)));
    parts.align.append(details.make("option", { value: "step", text: "align by step" }),
      ...Array.from(graphs, ([value, label]) => details.make("option", { value: "graph:" + value, text: "align by " + label })));
    const notes = facts.sides.filter((side) => side.note).map((side) => `${side.name}: ${side.note}`);
    if (notes.length) parts.stage.before(details.make("p", { class: "gb-empty", text: notes.join(" ") }));
    dress();
    replan();
    restore();
    replan();
    const used = facts.shades.filter(Boolean);
    details.legend(parts.legend, used, paint.tiles, facts.sides.flatMap((side) => side.gaps.map((gap) => [side.name, gap])));
    listen();
    ask();
  }

  graphbound.pages.whenDrawn("#gb-timeline", start);
  return { zoom, pan, go, view: () => ({ ...view }), selected: () => selected };
})();
