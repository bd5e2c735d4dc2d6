// Says so where the run has gone from its folder, or the server has ended: the page would look alive and answer nothing.
"use strict";

(function () {
  const OURS = /\/_dash-update-component|\/_timeline\//;
  const GONE = "This run is no longer in its folder: open another one.";
  const ENDED = "The server does not answer: start `analyze dashboard` again, and reload this page.";
  const ask = window.fetch;

  function tell(text) {
    let place = document.getElementById("gb-gone");
    if (!place) {
      place = document.createElement("p");
      place.id = "gb-gone";
      place.className = "gb-loud gb-gone";
      place.setAttribute("role", "alert");
      document.body.prepend(place);
    }
    if (place.textContent !== text) place.textContent = text;
  }

  window.fetch = async function (what, ...rest) {
    const address = String(what && what.url ? what.url : what);
    const isOurs = OURS.test(address);
    try {
      const answer = await ask.call(this, what, ...rest);
      if (isOurs && answer.status === 404 && (answer.headers.get("Content-Type") || "").startsWith("text/plain")) tell(GONE);
      return answer;
    } catch (error) {
      if (isOurs && error.name !== "AbortError") tell(ENDED);
      throw error;
    }
  };
})();
