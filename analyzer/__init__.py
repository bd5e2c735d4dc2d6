"""Graphbound: which resource bounds each compiled graph of a PyTorch model, what would free it, and did it.

Importing this package imports nothing heavy; each public name is fetched when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from analyzer.comparing import compare_paths as compare
    from analyzer.core.report import Report
    from analyzer.pipeline import analyze_in_process as analyze
    from analyzer.rank_analysis import analyze_path as analyze_trace
    from analyzer.reporting.json import report_at as load_report
    from collectors.workload import Workload
    from dashboard.inline import show as dashboard
    from optimizers.plan import read_plan as load_plan
    from optimizers.production import optimize

    __version__: str

__all__ = [
    "Report",
    "Workload",
    "__version__",
    "analyze",
    "analyze_trace",
    "compare",
    "dashboard",
    "load_plan",
    "load_report",
    "optimize",
]

_HOMES: Final = {
    "analyze": ("analyzer.pipeline", "analyze_in_process"),
    "analyze_trace": ("analyzer.rank_analysis", "analyze_path"),
    "compare": ("analyzer.comparing", "compare_paths"),
    "dashboard": ("dashboard.inline", "show"),
    "load_plan": ("optimizers.plan", "read_plan"),
    "load_report": ("analyzer.reporting.json", "report_at"),
    "optimize": ("optimizers.production", "optimize"),
    "Report": ("analyzer.core.report", "Report"),
    "Workload": ("collectors.workload", "Workload"),
    "__version__": ("analyzer.version", "VERSION"),
}
_GIVE_WHAT_IS_SHOWN: Final = frozenset({"Report", "analyze", "analyze_trace", "compare", "load_report"})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'analyzer' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    if name in _GIVE_WHAT_IS_SHOWN:
        importlib.import_module("analyzer.notebook").show_reports_in_ipython()
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
