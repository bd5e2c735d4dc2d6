"""Every step makes and copies a tensor on the host.

What it finds
    Lines that build a tensor on the CPU out of Python values and then copy it
    to the device: torch.tensor(values, device=...), torch.arange(n).to(device).
    In a run on a CPU, the lines that would do so on a GPU.

Why it costs
    Each one is a copy from pageable memory. The host waits for it, and with it
    for all that was queued on the stream before. A graph that holds such a
    copy is refused by CUDA graphs, or split at it.

How it is measured
    From the operators of one eager step: copies off the CPU whose source was
    made in that step out of no other tensor. The cost is the copies and waits
    in the budget of the graph at that line: the most it can be, and unknown
    where the line lies in no measured graph, or shares one with another;
    nothing where the profiled step, which is compiled, copies nothing to the
    device. On a CPU, where nothing is copied: from torch.tensor of a list in
    that step, and from the captured graphs, which keep every .to(device).

What to do
    Make it once and keep it: self.register_buffer(name, tensor). Or create it
    where it is used: torch.full, torch.arange, x.new_full, with device=.

When it is wrong
    When its values differ in every step and come from the host: then pin them
    and copy with non_blocking=True; so may those of a NumPy array, which are
    told on a GPU alone. Index lists (x[[0, 2]]) are copied too, but below the
    operators that can be seen. The batches of a DataLoader are not meant. In a
    run on a CPU, when the tensor stays on the host on a GPU too.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from analyzer.core.activity import CopyDirection
from analyzer.core.budget import Part
from analyzer.core.finding import Finding
from analyzer.core.graphs import SourceLine
from analyzer.core.ops import OpCall, OpLog
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import by_line, cost_of_parts, ops_of, times, unless_cut
from analyzer.rules.rule import Rule

_ID: Final = "host_constant"
_REMEDY: Final = (
    'keep it: self.register_buffer("name", tensor); or create it on the device: torch.full(..., device=x.device)'
)

_IN_KERNELS: Final = " as it is written; compiled, it copies nothing: torch.compile has their values in its code"

_HOST: Final = "cpu"
_COPIES: Final = ("aten::_to_copy", "aten::copy_")
_NEW_TENSOR: Final = "aten::lift_fresh"
"""Marks the result of torch.tensor and torch.as_tensor; on a device, the copy lies inside them, before any mode."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    ops = ops_of(facts)
    if facts.workload is not None and facts.workload.device == _HOST:
        return unless_cut(ops, _on_cpu(facts, ops))
    lines = by_line(call for call in ops.calls if not call.is_backward and _comes_from_host(call))
    is_kept = _copies_nothing(facts)
    findings = tuple(
        Finding(
            rule=_ID,
            message=f"{_tensors(times(calls))} made on the host and copied to the device in every step"
            + (_IN_KERNELS if is_kept else ""),
            where=where,
            ns_per_step=0 if is_kept else cost_of_parts(facts, where, lines, (Part.COPIES, Part.SYNC)),
            remedy=_REMEDY,
            count=times(calls),
        )
        for where, calls in lines.items()
    )
    return unless_cut(ops, findings)


def _copies_nothing(facts: Facts) -> bool:
    """Whether the profiled step, which is compiled, was seen to copy nothing to the device: Inductor writes short
    constants into its kernels (`GraphLowering.get_attr`).
    """
    activity = facts.activity
    if activity is None or activity.missing is not None or not activity.is_linked:
        return False
    if any(fact.budget is not None and fact.budget.ns(Part.COPIES) for fact in facts.regions):
        return False
    return all(copy.direction not in (CopyDirection.TO_DEVICE, None) for copy in activity.copies)


def _on_cpu(facts: Facts, ops: OpLog) -> tuple[Finding, ...]:
    """What would be copied on a GPU: of a line that both the log and a graph show, the log's count."""
    logged = by_line(call for call in ops.calls if _is_listed(call))
    counts = {**_moved(facts), **{where: times(calls) for where, calls in logged.items()}}
    return tuple(
        Finding(
            rule=_ID,
            message=f"{_tensors(number)} made on the host in every step; on a GPU that would be a copy and a wait each",
            where=where,
            ns_per_step=None,
            remedy=_REMEDY,
            count=number,
        )
        for where, number in counts.items()
    )


def _moved(facts: Facts) -> dict[SourceLine | None, int]:
    """How often the graphs move a tensor of the host at each line; of several that cover it, as two shapes of one, the
    graph that does it most.
    """
    found: Counter[SourceLine | None] = Counter()
    for graph in facts.capture.graphs if facts.capture is not None else ():
        found |= Counter(graph.host_made)
    return dict(found)


def _is_listed(call: OpCall) -> bool:
    """Whether it is torch.tensor of a list, in the forward. A single number may be used on a GPU without a copy."""
    made = call.outputs[0] if call.op == _NEW_TENSOR and call.outputs and not call.is_backward else None
    return made is not None and made.is_host_made and not made.is_borrowed and bool(made.shape)


def _comes_from_host(call: OpCall) -> bool:
    if not call.outputs or call.outputs[0].device == "cpu":
        return False
    if call.op == _NEW_TENSOR:
        return True
    return call.op in _COPIES and bool(call.inputs) and call.inputs[-1].is_host_made


def _tensors(number: int) -> str:
    return "a tensor is" if number == 1 else f"{number} tensors are"


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
