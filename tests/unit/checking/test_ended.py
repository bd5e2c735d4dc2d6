"""A check that a signal ends: what was judged is shown, what was not is said, nothing is stored or left behind."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.checking import against
from analyzer.checking import check as checking
from analyzer.checking.subjects import Made
from analyzer.checking.worktree import worktree_at
from analyzer.cli import main
from analyzer.core.policy import BASELINE_FILE
from analyzer.core.report import WorkloadFacts
from analyzer.core.settings import WorkloadSpec
from analyzer.interrupts import Terminated, exit_code_of
from tests.checks import here, run, saved, standing_in, stored
from tests.gates import a_model_report


@pytest.mark.parametrize("ended", [KeyboardInterrupt(), Terminated(signal.SIGTERM)])
def test_the_models_after_it_are_not_begun_and_those_before_are_shown(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ended: KeyboardInterrupt
) -> None:
    (project / "third.py").write_text("")
    begun = standing_in(project, monkeypatch, other=ended)  # type: ignore[arg-type]
    assert main(["check", "gptlite.py", "other.py", "third.py", "-q"]) == exit_code_of(ended)
    assert begun == ["gptlite", "other"]
    said = capsys.readouterr().out
    assert said.startswith("FAILED: other.py: could not be checked: ")
    assert said.splitlines()[0].endswith(" before it was judged")
    assert "graph_breaks" in said, "of the first"
    assert "third.py\n  FAILED    not begun: " in said
    assert "nothing was stored: the check was ended before its end" in said
    assert not (project / BASELINE_FILE).exists()


def test_a_run_that_it_ended_keeps_its_partial_report(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = KeyboardInterrupt()

    def made(spec: WorkloadSpec, *_: object) -> Made:
        report = replace(here(project, a_model_report()), partial="interrupted by Ctrl-C while timing")
        return Made(report, None, exit_code_of(ended), ended_by=ended)

    monkeypatch.setattr(checking, "whole_run", made)
    result = run(targets=("gptlite.py", "other.py"))
    assert result.exit_code == exit_code_of(ended)
    assert result.models[0].report is not None
    assert result.models[0].error == "the run ended early: interrupted by Ctrl-C while timing"
    assert result.models[1].error == "not begun: interrupted by Ctrl-C"


def test_in_the_middle_of_the_base_no_worktree_is_left(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".git").rmdir()
    identity = ("-c", "user.email=ada@example.org", "-c", "user.name=Ada", "-c", "commit.gpgsign=false")

    def git(*words: str) -> str:
        return subprocess.run(["git", *identity, *words], capture_output=True, text=True, check=True).stdout

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "base")
    standing_in(project, monkeypatch)
    seen: list[Path] = []

    def interrupted(spec: WorkloadSpec, *_: object) -> Made:
        seen.append(Path(spec.target))
        assert len(git("worktree", "list").splitlines()) == 2
        raise KeyboardInterrupt

    monkeypatch.setattr(against, "whole_run", interrupted)
    result = run(targets=("gptlite.py", "other.py"), against="HEAD")
    assert [model.error for model in result.models] == [
        "interrupted by Ctrl-C before it was judged",
        "not begun: interrupted by Ctrl-C",
    ]
    assert not seen[0].exists()
    assert len(git("worktree", "list").splitlines()) == 1
    with pytest.raises(KeyboardInterrupt), worktree_at("HEAD", project):
        raise KeyboardInterrupt
    assert len(git("worktree", "list").splitlines()) == 1


def test_of_two_checks_at_once_none_loses_what_the_other_stored(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = saved(project, "other", replace(a_model_report(), workload=_of(project, "other.py")))

    def made(spec: WorkloadSpec, *_: object) -> Made:
        run(targets=(other,))  # the second one, from its begin to its end
        return Made(here(project, a_model_report()), None)

    monkeypatch.setattr(checking, "whole_run", made)
    run(targets=("gptlite.py",))
    assert [model.model for model in stored(project).models] == ["gptlite.py", "other.py"]


def _of(project: Path, name: str) -> WorkloadFacts:
    return replace(a_model_report().workload, source=str(project / name))
