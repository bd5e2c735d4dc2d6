"""`analyze explain` explains every word of a report and every rule, and says what there is for an unknown name."""

from __future__ import annotations

import pytest

from analyzer.cli import main
from analyzer.gate.explanations import EXPLANATIONS
from analyzer.gate.gates import GATES
from analyzer.reporting.words import WORDS
from analyzer.rules import RULES

SECTIONS = ("What it finds", "Why it costs", "How it is measured", "What to do", "When it is wrong")


def test_without_a_name_everything_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    listed = capsys.readouterr().out
    assert all(
        f"  {name}  " in listed.replace("   ", "  ") for name in (*(w.id for w in WORDS), *(r.id for r in RULES))
    )


@pytest.mark.parametrize(
    "name", [["graph_break"], ["Graph-Break"], ["cpu"], ["unknown", "kernels"], ["Python between"]]
)
def test_a_name_is_explained_with_all_its_sections(name: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *name]) == 0
    text = capsys.readouterr().out
    for section in SECTIONS:
        assert section in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(("wrong", "meant"), [("graph_brake", "graph_break"), ("latancy", "latency")])
def test_a_near_miss_is_a_usage_error_that_names_the_nearest(
    wrong: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", wrong]) == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


def test_anything_else_is_answered_with_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "\x1b[31m"]) == 2
    told = capsys.readouterr().err
    assert "\x1b" not in told
    assert all(name in told.replace("\n", " ") for name in ("undecided", "launch_calls", "graph_break"))


@pytest.mark.parametrize("gate", [gate.id for gate in GATES])
def test_a_gate_is_explained_and_listed(gate: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", gate]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{gate}, a gate of `analyze check`:")
    assert "How it is held\n  " in told
    assert "When it is wrong\n  " in told
    assert max(map(len, told.splitlines())) <= 80
    assert main(["explain"]) == 0
    assert f"  {gate} " in capsys.readouterr().out.partition("Gates of `analyze check`")[2]


def test_every_gate_has_an_explanation_and_no_other_has() -> None:
    assert [one.gate for one in EXPLANATIONS] == [gate.id for gate in GATES]
