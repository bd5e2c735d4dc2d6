"""Whether a warmed-up step is the same work each time: watches some steps that are not timed, and changes nothing.

A model whose state grows (a KV cache), whose inputs are of a new size each time, or that torch still compiles, has no
step of which a budget could be made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Final

from analyzer.core.graphs import GraphKey
from analyzer.core.timing import Changing, StepChange
from collectors.capture import GraphLog
from collectors.outputs import tensors
from collectors.probe import Probe, Size, SizedCall
from collectors.state import Sizes
from collectors.step import Stepper

WATCHED_STEPS: Final = 5
"""What grows does so from each step to the next. Sizes that merely vary, as with dropout before a choice of experts,
are in order by chance in one of sixty runs of five."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one step did, in sizes."""

    calls: tuple[SizedCall, ...]
    output: tuple[tuple[str, tuple[int, ...]], ...]
    state: Sizes


class StepWatch:
    """To be made before the clean pass: whatever torch compiles from then on is no steady state."""

    def __init__(self, stepper: Stepper, probe: Probe, log: GraphLog) -> None:
        self._stepper = stepper
        self._probe = probe
        self._log = log
        self._compiled = _compilations(log)

    def changes(self) -> tuple[StepChange, ...]:
        """What differs between the steps from now on, the first of each kind and graph; empty where nothing does."""
        seen = [self._watched() for _ in range(WATCHED_STEPS)]
        found = [StepChange(Changing.COMPILING)] if _compilations(self._log) > self._compiled else []
        first: dict[tuple[Changing, GraphKey | None], StepChange] = {}
        # What has a trend comes first: it is what costs the verdicts.
        for change in sorted((*found, *_differing(seen)), key=lambda change: change.is_varying):
            first.setdefault((change.what, change.key), change)
        return tuple(first.values())

    def _watched(self) -> _Seen:
        stepper = self._stepper
        stepper.prepare()
        with self._probe.sizing() as calls:
            output, _ = stepper.run()
        stepper.wait()
        returned = tuple((path, tuple(t.shape)) for path, t in tensors(output) if not t.is_nested)
        return _Seen(tuple(calls), returned, stepper.state.sizes())


def _compilations(log: GraphLog) -> int:
    return log.compiles + len(log.recompiles)


def _differing(seen: Sequence[_Seen]) -> Iterator[StepChange]:
    calls = [step.calls for step in seen]
    if any([key for key, _ in other] != [key for key, _ in calls[0]] for other in calls):
        yield StepChange(Changing.CALLS)
    else:
        for same in zip(*calls, strict=True):
            yield from _given(same[0][0], [sizes for _, sizes in same])
    outputs, states = [dict(step.output) for step in seen], [step.state.of for step in seen]
    for path in outputs[0]:
        yield from _trend([output.get(path) for output in outputs], StepChange(Changing.OUTPUT))
    for place in states[0]:
        yield from _trend([state.get(place) for state in states], StepChange(Changing.STATE))


def _given(key: GraphKey, steps: Sequence[tuple[Size, ...]]) -> Iterator[StepChange]:
    """What one call of a graph was given in each step. Of tensors and numbers the tensors tell more."""
    change = StepChange(Changing.GRAPH_INPUT, key)
    if any(len(sizes) != len(steps[0]) for sizes in steps):
        yield change
        return
    arguments = list(zip(*steps, strict=True))
    for sizes in arguments:
        yield from _trend([size for size in sizes if isinstance(size, tuple)], change)
    for numbers in arguments:
        sizes_of_numbers = [(number,) for number in numbers if isinstance(number, int)]
        yield from _trend(sizes_of_numbers, replace(change, is_number=True))


def _trend(sizes: Sequence[tuple[int, ...] | None], change: StepChange) -> Iterator[StepChange]:
    """How the sizes of one thing differ from step to step; nothing where they do not, or it was not always there."""
    known = [size for size in sizes if size is not None]
    if len(known) < WATCHED_STEPS or all(size == known[0] for size in known):
        return
    pair = next((a, b) for a, b in pairwise(known) if a != b)
    counts = [prod(size) for size in known]
    has_trend = counts in (sorted(counts), sorted(counts, reverse=True))
    yield replace(change, sizes=pair, is_varying=not has_trend)
