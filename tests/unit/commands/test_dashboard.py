"""What `analyze dashboard` shows where no path is given, and where there is nothing yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.cli import main
from analyzer.commands import dashboard


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What was served, in a working directory without anything."""
    monkeypatch.chdir(tmp_path)
    found: list[Path] = []
    monkeypatch.setattr(dashboard, "serve_until_interrupted", lambda target, *_, **__: found.append(target))
    return found


def test_without_a_path_it_shows_the_runs(shown: list[Path]) -> None:
    (Path("runs") / "one").mkdir(parents=True)
    assert main(["dashboard", "--no-open"]) == 0
    assert shown == [Path("runs")]


@pytest.mark.parametrize("is_made", [True, False])
def test_where_no_run_was_made_yet_it_says_what_makes_one(
    is_made: bool, shown: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    if is_made:
        Path("runs").mkdir()
    assert main(["dashboard"]) == 2
    said = capsys.readouterr().err
    assert "there is no run in runs/ here" in said
    assert "`analyze model.py` writes one" in said
    assert shown == []


@pytest.mark.parametrize(("path", "said"), [("", "the path is empty"), ("https://example.org/t.json.gz", "an address")])
def test_what_is_no_path_of_this_machine_is_an_error(
    path: str, said: str, shown: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dashboard", path]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "hint: " in told
    assert shown == []
