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

  function legend(place, shades, tiles, gaps) {
    place.replaceChildren();
    shades.forEach((shade) => {
      const sample = make("canvas", { width: "22", height: "12", "aria-hidden": "true" });
      const context = sample.getContext("2d");
      context.fillStyle = shade.colour;
      context.fillRect(0, 0, 22, 12);
      if (shade.pattern !== "none") {
        context.fillStyle = tiles[shade.pattern];
        context.fillRect(0, 0, 22, 12);
      }
      const sums = gaps.filter(([, sum]) => sum.code === shade.code).map(([side, sum]) => `${side} ${sum.text}`);
      const text = sums.length ? `${shade.label} (${sums.join(", ")})` : shade.label;
      place.append(make("li", {}, sample, text));
    });
  }

  return { make, show, sentence, table, legend };
})();
