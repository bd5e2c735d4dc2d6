"""Deterministic algorithms are forced.

What it finds
    torch.use_deterministic_algorithms(True) around the workload.

Why it costs
    Scatter, index and pooling operations take slower kernels, empty tensors
    are filled, Inductor leaves autotuned choices out, and some operations
    raise. cuBLAS is held to a smaller workspace.

How it is measured
    From torch's setting. Its time is not known: it depends on the operations.

What to do
    torch.use_deterministic_algorithms(False), where runs need not repeat bit
    by bit. It changes the results from run to run, within rounding.

When it is wrong
    When bit-for-bit repetition is wanted, as in tests and some audits.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.finding import Finding
from analyzer.rules.evidence import environment_of
from analyzer.rules.facts import Facts
from analyzer.rules.rule import Rule

_ID: Final = "deterministic_mode"
_MESSAGE: Final = "deterministic algorithms are forced: some operations take slower kernels"
_REMEDY: Final = "torch.use_deterministic_algorithms(False); results then differ within rounding from run to run"


def judge(facts: Facts) -> tuple[Finding, ...]:
    return (Finding(_ID, _MESSAGE, None, None, _REMEDY),) if environment_of(facts).is_deterministic else ()


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
