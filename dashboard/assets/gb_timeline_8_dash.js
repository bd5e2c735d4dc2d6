// Lets Dash's scripts in: at once, or where the timeline is asked for, after its first window, which they would hold up.
"use strict";

(function () {
  const LATEST_MS = 2000;  // a page in the background paints nothing
  const { state, wire } = graphbound;
  let isIn = false;

  function copy(script) {
    const made = document.createElement("script");
    for (const { name, value } of Array.from(script.attributes)) made.setAttribute(name, value);
    made.text = script.text;
    made.async = false;  // those with an address run in their order
    return made;
  }

  function letIn() {
    if (isIn) return;
    isIn = true;
    const all = Array.from(document.getElementById("gb-later").content.querySelectorAll("script"), copy);
    const fetched = all.filter((script) => script.src), written = all.filter((script) => !script.src);
    const last = fetched[fetched.length - 1];
    const finish = () => document.body.append(...written);
    last.addEventListener("load", finish);
    last.addEventListener("error", finish);
    document.body.append(...fetched);
  }

  if (state.get("page") !== "timeline") { letIn(); return; }
  // Once what was painted is on the screen.
  window.addEventListener("gb-first-paint", () => requestAnimationFrame(() => setTimeout(letIn)), { once: true });
  wire.facts.then((facts) => { if (!facts.sides.length) letIn(); }, letIn);
  setTimeout(letIn, LATEST_MS);
})();
