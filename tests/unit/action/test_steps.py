"""The steps of action.yml, without what they run: the base, the caches, the outputs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from analyzer import cli
from analyzer.action import caches
from analyzer.action.__main__ import main
from analyzer.action.base import base_of, require_the_change
from analyzer.action.caches import cache_outputs
from analyzer.action.outputs import write_outputs
from analyzer.code_host.pull_request import PullRequest
from analyzer.core.errors import UsageError
from benchmarks.ci_demo.commands import file_values
from benchmarks.ci_demo.scene import CHANGES, make_origin, open_request
from benchmarks.ci_demo.scene import PullRequest as Opened
from collectors import device_cache


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Opened]:
    folder = tmp_path_factory.mktemp("host") / "origin"
    return folder, open_request(folder, 1, CHANGES[0], make_origin(folder))


def checked_out(origin: Path, folder: Path, ref: str, *words: str) -> Path:
    for command in (
        ["init", "-q", str(folder)],
        ["-C", str(folder), "remote", "add", "origin", f"file://{origin}"],
        ["-C", str(folder), "fetch", "-q", "--no-tags", *words, "origin", ref],
        ["-C", str(folder), "checkout", "-q", "--detach", "FETCH_HEAD"],
    ):
        subprocess.run(["git", *command], check=True, capture_output=True)
    return folder


def has(folder: Path, commit: str) -> bool:
    done = subprocess.run(["git", "-C", str(folder), "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True)
    return done.returncode == 0


def test_of_a_shallow_merge_the_base_is_its_first_parent_and_is_fetched(
    tmp_path: Path, origin: tuple[Path, Opened]
) -> None:
    folder, request = origin
    work = checked_out(folder, tmp_path / "work", request.ref, "--depth=1")
    assert not has(work, request.base)
    # The event names an older base: the one that was merged counts.
    assert base_of(PullRequest(1, "e" * 40, request.head), work) == request.base
    assert has(work, request.base)


def test_of_the_head_alone_it_is_where_head_left_the_base(tmp_path: Path, origin: tuple[Path, Opened]) -> None:
    folder, request = origin
    whole = checked_out(folder, tmp_path / "whole", request.head)
    assert base_of(PullRequest(1, request.base, request.head), whole) == request.base
    shallow = checked_out(folder, tmp_path / "shallow", request.head, "--depth=1")
    assert base_of(PullRequest(1, request.base, request.head), shallow) == request.base
    assert base_of(PullRequest(1), shallow) is None


def test_a_whole_history_stays_whole(tmp_path: Path, origin: tuple[Path, Opened]) -> None:
    folder, request = origin
    work = checked_out(folder, tmp_path / "work", "main")
    base_of(PullRequest(1, request.head, None), work)
    assert has(work, request.head)
    assert not (work / ".git" / "shallow").exists()


def test_a_base_that_cannot_be_had_is_said(tmp_path: Path, origin: tuple[Path, Opened]) -> None:
    folder, request = origin
    work = checked_out(folder, tmp_path / "work", request.head, "--depth=1")
    with pytest.raises(UsageError, match="cannot be fetched") as error:
        base_of(PullRequest(1, "d" * 40, request.head), work)
    assert "fetch-depth: 0" in (error.value.hint or "")
    assert "cannot be fetched: " in error.value.message, "git's own reason"


def test_the_checkout_of_another_user_is_read_with_the_settings_of_the_step(
    tmp_path: Path, origin: tuple[Path, Opened], monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    folder, request = origin
    work = checked_out(folder, tmp_path / "work", request.ref, "--depth=2")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # what git's own tests set, and a container brings about
    with pytest.raises(UsageError, match="ownership"):
        base_of(PullRequest(1, request.base, request.head), work)
    steps = yaml.safe_load((root / "action.yml").read_text())["runs"]["steps"]
    settings = next(step["env"] for step in steps if step.get("id") == "check")
    for name in settings:
        if name.startswith("GIT_CONFIG_"):
            monkeypatch.setenv(name, settings[name])
    assert base_of(PullRequest(1, request.base, request.head), work) == request.base


def test_the_caches_are_named_for_all_that_compiled_code_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"RUNNER_TEMP": str(tmp_path), "RUNNER_OS": "Linux", "GITHUB_SHA": "abc", "XDG_CACHE_HOME": "/x"}
    plain = cache_outputs(environment, ())
    assert plain["key"] == f"{plain['restore']}abc"
    assert "torch" in plain["key"]
    assert "," not in plain["key"]
    assert plain["paths"].splitlines() == [plain["inductor"], "/x/graphbound"]
    keys = [plain["restore"], cache_outputs(environment, ("NVIDIA H200",))["restore"]]
    monkeypatch.setattr(caches, "version", lambda name: "9.9.9+cpu")
    keys.append(cache_outputs(environment, ())["restore"])
    monkeypatch.setattr(caches, "cpu_name", lambda: "Another CPU @ 3,1 GHz " * 40)
    keys.append(cache_outputs(environment, ())["restore"])
    assert len(set(keys)) == 4
    assert all(len(key) < 500 for key in keys)
    assert cache_outputs({**environment, "TORCHINDUCTOR_CACHE_DIR": "/mine"}, ())["inductor"] == "/mine"


def test_the_devices_cache_is_where_collectors_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ("/x", "", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert cache_outputs({"XDG_CACHE_HOME": given}, ())["paths"].splitlines()[1] == str(device_cache.folder())


def test_without_a_driver_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "QUERY", ("no-such-program-here",))
    assert caches.gpu_names() == ()
    monkeypatch.setattr(caches, "QUERY", ("printf", "NVIDIA H200\\nNVIDIA H200\\n"))
    assert caches.gpu_names() == ("NVIDIA H200",)


def test_an_output_of_several_lines_is_one_value(tmp_path: Path) -> None:
    file = tmp_path / "output"
    write_outputs({"a": "1\n2", "b": "x=y<<z\n::error::no"}, {"GITHUB_OUTPUT": str(file)})
    write_outputs({"c": ""}, {"GITHUB_OUTPUT": str(file)})
    assert file_values(file) == {"a": "1\n2", "b": "x=y<<z\n::error::no", "c": ""}
    with pytest.raises(UsageError, match="GITHUB_OUTPUT"):
        write_outputs({"a": "1"}, {})


def _fake_check(passed: bool) -> Any:
    def run(words: list[str]) -> int:
        file = next(word.partition("json:")[2] for word in words if "json:" in word)
        Path(file).write_text(json.dumps({"passed": passed, "headline": "1 new\ngraph break"}))
        Path(file).with_name("graphbound.sarif").write_text("{}")
        return 0 if passed else 1

    return run


@pytest.mark.parametrize("passed", [True, False])
def test_the_check_leaves_its_outputs_and_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passed: bool
) -> None:
    monkeypatch.setattr(cli, "main", _fake_check(passed))
    output = tmp_path / "output"
    environment = {"GITHUB_OUTPUT": str(output), "RUNNER_TEMP": str(tmp_path), "GITHUB_JOB": "a b"}
    assert main(["check"], {**environment, "GRAPHBOUND_NAME": "h/200"}) == (0 if passed else 1)
    found = file_values(output)
    assert found["passed"] == ("true" if passed else "false")
    assert found["headline"] == "1 new\ngraph break"
    assert found["artifact"] == "graphbound-a_b-h_200"
    assert Path(found["sarif"]).is_file()
    assert Path(found["folder"]).parent == tmp_path


def test_a_check_that_ended_before_it_found_anything_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "main", lambda words: 4)
    output = tmp_path / "output"
    assert main(["check"], {"GITHUB_OUTPUT": str(output), "RUNNER_TEMP": str(tmp_path)}) == 4
    assert set(file_values(output)) == {"folder", "artifact"}


def test_a_stored_baseline_needs_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(cli, "main", lambda words: asked.append(words) or 0)
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 1, "base": {"sha": "0" * 40}}}))
    environment = {"GITHUB_OUTPUT": str(tmp_path / "o"), "RUNNER_TEMP": str(tmp_path), "GITHUB_EVENT_PATH": str(event)}
    assert main(["check"], {**environment, "GRAPHBOUND_BASELINE": "base.json"}) == 0
    assert "--baseline=base.json" in asked[0]
    assert not any(word.startswith("--against") for word in asked[0])


def words_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: dict[str, Any], name: str, work: Path, arguments: str = ""
) -> list[str]:
    """What is run in this checkout on this event."""
    asked: list[list[str]] = []
    monkeypatch.setattr(cli, "main", lambda words: asked.append(words) or 0)
    monkeypatch.chdir(work)
    (tmp_path / "event.json").write_text(json.dumps(event))
    environment = {
        "GITHUB_OUTPUT": str(tmp_path / "o"), "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_EVENT_NAME": name, "RUNNER_TEMP": str(tmp_path), "GRAPHBOUND_ARGUMENTS": arguments,
    }  # fmt: skip
    assert main(["check"], environment) == 0
    return asked[0]


@pytest.mark.parametrize("name", ["push", "merge_group"])
def test_a_push_is_held_against_the_commit_before_it_and_a_queue_against_what_it_merges_into(
    tmp_path: Path, origin: tuple[Path, Opened], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder, request = origin
    work = checked_out(folder, tmp_path / "work", request.ref, "--depth=1")
    assert not has(work, request.base)
    event = {"push": {"before": request.base, "after": "1"}, "merge_group": {"merge_group": {"base_sha": request.base}}}
    words = words_of(tmp_path, monkeypatch, event[name], name, work)
    assert f"--against={request.base[:12]}" in words
    assert has(work, request.base), "it was fetched"
    assert "--comment" not in words


@pytest.mark.parametrize("arguments", ["--against HEAD~1", "--baseline=values.json --no-run", "--init"])
def test_what_the_arguments_are_held_against_stands_alone(
    tmp_path: Path, origin: tuple[Path, Opened], monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    folder, request = origin
    work = checked_out(folder, tmp_path / "work", request.ref, "--depth=1")
    words = words_of(tmp_path, monkeypatch, {"before": request.base}, "push", work, arguments)
    assert f"--against={request.base[:12]}" not in words
    assert words[-len(arguments.split()) :] == arguments.split()


@pytest.mark.parametrize(
    ("event", "name", "why"),
    [
        (
            {"before": "0" * 40, "after": "1"},
            "push",
            "this push begins a branch or a tag: there is no commit before it.",
        ),
        ({"schedule": "* * * * *"}, "schedule", "the event schedule names no base."),
        ({"merge_group": {}}, "merge_group", "the event merge_group names no base."),
        ({"issue": {"number": 3, "pull_request": {}}}, "issue_comment", "the event issue_comment names no base."),
    ],
)
def test_of_an_event_without_a_base_it_is_said_that_stored_values_are_all_there_is(
    tmp_path: Path,
    origin: tuple[Path, Opened],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    event: dict[str, Any],
    name: str,
    why: str,
) -> None:
    work = checked_out(origin[0], tmp_path / "work", "main")
    words = words_of(tmp_path, monkeypatch, event, name, work)
    assert not any(word.startswith("--against") for word in words)
    said = capsys.readouterr().out
    assert said.startswith(f"::notice title=Graphbound::{why} Each model is held against its stored values alone.")
    assert said.count("\n") == 1


def test_a_push_whose_base_is_gone_fails_and_says_what_to_set(
    tmp_path: Path, origin: tuple[Path, Opened], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, request = origin
    work = checked_out(folder, tmp_path / "work", request.head, "--depth=1")
    monkeypatch.chdir(work)
    (tmp_path / "event.json").write_text(json.dumps({"before": "d" * 40}))
    environment = {"GITHUB_EVENT_PATH": str(tmp_path / "event.json"), "GITHUB_EVENT_NAME": "push"}
    given = {"GITHUB_OUTPUT": str(tmp_path / "o"), "RUNNER_TEMP": str(tmp_path)}
    assert main(["check"], {**environment, **given}) == 2
    error = capsys.readouterr().err
    assert "the base of the push, dddddddddddd, is not in this checkout" in error
    assert "against:" in error
    assert "fetch-depth: 0" in error


@pytest.mark.parametrize("name", ["pull_request_target", "workflow_run", "push"])
def test_a_checkout_of_the_base_itself_is_not_held_against_itself(
    tmp_path: Path,
    origin: tuple[Path, Opened],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    """What actions/checkout gives those events, unless it is told: a pull request would pass unseen."""
    folder, request = origin
    work = checked_out(folder, tmp_path / "work", "main", "--depth=1")
    sides = {"number": 1, "base": {"sha": request.base}, "head": {"sha": request.head}}
    event = {"push": {"before": request.base}, "workflow_run": {"workflow_run": {"pull_requests": [sides]}}}
    monkeypatch.chdir(work)
    (tmp_path / "event.json").write_text(json.dumps(event.get(name, {"pull_request": sides})))
    environment = {
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"), "GITHUB_EVENT_NAME": name, "GITHUB_SHA": request.base,
        "GITHUB_OUTPUT": str(tmp_path / "o"), "RUNNER_TEMP": str(tmp_path),
    }  # fmt: skip
    assert main(["check"], environment) == 2
    assert f"this checkout is {request.base[:12]}, which the change is held against" in capsys.readouterr().err
    right = checked_out(folder, tmp_path / "right", request.head, "--depth=2")
    monkeypatch.setattr(cli, "main", lambda words: 0)
    monkeypatch.chdir(right)
    assert main(["check"], environment) == 0


def test_a_base_branch_that_moved_on_is_not_taken_for_the_change(
    tmp_path: Path, origin: tuple[Path, Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, request = origin
    work = checked_out(folder, tmp_path / "work", request.head, "--depth=2")
    with pytest.raises(UsageError, match="nothing of the change is in it"):
        require_the_change(request.base, work, {"GITHUB_EVENT_NAME": "pull_request_target", "GITHUB_SHA": request.head})
    require_the_change(request.base, work, {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_SHA": request.head})


def test_two_uses_in_one_job_and_two_legs_of_a_matrix_write_over_nothing_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(cli, "main", lambda words: asked.append(words) or 0)
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 1}}))
    artifacts = []
    for number, (job, matrix) in enumerate([("a", "null"), ("a", "null"), ("b", '{"py": 3}'), ("c", '{"py": 4}')]):
        (tmp_path / job).mkdir(exist_ok=True)
        output = tmp_path / f"output-{number}"
        given = {"GRAPHBOUND_COMMENT": "true", "GRAPHBOUND_BASELINE": "b.json", "GRAPHBOUND_MATRIX": matrix}
        runner = {"RUNNER_TEMP": str(tmp_path / job), "GITHUB_JOB": "check", "GITHUB_OUTPUT": str(output)}
        assert main(["check"], {**given, **runner, "GITHUB_EVENT_PATH": str(tmp_path / "event.json")}) == 0
        artifacts.append(file_values(output)["artifact"])
    names = [next((w for w in words if w.startswith("--comment-name=")), "") for words in asked]
    assert names[:2] == ["", "--comment-name=2"]
    assert len(set(names)) == len(set(artifacts)) == 4


@pytest.mark.parametrize(("event", "is_commented"), [({"pull_request": {"number": 1}}, True), ({"ref": "main"}, False)])
def test_only_a_pull_request_is_commented_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: dict[str, Any], is_commented: bool
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(cli, "main", lambda words: asked.append(words) or 0)
    (tmp_path / "event.json").write_text(json.dumps(event))
    environment = {"GITHUB_OUTPUT": str(tmp_path / "o"), "GITHUB_EVENT_PATH": str(tmp_path / "event.json")}
    given = {"RUNNER_TEMP": str(tmp_path), "GRAPHBOUND_COMMENT": "true", "GRAPHBOUND_BASELINE": "base.json"}
    assert main(["check"], {**environment, **given}) == 0
    assert ("--comment" in asked[0]) == is_commented


def test_a_step_that_is_none_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clean"], {}) == 2
    assert capsys.readouterr().err.startswith("error: a step is")
