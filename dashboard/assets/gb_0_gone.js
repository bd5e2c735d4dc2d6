// Tells the server which version of a run this page was made of, with all that the page asks of it. Says so where the
// run has gone from its folder, or the server has ended: the page would look alive and answer nothing.
"use strict";
window.graphbound = window.graphbound || {};

graphbound.server = (function () {
  const OURS = /\/_dash-update-component|\/_timeline\/|^_timeline\//;
  const HEADER = "X-Graphbound-Read", WORD = "read";  // dashboard/page_answers.py
  const GONE = "This run is no longer in its folder: open another one.";
  const ENDED = "The server does not answer: start `analyze dashboard` again, and reload this page.";
  const meta = document.querySelector('meta[name="graphbound-read"]');
  const stamp = meta ? meta.content : null;  // null: this page stands for no version of anything
  const ask = window.fetch;

  function place() {
    return document.getElementById("gb-gone");
  }

  function tell(text) {
    let told = place();
    if (!told) {
      told = document.createElement("p");
      told.id = "gb-gone";
      told.className = "gb-loud gb-gone";
      told.setAttribute("role", "alert");
      document.body.prepend(told);
    }
    if (told.textContent !== text) told.textContent = text;
  }

  // The server answers again, as after a break of the line.
  function answers() {
    const told = place();
    if (told && told.textContent === ENDED) told.remove();
  }

  function isPlain(answer) {
    return (answer.headers.get("Content-Type") || "").startsWith("text/plain");
  }

  function signed(what, options) {
    if (stamp === null || typeof what !== "string" || new URL(what, document.baseURI).origin !== location.origin) return options;
    const headers = new Headers(options && options.headers);
    headers.set(HEADER, stamp);
    return { ...options, headers };
  }

  window.fetch = async function (what, options, ...rest) {
    const address = String(what && what.url ? what.url : what);
    const isOurs = OURS.test(address);
    try {
      const answer = await ask.call(this, what, signed(what, options), ...rest);
      if (isOurs && answer.status === 404 && isPlain(answer)) tell(GONE);
      if (isOurs && answer.status === 410) tell((await answer.clone().text()).slice(0, 300));
      return answer;
    } catch (error) {
      if (isOurs && error.name !== "AbortError") tell(ENDED);
      throw error;
    }
  };

  // A download is no fetch: its address says it.
  document.addEventListener("click", function (event) {
    const link = event.target.closest ? event.target.closest("a[download]") : null;
    if (stamp === null || !link || link.origin !== location.origin || !link.protocol.startsWith("http")) return;
    const address = new URL(link.href);
    address.searchParams.set(WORD, stamp);
    link.href = address.href;
  }, true);

  return { stamp, ended: () => tell(ENDED), answers };
})();
