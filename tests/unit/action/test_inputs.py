"""The inputs of action.yml as the command that is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.action.inputs import Inputs, command_words, leg_name, read_inputs
from analyzer.cli import _parser
from analyzer.code_host.comment import marker
from analyzer.commands import check
from analyzer.core.errors import UsageError

FOLDER = Path("/runner/temp/graphbound-1")


def test_nothing_given_is_a_check_of_the_policys_models() -> None:
    words = command_words(read_inputs({}), None, FOLDER)
    assert words[0] == "check"
    arguments = _parser(check.COMMAND).parse_args(words[1:])
    assert arguments.targets == []
    assert arguments.out == str(FOLDER)
    asked = [(each.format, each.file) for each in arguments.format]
    assert asked == [
        ("terminal", None),
        ("sarif", f"{FOLDER}/graphbound.sarif"),
        ("json", f"{FOLDER}/check.json"),
    ]
    assert not arguments.comment


def test_every_input_reaches_the_command() -> None:
    given = {
        "GRAPHBOUND_MODELS": "nets/a.py\n'nets/b c.py'\n",
        "GRAPHBOUND_BUDGET_FILE": "ci/policy.toml",
        "GRAPHBOUND_FORMAT": "terminal,junit:out/j.xml gitlab:q.json",
        "GRAPHBOUND_COMMENT": "true",
        "GRAPHBOUND_NAME": "h200",
        "GRAPHBOUND_ARGUMENTS": "--no-run --mode training --entry 'make it'",
    }
    arguments = _parser(check.COMMAND).parse_args(command_words(read_inputs(given), "abc", FOLDER)[1:])
    assert arguments.targets == ["nets/a.py", "nets/b c.py"]
    assert (arguments.against, arguments.baseline, arguments.budget_file) == ("abc", None, "ci/policy.toml")
    assert (arguments.comment, arguments.comment_name) == (True, "h200")
    assert (arguments.runs, arguments.mode, arguments.entry) == (False, "training", "make it")
    assert {each.format for each in arguments.format} == {"terminal", "junit", "gitlab", "sarif", "json"}


def test_each_leg_of_a_matrix_has_a_name_of_its_own() -> None:
    """As `${{ toJSON(matrix) }}` writes them; a job without a matrix has `null`."""
    legs: list[Any] = [
        {"python": "3.12", "os": "ubuntu-latest"},
        {"python": "3.13", "os": "ubuntu-latest"},
        {"python": 3.12, "os": "ubuntu-latest"},
        {"model": {"file": "a.py"}},
        {"model": {"file": "b.py"}},
        {"words": "x" * 500},
        {"words": "x" * 501},
        {"a": "1 2", "b": "3"},
        {"a": "1", "b": "2 3"},
    ]
    names = [leg_name(json.dumps(leg, indent=2)) for leg in legs]
    assert len(set(names)) == len(legs)
    assert names[0].startswith("ubuntu-latest 3.12 ")
    assert all(0 < len(name) < 80 for name in names)
    assert names[0] == leg_name(json.dumps(dict(reversed(legs[0].items())))), "whatever the order of its keys"
    assert [leg_name(text) for text in ("null", "", "{}")] == ["", "", ""]
    assert leg_name("no json") != leg_name("other")
    assert read_inputs({"GRAPHBOUND_MATRIX": '{"a": 1}', "GRAPHBOUND_NAME": "mine"}).name == "mine"
    marks = {marker(name, {"GITHUB_WORKFLOW": "W", "GITHUB_JOB": "j"}) for name in names}
    assert len(marks) == len(legs), "a comment each"


def test_what_a_shell_would_run_is_a_word() -> None:
    inputs = read_inputs({"GRAPHBOUND_MODELS": "'$(touch pwned).py' `x`.py", "GRAPHBOUND_AGAINST": "; rm -rf ."})
    assert inputs.models == ("$(touch pwned).py", "`x`.py")
    assert "--against=; rm -rf ." in command_words(inputs, inputs.against, FOLDER)


@pytest.mark.parametrize("given", [{"GRAPHBOUND_MODELS": "'a.py"}, {"GRAPHBOUND_COMMENT": "maybe"}])
def test_what_cannot_be_read_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="the input"):
        read_inputs(given)


@pytest.mark.parametrize(("word", "wanted"), [("TRUE", True), ("yes", True), ("False", False), ("", False)])
def test_a_switch_is_read_as_people_write_it(word: str, wanted: bool) -> None:
    assert read_inputs({"GRAPHBOUND_COMMENT": word}) == Inputs(is_commented=wanted)
