"""Deterministic algorithms are forced.

What it finds
    torch.use_deterministic_algorithms(True) around the workload or inside its
    step, with the first line that runs under it.

Why it costs
    Scatter, index and pooling operations take slower kernels, empty tensors
    are filled, Inductor leaves autotuned choices out, and some operations
    raise. cuBLAS is held to a smaller workspace.

How it is measured
    From torch's setting, before the step and as each operator of an eager step
    runs. Its time is not known: it depends on the operations.

What to do
    torch.use_deterministic_algorithms(False), where runs need not repeat bit
    by bit. It changes the results from run to run, within rounding.

When it is wrong
    When bit-for-bit repetition is wanted, as in tests and some audits.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.finding import Confidence, Finding
from analyzer.rules.evidence import environment_of
from analyzer.rules.facts import Facts
from analyzer.rules.rule import Rule

_ID: Final = "deterministic_mode"
_MESSAGE: Final = "deterministic algorithms are forced: some operations take slower kernels"
_REMEDY: Final = "torch.use_deterministic_algorithms(False); results then differ within rounding from run to run"


def judge(facts: Facts) -> tuple[Finding, ...]:
    use = facts.ops.mode("deterministic") if facts.ops is not None else None
    if use is not None:
        return (Finding(_ID, _MESSAGE, use.where, None, _REMEDY),)
    return (Finding(_ID, _MESSAGE, None, None, _REMEDY),) if environment_of(facts).is_deterministic else ()


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
