"""What the runner of GitHub Actions makes of the annotations."""

from __future__ import annotations

from dataclasses import replace

from analyzer.reporting import github
from analyzer.reporting.renderer import Page
from analyzer.reporting.repository import Repository
from tests.gate_results import a_check, a_gate, a_model_gate, a_quiet_gate
from tests.reports import MS, a_finding, a_report, at

PAGE = Page(repository=Repository(("/home/ada",), "/home/ada"))


def _commands(text: str, level: str = "warning") -> list[str]:
    return [line for line in text.splitlines() if line.startswith(f"::{level} ")]


def test_a_finding_is_a_warning_at_its_line() -> None:
    (command,) = _commands(github.render(a_report(), PAGE))
    assert command.startswith(
        "::warning file=gptlite.py,line=57,title=graph_break%2C 0.80 ms a step::Tensor.item() needs"
    )
    assert "%0ASuggestion: keep it a tensor" in command


def test_the_runner_reads_back_what_was_escaped() -> None:
    path = "a,b:c%2C.py"
    finding = a_finding(where=at(f"/home/ada/{path}:3"), message="100 % of 1:2, %0A")
    (command,) = _commands(github.render(a_report(findings=(finding,)), PAGE))
    properties, _, message = command.removeprefix("::warning ").partition("::")
    given = dict(part.split("=", 1) for part in properties.split(","))
    # ActionCommand.cs undoes `%25` last.
    undone = given["file"].replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
    assert undone == path
    assert message.partition("%0A")[0].replace("%25", "%") == "100 % of 1:2, %0A"


def test_what_lies_outside_of_the_repository_names_its_place_and_no_line() -> None:
    (command,) = _commands(github.render(a_report(findings=(a_finding(where=at("/opt/net.py:7")),)), PAGE))
    assert command.startswith("::warning file=gptlite.py,title=")
    assert "At net.py:7, outside of this repository." in command


def test_ten_are_shown_and_the_eleventh_makes_the_last_one_count_the_rest() -> None:
    findings = tuple(a_finding(f"rule{i:02}", ns_per_step=(99 - i) * MS) for i in range(25))
    shown = _commands(github.render(a_report(findings=findings[:10]), PAGE))
    assert len(shown) == 10
    assert "more" not in shown[-1]
    many = _commands(github.render(a_report(findings=findings), PAGE))
    assert len(many) == 10
    assert [f"title=rule{i:02}" in line for i, line in enumerate(many[:9])] == [True] * 9
    assert "16 more warnings are not shown here" in many[-1]


def test_errors_and_warnings_are_counted_apart() -> None:
    checks = tuple(a_check(f"gate{i}", message="too many") for i in range(12))
    text = github.render_gate(a_gate(a_model_gate(checks=checks, report=None)), PAGE)
    assert len(_commands(text, "error")) == 10
    assert "3 more errors" in text


def test_a_change_that_did_nothing_stays_quiet() -> None:
    assert github.render_gate(a_quiet_gate(), PAGE) == "Graphbound: nothing changed: 1 gate passed\n"


def test_a_pass_that_was_held_against_nothing_is_a_notice() -> None:
    headline = "nothing to compare with yet: there is no baseline of it"
    quiet = replace(a_quiet_gate(), headline=headline, against=None, notes=("100 % new:\n::error::x",))
    assert github.render_gate(quiet, PAGE).splitlines() == [
        f"Graphbound: {headline}",
        f"::notice title=Graphbound::{headline}%0A100 %25 new: ::error::x",
    ]
    assert "::notice" not in github.render_gate(replace(a_gate(), against=None), PAGE), "its errors are enough"


def test_a_headline_is_no_command_of_the_runner() -> None:
    assert github.log_line("::error::a\n##[add-mask]b") == "Graphbound: ::error::a ##…[add-mask]b"


def test_the_model_is_named_where_there_are_several() -> None:
    text = github.render_gate(a_gate(a_model_gate("one"), a_model_gate("two")), PAGE)
    assert [line.count("title=one%2C graph_break") for line in _commands(text, "error")] == [1, 0]
