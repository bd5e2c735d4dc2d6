// Plotly's figures: made once they can be seen, in the colours of the present look, with downloads.
"use strict";
window.graphbound = window.graphbound || {};

graphbound.figures = (function () {
  const SCALE = 2; // a PNG for a page that is printed
  const AGAIN_MS = 200;
  let waiting = false;

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    return { paper: of("--gb-paper"), ink: of("--gb-ink"), quiet: of("--gb-quiet"), line: of("--gb-edge") };
  }

  function isDrawn(plot) {
    return window.Plotly && plot._fullLayout && plot.layout && plot.layout.template && plot.offsetParent !== null &&
      !plot.classList.contains("dash-graph--pending");
  }

  // The template is replaced, so that a colour which a figure itself chose stays.
  function template(plot, look) {
    const made = structuredClone(plot.layout.template);
    const layout = made.layout;
    layout.font.color = look.ink;
    // Not transparent, so that a download looks as the page does.
    layout.paper_bgcolor = look.paper;
    layout.plot_bgcolor = look.paper;
    for (const axis of [layout.xaxis, layout.yaxis]) {
      axis.gridcolor = look.line;
      axis.linecolor = axis.zerolinecolor = axis.tickcolor = look.quiet;
    }
    Object.assign(layout.hoverlabel, { bgcolor: look.ink, bordercolor: look.ink });
    layout.hoverlabel.font.color = look.paper;
    layout.modebar.color = look.quiet;
    layout.modebar.activecolor = look.ink;
    layout.annotationdefaults.arrowcolor = look.ink;
    return made;
  }

  function value(trace, name) {
    return name.split(".").reduce((inner, part) => inner && inner[part], trace);
  }

  // A figure of a callback comes with the colours that no look has chosen: what is drawn is asked, not what was done.
  function paint(plot) {
    const look = colours();
    if (plot.layout.template.layout.font.color !== look.ink) {
      Plotly.relayout(plot, { template: template(plot, look) });
    }
    // Those that ask for the same together: each call draws the figure anew.
    const groups = new Map();
    plot.data.forEach(function (trace, number) {
      const wanted = trace.meta && trace.meta.ink;
      if (!Array.isArray(wanted) || wanted.every((name) => value(trace, name) === look.ink)) return;
      const key = wanted.join(" ");
      groups.set(key, [...(groups.get(key) || []), number]);
    });
    groups.forEach(function (numbers, wanted) {
      Plotly.restyle(plot, Object.fromEntries(wanted.split(" ").map((name) => [name, look.ink])), numbers);
    });
  }

  // By place: what it was given. A callback may give the same place another figure.
  const made = new WeakMap();

  function make(place) {
    const text = place.dataset.gbFigure;
    const isThere = made.get(place) === text && place.firstElementChild;
    if (isThere || !window.dash_clientside || !dash_clientside.set_props) return;
    made.set(place, text);
    dash_clientside.set_props(place.id, { children: JSON.parse(text) });
  }

  function paintAll() {
    waiting = false;
    const places = Array.from(document.querySelectorAll("[data-gb-figure]")).filter((place) => place.checkVisibility());
    places.forEach(make);
    const plots = places.map((place) => place.querySelector(".js-plotly-plot"));
    plots.filter((plot) => plot && isDrawn(plot)).forEach(paint);
    // Plotly says nothing to the page when it is done with a first drawing.
    if (plots.some((plot) => !plot || !isDrawn(plot))) setTimeout(soon, AGAIN_MS);
  }

  function soon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(paintAll);
  }

  function download(button) {
    const holder = document.getElementById(button.dataset.figure);
    const plot = holder && (holder.matches(".js-plotly-plot") ? holder : holder.querySelector(".js-plotly-plot"));
    if (!plot || !window.Plotly) return;
    const size = plot.getBoundingClientRect();
    const format = button.dataset.format;
    Plotly.downloadImage(plot, {
      format: format, filename: button.dataset.figure, width: Math.round(size.width), height: Math.round(size.height),
      scale: format === "png" ? SCALE : 1,
    });
  }

  document.addEventListener("click", function (event) {
    const button = event.target.closest && event.target.closest("button[data-figure]");
    if (button) download(button);
  });
  window.addEventListener("gb-page", soon);
  document.addEventListener("toggle", soon, true); // a fold opens
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
  new MutationObserver(soon).observe(document.documentElement, { attributes: true, attributeFilter: ["data-look"] });
  // Figures come and go with the pages' callbacks; a look at each costs some microseconds.
  new MutationObserver(soon).observe(document.documentElement, {
    childList: true, subtree: true, attributes: true, attributeFilter: ["class", "data-gb-figure"],
  });
  return { paintAll };
})();
