"""Torch gave up compiling a frame.

What it finds
    Frames that were compiled again and again until torch reached its recompile
    limit (8 by default). From then on the frame runs eager, for good.

Why it costs
    The frame loses everything that compiling gave, and the compilations before
    it were paid for nothing. Torch says so once, in a warning.

How it is measured
    From torch's own warning. Its cost is not known: the frame's compiled time
    is that of its last variant, not of a run that never happened.

What to do
    Make what the guard tests the same in every call. Raising
    torch._dynamo.config.recompile_limit helps only if the variants end.

When it is wrong
    A frame that is called with a bounded number of variants, just above the
    limit, is fine with a higher one.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.finding import Confidence, Finding
from analyzer.rules.evidence import capture_of
from analyzer.rules.facts import Facts
from analyzer.rules.remedies import GUARD_OTHERWISE, GUARDS, guard_text, remedy
from analyzer.rules.rule import Rule

_ID: Final = "recompile_limit"


def judge(facts: Facts) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            rule=_ID,
            message=f"torch gave up compiling this frame, it runs eager; the last guard: {guard_text(last.guard)}",
            where=last.where,
            ns_per_step=None,
            remedy=remedy(last.guard, GUARDS, GUARD_OTHERWISE),
            count=last.count,
        )
        for last in capture_of(facts).recompiles
        if last.is_limit
    )


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
