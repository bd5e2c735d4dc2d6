"""How long a step takes, in every way it was run: each sample, and the medians with their spread."""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.report import DEFAULT_PLAN, PlanTrial, Report
from analyzer.core.samples import Samples
from analyzer.reporting.plain_text import plain
from analyzer.reporting.report_text import plan_error, plan_memory
from dashboard.figure import graph
from dashboard.panels.panel import Component, Panel, empty_state
from dashboard.panels.step_samples import Strip, strip_figure, strip_height_px
from dashboard.run_folder import RunData
from dashboard.table import Cell, Column, Kind, known_columns, static_table

MOST_STRIPS: Final = 12
"""Ways that are drawn; the table below has all."""
NO_STEPS: Final = "No step was timed: the run ended before its clean pass. Run `analyze model.py` and let it finish."
NO_MARKS: Final = (
    "No step is marked in this trace: call torch.profiler's `step()` after each step of the program, and record again."
)
NO_REPORT: Final = "Without report.json there are no times. Run `analyze model.py`."
_COLUMNS: Final = (
    Column("way", width_px=150),
    Column("a step", Kind.DURATION, tip="the median of the samples"),
    Column("± of it", Kind.SHARE, tip="half the distance between the quartiles, as a share of the median"),
    Column("samples", Kind.NUMBER, 80),
    Column("speed", Kind.RATIO, 80, tip="against torch.compile's default, taken in turn with it"),
    Column("error", width_px=110, tip="of the results, from the reference that the headline names"),
    Column("memory", width_px=130, tip="the peak of a step, + what its CUDA graphs hold"),
    Column("outcome", width_px=150),
)


def build(run: RunData) -> list[Component]:
    report = run.report
    if report is None:
        return [empty_state(NO_REPORT)]
    strips = strips_of(report)
    if not strips:
        return [empty_state(NO_MARKS if report.is_recorded else NO_STEPS), *_table(report)]
    figure = graph(
        "step-time-figure",
        strip_figure(strips),
        height_px=strip_height_px(strips),
        label="; ".join(_sentence(strip) for strip in strips),
    )
    return [figure, *_table(report)]


def strips_of(report: Report) -> list[Strip]:
    """One a way that was measured, the first of them; the steps themselves where there is none."""
    ways = [(_name(plan), plan.step_ns) for plan in report.plans if plan.step_ns is not None]
    if not ways and report.step_ns is not None:
        ways = [("recorded" if report.is_recorded else "before", report.step_ns)]
    return [Strip(name, "a step", samples) for name, samples in ways[:MOST_STRIPS]]


def way_rows(report: Report) -> list[tuple[Cell, ...]]:
    """What the table says of each way to run the whole model."""
    default = next((plan.step_ns for plan in report.plans if plan.name == DEFAULT_PLAN), None)
    return [_row(plan, default) for plan in report.plans]


def _row(plan: PlanTrial, default: Samples | None) -> tuple[Cell, ...]:
    own, against = plan.step_ns, plan.against_ns or default
    outcome = plan.outcome.value if plan.reason is None else f"{plan.outcome.value}: {plan.reason}"
    kept = (plan_error(plan), plan_memory(plan), outcome)
    if own is None:
        return _name(plan), None, None, None, None, *kept
    speed = against.median_ns / own.median_ns if against is not None and own.median_ns else None
    return _name(plan), own.median_ns, own.spread, len(own.ns), speed, *kept


def _table(report: Report) -> list[Component]:
    rows = way_rows(report)
    columns, known = known_columns(_COLUMNS, rows)
    return [static_table("step-time-table", columns, known, file_name="ways-to-run-it")] if rows else []


def _name(plan: PlanTrial) -> str:
    return plain(plan.name, 60) + (" (chosen)" if plan.is_chosen else "")


def _sentence(strip: Strip) -> str:
    samples = strip.samples
    return f"{strip.name}: {quantities.duration(samples.median_ns)}, ± {quantities.share(samples.spread)}"


PANEL: Final = Panel(id="step_time", title="Step time", build=build)
