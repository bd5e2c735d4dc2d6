"""Markup: nothing that is put into it becomes an element, an attribute or a second line."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from analyzer.reporting.html_markup import (
    LINE_LIMIT,
    MOST_LINES,
    SENTENCE_LIMIT,
    command,
    folded,
    items,
    lines,
    paragraph,
    shown,
    table,
    tag,
)

HOSTILE = (
    "<script>alert(1)</script>",
    '" onload="alert(1)',
    "' x='",
    "&lt;b&gt;",
    "a\nb\u2028c\x1b[0m",
    "</p><p>",
    "]]>",
)


class _Read(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> _Read:
    reader = _Read()
    reader.feed(html)
    reader.close()
    return reader


@pytest.mark.parametrize("name", HOSTILE)
def test_a_text_and_an_attribute_stay_what_they_are(name: str) -> None:
    found = read(tag("p", shown(name), title=name))
    assert [element for element, _ in found.found] == ["p"]
    assert set(found.found[0][1]) == {"title"}
    visible = name.replace("\n", " ").replace("\u2028", " ").replace("\x1b", "\\x1b")
    assert found.text == visible
    assert found.found[0][1]["title"] == visible


@pytest.mark.parametrize("name", HOSTILE)
def test_every_block_escapes_what_it_is_given(name: str) -> None:
    html = table((name,), [[shown(name)]]) + items([name]) + paragraph(name) + folded(name, lines(name), id_="x")
    ours = {"div", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "p", "details", "summary"}
    assert {element for element, _ in read(html).found} == ours


def test_attributes_are_spelt_as_html_has_them_and_none_is_left_out() -> None:
    assert tag("p", class_="a", aria_label="b", width=0.12345, height=3, id=None) == (
        '<p class="a" aria-label="b" width="0.123" height="3"></p>'
    )
    assert tag("input", type="radio", checked="") == '<input type="radio" checked="">'
    assert tag("meta", name="viewport") == '<meta name="viewport">'


def test_lines_keep_their_spaces_and_are_cut_and_counted() -> None:
    assert lines("a:\n    b  c\n\tx") == "a:\n    b  c\n    x"
    many = lines("x\n" * 500)
    assert many.count("\n") == MOST_LINES
    assert many.endswith(f"({500 - MOST_LINES} more lines)")
    assert len(lines("y" * 1_000)) == LINE_LIMIT


def test_a_command_keeps_its_spaces_and_a_sentence_is_cut() -> None:
    assert command("analyze show 'a  b' <x>") == "analyze show &#x27;a  b&#x27; &lt;x&gt;"
    assert len(shown("y" * 10_000)) == SENTENCE_LIMIT


def test_nothing_is_made_of_nothing() -> None:
    assert items([]) == ""
