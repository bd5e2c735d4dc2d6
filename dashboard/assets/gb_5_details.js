// The words beside the canvas: the selected event, the table of a lane, the legend. All text is set as text.
"use strict";

graphbound.details = (function () {
  function make(tag, options, ...children) {
    const { text, ...rest } = options || {};
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(rest)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function show(place, told, follow) {
    place.replaceChildren();
    if (!told) {
      place.append(make("p", { class: "gb-quiet", text: "Click an event, or focus the timeline and press → to select one." }));
      return;
    }
    place.append(make("h3", { text: `${told.title} (${told.kind}, ${told.side})` }));
    const list = make("dl");
    told.facts.forEach(([label, value]) => list.append(make("dt", { text: label }), make("dd", { text: value })));
    place.append(list);
    told.follows.forEach(([label, lane, at]) => {
      const button = make("button", { type: "button", text: `go to ${label}` });
      button.addEventListener("click", () => follow(lane, at));
      place.append(button, " ");
    });
    if (told.card) place.append(card(told.card));
  }

  // A link to the page Graphs that keeps where the timeline is, for the way back.
  function card(key) {
    const words = { page: "graphs", graph: key };
    const link = make("a", { href: "#" + new URLSearchParams(words).toString(), text: "the card of its graph" });
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      location.hash = graphbound.state.link(words);
    });
    return link;
  }

  function sentence(told) {
    const facts = told.facts.slice(0, 2).map(([label, value]) => `${label} ${value}`).join(", ");
    return `${told.kind} ${told.title.slice(0, 200)}, ${facts}, ${told.side}`;
  }

  function table(place, told, select) {
    place.replaceChildren();
    if (!told) {
      place.append(make("p", { class: "gb-quiet", text: "Select an event: the table shows its lane." }));
      return;
    }
    const more = told.events > told.rows.length ? `; the first ${told.rows.length} are listed, zoom in for the others` : "";
    const caption = `${told.title}: ${told.events.toLocaleString("en")} events in the window, ${told.sum}${more}`;
    const body = make("tbody");
    told.rows.forEach(([at, name, start, duration]) => {
      const button = make("button", { type: "button", text: name });
      button.addEventListener("click", () => select(at));
      body.append(make("tr", {}, make("td", {}, button), make("td", { text: graphbound.draw.time(start) }),
        make("td", { text: duration })));
    });
    const heads = ["event", "starts, in the trace", "duration"].map((text) => make("th", { scope: "col", text }));
    place.append(make("table", { class: "gb-table" }, make("caption", { text: caption, class: "gb-quiet" }),
      make("thead", {}, make("tr", {}, ...heads)), body));
  }

  const HEADS = { host: "host", device: "kernels and graphs" };

  // What the lanes show, coloured as they are now; and the exact sums of what the gaps were for.
  function legend(place, shades, tiles, shown, by) {
    const used = new Set(shown.flatMap((side) => side.used[by]));
    const lists = Object.entries(HEADS).map(([group, head]) => {
      const own = shades.filter((shade) => shade.group === group && used.has(shade.code));
      const items = own.map((shade) => make("li", {}, sample(shade, tiles), shade.label));
      return items.length ? make("ul", { class: "gb-legend" }, make("li", { text: head }), ...items) : "";
    });
    place.replaceChildren(...lists, shown.some((side) => side.gaps.length) ? gapSums(shades, tiles, shown) : "");
  }

  function sample(shade, tiles) {
    const drawn = make("canvas", { width: "22", height: "12", "aria-hidden": "true" });
    const context = drawn.getContext("2d");
    context.fillStyle = shade.colour;
    context.fillRect(0, 0, 22, 12);
    if (shade.pattern !== "none") {
      context.fillStyle = tiles[shade.pattern];
      context.fillRect(0, 0, 22, 12);
    }
    return drawn;
  }

  function gapSums(shades, tiles, shown) {
    const sums = shown.map((side) => new Map(side.gaps.map((sum) => [sum.code, sum.text])));
    const number = (text) => make("td", { class: "gb-number", text });
    const rows = shades.filter((shade) => shade.group === "gap" && sums.some((own) => own.has(shade.code)))
      .map((shade) => make("tr", {}, make("td", {}, sample(shade, tiles), shade.label),
        ...sums.map((own) => number(own.get(shade.code) || "none"))));
    const whole = make("tr", {}, make("td", { text: "together" }), ...shown.map((side) => number(side.idle)));
    const heads = ["gaps", ...shown.map((side) => side.name)].map((text, at) =>
      make("th", { scope: "col", class: at ? "gb-number" : "", text }));
    return make("table", { class: "gb-table gb-gap-sums" }, make("thead", {}, make("tr", {}, ...heads)),
      make("tbody", {}, ...rows, whole));
  }

  return { make, show, sentence, table, legend };
})();
