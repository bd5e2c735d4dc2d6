// What the address of the page says: which page, which window, what is selected. A link reopens the same view.
"use strict";
window.graphbound = window.graphbound || {};

graphbound.state = (function () {
  let fields = read();
  let timer = null;
  const listeners = [];

  function read() {
    return new URLSearchParams(location.hash.replace(/^#/, ""));
  }

  function write() {
    timer = null;
    history.replaceState(null, "", location.pathname + location.search + "#" + fields.toString());
  }

  window.addEventListener("hashchange", function () {
    fields = read();
    listeners.forEach((listener) => listener());
  });

  return {
    get: (name) => fields.get(name),
    // null takes a field away. Written with a delay: browsers refuse more than some hundred changes in half a minute.
    set: function (changes) {
      for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === "") fields.delete(name);
        else fields.set(name, value);
      }
      if (timer === null) timer = setTimeout(write, 250);
    },
    onChange: (listener) => listeners.push(listener),
  };
})();
