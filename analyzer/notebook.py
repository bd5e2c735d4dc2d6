"""Shows a Report, or a comparison of two recordings, as the value of a notebook cell.

They are values of the core, which must not know how they are shown; so IPython is told instead, by its own registry
of displays. Outside IPython nothing happens. Registering twice is the same as once.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.core.compared import Compared
    from analyzer.core.report import Report


def show_reports_in_ipython() -> None:
    """Register the displays with the running IPython, if one runs: HTML and text of a Report, text of a comparison."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return
    formatters = shell.display_formatter.formatters
    # By name, so that numpy is not imported for a report that is never shown.
    formatters["text/html"].for_type_by_name("analyzer.core.report", "Report", _html)
    formatters["text/plain"].for_type_by_name("analyzer.core.report", "Report", _print_text)
    formatters["text/plain"].for_type_by_name("analyzer.core.compared", "Compared", _print_compared)


def _html(report: Report) -> str:
    # When a cell shows its value, not when the package is imported.
    from analyzer.reporting.html_fragment import render
    from analyzer.reporting.renderer import Page

    return render(report, Page())


def _print_text(report: Report, printer: Any, cycle: bool) -> None:
    from analyzer.reporting.renderer import Page
    from analyzer.reporting.terminal import render

    printer.text(render(report, Page()))


def _print_compared(compared: Compared, printer: Any, cycle: bool) -> None:
    from analyzer.reporting.compared_text import compared_text

    printer.text(compared_text(compared))
