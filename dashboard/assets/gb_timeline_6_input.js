// Pointer and keys on the canvas.
"use strict";

graphbound.input = (function () {
  const { wire, draw, sides, shown, selection, search } = graphbound;
  const { parts } = shown;
  const KEYS = "w/s zoom, a/d move, arrows select, Enter follows, f fits the selection, 0 shows the step, e opens or closes a thread, / searches, n/N next match";
  const THIN_PX = 4;
  let drag = null, asked = null;

  function place(event) {
    const box = parts.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  // The mark under a point of the canvas; the nearest within a few pixels, for what is thin.
  function markAt(at) {
    const row = shown.rowAt(at.y);
    return row && row.kind === "lane" ? shown.nearest(row.lane, at.x, THIN_PX) : null;
  }

  function wheel(event) {
    if (event.altKey) return;  // scrolls the lanes
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 20 : 1;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) shown.pan(((event.deltaX || event.deltaY) * unit) / 1000);
    else shown.zoom(Math.exp(sides.clamp(event.deltaY * unit, -300, 300) / 400), shown.timeAt(place(event).x));
  }

  function down(event) {
    if (event.button !== 0) return;
    drag = { ...place(event), ...shown.view(), scroll: parts.stage.scrollTop, box: event.shiftKey, moved: false };
    parts.canvas.setPointerCapture(event.pointerId);
  }

  function move(event) {
    const at = place(event);
    if (!drag) { hover(at, event); return; }
    if (Math.abs(at.x - drag.x) + Math.abs(at.y - drag.y) > 4) drag.moved = true;
    if (!drag.moved || drag.box) return;
    const by = ((drag.x - at.x) / shown.size().width) * (drag.to - drag.from);
    shown.go(drag.from + by, drag.to + by);
    if (event.pointerType === "mouse") parts.stage.scrollTop = drag.scroll + drag.y - at.y;
  }

  function up(event) {
    const begun = drag, at = place(event);
    drag = null;
    if (!begun) return;
    if (begun.moved && begun.box) shown.go(shown.timeAt(Math.min(begun.x, at.x)), shown.timeAt(Math.max(begun.x, at.x)));
    else if (!begun.moved) click(at);
  }

  function click(at) {
    const row = shown.rowAt(at.y);
    if (row && row.kind === "head" && row.group.count > 1) { shown.fold(row.group, !row.folded); return; }
    const found = markAt(at);
    if (found) selection.select(found.lane, found.at, { still: true });
    else selection.clear();
  }

  function hover(at, event) {
    const found = markAt(at);
    parts.tip.hidden = !found;
    clearTimeout(asked);
    if (!found) return;
    parts.tip.style.left = sides.clamp(event.clientX + 12, 0, window.innerWidth - 260) + "px";
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
      w: () => shown.zoom(0.6), s: () => shown.zoom(1 / 0.6), "+": () => shown.zoom(0.6), "-": () => shown.zoom(1 / 0.6),
      a: () => shown.pan(-0.2), d: () => shown.pan(0.2), ArrowLeft: () => selection.beside(-1), ArrowRight: () => selection.beside(1),
      ArrowUp: () => selection.neighbour(-1), ArrowDown: () => selection.neighbour(1), f: selection.fit, Escape: selection.clear,
      "0": shown.goWhole, e: selection.toggleGroup, Enter: selection.follow,
      "/": () => parts.search.focus(), n: () => search.search(1), N: () => search.search(-1),
    }[event.key.length === 1 && event.key !== "N" ? event.key.toLowerCase() : event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  function listen() {
    const { canvas } = parts;
    canvas.addEventListener("wheel", wheel, { passive: false });
    canvas.addEventListener("pointerdown", down);
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", () => { drag = null; });
    canvas.addEventListener("pointerleave", () => { parts.tip.hidden = true; clearTimeout(asked); });
    canvas.addEventListener("dblclick", selection.fit);
    canvas.addEventListener("keydown", key);
  }

  return { KEYS, listen };
})();
