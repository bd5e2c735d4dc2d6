"""The comment that takes a finding out."""

from __future__ import annotations

import pytest

from analyzer.core.graphs import SourceLine
from analyzer.gate.silence import read_silences

RULES = ("graph_break", "host_sync")


def rules_at(source: str, line: int) -> list[str]:
    found = read_silences("m.py", source, RULES)
    return [rule for rule in RULES if found.holds(rule, SourceLine("m.py", line, "forward"))]


@pytest.mark.parametrize(
    "comment",
    [
        "# graphbound: ignore[graph_break]",
        "#graphbound:ignore[ graph_break ]",
        "# noqa: E501  # graphbound: ignore[graph_break] until the next release",
    ],
)
def test_it_names_its_rule_in_any_of_the_usual_forms(comment: str) -> None:
    assert rules_at(f"a = 1\nx.item()  {comment}\n", 2) == ["graph_break"]
    assert rules_at(f"a = 1\nx.item()  {comment}\n", 1) == []


def test_it_may_name_several() -> None:
    assert rules_at("x.item()  # graphbound: ignore[graph_break, host_sync]\n", 1) == list(RULES)


@pytest.mark.parametrize(
    "source",
    [
        'text = "# graphbound: ignore[graph_break]"\n',
        '"""\n# graphbound: ignore[graph_break]\n"""\n',
        "# graphbound: ignored[graph_break]\n",
        "x.item()  # not `# graphbound: ignore[graph_break]`\n",
        "# write # graphbound: ignore[graph_break] at the end of a line\n",
        "# y = x.item()  # graphbound: ignore[graph_break]\n",
        "# not graphbound at all\n",
    ],
)
def test_what_only_looks_like_it_silences_nothing(source: str) -> None:
    found = read_silences("m.py", source, RULES)
    assert (found.found, found.notes) == ((), ()), "and nothing is said of it"


STATEMENT = """\
y = call(  # graphbound: ignore[graph_break]
    first,
    x.item(),
)
z = call(
    x.item(),  # graphbound: ignore[graph_break]
    second,
)
w = call(
    x.item(),
)  # graphbound: ignore[graph_break]
for n in range(
    x.item()
):  # graphbound: ignore[graph_break]
    x.item()
a = 1; x.item()  # graphbound: ignore[graph_break]
"""


def test_at_the_begin_or_the_end_of_a_statement_it_is_for_all_of_its_lines() -> None:
    silenced = [line for line in range(1, 17) if rules_at(STATEMENT, line)]
    assert silenced == [1, 2, 3, 4, 6, 9, 10, 11, 12, 13, 14, 16], "within it for its own line, and never for a block"
    assert rules_at(STATEMENT.replace("\n", "\r\n"), 10) == ["graph_break"], "as Windows ends its lines"


@pytest.mark.parametrize("indent", ["", "    "])
def test_on_a_line_of_its_own_it_silences_nothing_and_is_told(indent: str) -> None:
    source = f"if x:\n    y()\n{indent}# graphbound: ignore[graph_break]\n    x.item()\n"
    found = read_silences("m.py", source, RULES)
    assert found.found == ()
    (note,) = found.notes
    assert note.startswith(
        "m.py:3: `graphbound: ignore` stands on a line of its own, and silences none: put it at the end"
    )
    inside = read_silences("m.py", "f(\n  # graphbound: ignore[graph_break]\n  x.item())\n", RULES)
    assert (inside.found, len(inside.notes)) == ((), 1)


def test_two_on_one_line_both_count() -> None:
    twice = "x.item()  # graphbound: ignore[graph_break] # graphbound: ignore[host_sync]\n"
    found = read_silences("m.py", twice, RULES)
    assert all(found.holds(rule, SourceLine("m.py", 1)) for rule in ("graph_break", "host_sync"))
    assert found.notes == ()


def test_one_without_a_rule_silences_nothing_and_is_told() -> None:
    found = read_silences("m.py", "x.item()  # graphbound: ignore\n", RULES)
    assert not any(found.holds(rule, SourceLine("m.py", 1)) for rule in RULES)
    assert found.notes == ("m.py:1: `graphbound: ignore` names no rule, and silences none: write ignore[RULE]",)


def test_an_unknown_rule_is_told_with_the_nearest() -> None:
    found = read_silences("m.py", "x.item()  # graphbound: ignore[graph_brake]\n", RULES)
    assert "did you mean graph_break?" in found.notes[0]


def test_another_file_is_not_silenced() -> None:
    found = read_silences("m.py", "x.item()  # graphbound: ignore[graph_break]\n", RULES)
    assert not found.holds("graph_break", SourceLine("n.py", 1))
    assert not found.holds("graph_break", None)


def test_a_file_that_is_no_python_keeps_what_came_before() -> None:
    assert rules_at("x.item()  # graphbound: ignore[graph_break]\nif (\n", 1) == ["graph_break"]
