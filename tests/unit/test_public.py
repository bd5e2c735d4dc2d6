"""The public names of the package, and how a report shows itself in a notebook."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import analyzer
from analyzer.comparing import compare_paths
from analyzer.core.compared import Compared, ComparedSide
from analyzer.core.report import Report
from analyzer.notebook import show_reports_in_ipython
from analyzer.rank_analysis import analyze_path
from analyzer.reporting.compared_text import compared_text
from analyzer.reporting.json import report_at
from analyzer.version import NOT_INSTALLED, installed_version
from optimizers.plan import read_plan
from tests.reports import a_report


def test_a_public_name_is_what_its_home_calls_it() -> None:
    assert analyzer.load_report is report_at
    assert analyzer.load_plan is read_plan
    assert analyzer.Report is Report
    assert analyzer.analyze_trace is analyze_path
    assert analyzer.compare is compare_paths
    assert set(analyzer.__all__) <= set(dir(analyzer))


@pytest.mark.parametrize(
    ("name", "home", "attribute"),
    [
        ("analyze", "analyzer.pipeline", "analyze_in_process"),
        ("optimize", "optimizers.production", "optimize"),
        ("dashboard", "dashboard.inline", "show"),
        ("Workload", "collectors.workload", "Workload"),
    ],
)
def test_the_heavy_names_are_fetched_when_they_are_used(
    name: str, home: str, attribute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, value = ModuleType(home), object()
    setattr(module, attribute, value)
    monkeypatch.setitem(sys.modules, home, module)
    assert getattr(analyzer, name) is value


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        analyzer.nothing  # noqa: B018


def test_there_is_always_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    assert analyzer.__version__
    monkeypatch.setattr("analyzer.version.DISTRIBUTION", "no-such-distribution-here")
    assert installed_version() == NOT_INSTALLED


def test_outside_a_notebook_nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    show_reports_in_ipython()


def test_a_notebook_shows_a_report_as_html_and_as_text() -> None:
    shell_module = pytest.importorskip("IPython.core.interactiveshell")
    shell = shell_module.InteractiveShell.instance()
    side = ComparedSide("a.json", "H200", 1_000, 0, 1, "CPU-bound", ())
    nothing = Compared(side, side, ())
    try:
        show_reports_in_ipython()
        data, _ = shell.display_formatter.format(a_report())
        compared, _ = shell.display_formatter.format(nothing)
    finally:
        shell_module.InteractiveShell.clear_instance()
    assert data["text/html"].startswith('<div class="graphbound-report"')
    assert data["text/plain"].rstrip().splitlines()[-1] == "analyze dashboard runs/gptlite-20260101-120000"
    assert compared["text/plain"] == compared_text(nothing)
