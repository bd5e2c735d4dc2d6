"""One rank keeps the others waiting.

What it finds
    Distributed runs in which one rank works longer in each step than the rest,
    which wait for it in collectives.

Why it costs
    A collective ends when its last rank has come. All ranks then show steps of
    one length, and their devices look busy, in kernels that only wait.

How it is measured
    A rank's own work is its step less what it waited in collectives. The cost
    is the own work of the slowest rank less the median of the others': what
    each step would be shorter by, were the slowest like them. It needs the
    step time and the waits of every rank.

What to do
    Look at that rank's own trace: more or longer inputs than the others have,
    a slower GPU or host, work that only one rank does (logging, checkpoints).
    No option of a compiler helps.

When it is wrong
    Where the slow rank changes from step to step, an average shows none.
    Pipelines have ranks of unequal work by design.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from analyzer.core import quantities
from analyzer.core.finding import Finding
from analyzer.rules.facts import Facts
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "rank_straggler"
_REMEDY: Final = "analyze the trace of this rank alone: its inputs, its device, what only it does"

STRAGGLING_SHARE: Final = 0.05
"""Of the slowest rank's step. A choice: above the few per cent by which devices of one kind differ."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    if not facts.ranks and facts.workload is not None:
        return ()  # a model that runs in one process
    if not facts.ranks:
        raise MissingData("no ranks were recorded: run analyze on a folder with a trace of each")
    own_ns = [rank.step_ns - rank.collective_wait_ns for rank in facts.ranks if rank.collective_wait_ns is not None]
    if len(own_ns) < len(facts.ranks):
        raise MissingData("how long each rank waited in collectives is not known: record all ranks with their kernels")
    slowest = int(np.argmax(own_ns))
    rest = [ns for i, ns in enumerate(own_ns) if i != slowest]
    if not rest:
        return ()
    rank = facts.ranks[slowest]
    late_ns = own_ns[slowest] - round(float(np.median(rest)))
    if late_ns < STRAGGLING_SHARE * rank.step_ns or late_ns <= 0:
        return ()
    message = (
        f"rank {rank.rank} works {quantities.duration(late_ns)} longer a step than the median of the others, "
        f"which wait for it in collectives{'' if rank.late_for is None else f': it is late {rank.late_for}'}"
    )
    return (Finding(_ID, message, None, late_ns, _REMEDY),)


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
