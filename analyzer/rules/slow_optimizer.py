"""The optimizer steps its parameters one by one.

What it finds
    An optimizer of torch that steps in a Python loop over its parameters, while
    a fused or foreach form of it would do; and code that updates many
    parameters in place, each in a call of its own.

Why it costs
    Each parameter takes some ten small operators, and each of them its dispatch
    and, on a GPU, its launch. Adam over 64 small tensors was measured at 4.9 ms
    on one CPU thread, 2.6 ms with foreach and 0.8 ms fused.

How it is measured
    From the optimizers that stepped in one eager step, with torch's own choice
    of their form, and from in-place operators on parameters. The cost is the
    operators of the optimizer's step times what the host takes for one on an
    empty tensor: time that the work itself does not need.

What to do
    fused=True, or foreach=True, where the optimizer is made. For code of your
    own: torch._foreach_add_(parameters, updates) and its like.

When it is wrong
    A few large tensors: their loop is bound by memory, and fused saves passes
    over it, not calls. Under differentiable=True torch has the loop only.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Confidence, Finding
from analyzer.core.ops import OpCall, OpLog, OptimizerFacts
from analyzer.rules.evidence import workload_of
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import by_line, ops_of, unless_cut
from analyzer.rules.rule import Rule

_ID: Final = "slow_optimizer"
_LOOP: Final = "for-loop"

_LEAST_TENSORS: Final = 8
"""Parameters. On one CPU thread Adam over eight small ones took 0.63 ms in a loop and 0.17 ms fused."""

_UPDATES: Final = frozenset(
    f"aten::{name}_" for name in ("add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp", "copy")
)


def judge(facts: Facts) -> tuple[Finding, ...]:
    ops = ops_of(facts)
    device = workload_of(facts).device
    loops = [o for o in ops.optimizers if _is_slow(o, device)]
    findings = [_of_optimizer(facts, optimizer) for optimizer in loops]
    findings += _of_own_code(ops)
    return unless_cut(ops, tuple(findings))


def _is_slow(optimizer: OptimizerFacts, device: str) -> bool:
    # On a CPU foreach is the same loop in C++, twice as fast where tensors are small; only fused is claimed there.
    has_better = optimizer.can_fuse or device != "cpu"
    return optimizer.implementation == _LOOP and optimizer.tensors >= _LEAST_TENSORS and has_better


def _of_optimizer(facts: Facts, optimizer: OptimizerFacts) -> Finding:
    operators = f", {quantities.count(optimizer.operators)} operators a step" if optimizer.operators else ""
    flag = "fused=True" if optimizer.can_fuse else "foreach=True"
    return Finding(
        rule=_ID,
        message=f"{optimizer.name} updates {quantities.count(optimizer.tensors)} tensors one by one{operators}",
        where=optimizer.where,
        ns_per_step=_cost(facts, optimizer.operators),
        remedy=f"torch.optim.{optimizer.name}(..., {flag})",
        count=optimizer.tensors,
    )


def _cost(facts: Facts, operators: int) -> int | None:
    empty_ns = facts.device.empty_op_ns if facts.device is not None else None
    if empty_ns is None or not operators:
        return None
    spent_ns = round(operators * empty_ns)
    return spent_ns if facts.step_ns is None else min(spent_ns, facts.step_ns)


def _of_own_code(ops: OpLog) -> list[Finding]:
    own = {optimizer.where for optimizer in ops.optimizers}
    updates = by_line(call for call in ops.calls if call.where not in own and _updates_parameter(call))
    found = []
    for where, calls in updates.items():
        names = {call.inputs[0].parameter for call in calls}
        if where is not None and len(names) >= _LEAST_TENSORS:
            message = f"{quantities.count(len(names))} parameters are updated one by one"
            found.append(Finding(_ID, message, where, None, "torch._foreach_add_(parameters, updates)", len(names)))
    return found


def _updates_parameter(call: OpCall) -> bool:
    return call.op in _UPDATES and not call.is_backward and bool(call.inputs) and call.inputs[0].parameter is not None


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
