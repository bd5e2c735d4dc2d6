"""Pointwise operators run one by one, unfused.

What it finds
    Three or more pointwise operators (add, mul, exp, relu, …) in a row, over
    tensors of one size, in code that was not compiled.

Why it costs
    Each of them reads its inputs from memory and writes its result there, for
    the next one to read. One fused kernel reads and writes once, and is
    launched once.

How it is measured
    The operators' order, sizes and kernel times are from the profiled pass,
    which does not stretch a kernel. The cost is the time of the chain less
    that of its longest kernel: what a fused kernel saves at most on the
    device. Launches that are saved are not counted. On a CPU the times are
    brought to the pass without the profiler; without it the cost is unknown.

What to do
    Bring the lines into a graph: fix the graph break before them, or put
    @torch.compile on a function that holds them.

When it is wrong
    Neighbours in time may not use each other's results: the loops of an
    optimizer look like chains, and foreach=True or fused=True is their remedy.
    Autograd may need some of the results in between, which then have to be
    written anyway.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.activity import Activity, PointwiseChain
from analyzer.core.finding import Finding
from analyzer.core.graphs import Region
from analyzer.rules.facts import Facts
from analyzer.rules.places import NOTED_SHARE, activity_of, region_place, region_text, share_of_step
from analyzer.rules.rule import Rule

_ID: Final = "unfused_chain"
_REMEDY: Final = (
    "bring these lines into a graph: put @torch.compile on a function of them, or fix the break before them"
)

SHOWN_OPS: Final = 6
"""Operators of a chain that are named; the rest is a number."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    activity = activity_of(facts)
    by_region: dict[Region, list[PointwiseChain]] = {}
    for chain in activity.chains:
        by_region.setdefault(chain.region, []).append(chain)
    return tuple(
        Finding(
            rule=_ID,
            message=_message(chains, region),
            where=region_place(facts.capture, region),
            ns_per_step=_saved_ns(chains) if _is_measured(activity) else None,
            remedy=_REMEDY,
            count=max(1, round(sum(chain.count for chain in chains))),
        )
        for region, chains in by_region.items()
        if share_of_step(activity, _saved_ns(chains)) >= NOTED_SHARE
    )


def _is_measured(activity: Activity) -> bool:
    return activity.is_scaled or not activity.is_host


def _saved_ns(chains: list[PointwiseChain]) -> int:
    return sum(chain.device_ns - chain.longest_ns for chain in chains)


def _message(chains: list[PointwiseChain], region: Region) -> str:
    dearest = max(chains, key=lambda chain: chain.device_ns - chain.longest_ns)
    names = " → ".join(op.removeprefix("aten::") for op in dearest.ops[:SHOWN_OPS])
    more = len(dearest.ops) - SHOWN_OPS
    rest = f" and {more} more" if more > 0 else ""
    kernels = sum(len(chain.ops) * chain.count for chain in chains)
    return (
        f"{quantities.count(kernels)} pointwise operators a step run unfused {region_text(region)}, "
        f"first of all {names}{rest} over {quantities.count(dearest.elements)} elements"
    )


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
