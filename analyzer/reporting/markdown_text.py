"""Makes text of a user's program harmless in Markdown as GitHub and GitLab read it: neither markup nor HTML, no link,
no mention, no reference to an issue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from analyzer.reporting.plain_text import COMMAND_LIMIT, plain, plain_command

SENTENCE_LIMIT: Final = 1_000
_NAMELESS: Final = "(no name)"

_MARKUP: Final = re.compile(r"([\\`*_\[\]{}|~!]|:(?=//))")
"""What begins markup inside a line; `://` makes a link."""
_AT_START: Final = re.compile(r"^(?:([-+=])|(\d+)([.)])(?=\s|$))")
"""What makes a list, a heading or a rule of a line that it begins."""
_LINK: Final = re.compile(r"(\b(?:[a-z][a-z0-9+.-]{0,20}://|www\.)\S*)", re.IGNORECASE)
"""A scheme has an end: searched without one, a long word takes a time that grows with its square."""
_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"})
"""`$` begins a formula."""
_BROKEN: Final = re.compile(r"(@|(?<!&)#)|\b(GH)-(?=\d)", re.IGNORECASE)
"""Mentions and references are found in the finished page, where a backslash is gone; a character of no width is not.
`&#` is never the user's, whose `&` is `&amp;` by now."""
_NO_WIDTH: Final = "&#8203;"


def text(words: str, limit: int = SENTENCE_LIMIT) -> str:
    """`words` as running text of one line. An address is code: it can be read and copied, and is no link."""
    pieces = _LINK.split(plain(words, limit))
    shown = [f"<code>{_escaped(p)}</code>" if i % 2 else _escaped(p) for i, p in enumerate(pieces)]
    return _AT_START.sub(_not_at_start, "".join(shown))


def code(words: str, limit: int = 200) -> str:
    """`words` as code in a line; not for a table, where a `|` ends the cell in code too."""
    shown = plain(words, limit) or _NAMELESS
    fence = "`" * (_longest_run(shown) + 1)
    space = " " if "`" in shown else ""
    return f"{fence}{space}{shown}{space}{fence}"


def cell(words: str, limit: int = 200) -> str:
    """`words` as code in a cell of a table."""
    return f"<code>{text(words, limit) or _NAMELESS}</code>"


def command(words: str) -> str:
    """A command to copy, as a block."""
    shown = plain_command(words, COMMAND_LIMIT)
    fence = "`" * max(3, _longest_run(shown) + 1)
    return f"{fence}sh\n{shown}\n{fence}"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are Markdown already."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def folded(title: str, body: str, name: str | None = None) -> str:
    """A section that opens when its title is clicked, with the name of the model before it. `title` is ours."""
    of = "" if name is None else f"<code>{escape(plain(name, 60)) or _NAMELESS}</code>: "
    return f"<details><summary>{of}{escape(title)}</summary>\n\n{body}\n\n</details>"


def _escaped(words: str) -> str:
    escaped = _MARKUP.sub(r"\\\1", words.translate(_HTML))
    return _BROKEN.sub(
        lambda found: f"{found[1] or found[2] + '-'}{_NO_WIDTH}", re.sub(r"(?i)(www)\.", r"\1\\.", escaped)
    )


def _longest_run(words: str) -> int:
    return max((len(run) for run in re.findall("`+", words)), default=0)


def _not_at_start(found: re.Match[str]) -> str:
    return f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}"
