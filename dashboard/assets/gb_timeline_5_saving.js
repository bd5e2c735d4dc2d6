// What can be taken along: the picture, the lane as a table, the recording for Perfetto, or the recording handed over
// to ui.perfetto.dev. Nothing is asked of that address before somebody opens this part of the page.
"use strict";

graphbound.saving = (function () {
  const { wire, sides, shown, selection } = graphbound;
  const { parts } = shown;
  const UI = "https://ui.perfetto.dev";
  const REACH_MS = 10_000, PING_MS = 100, ANSWER_MS = 30_000;
  const FILE = "graphbound-timeline";
  let isReachable = null;  // not asked yet

  function download(address, name) {
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
  }

  function picture() {
    parts.canvas.toBlob((blob) => {
      const address = URL.createObjectURL(blob);
      download(address, `${FILE}.png`);
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    }, "image/png");
  }

  function table() {
    const words = selection.tableWords();
    if (!words) { tell("Select an event first: the table is that of its lane in the window."); return; }
    download(wire.address("table.csv", words), "graphbound-lane.csv");
  }

  function file() { download(wire.address("perfetto.json.gz", sides.words()), `${FILE}.json.gz`); }

  function tell(text) { parts.saved.textContent = text; }

  // Whether this browser gets to Perfetto's page: asked once, without a word of ours in the request.
  async function ask() {
    if (isReachable !== null) return;
    isReachable = false;
    tell(`asking whether ${UI} can be reached from here …`);
    try {
      await fetch(UI + "/", { mode: "no-cors", credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer",
        signal: AbortSignal.timeout(REACH_MS) });
      isReachable = true;
    } catch {
      isReachable = false;
    }
    parts.perfetto.disabled = !isReachable;
    tell(isReachable ? `${UI} can be reached. The recording stays in the browser: it is handed from this page to that one.`
      : `${UI} cannot be reached from here: download the file, and open it in a Perfetto of your own.`);
  }

  // Perfetto keeps no message that comes before it listens: it is asked with PING until it says PONG.
  function answers(opened) {
    return new Promise((resolve, reject) => {
      const begun = performance.now();
      const timer = setInterval(() => {
        if (opened.closed) done(() => reject(new Error("its window was closed")));
        else if (performance.now() - begun > ANSWER_MS) done(() => reject(new Error("it did not answer")));
        else opened.postMessage("PING", UI);
      }, PING_MS);
      function heard(event) {
        if (event.source === opened && event.origin === UI && event.data === "PONG") done(resolve);
      }
      function done(then) {
        clearInterval(timer);
        window.removeEventListener("message", heard);
        then();
      }
      window.addEventListener("message", heard);
    });
  }

  // In the file, 0 of the axis stands at the largest of the origins (dashboard/timeline/export.py, zero_ns).
  function seconds() {
    const zero = Math.max(...sides.all().map((side) => sides.origin(side).at));
    const view = shown.view();
    return { timeStart: Math.max(view.from + zero, 0) / 1e9, timeEnd: Math.max(view.to + zero, 1) / 1e9 };
  }

  async function handOver() {
    const opened = window.open(UI, "_blank");  // in the click itself: later, a browser would block it
    if (!opened) { tell("The browser did not let a new window be opened."); return; }
    const range = seconds(), address = wire.address("perfetto.json.gz", sides.words());
    tell("handing the recording to Perfetto …");
    try {
      const [buffer] = await Promise.all([fetched(address), answers(opened)]);
      const title = `Graphbound: ${sides.all().map((side) => side.name).join(", ")}`;
      opened.postMessage({ perfetto: { buffer, title, fileName: `${FILE}.json.gz`, localOnly: true, keepApiOpen: true } }, UI, [buffer]);
      // It waits by itself for a recording that is still being read, some seconds long.
      opened.postMessage({ perfetto: { ...range, viewPercentage: 1 } }, UI);
      tell("Perfetto has the recording, and was asked for the same window.");
    } catch (error) {
      tell(`Perfetto could not be given the recording: ${error.message}. Download the file, and open it there.`);
    }
  }

  async function fetched(address) {
    const answer = await fetch(address, { credentials: "same-origin" });
    if (!answer.ok) throw new Error("the server answered " + answer.status);
    return answer.arrayBuffer();
  }

  function build(make, button) {
    parts.perfetto = button("open in Perfetto", `hand the recording to ${UI}, at this window`, handOver);
    parts.perfetto.disabled = true;
    parts.saved = make("span", { class: "gb-quiet", role: "status" });
    const bar = make("div", { class: "gb-bar" }, button("picture (PNG)", "download what the canvas shows", picture),
      button("lane (CSV)", "download the events of the selected event's lane in this window", table),
      button("recording (Perfetto)", "download all sides, with verdicts and gaps as tracks, for Perfetto", file),
      parts.perfetto, parts.saved);
    const box = make("details", { class: "gb-saving" }, make("summary", { text: "Take it along: picture, table, Perfetto" }), bar);
    box.addEventListener("toggle", () => { if (box.open) ask(); });
    return box;
  }

  return { build };
})();
