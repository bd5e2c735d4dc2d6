"""Times each set of inputs of a step alone, and what its first calls cost. Nothing for a step of one set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from analyzer.core.timing import SetTiming
from collectors import torch_compat
from collectors.capture import GraphLog
from collectors.describe import describe_inputs
from collectors.memory import pooled_bytes
from collectors.step import Stepper
from collectors.timing import as_it_is, sample_count, sample_in_turn, sample_steps, turn_count

FIRST_CALLS: Final = 3
"""A CUDA graph runs eagerly in the first, is recorded in the second and replayed in the third."""

SETS_S: Final = 2.0
"""Wall time that the samples of all sets together aim at."""


@dataclass(frozen=True, slots=True)
class SetCost:
    """What the first calls of one set made torch do, after those of the sets before it. As in SetTiming."""

    compiles: int
    recompiles: int
    recorded: int | None
    pool_bytes: int | None


def time_sets(stepper: Stepper) -> tuple[SetTiming, ...]:
    """Samples of each set under torch's default, one set after the other; empty where the step has one."""
    found = []
    for alone in _each(stepper):
        count = sample_count(alone.timed(), SETS_S / _number(stepper))
        found.append(SetTiming(describe_inputs(alone.workload), default_ns=sample_steps(alone, count)))
    return tuple(found)


def first_passes(stepper: Stepper, log: GraphLog) -> tuple[int, tuple[SetCost, ...]]:
    """The first step, in ns. Of several sets each set's first calls come one after the other, and what they cost."""
    if not stepper.workload.sets:
        return stepper.timed(), ()
    first_ns, costs = 0, []
    for alone in _each(stepper):
        compiles, recompiles = log.compiles, len(log.recompiles)
        recorded, pooled = torch_compat.recorded_cuda_graphs(), pooled_bytes(alone.workload.device)
        first_ns += alone.timed()
        for _ in range(FIRST_CALLS - 1):
            alone.timed()
        costs.append(
            SetCost(
                compiles=log.compiles - compiles,
                recompiles=len(log.recompiles) - recompiles,
                recorded=_grown(recorded or 0, torch_compat.recorded_cuda_graphs()),
                pool_bytes=_grown(pooled, pooled_bytes(alone.workload.device)),
            )
        )
    return first_ns, tuple(costs)


def sets_in_turn(
    eager: Stepper, default: Stepper, planned: Stepper | None, costs: tuple[SetCost, ...]
) -> tuple[SetTiming, ...]:
    """Each set under the model as it is, the default and the plan, in turn. `planned` None: the plan is the first."""
    found = []
    for number in range(_number(eager) if eager.workload.sets else 0):
        ways = tuple(way.alone(number) for way in (eager, default, planned) if way is not None)
        rounds = turn_count(ways[0].timed(), ways=len(ways), target_s=SETS_S / _number(eager))
        samples = sample_in_turn(tuple((way, as_it_is) for way in ways), rounds)
        timing = SetTiming(
            inputs=describe_inputs(ways[0].workload),
            eager_ns=samples[0],
            default_ns=samples[1],
            plan_ns=samples[2] if planned is not None else samples[0],
        )
        found.append(_with_cost(timing, costs[number]) if planned is not None and costs else timing)
    return tuple(found)


def _with_cost(timing: SetTiming, cost: SetCost) -> SetTiming:
    return replace(
        timing,
        compiles=cost.compiles,
        recompiles=cost.recompiles,
        recorded=cost.recorded,
        pool_bytes=cost.pool_bytes,
    )


def _each(stepper: Stepper) -> tuple[Stepper, ...]:
    return tuple(stepper.alone(number) for number in range(_number(stepper))) if stepper.workload.sets else ()


def _number(stepper: Stepper) -> int:
    return len(stepper.workload.every_set)


def _grown(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
