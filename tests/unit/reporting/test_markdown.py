"""A comment answers in its first line, and is never longer than its host takes."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from analyzer.core.gate import GateStatus, ModelGate
from analyzer.core.trial import Change
from analyzer.reporting import markdown
from analyzer.reporting.markdown_text import cell, code, command, text
from analyzer.reporting.renderer import Page
from analyzer.reporting.repository import NO_REPOSITORY, Repository
from tests.gate_results import a_check, a_gate, a_hostile_gate, a_model_gate, a_quiet_gate
from tests.reports import MS, a_comparison, a_finding, a_plan_trial, a_report, an_empty_report, at

PAGE = Page(repository=Repository(("/home/ada",), "/home/ada"))


def _first(report_text: str) -> str:
    return report_text.splitlines()[0]


def test_the_first_line_is_the_answer() -> None:
    assert _first(markdown.render(a_report(), PAGE)) == "### 2.8× faster with the attached plan"
    first = _first(markdown.render_gate(a_gate(), PAGE))
    assert first == "### 1 new graph break: +1.0 ms a step, gptlite.py:57"


@pytest.mark.parametrize(
    "report",
    [
        a_report(comparison=a_comparison(Change.SAME)),
        a_report(comparison=a_comparison(Change.WRONG_RESULT)),
        a_report(comparison=None),
        a_report(plans=(a_plan_trial("eager", 3.0, is_chosen=True),)),
        a_report(partial="interrupted"),
    ],
    ids=["same", "wrong", "not compared", "left alone", "partial"],
)
def test_no_gain_is_claimed_where_none_is_sure(report: object) -> None:
    assert "faster" not in _first(markdown.render(report, PAGE))  # type: ignore[arg-type]


def test_a_partial_report_says_so() -> None:
    assert "**Partial report:** interrupted by Ctrl-C" in markdown.render(an_empty_report(), PAGE)


def test_a_remedy_is_a_suggestion_at_its_line_with_its_certainty() -> None:
    page = markdown.render(a_report(), PAGE)
    assert "- `gptlite.py:57` `graph_break`: **0.80 ms a step**, likely<br>" in page
    assert "  *Suggestion:* keep it a tensor" in page


def test_the_command_is_that_of_the_root_of_the_repository() -> None:
    page = markdown.render(a_report(), PAGE)
    assert "```sh\nanalyze gptlite.py\n```" in page
    training = replace(a_report(), workload=replace(a_report().workload, source="-x y.py", mode="training"))
    assert markdown.again(training, NO_REPOSITORY) == "analyze './-x y.py' --mode training"
    assert "```sh\nanalyze check gptlite.py --against main\n```" in markdown.render_gate(a_gate(), PAGE)


def test_the_marker_is_there_once_and_hidden() -> None:
    page = markdown.render(a_report(), PAGE)
    assert page.count(markdown.MARKER) == 1
    assert page.endswith(f"\n\n{markdown.MARKER}\n")
    assert markdown.render_gate(a_hostile_gate("```\n~~~"), PAGE).endswith(f"\n\n{markdown.MARKER}\n")


def test_the_table_has_every_model_those_that_failed_first() -> None:
    lost = ModelGate("lost", None, (), error="it raised")
    good = a_model_gate("good", checks=(a_check(status=GateStatus.PASSED),))
    page = markdown.render_gate(a_gate(good, lost, a_model_gate("bad")), PAGE)
    rows = [line for line in page.splitlines() if line.startswith("| <code>")][:3]
    assert [row.split(" | ")[-1] for row in rows] == ["**did not run** |", "**1 failed** |", "passed |"]
    assert page.index("<code>lost</code> |") < page.index("<code>bad</code> |") < page.index("<code>good</code> |")
    assert "it raised" in page


def test_a_change_that_did_nothing_has_no_remark_but_what_was_there_is_folded() -> None:
    page = markdown.render_gate(a_quiet_gate(), PAGE)
    assert "\n- " not in page.partition("<details>")[0]
    assert "<summary>Findings that no gate is about: 1</summary>" in page


def test_a_fold_of_one_thing_is_told_as_one() -> None:
    page = markdown.render_gate(a_gate(a_model_gate("one", checks=(a_check(status=GateStatus.PASSED),))), PAGE)
    assert "<code>one</code>: 1 gate</summary>" in page
    assert "1 gates" not in page


def test_the_new_baseline_is_there_to_accept() -> None:
    page = markdown.render_gate(a_gate(accept="[gptlite]\nname = '~~~~'\n~~~\n", accept_file="graphbound.toml"), PAGE)
    assert "Put this into `graphbound.toml`:\n\n~~~~\n[gptlite]\n" in page


@pytest.mark.parametrize(
    ("most_bytes", "letter"), [(65_536, "x"), (65_536, "@"), (65_536, "🚀"), (1_048_576, "|"), (1_048_576, "@")]
)
def test_a_page_stays_within_its_host_and_keeps_the_worst(most_bytes: int, letter: str) -> None:
    long = letter * 3_000
    findings = tuple(
        a_finding(
            f"rule{i}", where=at(f"/home/ada/{letter * 90}.py:{i}"), message=long, remedy=long, ns_per_step=MS * i
        )
        for i in range(1, 700)
    )
    report = a_report(headline=long, findings=findings, honesty=(long,) * 50, next_command=long, partial=None)
    page = markdown.render(report, replace(PAGE, most_bytes=most_bytes))
    assert most_bytes - 20_000 < len(page.encode()) <= most_bytes, "one more item would not have fitted"
    assert "rule699" in page
    assert "Left out, for want of room: " in page
    assert "of these remarks" in page
    few = replace(report, findings=findings[:60])
    gates = tuple(a_model_gate(f"{letter * 90}{i}", report=few) for i in range(40))
    page = markdown.render_gate(a_gate(*gates, headline=long), replace(PAGE, most_bytes=most_bytes))
    assert len(page.encode()) <= most_bytes
    assert "and 10 more models" in page


def test_a_long_word_is_read_in_no_time() -> None:
    began = time.process_time()
    text("x" * 100_000, limit=100_000)
    text("a." * 50_000, limit=100_000)
    assert time.process_time() - began < 2


def test_words_become_no_markup() -> None:
    assert text("a_b *c* `d` <e> & $f$") == r"a\_b \*c\* \`d\` &lt;e&gt; &amp; &#36;f&#36;"
    assert text("@ada #1 GH-1 &#36;") == "@&#8203;ada #&#8203;1 GH-&#8203;1 &amp;#&#8203;36;"
    assert text("see https://a.example/x_y") == r"see <code>https\://a.example/x\_y</code>"
    assert text("1. a") == r"1\. a"
    assert text("1.5 ms: fine") == "1.5 ms: fine"
    assert text("- a") == r"\- a"


def test_code_holds_any_ticks_and_a_cell_any_bar() -> None:
    assert code("a`b``c") == "``` a`b``c ```"
    assert code(" ") == "`(no name)`"
    assert cell("a|b") == r"<code>a\|b</code>"
    assert command("a ``` b") == "````sh\na ``` b\n````"


def test_a_pass_on_time_says_in_its_row_what_it_could_have_seen() -> None:
    passed = a_check("step_time", GateStatus.PASSED, message="no slower", seen=0.113)
    noisy = a_check("step_time", GateStatus.NOT_COMPARED, message="x", reason="too noisy to tell", seen=0.4)
    page = markdown.render_gate(a_gate(a_model_gate(checks=(passed,))), Page())
    assert "a slow-down of 12 % or more would most likely have been found" in page
    assert "too noisy to tell |" in markdown.render_gate(a_gate(a_model_gate(checks=(noisy,))), Page())
