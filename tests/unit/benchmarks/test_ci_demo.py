"""The player of workflows reads them as GitHub does, and the scene changes what it says it changes."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from analyzer.rules import RULES
from benchmarks.ci_demo.commands import Annotation, annotations, file_values
from benchmarks.ci_demo.expressions import Contexts, ExpressionError, filled, is_on, value_of
from benchmarks.ci_demo.runner import Machine, play
from benchmarks.ci_demo.scene import BASE, CHANGES

VALUES = {
    "inputs": {"name": "h200", "upload": "true", "with-dash": "x"},
    "github": {"event": {"pull_request": {"base": {"sha": "abc"}}}},
    "steps": {"check": {"outputs": {"sarif": ""}}},
}


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("inputs.name", "h200"),
        ("inputs.with-dash", "x"),
        ("github.event.pull_request.base.sha", "abc"),
        ("github.event.push.head.sha", None),
        ("inputs.name == 'H200'", True),
        ("inputs.name != ''", True),
        ("inputs.gone == ''", True),
        ("'it''s'", "it's"),
        ("inputs.upload == 'true' && steps.check.outputs.sarif != ''", False),
        ("!(inputs.upload == 'false') || false", True),
        ("inputs.gone || 'else'", "else"),
        ("always()", True),
        ("toJSON(matrix)", "null"),
        ("toJSON(inputs.name)", '"h200"'),
        ("failure()", False),
        ("true", True),
        ("3 == 3.0", True),
    ],
)
def test_an_expression_has_the_value_that_github_gives_it(expression: str, wanted: Any) -> None:
    assert value_of(expression, Contexts(VALUES)) == wanted


@pytest.mark.parametrize(
    "expression", ["secrets.x", "hashFiles('a')", "inputs.a ==", "a b", "inputs.name # x", "(true"]
)
def test_what_is_not_known_raises(expression: str) -> None:
    with pytest.raises(ExpressionError):
        value_of(expression, Contexts(VALUES))


def test_text_is_filled_in() -> None:
    assert filled("a ${{ inputs.name }}-${{ github.event.gone }}b ${{ true }}", Contexts(VALUES)) == "a h200-b true"


def test_a_step_runs_after_a_failure_only_where_it_asks() -> None:
    failed = Contexts(VALUES, has_failed=True)
    assert not is_on(None, failed)
    assert not is_on("inputs.name == 'h200'", failed)
    assert is_on("${{ always() && inputs.name == 'h200' }}", failed)
    assert is_on("failure()", failed)
    assert not is_on("${{ success() }}", failed)


def test_annotations_are_read_and_those_beyond_ten_are_lost() -> None:
    log = "\n".join(
        (
            "text ::error::not at the start",
            "::stop-commands::word",
            "::error::inside",
            "::word::",
            "::error file=a%2Cb.py,line=3,title=x%3A y::one%0Atwo%25",
            *(f"::warning::{number}" for number in range(12)),
            "::notice title=Graphbound::no comment: none",
        )
    )
    found = annotations(log)
    assert found[0] == Annotation("error", "x: y", "one\ntwo%", "a,b.py", 3)
    assert [each.message for each in found if each.level == "warning"] == [str(number) for number in range(10)]
    assert found[-1] == Annotation("notice", "Graphbound", "no comment: none", None, None)


def test_values_are_read_from_a_runners_file(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text("a=1\nb<<END\nx=y\nEN\nEND\nc=d<<e\n")
    assert file_values(file) == {"a": "1", "b": "x=y\nEN", "c": "d<<e"}
    file.write_text("nothing\n")
    with pytest.raises(ValueError, match="no value"):
        file_values(file)


def test_a_job_is_played_with_its_files_its_conditions_and_its_action(tmp_path: Path) -> None:
    action = tmp_path / "action"
    action.mkdir()
    (action / "action.yml").write_text(
        """
inputs: {word: {default: "${{ github.sha }}"}}
outputs: {said: {value: "${{ steps.one.outputs.said }}"}}
runs:
  using: composite
  steps:
    - id: one
      shell: bash
      env: {W: "${{ inputs.word }}"}
      run: echo "said=$W at $(basename "$GITHUB_ACTION_PATH")" >>"$GITHUB_OUTPUT"
    - {shell: bash, run: 'echo "### sum" >>"$GITHUB_STEP_SUMMARY"; echo "X=1" >>"$GITHUB_ENV"'}
"""
    )
    steps = [
        {"uses": "me/mine@v1", "id": "mine"},
        {"uses": "me/mine@v1", "id": "given", "with": {"word": "given"}},
        {"run": 'echo "::warning::${{ steps.mine.outputs.said }} $X"; exit 3'},
        {"run": "echo '::error::never'"},
        {"run": "echo '::error::${{ steps.given.outputs.said }}'", "if": "failure()"},
    ]
    environment = {"PATH": "/usr/bin:/bin", "GITHUB_REF": "r", "GITHUB_SHA": "s1", "GITHUB_REPOSITORY": "a/b"}
    machine = Machine(tmp_path, tmp_path, {**environment, "RUNNER_TOKEN": "t"}, {}, {"me/mine": action}, {})
    job = play({"name": "W", "jobs": {"j": {"steps": steps}}}, machine)
    assert job.has_failed
    assert [(each.level, each.message) for each in job.annotations] == [
        ("warning", "s1 at action 1"),
        ("error", "given at action"),
    ]
    assert job.summary == "### sum\n### sum\n"


def test_a_step_that_may_fail_keeps_none_after_it_from_running(tmp_path: Path) -> None:
    steps = [{"run": "exit 3", "continue-on-error": True}, {"run": "echo '::notice::after'"}]
    environment = {"PATH": "/usr/bin:/bin", "GITHUB_REF": "r", "GITHUB_SHA": "s", "GITHUB_REPOSITORY": "a/b"}
    machine = Machine(tmp_path, tmp_path, {**environment, "RUNNER_TOKEN": "t"}, {}, {}, {})
    job = play({"name": "W", "jobs": {"j": {"steps": steps}}}, machine)
    assert not job.has_failed
    assert [each.message for each in job.annotations] == ["after"]


@pytest.mark.parametrize("step", [{"runs": "x"}, {"uses": "me/mine@v1", "with": {"wrod": "x"}}])
def test_a_step_that_is_written_wrong_raises(tmp_path: Path, step: dict[str, Any]) -> None:
    (tmp_path / "action.yml").write_text("{inputs: {word: {}}, runs: {using: composite, steps: []}}")
    environment = {"GITHUB_REF": "r", "GITHUB_SHA": "s", "GITHUB_REPOSITORY": "a/b", "RUNNER_TOKEN": "t"}
    machine = Machine(tmp_path, tmp_path, environment, {}, {"me/mine": tmp_path}, {})
    with pytest.raises(ValueError, match=r"runs|wrod"):
        play({"name": "W", "jobs": {"j": {"steps": [step]}}}, machine)


def test_each_change_is_python_names_a_rule_and_marks_a_line_that_the_base_has_not() -> None:
    rules = {rule.id for rule in RULES}
    for change in CHANGES:
        ast.parse(change.text())
        assert change.text() != BASE[change.file]
        assert (change.marked is None) is (change.rule is None)
        if change.marked is not None:
            assert change.rule in rules
            line = change.line()
            assert line is not None
            assert change.text().splitlines()[line - 1] == change.marked
            assert change.marked not in BASE[change.file].splitlines()
    assert sum(change.marked is None for change in CHANGES) == 1
