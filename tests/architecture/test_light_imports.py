"""What an import may bring with it: the command and the reading of traces do without torch and dash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "dash", "plotly", "pandas", "flask")


def loaded_by(statement: str, root: Path) -> set[str]:
    """The top-level modules that a fresh interpreter has after `statement`."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    return {line.partition(".")[0] for line in done.stdout.splitlines()}


def test_importing_analyzer_brings_nothing_heavy(root: Path) -> None:
    assert loaded_by("import analyzer", root).isdisjoint((*HEAVY, "numpy", "msgspec", "rich"))


@pytest.mark.parametrize(
    "statement",
    [
        "import analyzer; analyzer.load_report; analyzer.Report",
        "import analyzer.cli",
        "import analyzer.pipeline",
        "import analyzer.rules.runner",
        "import collectors.readers.kineto",
        "import contextlib\nfrom analyzer.cli import main\nwith contextlib.redirect_stdout(None): main(['--help'])",
    ],
)
def test_reading_and_showing_imports_neither_torch_nor_dash(root: Path, statement: str) -> None:
    assert loaded_by(statement, root).isdisjoint(HEAVY)


def test_the_list_of_modules_is_complete_enough_to_fail(root: Path) -> None:
    assert "torch" in loaded_by("import collectors.workload", root)
