// The selected event: says what it is, frames it, goes from it to its neighbours, and lists its lane as a table.
"use strict";

graphbound.selection = (function () {
  const { state, wire, draw, details, sides, shown } = graphbound;
  const { parts } = shown;
  let selected = null;     // { lane, at, told }
  let asked = 0;           // the latest request: an answer that comes after a later one's is dropped

  // `still` leaves the window where it is, `asIs` the rows and the scroll too; `focus` puts the keyboard on the canvas.
  // With a `title` only an event that is called so. Gives false where there is no such event.
  async function select(lane, at, options) {
    const number = (asked += 1);
    if (sides.numberOf(lane) < 0 || at < 0) { if (!selected) clear(); return false; }
    let told;
    try {
      told = await wire.json("event", { lane, at });
    } catch (error) {
      parts.live.textContent = error.message;
      if (!selected) clear();
      return false;
    }
    if (number !== asked) return true;  // another one has been selected meanwhile
    if (options && options.title && options.title !== told.title) return false;
    selected = { lane, at, told };
    state.set({ sel: `${lane}.${at}` });
    if (!(options && options.asIs)) reveal(lane, told, options || {});
    details.show(parts.details, told, (toLane, toAt) => { select(toLane, toAt, { focus: true }); });
    const sentence = details.sentence(told);
    parts.live.textContent = sentence;
    parts.canvas.setAttribute("aria-label", `Timeline. Selected: ${sentence}. ${parts.keys}`);
    shown.later();
    shown.rested();
    return true;
  }

  // After the run was loaded anew: the event of the same name at the same place of the axis, whatever its number is now.
  async function selectAgain(lane, at, was) {
    const options = { still: true, asIs: true, title: was.title };
    if (await select(lane, at, options)) return;
    const side = sides.all().findIndex((one) => one.name === was.side);
    if (side >= 0) {
      const from = Math.max(Math.round(sides.origin(sides.all()[side]).at + was.start), 0);
      const found = await wire.json("find", { q: was.title.slice(0, 200), side, from }).catch(() => null);
      if (found && found.next && await select(found.next[0], found.next[1], options)) return;
    }
    clear();
    const text = `What was selected is not in what is shown now: ${was.title.slice(0, 200)}`;
    parts.live.textContent = text;
    parts.details.append(details.make("p", { class: "gb-quiet", text }));
  }

  // What `selectAgain` needs to find the selected event in another version of the run; null where none is selected.
  function place() {
    if (!selected) return null;
    return { title: selected.told.title, side: selected.told.side, start: selected.told.start - sides.originOf(selected.lane) };
  }

  function reveal(lane, told, options) {
    if (!shown.rowOf(lane)) shown.fold(sides.groupOf(lane), false);
    const row = shown.rowOf(lane), { height } = shown.size();
    if (row.y < parts.stage.scrollTop || row.y + row.height + draw.AXIS > parts.stage.scrollTop + height) {
      parts.stage.scrollTop = Math.max(row.y - height / 2, 0);
    }
    if (!options.still) {
      const view = shown.view(), at = sides.originOf(lane);
      const from = told.start - at, to = told.end - at, span = view.to - view.from;
      if (to < view.from || from > view.to) shown.go((from + to) / 2 - span / 2, (from + to) / 2 + span / 2);
    }
    if (options.focus) parts.canvas.focus();
  }

  function clear() {
    asked += 1;
    selected = null;
    state.set({ sel: null });
    details.show(parts.details, null);
    parts.canvas.setAttribute("aria-label", `Timeline. ${parts.keys}`);
    shown.later();
    shown.rested();
  }

  // The selected event fills the window; without one, the step does.
  function fit() {
    if (!selected) { shown.goWhole(); return; }
    const at = sides.originOf(selected.lane);
    const length = Math.max(selected.told.end - selected.told.start, sides.LEAST_NS / 3);
    shown.go(selected.told.start - at - length, selected.told.end - at + length);
  }

  // The event before or after in its lane.
  function beside(direction) {
    if (!selected) { neighbour(1); return; }
    const at = selected.at + direction;
    if (at >= 0 && at < selected.told.of) select(selected.lane, at);
    else parts.live.textContent = direction > 0 ? "last event of the lane" : "first event of the lane";
  }

  // The nearest event of the lane above or below that has any in sight.
  function neighbour(direction) {
    const lanes = shown.laneRows();
    let index = 0, x = 0;
    if (selected) {
      const at = sides.originOf(selected.lane), view = shown.view();
      const middle = (selected.told.start + selected.told.end) / 2 - at;
      x = sides.clamp((middle - view.from) / (view.to - view.from), 0, 1) * shown.size().width;
      index = lanes.findIndex((row) => row.lane === selected.lane) + direction;
    }
    for (; index >= 0 && index < lanes.length; index += direction) {
      const found = shown.nearest(lanes[index].lane, x, Infinity);
      if (found) { select(found.lane, found.at); return; }
    }
  }

  // To its launch, else to the first other event that it leads to.
  function follow() {
    const next = selected && selected.told.follows[0];
    if (next) select(next[1], next[2]);
  }

  function toggleGroup() {
    if (!selected) return;
    const group = sides.groupOf(selected.lane);
    const isOpen = shown.laneRows().filter((row) => row.group === group).length === group.count;
    if (group.count > 1) shown.fold(group, isOpen);
  }

  function outline(context, now, plan, look) {
    if (!selected) return;
    const from = sides.originOf(selected.lane);
    draw.outline(context, now, plan,
      { lane: selected.lane, from: selected.told.start - from, to: selected.told.end - from }, look);
  }

  // What the table shows: the lane of the selected event in the window, in times of its trace.
  function tableWords() {
    if (!selected) return null;
    const at = sides.originOf(selected.lane), view = shown.view();
    return { lane: selected.lane, from: view.from + at, to: view.to + at };
  }

  async function fillTable() {
    if (!parts.more.open) return;
    const words = tableWords();
    if (!words) { details.table(parts.table, null); return; }
    try {
      const told = await wire.json("table", words);
      details.table(parts.table, told, (at) => select(words.lane, at, { focus: true }));
    } catch (error) {
      shown.say(error.message);
    }
  }

  shown.onPaint(outline);
  shown.onRest(fillTable);
  return { select, selectAgain, place, clear, fit, beside, neighbour, follow, toggleGroup, tableWords, fillTable, now: () => selected };
})();
