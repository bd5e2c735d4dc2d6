"""Graphbound: which resource bounds each compiled graph of a PyTorch model, what would free it, and did it.

Importing this package imports nothing heavy; each public name is fetched when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from analyzer.core.report import Report
    from analyzer.pipeline import analyze_in_process as analyze
    from analyzer.reporting.json import read_report as load_report
    from collectors.workload import Workload
    from optimizers.plan import read_plan as load_plan
    from optimizers.production import optimize

    __version__: str

__all__ = ["Report", "Workload", "__version__", "analyze", "load_plan", "load_report", "optimize"]

_HOMES: Final = {
    "analyze": ("analyzer.pipeline", "analyze_in_process"),
    "load_plan": ("optimizers.plan", "read_plan"),
    "load_report": ("analyzer.reporting.json", "read_report"),
    "optimize": ("optimizers.production", "optimize"),
    "Report": ("analyzer.core.report", "Report"),
    "Workload": ("collectors.workload", "Workload"),
    "__version__": ("analyzer.version", "VERSION"),
}
_GIVE_REPORTS: Final = frozenset({"Report", "analyze", "load_report"})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'analyzer' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    if name in _GIVE_REPORTS:
        importlib.import_module("analyzer.notebook").show_reports_in_ipython()
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
