// Asks now and then what became of the run that is shown, and says it in one line with a button that loads what is
// there now. The page itself changes only when that button is pressed, and comes back at the same place.
"use strict";

graphbound.since = (function () {
  const { server, state } = graphbound;
  const EVERY_MS = 5000, PATIENCE = 2;  // of failures in a row: one may be a break of the line
  const KEPT = "graphbound-place", WAIT_MS = 15_000;
  let timer = null, failures = 0, said = "", dismissed = "", line = null;

  function part(tag, text, label) {
    const made = document.createElement(tag);
    made.textContent = text;
    if (tag === "button") made.type = "button";
    if (label) made.setAttribute("aria-label", label);
    return made;
  }

  function show(told) {
    const key = [told.state, told.now, told.text].join(" ");
    if (key === said) return;
    said = key;
    if (line) line.remove();
    line = null;
    if (!told.text || key === dismissed) return;
    line = document.createElement("div");
    line.id = "gb-since";
    line.setAttribute("role", "status");
    line.append(part("span", told.text));
    if (told.state === "changed") {
      const button = part("button", "load it");
      button.addEventListener("click", () => load(button));
      line.append(button);
    }
    const close = part("button", "not now", "hide this line until there is more to say");
    close.addEventListener("click", () => { dismissed = said; line.remove(); line = null; });
    line.append(close);
    document.body.append(line);
  }

  async function ask() {
    clearTimeout(timer);
    timer = null;
    if (document.hidden) return;
    try {
      const answer = await fetch("_since", { cache: "no-store", credentials: "same-origin" });
      if (!answer.ok) throw new Error(String(answer.status));
      show(await answer.json());
      failures = 0;
      server.answers();
    } catch {
      if (++failures === PATIENCE) server.ended();
    }
    later();
  }

  function later() {
    if (timer === null && !document.hidden) timer = setTimeout(ask, EVERY_MS);
  }

  // Read first, so that a run that cannot be read takes nothing away from what is shown.
  async function load(button) {
    const sentence = line.firstChild, before = sentence.textContent;
    button.disabled = true;
    sentence.textContent = "Reading it …";
    let problem;
    try {
      problem = (await (await fetch("_load", { cache: "no-store", credentials: "same-origin" })).json()).problem;
    } catch {
      problem = "The server does not answer.";
    }
    button.disabled = false;
    sentence.textContent = problem === null ? before : String(problem).slice(0, 400);
    if (problem !== null) return;
    state.flush();
    location.reload();
  }

  // The address holds the page, the window and the number of the selected event, which in another version of the run, or
  // in another run, is any event: what it cannot hold is kept for the page that comes next in this tab.
  function keepPlace() {
    const place = { y: window.scrollY, hash: location.hash, selected: graphbound.timeline ? graphbound.timeline.place() : null };
    try { sessionStorage.setItem(KEPT, JSON.stringify(place)); } catch { /* no storage: the address is enough */ }
  }

  function takePlace() {
    let place = null;
    try {
      place = JSON.parse(sessionStorage.getItem(KEPT));
      sessionStorage.removeItem(KEPT);
    } catch { /* as above */ }
    return place && place.hash === location.hash ? place : null;
  }

  // What is drawn comes bit by bit: scrolls once the page is long enough, unless somebody has begun to.
  function scrollTo(y) {
    const begun = performance.now();
    let isOver = !(y > 0);
    for (const name of ["wheel", "keydown", "pointerdown", "touchstart"]) {
      window.addEventListener(name, () => { isOver = true; }, { once: true, passive: true, capture: true });
    }
    (function tried() {
      if (isOver || performance.now() - begun > WAIT_MS) return;
      if (document.documentElement.scrollHeight - window.innerHeight >= y) window.scrollTo(0, y);
      if (Math.abs(window.scrollY - y) > 1) setTimeout(tried, 100);
    })();
  }

  const place = takePlace();
  if (server.stamp !== null) {
    document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
    window.addEventListener("pagehide", keepPlace);
    setTimeout(ask, 1000);
    if (place) scrollTo(Number(place.y));
  }

  // Once: what is selected later is in what is shown.
  function takeSelected() {
    const was = place && place.selected;
    if (place) place.selected = null;
    return was && typeof was.title === "string" && Number.isFinite(was.start) ? was : null;
  }

  return { ask, takeSelected };
})();
