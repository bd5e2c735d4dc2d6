"""The CPU computes with denormal numbers.

What it finds
    Parameters, inputs or results with denormal floats (float32 below 1.2e-38),
    on a CPU that was measured to be slow with them.

Why it costs
    Many CPUs hand an operation on a denormal to microcode: over a hundred
    cycles in place of one. Weights that decayed towards zero, and filters that
    ring out, are full of them.

How it is measured
    A sample of each parameter, input and result of one eager step is counted,
    and one product with denormals is timed against one without on this CPU.
    Its time in the step is not known.

What to do
    torch.set_flush_denormal(True) at the start of the program, before torch
    makes its threads: it counts for each thread. Or set weights below 1e-30 to
    zero.

When it is wrong
    Where such small numbers carry meaning. Some CPUs compute with them at full
    speed (measured on an EPYC 7003): there nothing is found.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Finding
from analyzer.rules.evidence import workload_of
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import ops_of, unless_cut
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "denormals"
_REMEDY: Final = "torch.set_flush_denormal(True) at the start of the program, before the first operator"

_LEAST_SHARE: Final = 0.01
"""Of a tensor's elements. At over a hundred cycles each, one in a hundred costs as much as all the others together."""

_LEAST_SLOWDOWN: Final = 2.0
"""Of a product of denormals alone; this repeats to within some tens of per cent, and slow CPUs show 10 and more."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    if workload_of(facts).device != "cpu":
        return ()
    ops = ops_of(facts)
    found = ops.denormals
    if found is None:
        raise MissingData("denormal numbers were not looked for")
    worst = max(found.tensors, key=lambda tensor: tensor.share, default=None)
    if worst is None or worst.share < _LEAST_SHARE:
        return unless_cut(ops, ())
    if found.slowdown is None:
        raise MissingData("whether this CPU is slow with denormal numbers was not measured")
    if found.slowdown < _LEAST_SLOWDOWN:
        return ()
    # A parameter has no line: the first result that suffers from it has.
    where = worst.where or next((t.where for t in found.tensors if t.where is not None), None)
    share, slowdown = quantities.share(worst.share), quantities.ratio(found.slowdown)
    message = f"{share} of {worst.what} is denormal, and this CPU takes {slowdown} as long for such numbers"
    many = sum(tensor.share >= _LEAST_SHARE for tensor in found.tensors)
    return (Finding(_ID, message, where, None, _REMEDY, many),)


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
