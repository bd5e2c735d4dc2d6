"""The page that stands while a run is being read: shown at once, and replaced by the run's own when that is ready."""

from __future__ import annotations

from html import escape
from typing import Final

from analyzer.reporting.plain_text import plain

READY: Final = "_ready"
"""Beside the run's page: answers when the page can be shown."""

FAILED: Final = "the server failed over it, and its terminal says how. The other runs are served all the same."
ENDED: Final = "The server does not answer: start `analyze dashboard` again, and reload this page."

_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Graphbound: {name}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 12px clamp(8px, 2vw, 28px); font: 15px/1.45 system-ui, sans-serif; overflow-wrap: anywhere;
  background: light-dark(#ffffff, #15181c); color: light-dark(#1a1a1a, #ececec); }}
h1 {{ font-size: 20px; }}
</style>
</head>
<body>
<main>
<h1>Graphbound</h1>
<p role="status" id="said">Reading {name}. A large trace takes half a minute.</p>
<noscript><p>This page needs JavaScript; report.html in the run folder does not.</p></noscript>
</main>
<script>
const tell = (text) => {{ document.getElementById("said").textContent = text; }};
fetch("{ready}", {{ cache: "no-store" }}).then(async function (answer) {{
  if (answer.ok) {{ location.reload(); return; }}
  const isOurs = (answer.headers.get("Content-Type") || "").startsWith("text/plain");
  tell("It could not be read: " + (isOurs ? (await answer.text()).slice(0, 500) : "{failed}"));
}}).catch(() => tell("{ended}"));
</script>
</body>
</html>
"""


def waiting_page(name: str) -> str:
    """What is shown of the run of this name before it has been read."""
    return _PAGE.format(name=escape(plain(name, 80)), ready=READY, failed=FAILED, ended=ENDED)
