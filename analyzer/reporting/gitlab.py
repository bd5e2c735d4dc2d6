"""GitLab's code quality report: JSON that a merge request shows against that of its target branch, by fingerprint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, assert_never

from analyzer.core.gate import GateResult
from analyzer.core.model_runs import ModelRuns
from analyzer.core.report import Report
from analyzer.reporting.json import public_json
from analyzer.reporting.plain_text import file_name, plain, plain_command
from analyzer.reporting.remarks import PATH_LIMIT, Level, Remark, gate_remarks, report_remarks, told, without_gates
from analyzer.reporting.renderer import Page, Renderer


def render(report: Report, page: Page) -> str:
    return _issues(report_remarks(report, page.repository))


def render_gate(gate: GateResult, page: Page) -> str:
    """Findings that no gate is about too: GitLab itself tells those that a merge request adds from the others."""
    return _issues(gate_remarks(gate, page.repository))


def render_runs(runs: ModelRuns, page: Page) -> str:
    return _issues(gate_remarks(without_gates(runs), page.repository))


def _issues(remarks: Iterable[Remark]) -> str:
    return public_json([_issue(remark) for remark in remarks if not remark.is_silenced]).decode()


def _issue(remark: Remark) -> dict[str, Any]:
    return {
        "description": told(remark),
        "check_name": plain(remark.id),
        "fingerprint": remark.fingerprint,
        "severity": _severity(remark.level),
        "location": {"path": _path(remark), "lines": {"begin": remark.place.line or 1}},
    }


def _path(remark: Remark) -> str:
    """In the repository where there is one; else a name, without which GitLab would drop the issue."""
    if remark.place.path is not None:
        return plain_command(remark.place.path, PATH_LIMIT)
    shown = file_name(remark.where.file) if remark.where is not None else remark.model
    return plain(shown) or "model"


def _severity(level: Level) -> str:
    match level:
        case Level.ERROR:
            return "major"
        case Level.WARNING:
            return "minor"
        case _:
            assert_never(level)


RENDERER: Final = Renderer(
    id="gitlab",
    summary="a code quality report of GitLab",
    render=render,
    render_gate=render_gate,
    render_runs=render_runs,
)
