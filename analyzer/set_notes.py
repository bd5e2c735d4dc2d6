"""What a report says of the sets of inputs that a step goes through, a sentence each."""

from __future__ import annotations

from analyzer.core.quantities import byte_count, counted, duration
from analyzer.core.samples import Samples
from analyzer.core.timing import SetTiming
from analyzer.measured import Measured


def input_sets(measured: Measured) -> tuple[SetTiming, ...]:
    """Each set as it was measured last; empty where the step has one."""
    checked = measured.verification
    if checked is not None and checked.sets:
        return checked.sets
    return measured.timing.sets if measured.timing is not None else ()


def set_notes(measured: Measured) -> tuple[str, ...]:
    """How long a call takes for each set, and what its sizes cost beside."""
    sets = input_sets(measured)
    return tuple(_note(one, number, len(sets)) for number, one in enumerate(sets, start=1))


def _note(one: SetTiming, number: int, count: int) -> str:
    ways = (("eager", one.eager_ns), ("default", one.default_ns), ("plan", one.plan_ns))
    times = [f"{name} {_time(samples)}" for name, samples in ways if samples is not None]
    costs = [text for text in (_compiled(one), _recorded(one)) if text]
    beside = f"; under the plan its first calls took {' and '.join(costs)}" if costs else ""
    return f"set {number} of {count} ({', '.join(one.inputs)}), called alone: {', '.join(times)}{beside}"


def _time(samples: Samples) -> str:
    return duration(samples.median_ns)


def _compiled(one: SetTiming) -> str | None:
    if one.compiles is None:
        return None
    again = f", {counted(one.recompiles, 'frame')} compiled again" if one.recompiles else ""
    return f"{counted(one.compiles, 'compilation')} of graphs{again}"


def _recorded(one: SetTiming) -> str | None:
    if not one.recorded:
        return None
    pool = f" with {byte_count(one.pool_bytes)}" if one.pool_bytes is not None else ""
    return f"{counted(one.recorded, 'CUDA graph')}{pool}"
