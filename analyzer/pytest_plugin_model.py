"""A model that a test holds to its claims: run once, as far as they need, in the process of the test."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analyzer.checking.sources import FileSources
from analyzer.checking.subjects import graphs_in_process
from analyzer.core.errors import GraphboundError, UsageError, UserProgramError
from analyzer.core.report import Report
from analyzer.core.shell import shell_path
from analyzer.gate.reading import Needs
from analyzer.pipeline import analyze_in_process
from analyzer.pytest_plugin_claims import Claims, Miss, misses, read_claims
from analyzer.reporting.plain_text import plain
from analyzer.rules import RULES
from analyzer.run_folder import RunFolder
from optimizers.plan import read_plan

LINE_LIMIT: Final = 600
"""Characters of one line of a failure: torch's own reasons are paragraphs."""
MAX_LINES: Final = 12
"""Below one claim."""
_FLAG: Final = re.compile(r"--(device|mode) (\w+)")
RULE_IDS: Final = tuple(rule.id for rule in RULES)
_OURS: Final = tuple(
    f"{Path(__file__).resolve().parents[1] / name}{os.sep}" for name in ("analyzer", "collectors", "optimizers")
)


@dataclass(frozen=True, slots=True)
class HeldSettings:
    """`runs` False: it is compiled and called, and nothing is timed. `out` None: no run folder is kept. Paths are shown
    from `root`. `plan` is the file of the plan that it is held under, None: torch.compile's default.
    """

    mode: str
    device: str | None
    runs: bool
    optimize: bool
    out: Path | None
    root: Path
    plan: Path | None = None


def plan_file(plan: object, root: Path) -> Path:
    """The path of a plan that a test named, from `root`. Raises UsageError for what is no path."""
    if not isinstance(plan, str | os.PathLike) or not (named := os.fspath(plan)):
        raise UsageError(f"bottleneck(): plan is {plan!r}, and must be the path of a plan.json")
    return root / os.fsdecode(named)


class Bottleneck:
    """What `bottleneck(model, inputs)` gives. The model is run when something is asked of it, and once."""

    def __init__(self, model: Any, inputs: Any, settings: HeldSettings) -> None:
        self._model = model
        self._inputs = inputs
        self._settings = settings
        self._reports: dict[bool, Report] = {}
        """By whether its steps were run."""
        self.was_asked = False
        """Whether anything was claimed of it, or its report was read."""

    def has(self, **asked: Any) -> Bottleneck:
        """Raises AssertionError where a claim does not hold, or where it is not known whether it does; UsageError for
        what is no claim; GraphboundError where the model does not run.
        """
        __tracebackhide__ = True
        self.was_asked = True
        try:
            claims = read_claims(asked)
            plan = None if self._settings.plan is None else read_plan(self._settings.plan)
            report = self._report(claims)
        except GraphboundError as error:
            raise _with_hint(error) from _cause(error)
        sources = FileSources(self._settings.root, Path.cwd())
        found = misses(claims, report, sources, sources.silences(report, RULE_IDS), plan)
        if found:
            raise AssertionError(self._said(report, found))
        return self

    @property
    def report(self) -> Report:
        """The whole report; of a model that is not to be run, that of its graphs."""
        __tracebackhide__ = True
        self.was_asked = True
        try:
            return self._of(needs_steps=self._settings.runs)
        except GraphboundError as error:
            raise _with_hint(error) from _cause(error)

    def _report(self, claims: Claims) -> Report:
        needs_steps = claims.needs > Needs.GRAPHS
        if needs_steps and not self._settings.runs:
            named = [claim.gate.id for claim in claims.gates if claim.gate.needs > Needs.GRAPHS]
            named += ["bound"] if claims.bounds else []
            tells = "is told" if len(named) == 1 else "are told"
            raise UsageError(
                f"{', '.join(named)} {tells} by a step that is run, and bottleneck(…, runs=False) runs none"
            )
        # A search and a plan tell more of the graphs too: what a CUDA graph refuses.
        tells_more = self._settings.optimize or self._settings.plan is not None
        return self._of(needs_steps=needs_steps or (self._settings.runs and tells_more))

    def _of(self, *, needs_steps: bool) -> Report:
        known = self._reports.get(True) or self._reports.get(needs_steps)
        if known is None:
            with _no_warning_is_an_error(), _without_details_of_torch():
                known = self._reports[needs_steps] = self._whole() if needs_steps else self._graphs()
        return known

    def _whole(self) -> Report:
        settings = self._settings
        return analyze_in_process(
            self._model,
            self._inputs,
            mode=settings.mode,
            device=settings.device,
            optimize=settings.optimize if settings.plan is None else settings.plan,
            out=settings.out,
        )

    def _graphs(self) -> Report:
        settings = self._settings
        folder = None if settings.out is None else RunFolder.create(settings.out.name, str(settings.out))
        report = graphs_in_process(self._model, self._inputs, mode=settings.mode, device=settings.device)
        if folder is not None:
            folder.clear()
            folder.save_report(report)
        return report

    def _said(self, report: Report, found: tuple[Miss, ...]) -> str:
        facts = report.workload
        what = ", ".join((facts.name, facts.mode, report.device.name, f"torch {report.versions.torch}"))
        lines = [f"not as claimed: {plain(what)}"]
        for miss in found:
            lines.append(f"{miss.name}: {plain(miss.message, LINE_LIMIT)}")
            lines += [f"    {plain(line, LINE_LIMIT)}" for line in miss.lines[:MAX_LINES]]
            more = len(miss.lines) - MAX_LINES
            lines += [f"    and {more} more"] if more > 0 else []
        out = self._settings.out
        kept = f"analyze show {shell_path(out)}" if out is not None else "pytest --graphbound-out DIR keeps the report"
        return "\n".join([*lines, f"more: {kept}"])


