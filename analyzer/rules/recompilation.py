"""A frame was compiled again, because a guard failed.

What it finds
    Frames that Dynamo compiled more than once, with the guard that failed.
    Guards that differ in their numbers only are one finding with a count.

Why it costs
    Each recompilation takes seconds, in the middle of whatever was running. It
    adds an entry to the frame's cache, and every later call tests the entries
    in turn. At the recompile limit torch gives the frame up.

How it is measured
    From torch's recompiles log. No time a step is claimed: recompilations
    happen before steady state, or the run would not have become steady.

What to do
    Make what the guard tests the same in every call, or tell torch that it
    changes (torch._dynamo.mark_dynamic for a size).

When it is wrong
    A first recompilation for a changed size is torch's own way to a dynamic
    shape, and happens once. Two real variants (training and evaluation, prompt
    and decoding) deserve two entries.
"""

from __future__ import annotations

import re
from typing import Final

from analyzer.core.finding import Confidence, Finding
from analyzer.core.graphs import Recompile, SourceLine
from analyzer.rules.evidence import capture_of
from analyzer.rules.facts import Facts
from analyzer.rules.remedies import GUARD_OTHERWISE, GUARDS, guard_text, remedy
from analyzer.rules.rule import Rule

_ID: Final = "recompilation"
_VALUE: Final = re.compile(r"\d+|(?<=expected )\w+|(?<=actual )\w+")
"""What differs where one guard fails again: the sizes, the types that were expected and met."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    merged: dict[tuple[SourceLine | None, str], list[Recompile]] = {}
    for again in capture_of(facts).recompiles:
        if not again.is_limit:
            merged.setdefault((again.where, _VALUE.sub("0", again.guard)), []).append(again)
    return tuple(
        Finding(
            rule=_ID,
            message=f"compiled again, because a guard failed: {guard_text(group[0].guard)}",
            where=where,
            ns_per_step=None,
            remedy=remedy(group[0].guard, GUARDS, GUARD_OTHERWISE),
            count=sum(again.count for again in group),
        )
        for (where, _), group in merged.items()
    )


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
