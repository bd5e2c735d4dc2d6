"""The repository is the one around the working directory, however it was checked out."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.commands.checkout import found_repository
from tests.gate_results import a_gate, a_model_gate
from tests.reports import a_finding, a_report, at


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "net"
    (root / "examples").mkdir(parents=True)
    (root / ".git").write_text("gitdir: elsewhere\n")  # as in a worktree
    (root / "model.py").write_text("import torch\n\x0c\n    x.item()  # here\n")
    monkeypatch.chdir(root / "examples")
    return root


def test_the_root_is_found_above_the_working_directory(checkout: Path) -> None:
    found = found_repository(a_report())
    assert found.path(str(checkout / "model.py")) == "model.py"
    assert found.path("run.py") == "examples/run.py"


def test_a_link_to_the_checkout_is_the_checkout(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(checkout)
    monkeypatch.chdir(tmp_path / "link")
    assert found_repository(a_report()).path(str(checkout / "model.py")) == "model.py"


def test_lines_are_read_by_the_numbers_that_python_gives_them(checkout: Path) -> None:
    here, beyond = at(f"{checkout}/model.py:3"), at(f"{checkout}/model.py:99")
    gone, away = at(f"{checkout}/gone.py:1"), at("/etc/hostname:1")
    findings = tuple(a_finding(where=where) for where in (here, beyond, gone, away, None))
    for shown in (a_report(findings=findings), a_gate(a_model_gate(report=a_report(findings=findings), checks=()))):
        found = found_repository(shown)
        assert found.text(here) == "x.item()  # here"
        assert [found.text(where) for where in (beyond, gone, away)] == [None, None, None]


def test_without_a_checkout_the_runners_folder_is_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "builds" / "sub").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "builds" / "sub")
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path / "builds"))
    assert found_repository(a_report()).path("model.py") == "sub/model.py"
    monkeypatch.delenv("CI_PROJECT_DIR")
    assert found_repository(a_report()).path("model.py") == "model.py"
