"""The import contracts of pyproject.toml hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports


def test_imports_go_down_only(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = lint_imports(config_filename=str(root / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out
