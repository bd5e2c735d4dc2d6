"""The base beside its head: a real worktree, and a run of the base that is not real."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.checking import against
from analyzer.checking.against import OTHER_BASE, Beside, run_beside
from analyzer.checking.project import find_project
from analyzer.checking.settings import CheckSettings
from analyzer.checking.subjects import Made
from analyzer.core.errors import UserProgramError
from analyzer.core.settings import WorkloadSpec
from analyzer.progress import Progress, SilentProgress
from tests.gates import a_break, a_model_report
from tests.reports import at


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose only model was renamed after its commit."""
    identity = ("-c", "user.email=ada@example.org", "-c", "user.name=Ada", "-c", "commit.gpgsign=false")

    def git(*words: str) -> None:
        subprocess.run(["git", *identity, *words], cwd=tmp_path, capture_output=True, check=True)

    git("init", "-q")
    (tmp_path / "old.py").write_text("\n".join(f"line {number}" for number in range(1, 100)))
    git("add", ".")
    git("commit", "-qm", "base")
    git("mv", "old.py", "new.py")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def beside(repository: Path, tmp_path: Path, name: str = "new.py", commit: str = "HEAD") -> Beside:
    settings = CheckSettings(targets=(name,), against=commit, runs=False)
    project = find_project(None, repository)
    return run_beside(name, str(repository / name), settings, project, tmp_path, SilentProgress())


def test_a_renamed_model_is_held_against_what_it_was_called(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def graphs_alone(spec: WorkloadSpec, progress: Progress) -> Made:
        ran.append(Path(spec.target).name)
        found = replace(a_break(57), where=at(f"{spec.target}:57"))
        report = a_model_report(findings=(found,))
        return Made(replace(report, capture=None), None)

    monkeypatch.setattr(against, "graphs_alone", graphs_alone)
    result = beside(repository, tmp_path)
    assert ran == ["old.py"]
    assert result.notes == ("it is old.py in HEAD, and is held against that",)
    assert result.baseline is not None
    places = [(place.file, place.text) for place in result.baseline.places if place.rule == "graph_break"]
    assert places == [("new.py", "line 57")], "a finding is not new where its file was renamed"


def test_a_model_that_the_base_does_not_have_is_a_note(repository: Path, tmp_path: Path) -> None:
    (repository / "fresh.py").write_text("model = 1\n")
    result = beside(repository, tmp_path, "fresh.py")
    assert result == Beside(None, notes=("fresh.py is not in HEAD: there is nothing to hold it against",))


def test_a_whole_commit_is_called_by_its_first_digits(repository: Path, tmp_path: Path) -> None:
    """As GitLab's CI_MERGE_REQUEST_DIFF_BASE_SHA is: every message names it."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, check=True, text=True)
    (repository / "fresh.py").write_text("model = 1\n")
    (note,) = beside(repository, tmp_path, "fresh.py", asked.stdout.strip()).notes
    assert note == f"fresh.py is not in {asked.stdout[:12]}: there is nothing to hold it against"
    assert CheckSettings(against="0123456789abcdef").against_shown == "0123456789abcdef", "a branch may be called so"
    assert CheckSettings(against="v1.2").against_shown == "v1.2"
    assert CheckSettings().against_shown is None


def test_of_a_base_that_does_not_run_the_way_on_is_told(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def graphs_alone(spec: WorkloadSpec, progress: Progress) -> Made:
        raise UserProgramError("importing old.py failed")

    monkeypatch.setattr(against, "graphs_alone", graphs_alone)
    error = beside(repository, tmp_path).error
    assert error == f"nothing was compared: HEAD does not run: importing old.py failed ({OTHER_BASE})"


@pytest.mark.parametrize("outside", ["elsewhere.py", "timm:vit"])
def test_a_model_that_the_commit_cannot_have_is_said_to_be_the_same(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, outside: str
) -> None:
    target = outside
    if outside.endswith(".py"):
        target = str(tmp_path_factory.mktemp("other") / outside)
        Path(target).write_text("model = 1\n")
    made = Made(replace(a_model_report(), capture=None), None)
    monkeypatch.setattr(against, "graphs_alone", lambda spec, progress: made)
    settings = CheckSettings(targets=(target,), against="HEAD", runs=False)
    project = find_project(None, repository)
    result = run_beside(outside, target, settings, project, repository, SilentProgress())
    said = f"{outside} is no file of this repository: it is the same at HEAD, and only what it imports may differ"
    assert result.notes == (said,)


def test_a_checkout_of_that_very_commit_is_said_to_be_held_against_itself(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Made(replace(a_model_report(), capture=None), None)
    monkeypatch.setattr(against, "graphs_alone", lambda spec, progress: made)
    said = "no file that git knows differs from HEAD: it is held against itself"
    assert said not in beside(repository, tmp_path).notes
    identity = ("-c", "user.email=ada@example.org", "-c", "user.name=Ada", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, "commit", "-qam", "renamed"], cwd=repository, check=True)
    assert said in beside(repository, tmp_path).notes
