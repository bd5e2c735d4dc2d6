"""What the light entries may import, and how long they may take. Each runs in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.reporting.json import write_report
from tests.reports import a_report

HEAVY = frozenset({"torch", "dash", "plotly", "flask", "pandas", "numpy", "msgspec", "rich", "IPython", "waitress"})
RENDERING = frozenset({"numpy", "msgspec", "rich"})

HELP_S = 0.3
SHOW_S = 2.0
YARDSTICK = (sys.executable, "-c", "import argparse, dataclasses, json, subprocess, typing")
YARDSTICK_S = 0.1
"""What the yardstick takes on a processor that the limits are meant for: a slower one may take longer in proportion."""
ATTEMPTS = 8
"""The fastest of several runs is compared with the limit: other work on the machine only ever adds."""


def _imported(code: str) -> set[str]:
    """The heavy packages in sys.modules after `code` ran."""
    tail = f"\nimport sys; print(','.join(sorted({set(HEAVY)!r} & set(sys.modules))), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code + tail], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(filter(None, done.stderr.splitlines()[-1].split(",")))


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    write_report(a_report(), folder / "report.json")
    return folder


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert _imported("import analyzer; dir(analyzer)") == set()


def test_help_imports_nothing_heavy() -> None:
    assert _imported("from analyzer.cli import main; main(['--help'])") == set()
    assert _imported("from analyzer.cli import main; main(['dashboard', '--help'])") == set()


def test_a_wrong_command_line_imports_nothing_heavy() -> None:
    assert _imported("from analyzer.cli import main; main(['model.py', '--budget', 'soon'])") == set()


def test_showing_a_report_imports_what_renders_it_and_no_more(run_folder: Path) -> None:
    assert _imported(f"from analyzer.cli import main; main(['show', {str(run_folder)!r}])") == RENDERING
    with_json = f"from analyzer.cli import main; main(['show', {str(run_folder)!r}, '--format', 'json'])"
    assert _imported(with_json) == RENDERING - {"rich"}


def test_the_demo_imports_what_renders_it_and_no_more() -> None:
    code = "from analyzer.cli import main; main(['demo'])"
    assert _imported(code) <= RENDERING


def test_loading_a_report_needs_no_torch(run_folder: Path) -> None:
    code = f"import analyzer; assert type(analyzer.load_report({str(run_folder)!r})) is analyzer.Report"
    assert _imported(code) == RENDERING - {"rich"}


def test_the_dashboard_needs_no_torch(run_folder: Path) -> None:
    code = f"from pathlib import Path; from dashboard.app import make_app; make_app(Path({str(run_folder)!r}))"
    assert "torch" not in _imported(code)
    assert "dash" in _imported(code)


def test_help_takes_less_than_a_third_of_a_second() -> None:
    assert _share_of(HELP_S, (sys.executable, "-m", "analyzer.cli", "--help")) < 1


def test_showing_a_report_takes_less_than_two_seconds(run_folder: Path) -> None:
    assert _share_of(SHOW_S, (sys.executable, "-m", "analyzer.cli", "show", str(run_folder))) < 1


def _share_of(limit_s: float, command: tuple[str, ...]) -> float:
    """The least share of its limit that the command takes."""
    shares = []
    for _ in range(ATTEMPTS):
        slower = max(1.0, _cpu_s(YARDSTICK) / YARDSTICK_S)
        shares.append(_cpu_s(command) / (limit_s * slower))
        if shares[-1] < 1:
            break
    return min(shares)


def _cpu_s(command: tuple[str, ...]) -> float:
    """The processor's time that the command takes: how long it waits for its turn says nothing of it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
