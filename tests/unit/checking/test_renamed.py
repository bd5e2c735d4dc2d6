"""A model whose file was renamed is never taken for a new one in silence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.checking import check as checking
from analyzer.checking.subjects import Made
from analyzer.core.errors import ExitCode, UsageError
from analyzer.core.gate import GateStatus
from analyzer.core.policy import BASELINE_FILE
from analyzer.core.settings import WorkloadSpec
from tests.checks import here, run, saved, standing_in, stored
from tests.gates import a_model_report, of


@pytest.fixture
def renamed(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two models are stored, of which the first was then renamed to new.py."""
    standing_in(project, monkeypatch)
    run(targets=("gptlite.py", "other.py"))
    (project / "gptlite.py").rename(project / "new.py")
    return project


def test_it_fails_says_what_is_stored_for_and_stores_nothing(renamed: Path) -> None:
    before = (renamed / BASELINE_FILE).read_bytes()
    for _ in range(2):
        result = run(targets=("new.py",))
        assert result.exit_code == ExitCode.GATE_FAILED
        check = of("renamed_model", result.models[0])
        assert "nothing is stored for new.py" in check.message
        assert f"{BASELINE_FILE} has gptlite.py, which is gone: is it a rename?" in check.message
        assert "--init" in (check.remedy or "")
        assert result.headline == check.message
        assert (renamed / BASELINE_FILE).read_bytes() == before, "stored as a new one it would pass the next time"


def test_the_file_that_is_offered_and_init_have_it_in_place_of_the_old_one(renamed: Path) -> None:
    offered = run(targets=("new.py",)).accept
    assert offered is not None
    result = run(targets=("new.py",), init=True)
    assert result.has_passed
    assert f"took gptlite.py out of {BASELINE_FILE}: no such file is there any more" in result.notes
    assert (renamed / BASELINE_FILE).read_text() == offered
    assert [model.model for model in stored(renamed).models] == ["new.py", "other.py"]
    assert run(targets=("new.py", "other.py")).has_passed


def test_renamed_in_the_file_too_it_is_held_against_its_old_values(renamed: Path) -> None:
    file = renamed / BASELINE_FILE
    file.write_text(file.read_text().replace('"gptlite.py"', '"new.py"'))
    result = run(targets=("new.py",))
    assert result.has_passed
    assert of("graph_breaks", result.models[0]).status is GateStatus.PASSED


@pytest.mark.parametrize(("level", "code"), [("warn", ExitCode.OK), ("off", ExitCode.OK)])
def test_the_policy_says_how_loud_it_is(renamed: Path, level: str, code: ExitCode) -> None:
    (renamed / "graphbound.toml").write_text(f'gates = {{renamed_model = "{level}"}}\n')
    result = run(targets=("new.py",))
    assert result.exit_code == code
    assert bool(result.models[0].warnings) == (level == "warn")
    assert (stored(renamed).of("new.py", "cuda") is None) == (level == "warn")


def test_the_one_most_like_it_is_named_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "third.py").write_text("")

    def made(spec: WorkloadSpec, *_: object) -> Made:
        report = here(project, a_model_report(breaks=0 if "gptlite" in spec.target else 2))
        return Made(replace(report, workload=replace(report.workload, source=spec.target)), None)

    monkeypatch.setattr(checking, "whole_run", made)
    run(targets=("gptlite.py", "other.py", "third.py"))
    (project / "gptlite.py").unlink()
    (project / "other.py").rename(project / "new.py")
    message = of("renamed_model", run(targets=("new.py",)).models[0]).message
    assert "has other.py, which is gone: is it a rename? (or 1 more that are gone)" in message


def test_a_model_that_is_new_or_whose_old_one_is_of_another_kind_is_stored(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing_in(project, monkeypatch)
    run(targets=("gptlite.py",))
    (project / "fresh.py").write_text("")
    assert run(targets=("fresh.py",)).has_passed, "gptlite.py is still there"
    (project / "gptlite.py").unlink()
    assert run(targets=("other.py",), mode="training").has_passed, "it was stored as one of inference"
    assert [model.model for model in stored(project).models] == ["fresh.py", "gptlite.py", "other.py (training)"]


def test_a_run_from_elsewhere_is_no_rename(project: Path) -> None:
    report = a_model_report()
    moved = replace(report, workload=replace(report.workload, source="elsewhere/net.py"))
    run(targets=(saved(project, "a", moved),))
    again = replace(report, workload=replace(report.workload, source="elsewhere/other.py"))
    assert run(targets=(saved(project, "b", again),)).has_passed


def test_init_beside_a_run_folder_is_refused_and_into_a_file_that_is_there_is_written(project: Path) -> None:
    base, worse = saved(project, "a", a_model_report()), saved(project, "b", a_model_report(breaks=1))
    with pytest.raises(UsageError, match=r"--init writes a file of values, and .* is a run"):
        run(targets=(worse,), baseline=base, init=True)
    run(targets=(base,), baseline="mine.json", init=True)
    assert not run(targets=(worse,), baseline="mine.json").has_passed
    run(targets=(worse,), baseline="mine.json", init=True)
    assert run(targets=(worse,), baseline="mine.json").has_passed
    assert run(targets=(worse,), baseline=base).accept is None, "a run folder takes no values"
