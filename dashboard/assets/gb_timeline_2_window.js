// The window of time that is shown: asks the server for its marks, draws them, keeps the rows and what is folded.
"use strict";

graphbound.shown = (function () {
  const { state, wire, draw, sides } = graphbound;
  const MOST_BINS = 4000;
  const MOST_HEIGHT = 0.76;  // of the window, as in gb.css
  const parts = {};        // the elements of the page, made in gb_timeline_7_page.js
  const foldedByHand = new Map();
  const painters = [], rests = [];
  let view = { from: 0, to: 1 };
  let frame = null;        // the last answer
  let asking = false, stale = false, drawing = false;
  let paint = null, plan = null, context = null, shades = [];
  let rest = null, scroll = null;  // to be scrolled to once there is a canvas to scroll

  // --- the window --------------------------------------------------------------------------------------------------

  function go(from, to) {
    view = sides.within(from, to);
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

  function goWhole() {
    const all = sides.whole();
    go(all.from, all.to);
  }

  function timeAt(x) { return view.from + (x / size().width) * (view.to - view.from); }

  // --- asking and drawing ------------------------------------------------------------------------------------------

  function size() {
    return { width: Math.max(parts.stage.clientWidth, 120), height: parts.stage.clientHeight };
  }

  function lanesInSight() {
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
    return { from: String(view.from), to: String(view.to), bins: String(Math.min(size().width, MOST_BINS)),
      lanes: lanesInSight(), by: state.get("by") || "graph", q: state.get("q") || "", ...sides.words() };
  }

  function changed() {
    later();
    ask();
  }

  async function ask() {
    if (parts.stage.clientWidth === 0) return;  // another page is shown
    if (asking) { stale = true; return; }
    const words = wanted();
    if (frame && frame.key === JSON.stringify(words)) { rested(); return; }
    asking = true;
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
    if (stale) { stale = false; ask(); } else rested();
  }

  // Once nothing has moved for a while.
  function rested() {
    clearTimeout(rest);
    rest = setTimeout(() => rests.forEach((listener) => listener()), 200);
  }

  function later() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => { drawing = false; paintNow(); });
  }

  function fitCanvas(width, height, ratio) {
    const { canvas } = parts;
    if (canvas.width === Math.round(width * ratio) && canvas.height === Math.round(height * ratio)) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }

  function paintNow() {
    if (!frame || !plan || parts.stage.clientWidth === 0) return;
    const { width, height } = size();
    const ratio = window.devicePixelRatio || 1;
    fitCanvas(width, height, ratio);
    if (scroll !== null) { parts.stage.scrollTop = scroll; scroll = null; }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const now = { ...view, width, height, scroll: parts.stage.scrollTop, searching: Boolean(state.get("q")) };
    draw.frame(context, now, frame, plan, paint);
    painters.forEach((painter) => painter(context, now, plan, paint.look));
    const fresh = frame.key === JSON.stringify(wanted());
    parts.stage.dataset.state = fresh ? "painted" : "stale";
    if (!fresh) return;
    graphbound.painted = { key: frame.key, at: performance.now(), marks: frame.marks, bytes: frame.bytes };
    if (!graphbound.firstPainted) {
      graphbound.firstPainted = graphbound.painted.at;
      window.dispatchEvent(new Event("gb-first-paint"));
    }
  }

  function say(text) {
    if (parts.note.textContent !== text) parts.note.textContent = text;
  }

  // --- rows --------------------------------------------------------------------------------------------------------

  function replan() {
    const all = sides.all();
    const titles = all.map((side) => `${side.name}: ${sides.origin(side).text}, ${side.events.toLocaleString("en")} events`);
    const most = Math.max(Math.round(window.innerHeight * MOST_HEIGHT), 240);
    plan = draw.layout(all, isFolded, 3);
    // Sides that do not fit below one another are no comparison: of the host's calls the outermost are then enough.
    if (all.length > 1 && plan.height > most) plan = draw.layout(all, (group) => isFolded(group, true), 2);
    paint = { look: draw.colours(document.documentElement), tiles: paint ? paint.tiles : draw.tiles(context), shades, titles };
    parts.stage.style.height = Math.min(plan.height + 4, most) + "px";
    parts.spacer.style.height = plan.height - parts.stage.clientHeight + "px";
  }

  function isFolded(group, isTight = false) {
    if (foldedByHand.has(group.first)) return foldedByHand.get(group.first);
    if (isTight && group.kind === "host") return true;
    if (group.kind === "stream") return group.label.startsWith("ranges,");
    if (group.kind !== "host") return group.count > 6;
    const side = sides.all().find((one) => one.groups.includes(group));
    return group !== side.groups.find((one) => one.kind === "host") || group.count > 12;
  }

  function fold(group, folded) {
    foldedByHand.set(group.first, folded);
    const listed = Array.from(foldedByHand, ([first, is]) => (is ? "-" : "+") + first).join(",");
    state.set({ fold: listed });
    replan();
    changed();
  }

  function takeFolds(text) {
    foldedByHand.clear();
    (text || "").split(",").forEach((one) => {
      const found = /^([+-])(\d{1,6})$/.exec(one);
      if (found) foldedByHand.set(Number(found[2]), found[1] === "-");
    });
  }

  function rowAt(y) {
    const at = y - draw.AXIS + parts.stage.scrollTop;
    return y < draw.AXIS ? null : plan.rows.find((row) => at >= row.y && at < row.y + row.height) || null;
  }

  function rowOf(lane) { return plan.rows.find((row) => row.kind === "lane" && row.lane === lane) || null; }

  function laneRows() { return plan.rows.filter((row) => row.kind === "lane"); }

  // The mark of a lane nearest to a place on the axis, null where none is within `reach` pixels.
  function nearest(lane, x, reach) {
    const own = frame && frame.lanes.get(lane);
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

  return {
    parts, go, zoom, pan, goWhole, timeAt, size, changed, later, paintNow, rested, say, replan, fold, takeFolds, rowAt,
    rowOf, laneRows, nearest,
    view: () => ({ ...view }),
    setView: (window_) => { view = sides.rounded(window_); },
    scrollTo: (y) => { scroll = y; },
    isPlanned: () => plan !== null,
    tiles: () => paint.tiles,
    takeShades: (found) => { shades = found; },
    takeContext: (found) => { context = found; },
    onPaint: (painter) => painters.push(painter),
    onRest: (listener) => rests.push(listener),
  };
})();
