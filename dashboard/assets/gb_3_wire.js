// Asks the server. The layout of the bytes is described in dashboard/timeline/wire.py.
"use strict";

graphbound.wire = (function () {
  const PREFIX = "_timeline/"; // of the page's own address: a run of several has one of its own
  const MAGIC = 0x31544247;
  const PARTS = 16;

  function decode(buffer) {
    const head = new Uint32Array(buffer, 0, 4);
    if (head[0] !== MAGIC) throw new Error("the server's answer is no window");
    const lanes = head[1], marks = head[2], bins = head[3];
    let at = 16;
    const take = (Type, length) => {
      const found = new Type(buffer, at, length);
      at += found.byteLength;
      return found;
    };
    const sums = take(Float64Array, lanes), numbers = take(Uint32Array, lanes);
    const events = take(Uint32Array, lanes), counts = take(Uint32Array, lanes);
    const frame = {
      marks, scale: 1 / (PARTS * bins),
      event: take(Uint32Array, marks), left: take(Uint16Array, marks), right: take(Uint16Array, marks),
      shade: take(Uint8Array, marks), cover: take(Uint8Array, marks), hit: take(Uint8Array, marks),
      lanes: new Map(), names: new Map(), bytes: buffer.byteLength,
    };
    const length = new DataView(buffer).getUint32(at, true);
    const texts = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, at + 4, length)));
    texts.of.forEach(([mark, name]) => frame.names.set(mark, texts.names[name]));
    let first = 0;
    for (let i = 0; i < lanes; i += 1) {
      frame.lanes.set(numbers[i], { first, count: counts[i], events: events[i], sum: sums[i] });
      first += counts[i];
    }
    return frame;
  }

  function address(name, words) {
    return PREFIX + name + "?" + new URLSearchParams(words).toString();
  }

  async function json(name, words) {
    const answer = await fetch(address(name, words), { credentials: "same-origin" });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.error || "the server answered " + answer.status);
    return told;
  }

  async function marks(words) {
    const answer = await fetch(address("marks", words), { credentials: "same-origin" });
    if (!answer.ok) throw new Error("the server answered " + answer.status);
    return decode(await answer.arrayBuffer());
  }

  // Asked for before Dash has drawn the page, which takes longer than the answer.
  const facts = json("facts", {});
  facts.catch(() => {});

  return { address, json, marks, facts };
})();
