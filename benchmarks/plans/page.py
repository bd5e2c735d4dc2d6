"""The page of benchmarks/results/plans.md, and its figures as JSON: pure functions of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.plans.recorded import Measurement, Outcome, Recording
from benchmarks.plans.rivals import PLAN, RIVALS
from benchmarks.plans.summary import against, best_rival, checks, median_ns, spread, times_cold, way

INTRODUCTION = """# Plans against global settings

`python -m benchmarks.plans run`, then `show`. Medians of steps taken in turn in one process per model, ms a step; ± is
half the distance between the quartiles. "Over the best" is the median ratio of the best rival's step to the plan's,
pair by pair, which on a host of two speeds is not quite that of the medians: above 1 the plan is faster; the interval
is of 95 %. The plan is what `analyze MODEL` found by itself in an empty compile cache, and is measured as production
runs it, through `analyzer.optimize`. A plan that leaves a model alone is eager; where nothing of a model was captured
there is nothing to plan, and the model itself stands for it.
"""


def page(recording: Recording) -> str:
    parts = [INTRODUCTION]
    for device in dict.fromkeys(m.device for m in recording.measurements):
        mine = [m for m in recording.measurements if m.device == device]
        parts += [f"## {device}\n", _machines(mine), _checks(mine), _steps(mine), _searches(mine), _not_measured(mine)]
    return "\n".join(part for part in parts if part)


def _machines(measurements: Sequence[Measurement]) -> str:
    """A paragraph; the models of one machine together, where there were several."""
    models: dict[str, list[str]] = {}
    for one in measurements:
        models.setdefault(f"{one.machine}, torch {one.torch}", []).append(one.case)
    if len(models) == 1:
        return f"{next(iter(models))}.\n"
    return "\n".join(f"- {machine}: {', '.join(names)}" for machine, names in models.items()) + "\n"


def figures(recording: Recording) -> dict[str, Any]:
    """The same, for a program; the samples stay in the recording."""
    devices = dict.fromkeys(m.device for m in recording.measurements)
    return {
        "devices": [
            {
                "device": device,
                "checks": [
                    {"what": c.what, "asked": c.asked, "found": c.found, "of": c.of, "meets": c.meets.value}
                    for c in checks([m for m in recording.measurements if m.device == device])
                ],
                "models": [_row(m) for m in recording.measurements if m.device == device],
            }
            for device in devices
        ]
    }


def _row(measurement: Measurement) -> dict[str, Any]:
    best = against(measurement, best_rival(measurement))
    return {
        "model": measurement.case,
        "machine": measurement.machine,
        "date": measurement.date,
        "torch": measurement.torch,
        "graphs": measurement.graphs,
        "median_ns": {w.name: median_ns(w) for w in measurement.ways if w.outcome is Outcome.MEASURED},
        "best_rival": best and best.name,
        "ratio": best and round(best.ratio, 4),
        "interval": best and [round(best.low, 4), round(best.high, 4)],
        "chosen": {one.key: one.candidate for one in measurement.search.chosen},
        "cold_default_s": measurement.search.cold_s,
        "analyze_s": measurement.search.wall_s,
        "stages_s": {stage.name: stage.seconds for stage in measurement.search.stages},
    }


def _checks(measurements: Sequence[Measurement]) -> str:
    rows = [(c.what, c.asked, c.found or "not measured", str(c.of), c.meets.value) for c in checks(measurements)]
    return _table(("promise", "asked", "found", "of", ""), rows)


def _steps(measurements: Sequence[Measurement]) -> str:
    names = [r.name for r in RIVALS if any(way(m, r.name) is not None for m in measurements)]
    rows = []
    for found in measurements:
        best = against(found, best_rival(found))
        over = "—" if best is None else f"{best.ratio:.2f} ({best.low:.2f}–{best.high:.2f}), {best.name}"
        chosen = sorted({one.candidate for one in found.search.chosen}) or ["none" if found.graphs else "no graph"]
        times = [_time(found, name) for name in (*names, PLAN)]
        rows.append((found.case, *times, over, best.meets.value if best else "open", ", ".join(chosen), found.date))
    return _table(("model", *names, PLAN, "over the best", "", "candidates of the plan", "date"), rows)


def _time(measurement: Measurement, name: str) -> str:
    found = way(measurement, name)
    return "—" if found is None else f"{median_ns(found) / 1e6:.3g} ± {spread(found):.0%}"


def _searches(measurements: Sequence[Measurement]) -> str:
    rows = []
    for found in measurements:
        search, times = found.search, times_cold(found)
        stages = ", ".join(f"{stage.name} {stage.seconds:.0f}" for stage in search.stages if stage.seconds >= 0.5)
        cold = "—" if search.cold_s is None else f"{search.cold_s:.0f}"
        row = (found.case, str(found.graphs), cold, f"{search.wall_s:.0f}", "—" if times is None else f"{times:.1f}")
        rows.append((*row, stages, search.partial or _ended(search.exit_code)))
    return _table(("model", "graphs", "cold default, s", "analyze, s", "times", "stages, s", ""), rows)


def _ended(exit_code: int | None) -> str:
    match exit_code:
        case 0:
            return ""
        case None:
            return "stopped, as it took too long"
        case _:
            return f"ended with {exit_code}"


def _not_measured(measurements: Sequence[Measurement]) -> str:
    lines = [
        f"- {found.case}, {one.name}: {one.outcome.value}{f' ({_plain(one.reason)})' if one.reason else ''}"
        for found in measurements
        for one in found.ways
        if one.outcome is not Outcome.MEASURED
    ]
    busy = [f"{m.case} {m.other_cores:.1f}" for m in measurements if m.other_cores is not None and m.other_cores > 0.5]
    lines += [f"- cores that other programs kept busy meanwhile: {', '.join(busy)}"] if busy else []
    return "\n".join(["Not measured, or not as it should be:\n", *lines, ""]) if lines else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_plain(cell) for cell in line) + " |" for line in lines) + "\n"


def _plain(text: str) -> str:
    """One line of a table, whatever a compiler said."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
