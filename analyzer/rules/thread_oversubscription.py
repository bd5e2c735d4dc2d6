"""Torch uses more threads than it has CPUs.

What it finds
    A workload on the CPU whose torch.get_num_threads() is above the CPUs that
    the process may use: its affinity mask, and its control group's quota.

Why it costs
    Threads that share a CPU wait for one another at the end of every parallel
    loop, in turns of the scheduler: milliseconds, where the loop takes
    microseconds. With a quota, the whole process stands still for the rest of
    each period once it is used up.

How it is measured
    Both numbers are read. Its time is not known without another run.

What to do
    torch.set_num_threads(n), or OMP_NUM_THREADS=n, with n the CPUs granted.

When it is wrong
    A quota that is granted in bursts may allow more threads for a while.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Confidence, Finding
from analyzer.rules.evidence import environment_of, workload_of
from analyzer.rules.facts import Facts
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "thread_oversubscription"


def judge(facts: Facts) -> tuple[Finding, ...]:
    if workload_of(facts).device != "cpu":
        return ()
    environment = environment_of(facts)
    usable = environment.usable_cpus
    if usable is None:
        raise MissingData("the CPUs granted to the process are not known on this system")
    if environment.threads <= usable:
        return ()
    message = f"torch uses {environment.threads} threads on {quantities.count(usable)} CPUs"
    return (Finding(_ID, message, None, None, f"torch.set_num_threads({max(int(usable), 1)})"),)


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
