"""Entering compiled code takes much of the step.

What it finds
    Steps of which a twentieth or more goes into getting to the compiled
    graphs: Dynamo's cache lookup with its guards, the bytecode it wrote, and
    the prologue of AOTAutograd.

Why it costs
    At each call, torch tests every assumption that the graph was compiled
    under: shapes, modules, globals, settings. A model of many modules, or a
    step of many graphs, has thousands of them. The device waits meanwhile, and
    neither CUDA graphs nor the C++ wrapper shorten it.

How it is measured
    torch marks these parts in the trace. The step is played again without
    them, with their time brought to the pass without the profiler; what the
    device's queue hides is not counted. Unknown without the clean pass.

What to do
    Fewer entries: fix graph breaks, compile the outermost function. Cheaper
    ones, where modules do not change after compilation:
    torch.compile(model, options={"guard_filter_fn":
    torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe}). Or more work in
    each: a larger batch has the same guards.

When it is wrong
    The profiler stretches these rows less than the host's launches, by which
    they are scaled: the cost is rather too small. A filter of guards makes
    torch run stale code where what it no longer tests does change.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.activity import Activity, EntryCost, EntryKind
from analyzer.core.finding import Finding
from analyzer.core.graphs import Capture, GapKey, SourceLine
from analyzer.rules.facts import Facts
from analyzer.rules.places import activity_of, claimed_ns, region_place, share_of_step
from analyzer.rules.rule import Rule

_ID: Final = "guard_cost"
_BREAKS: Final = "enter less often: fix the graph breaks, so that one call of compiled code does the work of several"
_FILTER: Final = (
    'torch.compile(model, options={"guard_filter_fn": torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe}), if its '
    "modules do not change after compilation"
)
_MORE: Final = "do more in one call of compiled code, as with a larger batch: what it takes to enter it stays the same"

HEAVY_SHARE: Final = 0.05
"""Of the step. A choice: the host enters the four graphs of a step of 6 ms in about 0.2 ms (H200)."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    activity = activity_of(facts)
    share = share_of_step(activity, activity.entry_cost_ns)
    if not activity.entries or share < HEAVY_SHARE:
        return ()
    dearest = max(activity.entries, key=lambda entry: entry.host_ns)
    count = _count(activity)
    return (
        Finding(
            rule=_ID,
            message=f"entering compiled code takes {quantities.share(share)} of the step: {_kinds(activity)}",
            where=_where(facts.capture, dearest),
            ns_per_step=claimed_ns(activity, activity.entry_cost_ns),
            remedy=_remedy(facts, count),
            count=count,
        ),
    )


def _remedy(facts: Facts, count: int) -> str:
    if count > facts.input_sets:
        return _BREAKS
    # The filter is of guards on modules, which a function has none of.
    is_function = facts.workload is not None and facts.workload.parameters is None
    return _MORE if is_function else _FILTER


def _count(activity: Activity) -> int:
    return max(1, round(sum(e.count for e in activity.entries if e.kind is EntryKind.GUARDS)))


def _kinds(activity: Activity) -> str:
    texts = []
    for kind, word in (
        (EntryKind.GUARDS, "guards"),
        (EntryKind.BYTECODE, "bytecode"),
        (EntryKind.PROLOGUE, "prologue"),
    ):
        ns = sum(entry.host_ns for entry in activity.entries if entry.kind is kind)
        if ns:
            texts.append(f"{word} {quantities.duration(ns)}")
    return ", ".join(texts)


def _where(capture: Capture | None, entry: EntryCost) -> SourceLine | None:
    """The first line of the graph that is entered: guards run before it, in the gap."""
    region = entry.region
    if isinstance(region, GapKey) and region.before is not None:
        return region_place(capture, region.before)
    return region_place(capture, region)


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
