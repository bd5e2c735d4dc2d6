"""action.yml, the hooks and the examples for CI say what the command takes and what their hosts know."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from analyzer.action.inputs import PREFIX
from analyzer.action.inputs import read_inputs as inputs_of
from analyzer.checking import check as checking
from analyzer.checking.subjects import Made
from analyzer.cli import _parser, main
from analyzer.commands import check
from analyzer.commands.command import CommandParser
from benchmarks.ci_demo.expressions import Contexts, ExpressionError, filled, is_on
from benchmarks.ci_demo.runner import STEP_KEYS
from benchmarks.ci_demo.stand_ins import INPUTS, NEEDED
from tests.gates import a_model_report

EXPRESSION = re.compile(r"\$\{\{.*?\}\}", re.S)
VARIABLE = re.compile(r"\$(\w+)")


@pytest.fixture(scope="module")
def action(root: Path) -> dict[str, Any]:
    return read(root / "action.yml")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def parser() -> CommandParser:
    return _parser(check.COMMAND)


def steps_of(root: Path) -> list[tuple[str, dict[str, Any]]]:
    workflow = read(root / "examples" / "ci" / "github.yml")
    found = [("action.yml", step) for step in read(root / "action.yml")["runs"]["steps"]]
    return found + [("github.yml", step) for job in workflow["jobs"].values() for step in job["steps"]]


def test_no_step_of_the_action_lets_an_input_into_a_line_of_shell(action: dict[str, Any]) -> None:
    for step in action["runs"]["steps"]:
        assert not EXPRESSION.search(step.get("run", "")), step["name"]
        assert ("run" in step) == (step.get("shell") == "bash"), step["name"]


def test_every_step_has_the_keys_and_the_inputs_that_are_known(root: Path) -> None:
    for file, step in steps_of(root):
        assert not set(step) - STEP_KEYS, file
        name, at, version = step.get("uses", "").partition("@")
        if not at or name == "YOUR_NAME/graphbound":
            continue
        assert re.fullmatch(r"v\d+", version), "pinned to a major version"
        assert not set(step.get("with", {})) - set(INPUTS[name]), name
        assert not set(NEEDED.get(name, ())) - set(step.get("with", {})), name


def test_every_expression_can_be_read_and_names_what_is_there(root: Path, action: dict[str, Any]) -> None:
    ids = {step.get("id") for _, step in steps_of(root)}
    text = (root / "action.yml").read_text() + (root / "examples" / "ci" / "github.yml").read_text()
    for expression in EXPRESSION.findall(text):
        filled(expression, Contexts({}))
        for context, name in re.findall(r"\b(inputs|steps)\.([\w-]+)", expression):
            assert name in (action["inputs"] if context == "inputs" else ids), expression
    for _, step in steps_of(root):
        is_on(step.get("if"), Contexts({}))
    with pytest.raises(ExpressionError):
        filled("${{ inputs.a + 1 }}", Contexts({}))


def test_the_action_passes_every_input_on(action: dict[str, Any]) -> None:
    (step,) = [step for step in action["runs"]["steps"] if step.get("id") == "check"]
    passed = {name for name in step["env"] if name.startswith(PREFIX)}
    read_here: list[str] = []

    class Seen(dict[str, str]):
        def get(self, key: str, default: Any = None) -> Any:
            read_here.append(key)
            return default

    inputs_of(Seen())
    assert passed == set(read_here)
    used = set(re.findall(r"inputs\.([\w-]+)", str(action["runs"])))
    assert used == set(action["inputs"])


def test_outputs_of_the_action_are_written_by_a_step(root: Path, action: dict[str, Any]) -> None:
    written = set(re.findall(r'"(\w+)":', (root / "analyzer" / "action" / "__main__.py").read_text()))
    for output in action["outputs"].values():
        assert re.findall(r"outputs\.(\w+)", output["value"])[0] in written


def test_the_example_of_github_gives_inputs_that_there_are_and_words_that_parse(
    root: Path, action: dict[str, Any]
) -> None:
    workflow = read(root / "examples" / "ci" / "github.yml")
    (step,) = [step for step in workflow["jobs"]["graphbound"]["steps"] if step.get("id") == "graphbound"]
    assert not set(step["with"]) - set(action["inputs"])
    assert not parser().parse_args(shlex.split(step["with"]["arguments"])).runs
    assert workflow["permissions"]["pull-requests"] == "write"
    assert "pull_request" in workflow[True], "`on` is a switch to YAML 1.1"


def test_the_example_of_gitlab_parses_with_each_of_its_rules(root: Path) -> None:
    job = read(root / "examples" / "ci" / "gitlab-ci.yml")["graphbound"]
    predefined = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": "0123abc", "CI_PROJECT_DIR": "/builds/nets"}
    (line,) = [line for line in job["script"] if line.startswith("analyze ")]
    held = []
    for rule in job["rules"]:
        values = {**predefined, **rule.get("variables", {})}
        shown = line
        for _ in range(2):
            # A variable that is not set is nothing, as to the shell that runs the line.
            shown = VARIABLE.sub(lambda found, values=values: values.get(found[1], ""), shown)
        arguments = parser().parse_args(shlex.split(shown)[2:])
        held.append((arguments.against, arguments.baseline))
        files = {each.format: each.file for each in arguments.format if each.file is not None}
        assert files == {
            "gitlab": job["artifacts"]["reports"]["codequality"],
            "junit": job["artifacts"]["reports"]["junit"],
        }
        assert not arguments.runs
    assert held == [("0123abc", None), (None, None)], "else what the policy names, which need not be there yet"
    assert job["artifacts"]["when"] == "always"
    cached = [
        VARIABLE.sub(lambda found: predefined[found[1]], str(v)) for k, v in job["variables"].items() if "CACHE" in k
    ]
    assert cached
    assert all(each.startswith("/builds/nets/.cache") for each in cached)
    assert job["cache"]["paths"] == [".cache"]


def test_nothing_is_installed_by_a_name_that_a_stranger_may_own(root: Path) -> None:
    """Graphbound is in no registry. No user of GitHub has an underscore, and nobody has example.com."""
    shown = [root / "README.md", root / "action.yml", *sorted((root / "examples" / "ci").iterdir())]
    for file in shown:
        text = file.read_text()
        for line in re.findall(r"pip install[^\n]*", text):
            words = shlex.split(line.partition("`")[0].partition(" && ")[0], comments=True)[2:]
            assert not [word for word in words if re.match(r"graphbound\b", word)], f"{file.name}: {line}"
        for owner in re.findall(r"([\w.-]+)/graphbound(?:@|\.git|\n)", text):
            assert owner == "YOUR_NAME", f"{file.name}: {owner}"
    hosts = {found for file in shown[2:] for found in re.findall(r"https://([\w.-]+)/YOUR_NAME", file.read_text())}
    assert all(host.endswith(".example.com") for host in hosts)


def test_the_example_of_pre_commit_names_hooks_that_there_are(root: Path) -> None:
    text = (root / "examples" / "ci" / "pre-commit-config.yaml").read_text()
    ids = {hook["id"] for hook in read(root / ".pre-commit-hooks.yaml")}
    assert set(re.findall(r"- id: (\S+)", text)) == ids
    (repository,) = yaml.safe_load(text)["repos"]
    assert [hook["id"] for hook in repository["hooks"]] == ["graphbound-check-system"]


def test_each_hook_is_the_check_without_a_run(root: Path) -> None:
    hooks = read(root / ".pre-commit-hooks.yaml")
    assert [(hook["id"], hook["language"]) for hook in hooks] == [
        ("graphbound-check", "python"),
        ("graphbound-check-system", "system"),
    ]
    for hook in hooks:
        command, sub, *words = shlex.split(hook["entry"])
        assert (command, sub) == ("analyze", "check")
        arguments = parser().parse_args(words)
        assert (arguments.runs, arguments.targets) == (False, [])
        assert hook["pass_filenames"] is False
        assert hook["require_serial"] is True


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return tmp_path


@pytest.mark.parametrize("number", [0, 1])
def test_a_hook_without_a_model_says_what_to_configure(
    root: Path, checkout: Path, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    entry = shlex.split(read(root / ".pre-commit-hooks.yaml")[number]["entry"])
    assert main(entry[1:]) == 2
    assert 'models = ["model.py"] in [tool.graphbound]' in capsys.readouterr().err


def test_a_hook_checks_the_models_of_the_policy_and_fails_with_them(
    root: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "graphbound.toml").write_text('models = ["gptlite.py"]\n')
    (checkout / "gptlite.py").write_text("line\n" * 99)
    breaks = [0]
    monkeypatch.setattr(checking, "graphs_alone", lambda spec, progress: Made(a_model_report(breaks=breaks[0]), None))
    words = shlex.split(read(root / ".pre-commit-hooks.yaml")[0]["entry"])[1:]
    assert main(words) == 0
    assert (checkout / "graphbound.baseline.json").is_file()
    breaks[0] = 1
    assert main(words) == 1
    assert "1 new graph break" in capsys.readouterr().out


def test_the_readmes_comment_is_one_that_the_demonstration_wrote(root: Path) -> None:
    section = (root / "README.md").read_text().partition("\n## In CI\n")[2]
    sample = section.partition("begins none:\n\n```\n")[2].partition("\n```\n")[0]
    assert sample.startswith("### ")
    assert sample in (root / "benchmarks" / "results" / "ci_demo.md").read_text()
