"""Autograd's anomaly detection is on.

What it finds
    torch.autograd.set_detect_anomaly(True), or detect_anomaly(), around the
    workload or inside its step, with the first line that runs under it.

Why it costs
    Every operation that records a gradient keeps a Python stack trace, and the
    backward tests every gradient for NaN, each test with a synchronisation.

How it is measured
    From torch's setting, before the step and as each operator of an eager step
    runs. Its time is not known: it depends on the backward.

What to do
    torch.autograd.set_detect_anomaly(False), once the fault is found.

When it is wrong
    An inference step without gradients hardly notices it.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.finding import Confidence, Finding
from analyzer.rules.evidence import environment_of
from analyzer.rules.facts import Facts
from analyzer.rules.rule import Rule

_ID: Final = "anomaly_mode"
_MESSAGE: Final = "autograd's anomaly detection is on: every gradient is traced and tested for NaN"
_REMEDY: Final = "torch.autograd.set_detect_anomaly(False)"


def judge(facts: Facts) -> tuple[Finding, ...]:
    use = facts.ops.mode("anomaly") if facts.ops is not None else None
    if use is not None:
        return (Finding(_ID, _MESSAGE, use.where, None, _REMEDY),)
    return (Finding(_ID, _MESSAGE, None, None, _REMEDY),) if environment_of(facts).is_anomaly_mode else ()


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
