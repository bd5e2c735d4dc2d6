"""Markup that cannot be broken by what is put into it: text and attributes are escaped here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NewType

from analyzer.reporting.plain_text import COMMAND_LIMIT, ELLIPSIS, plain, plain_command

Html = NewType("Html", str)
"""What is markup already. A name of the user's program becomes one through `shown` alone."""

SENTENCE_LIMIT: Final = 600
"""Characters of a sentence of ours or of torch's: torch's longest hints are paragraphs."""

NOTHING: Final = Html("")
SPACE: Final = Html(" ")
"""Between two elements of a line: `shown` drops what a text begins and ends with."""
MOST_LINES: Final = 80
LINE_LIMIT: Final = 300
_CODE: Final = re.compile("`([^`\n]+)`")
_VOID: Final = frozenset({"meta", "input", "br"})


def tag(name: str, /, *inner: Html, **attributes: str | float | None) -> Html:
    """An element. Of an attribute's name a `_` at the end is dropped and others become `-`; None leaves it out."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{said}>")
    return Html(f"<{name}{said}>{''.join(inner)}</{name}>")


def shown(text: str, limit: int = SENTENCE_LIMIT) -> Html:
    """A text on one line, of at most `limit` characters."""
    return Html(escape(plain(text, limit)))


def prose(text: str, limit: int = SENTENCE_LIMIT) -> Html:
    """The same with what stands between backticks set as code."""
    return Html(_CODE.sub(r"<code>\1</code>", shown(text, limit)))


def command(text: str) -> Html:
    """What is to be copied: never cut short, its spaces as they are."""
    return Html(escape(plain_command(text, COMMAND_LIMIT)))


def lines(text: str, most: int = MOST_LINES) -> Html:
    """Text for a `<pre>`: its lines with their indentation, at most `most` of them."""
    found = text.expandtabs(4).splitlines()
    more = [f"{ELLIPSIS} ({len(found) - most} more lines)"] if len(found) > most else []
    return joined((_line(line) for line in [*found[:most], *more]), "\n")


def joined(parts: Iterable[Html], between: str = "") -> Html:
    return Html(escape(between).join(parts))


def paragraph(text: str, class_: str | None = None) -> Html:
    return tag("p", prose(text), class_=class_)


def items(sentences: Iterable[str]) -> Html:
    """A list of sentences; nothing for none."""
    found = [tag("li", prose(sentence)) for sentence in sentences]
    return tag("ul", *found) if found else NOTHING


def folded(title: str, *inner: Html, id_: str | None = None, class_: str | None = None) -> Html:
    return tag("details", tag("summary", shown(title)), *inner, id=id_, class_=class_)


def table(titles: Sequence[str], rows: Iterable[Sequence[Html]], numbers: Iterable[int] = ()) -> Html:
    """A table that scrolls by itself where it is too wide. `numbers` are the columns that are set to the right."""
    right = frozenset(numbers)
    head = tag("tr", *(tag("th", shown(t), scope="col", class_=_side(i, right)) for i, t in enumerate(titles)))
    body = [tag("tr", *(tag("td", cell, class_=_side(i, right)) for i, cell in enumerate(row))) for row in rows]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="wide")


def sentence_table(titles: Sequence[str], rows: Iterable[Sequence[Html]]) -> Html:
    """A table of sentences, whose rows are lines below one another where it is narrow. A browser takes such a one for
    no table any more: the roles say that it is.
    """
    head = tag("tr", *(tag("th", shown(t), role="columnheader") for t in titles), role="row")
    body = [tag("tr", *(tag("td", cell, role="cell") for cell in row), role="row") for row in rows]
    parts = tag("thead", head, role="rowgroup"), tag("tbody", *body, role="rowgroup")
    return tag("div", tag("table", *parts, role="table"), class_="wide sentences")


def _line(line: str) -> Html:
    return Html(escape(plain_command(line, LINE_LIMIT)))


def _side(column: int, right: frozenset[int]) -> str | None:
    return "number" if column in right else None


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return plain(value, SENTENCE_LIMIT)
    # Three decimals are a thousandth of a pixel or of a per cent.
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
