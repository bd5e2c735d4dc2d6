"""A trace, attributed and judged for the eye: what the lanes of a timeline are made of. Reads no file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analyzer.core.device import Device
from analyzer.core.graphs import GraphKey
from analyzer.core.trace import Trace
from analyzer.derive.attribution import Attribution, attribute
from analyzer.derive.kernel_costs import KernelCosts, kernel_costs
from analyzer.derive.regions_from_trace import RegionKind, TraceRegion
from analyzer.derive.steps import Steps, find_steps, with_step_names
from analyzer.derive.trace_budget import TraceBudget, trace_budget
from analyzer.trace_analysis import device_of

GRAPH_KINDS = (
    RegionKind.COMPILED,
    RegionKind.REPLAY,
    RegionKind.MODULE,
    RegionKind.RANGE,
    RegionKind.BACKWARD,
)
"""Regions that have a colour of their own; what lies outside of any is grey."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One trace. `budget` is None where it shows no work of any device; `costs` stand beside its rows of work. `device`
    is what it was judged for, None where nobody said.
    """

    attribution: Attribution
    steps: Steps
    budget: TraceBudget | None
    costs: KernelCosts
    device: Device | None = None

    @property
    def trace(self) -> Trace:
        return self.attribution.trace

    @property
    def regions(self) -> tuple[TraceRegion, ...]:
        return tuple(one.region for one in self.budget.regions) if self.budget is not None else ()


def recording_of(trace: Trace, device: Device | None) -> Recording:
    """`device` is the measured one, None for that of the trace with its data sheet."""
    steps = find_steps(trace)
    attribution = attribute(with_step_names(trace, steps))
    # Rows of the recorder itself are left out there, so that the steps' own rows have other numbers.
    steps = find_steps(attribution.trace)
    device = device or device_of(trace)
    return Recording(attribution, steps, trace_budget(attribution, steps, device), kernel_costs(attribution), device)


@dataclass(frozen=True, slots=True)
class GraphNames:
    """The graphs of all timelines of a page, the one with most device time first, and what each is called."""

    order: tuple[GraphKey, ...]
    labels: tuple[str, ...]

    def number(self, key: GraphKey) -> int | None:
        return self.order.index(key) if key in self.order else None

    def label(self, region: TraceRegion) -> str:
        number = self.number(region.key)
        return region.label if number is None else self.labels[number]


def name_graphs(recordings: Sequence[Recording], labels: Mapping[GraphKey, str]) -> GraphNames:
    """`labels` are the report's; a graph that it does not know has the label of the trace."""
    total_ns: dict[GraphKey, int] = {}
    said: dict[GraphKey, str] = {}
    for recording in recordings:
        if recording.budget is None:
            continue
        own = np.bincount(
            recording.budget.region_of,
            weights=recording.attribution.work.own_ns,
            minlength=len(recording.budget.regions),
        )
        for region, ns in zip(recording.regions, own.tolist(), strict=True):
            if region.kind in GRAPH_KINDS and ns > 0:
                total_ns[region.key] = total_ns.get(region.key, 0) + round(ns)
                said.setdefault(region.key, labels.get(region.key, region.label))
    order = tuple(sorted(total_ns, key=lambda key: (-total_ns[key], str(key))))
    return GraphNames(order, tuple(said[key] for key in order))