@contextmanager
def _no_warning_is_an_error() -> Iterator[None]:
    """Under `-W error` a warning of torch's own, as it compiles, would end the run. It is shown, and no more."""
    with warnings.catch_warnings():
        filters: list[Any] = list(warnings.filters)
        warnings.resetwarnings()
        for action, message, category, module, line in reversed(filters):
            warnings.filterwarnings(
                "default" if action == "error" else action, _pattern(message), category, _pattern(module), line
            )
        yield


@contextmanager
def _without_details_of_torch() -> Iterator[None]:
    """While a model compiles torch writes hundreds of records below WARNING, all of which pytest would show below a
    test that fails.
    """
    handlers = list(logging.getLogger().handlers)
    for handler in handlers:
        handler.addFilter(_is_no_detail_of_torch)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(_is_no_detail_of_torch)


def _is_no_detail_of_torch(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] != "torch"


def _pattern(given: str | re.Pattern[str] | None) -> str:
    # What is set in C is plain text, and what Python sets a compiled pattern.
    return "" if given is None else re.escape(given) if isinstance(given, str) else given.pattern


def _cause(error: GraphboundError) -> BaseException | None:
    """What the user's program raised, as pytest is to show it: below our last frame. None behind an error of usage,
    whose sentence is all there is to it; what is our own fault keeps every frame.
    """
    cause = error.__cause__
    if cause is None or isinstance(error, UsageError):
        return None
    if not isinstance(error, UserProgramError):
        return cause
    below = step = cause.__traceback__
    while step is not None:
        below = step.tb_next if step.tb_frame.f_code.co_filename.startswith(_OURS) else below
        step = step.tb_next
    return cause if below is None else cause.with_traceback(below)


def _with_hint(error: GraphboundError) -> GraphboundError:
    """The same error, whose text is all that pytest shows of it: a new one, without the frames of ours it came by."""
    if error.hint is None:
        return type(error)(error.message)
    # The flags of the command are arguments here.
    hint = _FLAG.sub(r'bottleneck(…, \1="\2")', error.hint)
    return type(error)(f"{error.message}: {hint}")
