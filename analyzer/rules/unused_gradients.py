"""Gradients are computed that no optimizer takes.

What it finds
    Parameters that get a gradient in every training step, and are in none of
    the optimizers that step: a teacher, a frozen backbone or a reference model
    that runs with gradients on.

Why it costs
    Its forward keeps activations for a backward, and the backward through it
    takes about twice the time of the forward. The optimizer then leaves the
    result alone, and the next step throws it away.

How it is measured
    From one eager step: the parameters that have a gradient after it, less
    those of the optimizers that stepped, at the lines whose operators took
    them. Its time is not known. Without an optimizer nothing is found: the
    gradients are then what was asked for.

What to do
    Put what is not trained under torch.no_grad(), or take its parameters out
    with requires_grad_(False).

When it is wrong
    When something else reads these gradients: an optimizer that steps every
    so many steps, a penalty on them, a log. And when the optimizer should have
    had these parameters.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Finding
from analyzer.core.graphs import SourceLine
from analyzer.core.ops import OpCall
from analyzer.core.settings import Mode
from analyzer.rules.evidence import workload_of
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import by_line, ops_of, unless_cut
from analyzer.rules.rule import Rule

_ID: Final = "unused_gradients"
_REMEDY: Final = "with torch.no_grad(): around what is not trained, or requires_grad_(False) on its parameters"
_MOST_NAMED: Final = 2
"""Parameters that a message names: enough to know which part of the model it is."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    ops = ops_of(facts)
    if workload_of(facts).mode != Mode.TRAINING or not ops.optimizers:
        return ()
    untaken = ops.untaken_gradients
    lines = by_line(call for call in ops.calls if not call.is_backward and _names(call, untaken))
    seen = {name for calls in lines.values() for call in calls for name in _names(call, untaken)}
    findings = [_finding(where, [n for n in untaken if _is_taken(n, calls)]) for where, calls in lines.items()]
    unseen = [name for name in untaken if name not in seen]
    findings += [_finding(None, unseen)] if unseen else []
    return unless_cut(ops, tuple(findings))


def _finding(where: SourceLine | None, names: list[str]) -> Finding:
    some = ", ".join(names[:_MOST_NAMED])
    more = f" and {quantities.count(len(names) - _MOST_NAMED)} more" if len(names) > _MOST_NAMED else ""
    what = f"{quantities.count(len(names))} parameters" if len(names) > 1 else "a parameter"
    message = f"gradients of {what} that no optimizer takes are computed in every step: {some}{more}"
    return Finding(_ID, message, where, None, _REMEDY, len(names))


def _is_taken(name: str, calls: list[OpCall]) -> bool:
    return any(tensor.parameter == name for call in calls for tensor in call.inputs)


def _names(call: OpCall, untaken: tuple[str, ...]) -> list[str]:
    return [tensor.parameter for tensor in call.inputs if tensor.parameter in untaken and tensor.parameter is not None]


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
