// Draws one frame of the timeline on a canvas: an axis, the lanes that are in view, their marks. Keeps no state.
"use strict";

graphbound.draw = (function () {
  const AXIS = 22, TITLE = 22, HEAD = 16, GAP = 3;
  const HEIGHTS = { steps: 15, graphs: 17, host: 14, gaps: 17, "device graphs": 17, stream: 20 };
  const LEAST_ALPHA = 0.3;
  const PATTERN_WIDTH = 5;

  // Where each row stands: titles of sides, heads of groups, lanes. `folded` groups show their first levels, of a thread
  // `levels` of them.
  function layout(sides, isFolded, levels) {
    const rows = [];
    let y = 0;
    sides.forEach((side, number) => {
      rows.push({ kind: "title", side: number, y, height: TITLE });
      y += TITLE;
      side.groups.forEach((group) => {
        const folded = isFolded(group);
        const shown = folded ? Math.min(group.count, group.kind === "host" ? levels : 1) : group.count;
        rows.push({ kind: "head", side: number, group, folded, shown, y, height: HEAD });
        y += HEAD;
        for (let level = 0; level < shown; level += 1) {
          rows.push({ kind: "lane", side: number, group, lane: group.first + level, level, y, height: HEIGHTS[group.kind] });
          y += HEIGHTS[group.kind] + 1;
        }
        y += GAP;
      });
    });
    return { rows, height: y + AXIS };
  }

  function colours(element) {
    const style = getComputedStyle(element);
    const of = (name) => style.getPropertyValue(name).trim();
    return { ink: of("--gb-ink"), quiet: of("--gb-quiet"), paper: of("--gb-paper"), line: of("--gb-line"),
      accent: of("--gb-accent"), band: of("--gb-band") };
  }

  function inkOn(colour) {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return red * 0.299 + green * 0.587 + blue * 0.114 > 140 ? "#111111" : "#ffffff";
  }

  // A tile of each pattern, so that no two things differ by colour alone.
  function tiles(context) {
    const paint = {
      rising: (c) => { c.moveTo(0, 8); c.lineTo(8, 0); c.moveTo(-2, 2); c.lineTo(2, -2); c.moveTo(6, 10); c.lineTo(10, 6); },
      falling: (c) => { c.moveTo(0, 0); c.lineTo(8, 8); c.moveTo(-2, 6); c.lineTo(2, 10); c.moveTo(6, -2); c.lineTo(10, 2); },
      upright: (c) => { c.moveTo(4, 0); c.lineTo(4, 8); },
      level: (c) => { c.moveTo(0, 4); c.lineTo(8, 4); },
      crossed: (c) => { c.moveTo(0, 0); c.lineTo(8, 8); c.moveTo(0, 8); c.lineTo(8, 0); },
      dots: (c) => { c.rect(1, 1, 1.5, 1.5); c.rect(5, 5, 1.5, 1.5); },
    };
    const found = {};
    for (const [name, trace] of Object.entries(paint)) {
      const tile = document.createElement("canvas");
      tile.width = 8;
      tile.height = 8;
      const own = tile.getContext("2d");
      own.strokeStyle = "rgba(0,0,0,0.42)";
      own.lineWidth = 1;
      own.beginPath();
      trace(own);
      own.stroke();
      found[name] = context.createPattern(tile, "repeat");
    }
    return found;
  }

  function time(ns) {
    const size = Math.abs(ns);
    if (size >= 1e9) return trim(ns / 1e9) + " s";
    if (size >= 1e6) return trim(ns / 1e6) + " ms";
    if (size >= 1e3) return trim(ns / 1e3) + " µs";
    return Math.round(ns) + " ns";
  }

  function trim(number) {
    return String(Number(number.toPrecision(4)));
  }

  function ticks(from, to, width) {
    const wanted = Math.max(2, Math.floor(width / 110));
    const rough = (to - from) / wanted;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const found = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
    return found;
  }

  function axis(context, view, look) {
    context.fillStyle = look.paper;
    context.fillRect(0, 0, view.width, AXIS);
    context.fillStyle = look.quiet;
    context.textBaseline = "middle";
    context.textAlign = "left";
    ticks(view.from, view.to, view.width).forEach((at) => {
      const x = Math.round(((at - view.from) / (view.to - view.from)) * view.width) + 0.5;
      context.fillRect(x, AXIS - 6, 1, 6);
      context.fillText(time(at), x + 3, AXIS / 2);
    });
    context.fillRect(0, AXIS - 1, view.width, 1);
  }

  function grid(context, view, look) {
    context.fillStyle = look.line;
    ticks(view.from, view.to, view.width).forEach((at) => {
      const x = Math.round(((at - view.from) / (view.to - view.from)) * view.width);
      context.fillRect(x, AXIS, 1, view.height);
    });
  }

  function lane(context, view, frame, row, y, paint) {
    const own = frame.lanes.get(row.lane);
    context.fillStyle = paint.look.band;
    context.fillRect(0, y, view.width, row.height);
    if (!own) return;
    const factor = ((frame.to - frame.from) / (view.to - view.from)) * view.width;
    const shift = ((frame.from - view.from) / (view.to - view.from)) * view.width;
    for (let mark = own.first; mark < own.first + own.count; mark += 1) {
      const left = frame.left[mark] * frame.scale * factor + shift;
      const width = Math.max(frame.right[mark] * frame.scale * factor + shift - left, 1);
      if (left > view.width || left + width < 0) continue;
      const shade = paint.shades[frame.shade[mark]];
      const faded = view.searching && !frame.hit[mark] ? 0.3 : 1;
      context.globalAlpha = (LEAST_ALPHA + ((1 - LEAST_ALPHA) * frame.cover[mark]) / 255) * faded;
      context.fillStyle = shade.colour;
      context.fillRect(left, y, width > 3 ? width - 0.5 : width, row.height);
      if (width >= PATTERN_WIDTH && shade.pattern !== "none") {
        context.fillStyle = paint.tiles[shade.pattern];
        context.fillRect(left, y, width - 0.5, row.height);
      }
      if (view.searching && frame.hit[mark]) {
        context.globalAlpha = 1;
        context.fillStyle = paint.look.accent;
        context.fillRect(left, y, Math.max(width, 2), 3);
      }
      const name = width > 34 ? frame.names.get(mark) : undefined;
      if (name !== undefined) {
        context.globalAlpha = faded;
        word(context, name, Math.max(left, 0) + 3, y + row.height / 2, Math.min(left + width, view.width) - 4, shade);
      }
    }
    context.globalAlpha = 1;
  }

  function word(context, text, x, y, right, shade) {
    const room = Math.floor((right - x) / 6.2);
    if (room < 3) return;
    const shown = text.length > room ? text.slice(0, room - 1) + "…" : text;
    if (shade.pattern !== "none") {
      context.fillStyle = shade.colour;
      context.fillRect(x - 2, y - 5, shown.length * 6.2 + 2, 10);
    }
    context.fillStyle = inkOn(shade.colour);
    context.fillText(shown, x, y + 0.5, right - x);
  }

  function head(context, view, frame, row, y, look) {
    const group = row.group;
    const mark = group.count > 1 ? (row.folded ? "▸ " : "▾ ") : "";
    const levels = row.folded && row.shown < group.count ? `, ${row.shown} of ${group.count} levels` : "";
    context.fillStyle = look.quiet;
    context.fillText(mark + group.label + levels, 4, y + HEAD / 2 + 1, view.width * 0.6);
    const text = sums(frame, row);
    if (!text) return;
    context.textAlign = "right";
    context.fillText(text, view.width - 4, y + HEAD / 2 + 1, view.width * 0.4);
    context.textAlign = "left";
  }

  // Of streams and gaps all events; of nested lanes the outermost, which hold the others.
  function sums(frame, row) {
    const group = row.group;
    const nested = group.kind === "host" || group.kind === "graphs";
    let events = 0, sum = 0;
    for (let level = 0; level < (nested ? 1 : group.count); level += 1) {
      const own = frame.lanes.get(group.first + level);
      if (!own) return "";
      events += own.events;
      sum += own.sum;
    }
    return `${time(sum)} · ${events.toLocaleString("en")} event${events === 1 ? "" : "s"}`;
  }

  // `view`: from, to in ns, width, height, scroll in px, searching; `frame`: what the server said of some window.
  function frame(context, view, told, plan, paint) {
    context.fillStyle = paint.look.paper;
    context.fillRect(0, 0, view.width, view.height);
    context.font = "11px ui-monospace, monospace";
    context.textBaseline = "middle";
    grid(context, view, paint.look);
    plan.rows.forEach((row) => {
      const y = row.y + AXIS - view.scroll;
      if (y + row.height < AXIS || y > view.height) return;
      if (row.kind === "lane") lane(context, view, told, row, y, paint);
      else if (row.kind === "head") head(context, view, told, row, y, paint.look);
      else {
        context.fillStyle = paint.look.ink;
        context.font = "bold 13px system-ui, sans-serif";
        context.fillText(paint.titles[row.side], 4, y + TITLE / 2, view.width - 8);
        context.font = "11px ui-monospace, monospace";
      }
    });
    axis(context, view, paint.look);
  }

  // A frame around the selected event; `box` is its lane and its times on the axis.
  function outline(context, view, plan, box, look) {
    const row = plan.rows.find((one) => one.kind === "lane" && one.lane === box.lane);
    if (!row) return;
    const y = row.y + AXIS - view.scroll;
    const at = (ns) => ((ns - view.from) / (view.to - view.from)) * view.width;
    const left = Math.max(at(box.from), -4), right = Math.min(Math.max(at(box.to), at(box.from) + 2), view.width + 4);
    if (y < AXIS - row.height || y > view.height || right < 0 || left > view.width) return;
    context.save();
    context.beginPath();
    context.rect(0, AXIS, view.width, view.height);
    context.clip();
    context.strokeStyle = look.accent;
    context.lineWidth = 2;
    context.strokeRect(left - 1, y - 1, right - left + 2, row.height + 2);
    context.restore();
  }

  return { AXIS, layout, colours, tiles, frame, outline, time };
})();
