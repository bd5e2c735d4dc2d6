"""Where the policy and the baseline are found, and what the user's files are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.checking.project import find_project, policy_target, read_baseline, write_baseline
from analyzer.checking.sources import FileSources
from analyzer.core.baseline import Baseline, ModelBaseline, StoredPlace, StoredValue
from analyzer.core.errors import UnreadableFileError, UsageError
from analyzer.core.graphs import SourceLine
from analyzer.core.policy import BASELINE_FILE, Preset
from analyzer.gate.baseline_file import encode_baseline
from analyzer.gate.judge import baseline_of
from collectors.checkout_root import root_above
from tests.gates import a_case, a_model_report
from tests.reports import a_finding


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "models").mkdir()
    return tmp_path


def test_without_a_policy_the_preset_holds_here(checkout: Path) -> None:
    project = find_project(None, checkout / "models")
    assert project.policy.preset is Preset.RECOMMENDED
    assert project.policy.source is None
    assert project.root == checkout
    assert project.baseline_file == checkout / "models" / BASELINE_FILE


def test_the_nearest_policy_up_to_the_root_is_taken(checkout: Path) -> None:
    (checkout / "pyproject.toml").write_text('[tool.graphbound]\npreset = "strict"\nbaseline = "ci/values.json"\n')
    project = find_project(None, checkout / "models")
    assert project.policy.preset is Preset.STRICT
    assert project.baseline_file == checkout / "ci" / "values.json"
    (checkout / "models" / "pyproject.toml").write_text("[tool.ruff]\n")
    assert find_project(None, checkout / "models").policy.preset is Preset.STRICT, "a table of others is no policy"
    (checkout / "models" / "graphbound.toml").write_text('preset = "off"\n')
    assert find_project(None, checkout / "models").policy.preset is Preset.OFF


@pytest.mark.parametrize("name", ["graphbound.toml", "pyproject.toml"])
def test_a_policy_that_cannot_be_read_is_not_taken_for_none(checkout: Path, name: str) -> None:
    (checkout / name).mkdir()
    with pytest.raises(UsageError, match=rf"cannot read .*{name}: Is a directory"):
        find_project(None, checkout / "models")


def test_above_the_root_of_the_repository_nothing_is_read(checkout: Path) -> None:
    inner = checkout / "models"
    (inner / ".git").mkdir()
    (checkout / "pyproject.toml").write_text("[tool.graphbound]\n")
    assert find_project(None, inner).policy.source is None


def test_a_named_file_must_be_there_and_be_a_policy(checkout: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        find_project("nothing.toml", checkout)
    (checkout / "pyproject.toml").write_text("[tool.ruff]\n")
    with pytest.raises(UsageError, match="no table"):
        find_project("pyproject.toml", checkout)


def test_a_baseline_survives_its_file_byte_for_byte(tmp_path: Path) -> None:
    report = a_model_report(breaks=2, findings=(a_finding("missing_no_grad", where=None), a_finding()))
    stored = Baseline((baseline_of(a_case(report)),), "values.json")
    assert stored.models[0].times
    write_baseline(tmp_path / "values.json", stored)
    again = read_baseline(tmp_path / "values.json", "values.json")
    assert again == stored
    assert encode_baseline(stored) == (tmp_path / "values.json").read_text()


def test_a_changed_count_is_one_changed_line() -> None:
    one, other = (
        encode_baseline(Baseline((ModelBaseline("m.py", "cpu", "2.13.0", (StoredValue("graphs", value),)),)))
        for value in (1.0, 2.0)
    )
    assert [line for line in other.splitlines() if line not in one.splitlines()] == ['     "value": 2,']


def test_a_missing_baseline_is_none_and_a_broken_one_is_told(tmp_path: Path) -> None:
    assert read_baseline(tmp_path / "none.json", "none.json") is None
    for text, said in (
        ("{", "not a baseline"),
        ('{"schema": 99}', "schema 99"),
        ('{"schema": 1, "models": 3}', "not a baseline"),
    ):
        (tmp_path / "b.json").write_text(text)
        with pytest.raises(UnreadableFileError, match=said) as caught:
            read_baseline(tmp_path / "b.json", "b.json")
        assert caught.value.hint


def test_a_model_of_another_device_is_another_entry() -> None:
    base = Baseline().having(ModelBaseline("m.py", "cpu", "2.13.0")).having(ModelBaseline("m.py", "cuda", "2.13.0"))
    assert len(base.models) == 2
    newer = base.having(ModelBaseline("m.py", "cpu", "2.14.0"))
    assert len(newer.models) == 2
    found = newer.of("m.py", "cpu")
    assert found is not None
    assert found.torch == "2.14.0"


def test_paths_are_from_the_root_and_lines_are_read(checkout: Path) -> None:
    file = checkout / "models" / "net.py"
    file.write_text("import torch\n    x = x.item()  # why\n")
    sources = FileSources(checkout, checkout / "models")
    for shown in (str(file), "net.py", "models/net.py"):
        assert sources.path(shown) == "models/net.py"
        assert sources.text(SourceLine(shown, 2)) == "x = x.item()  # why"
        assert sources.is_own(shown)
    assert sources.text(SourceLine(str(file), 99)) == ""
    assert sources.text(SourceLine("gone.py", 1)) == ""
    installed = str(checkout / ".venv/lib/python3.12/site-packages/transformers/models/x.py")
    assert sources.path(installed) == "transformers/models/x.py"
    assert not sources.is_own(installed)
    assert sources.path("<string>") == "<string>"


def test_a_file_written_after_the_run_has_no_lines(checkout: Path) -> None:
    file = checkout / "net.py"
    file.write_text("x\n")
    written_ns = file.stat().st_mtime_ns
    assert FileSources(checkout, checkout, written_ns).text(SourceLine("net.py", 1)) == "x"
    assert FileSources(checkout, checkout, written_ns - 1).text(SourceLine("net.py", 1)) == ""


def test_a_worktree_has_a_file_for_its_git(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    assert root_above(tmp_path) == tmp_path


def test_places_are_stored_in_one_order() -> None:
    places = baseline_of(a_case(a_model_report(breaks=3))).places
    assert list(places) == sorted(places)
    assert all(isinstance(place, StoredPlace) for place in places)


def test_values_behind_a_link_are_written_where_it_leads(checkout: Path) -> None:
    link, shared = checkout / BASELINE_FILE, checkout / "models" / "shared.json"
    link.symlink_to(Path("models") / "shared.json")
    write_baseline(link, Baseline())
    assert link.is_symlink()
    assert read_baseline(shared, "shared") == Baseline(source="shared")


def test_a_model_of_the_policy_that_is_gone_is_to_be_taken_out_of_it(checkout: Path) -> None:
    (checkout / "pyproject.toml").write_text('[tool.graphbound]\nmodels = ["one.py", "gone.py"]\n')
    (checkout / "one.py").touch()
    with pytest.raises(UsageError, match=r"models has 'gone.py', and no such file") as caught:
        policy_target("gone.py", find_project(None, checkout))
    assert "take it out" in (caught.value.hint or "")


def test_a_policy_that_is_not_there_is_told_what_is_near_it(tmp_path: Path) -> None:
    (tmp_path / "graphbound.toml").write_text("")
    with pytest.raises(UsageError, match="cannot read") as caught:
        find_project("graphbond.toml", tmp_path)
    assert caught.value.hint == "did you mean graphbound.toml?"
