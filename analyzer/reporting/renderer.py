"""What a format is: an id, a sentence, and a function that makes text of a report; others for a gate's result
and for the runs of several models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from analyzer.core.gate import GateResult
from analyzer.core.model_runs import ModelRuns
from analyzer.core.report import Report
from analyzer.reporting.repository import NO_REPOSITORY, Repository
from analyzer.reporting.shown_step import ShownStep
from analyzer.reporting.word import Word

PAGE_WIDTH: Final = 80
"""Columns of a page when nobody says otherwise, and the fewest that are laid out for."""


@dataclass(frozen=True, slots=True)
class Page:
    """Where text will be shown. `is_ascii` where the other end cannot take `→`, `×` and `µ`.

    `most_bytes` is the most that the other end takes, None: the format's own limit, if it has one. `rules` explain the
    findings where a format takes explanations along. `steps` are those of the traces, for a format that draws them: a
    report holds none.
    """

    width: int = PAGE_WIDTH
    has_colour: bool = False
    is_ascii: bool = False
    most_bytes: int | None = None
    repository: Repository = NO_REPOSITORY
    rules: tuple[Word, ...] = ()
    steps: tuple[ShownStep, ...] = ()


class Render(Protocol):
    def __call__(self, report: Report, page: Page) -> str: ...


class RenderGate(Protocol):
    def __call__(self, gate: GateResult, page: Page) -> str: ...


class RenderRuns(Protocol):
    def __call__(self, runs: ModelRuns, page: Page) -> str: ...


@dataclass(frozen=True, slots=True)
class Renderer:
    """`id` is the name of the file it lives in. `render` is pure: the same report and page give the same text, which
    ends in a newline. `render_gate` does the same with what `analyze check` found, `render_runs` with the reports of
    several models; None: this format shows none.
    """

    id: str
    summary: str
    render: Render
    render_gate: RenderGate | None = None
    render_runs: RenderRuns | None = None
