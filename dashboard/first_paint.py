"""The page's frame: our own scripts first, and Dash's where `assets/gb_timeline_8_dash.js` lets them in.

Dash puts the scripts of its components, over 2 MB, before those of the assets folder: a timeline would wait for them.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import dash

STAMP_META: Final = "graphbound-read"
"""Where the page says which version of a run it was made of (`assets/gb_0_gone.js`)."""
OUR_SCRIPTS: Final = r".*\.js$"
"""What Dash is told to leave out of its own list; it serves them all the same."""
LATER_ID: Final = "gb-later"

_FRAME: Final = """<!DOCTYPE html>
<html lang="en">
<head>
{{%metas%}}
<title>{{%title%}}</title>
{{%favicon%}}
{{%css%}}
</head>
<body>
{{%app_entry%}}
<footer>
{{%config%}}
<template id="{later}">
{{%scripts%}}
{{%renderer%}}
</template>
{ours}
</footer>
</body>
</html>
"""


def frame(app: dash.Dash, assets: Path) -> str:
    """What Dash fills as the page. The scripts run in the order of their names; a changed one has another address."""
    ours = [
        f'<script src="{escape(app.get_asset_url(path.name))}?m={path.stat().st_mtime_ns}"></script>'
        for path in sorted(assets.glob("*.js"))
    ]
    return _FRAME.format(later=LATER_ID, ours="\n".join(ours))


def metas(stamp: str | None) -> list[dict[str, str]]:
    """What Dash is told to put into the head; None where the page stands for no version of anything."""
    found = [{"name": "viewport", "content": "width=device-width, initial-scale=1"}]
    return found if stamp is None else [*found, {"name": STAMP_META, "content": stamp}]
