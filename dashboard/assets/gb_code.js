// Generated code: fetched when its fold is opened, shown as text; a kernel's name leads to it in the timeline.
"use strict";

(function () {
  const KERNEL = /\b(?:triton_(?:poi|red|per|tem|mm|spl|for|unk)_|cpp_fused_)\w+/g;
  const MOST_LINKS = 400;  // an element each: far more make the page slow

  function filled(text) {
    const code = document.createElement("code");
    const hasTimeline = document.querySelector('[data-page-link="timeline"]') !== null;
    let at = 0, links = 0;
    for (const found of hasTimeline ? text.matchAll(KERNEL) : []) {
      if (++links > MOST_LINKS) break;
      const link = document.createElement("a");
      link.textContent = found[0];
      link.href = `#page=timeline&q=${encodeURIComponent(found[0])}`;
      link.title = "find it in the timeline";
      code.append(text.slice(at, found.index), link);
      at = found.index + found[0].length;
    }
    code.append(text.slice(at));
    return code;
  }

  async function load(place) {
    const address = place.dataset.gbCode;
    if (place.dataset.gbShown === address) return;
    place.dataset.gbShown = address;
    place.textContent = "loading";
    let text = "", isCode = false;
    try {
      const answer = await fetch(address);
      text = await answer.text();
      isCode = answer.ok;
    } catch (error) {
      text = "The server does not answer: start `analyze dashboard` again.";
    }
    if (place.dataset.gbCode !== address) return;  // another graph's card stands here now
    const shown = document.createElement(isCode ? "pre" : "p");
    shown.className = isCode ? "gb-code" : "gb-empty";
    if (isCode) shown.tabIndex = 0;
    shown.append(isCode ? filled(text) : text);
    place.replaceChildren(shown);
    if (!isCode) delete place.dataset.gbShown;
  }

  document.addEventListener("toggle", function (event) {
    const fold = event.target, place = fold.open && fold.querySelector ? fold.querySelector("[data-gb-code]") : null;
    if (place) load(place);
  }, true);

  // Another card may be drawn into the elements of this one: what they hold is then not its code.
  new MutationObserver(function (changes) {
    for (const { target } of changes) {
      const fold = target.closest("details");
      target.replaceChildren();
      delete target.dataset.gbShown;
      if (fold) fold.open = false;
    }
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-gb-code"], subtree: true });
})();
