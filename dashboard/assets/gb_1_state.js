// What the address of the page says: which page, which window, what is selected. A link reopens the same view.
"use strict";
window.graphbound = window.graphbound || {};

graphbound.state = (function () {
  let known = location.hash;  // what was last read or written
  let fields = read();
  let timer = null;
  const listeners = [];

  function read() {
    known = location.hash;
    return new URLSearchParams(location.hash.replace(/^#/, ""));
  }

  function write() {
    timer = null;
    // Somebody has just gone elsewhere, and `hashchange` is still to come: what was true here is not true there.
    if (location.hash !== known) return;
    history.replaceState(null, "", location.pathname + location.search + "#" + fields.toString());
    known = location.hash;
  }

  function flush() {
    if (timer === null) return;
    clearTimeout(timer);
    write();
  }

  window.addEventListener("hashchange", function () {
    fields = read();
    listeners.forEach((listener) => listener());
  });

  return {
    get: (name) => fields.get(name),
    // null takes a field away. Written with a delay: browsers refuse more than some hundred changes in half a minute.
    set: function (changes) {
      const before = fields.toString();
      for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === "") fields.delete(name);
        else fields.set(name, value);
      }
      if (timer === null && fields.toString() !== before) timer = setTimeout(write, 250);
    },
    // The address of another view that keeps what this one says otherwise.
    link: function (changes) {
      const other = new URLSearchParams(fields);
      for (const [name, value] of Object.entries(changes)) other.set(name, value);
      return "#" + other.toString();
    },
    // Writes at once what is to be written, as before the page goes.
    flush,
    onChange: (listener) => listeners.push(listener),
  };
})();
