"""One process: the plan and its rivals, compiled side by side over one model, and their steps taken in turn.

    python -m benchmarks.plans.measure_case MODEL DEVICE PLAN OUT RIVAL…

All share the model and its weights. Each has a backend of its own, so that Dynamo keeps them apart: an entry of another
backend is passed over before any of its guards is asked. PLAN `-` means that there is none, `as-it-is` that the model
itself stands for it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import torch

import analyzer
from benchmarks.plans.in_process import Loaded, compiled, failure, loaded, stepper
from benchmarks.plans.recorded import Outcome, Way
from benchmarks.plans.rivals import AS_IT_IS, NO_PLAN, PLAN, rival
from benchmarks.plans.suite import cases
from collectors import torch_compat
from collectors.cpu_name import cpu_name
from collectors.crowd import crowd_between, read_crowd
from collectors.step import Stepper
from collectors.timing import sample_in_turn, turn_count

WARM_UP_STEPS: Final = 6
"""The first is compiled, the second and third record CUDA graphs; the rest fills caches."""

SAMPLING_S: Final = 15.0
"""Wall time of all samples: twenty rounds of eight ways of 10 ms, nine steps a turn, take 14 s."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the process hands back."""

    device: str
    torch: str
    ways: tuple[Way, ...]
    other_cores: float | None


def main() -> int:
    name, device, plan, out, *names = sys.argv[1:]
    (case,) = cases(name)
    loading = loaded(case, device)
    # Every way keeps its entries on the same frames.
    with torch_compat.dynamo_limit(len(names) + 2):
        found = measured(loading, device, plan, names)
    Path(out).write_bytes(msgspec.json.encode(found))
    return 0


def measured(loading: Loaded, device: str, plan: str, names: list[str]) -> Measured:
    model = loading.workload.model
    makers: dict[str, Callable[[], Any]] = {name: lambda name=name: compiled(model, rival(name)) for name in names}  # type: ignore[misc]
    if plan != NO_PLAN:
        makers[PLAN] = lambda: model if plan == AS_IT_IS else analyzer.optimize(model, plan=plan)
    ready: dict[str, Stepper] = {}
    ways: list[Way] = []
    for name, make in makers.items():
        try:
            ready[name] = warm(stepper(loading, make()))
        except Exception as error:  # a way that does not run is a result
            ways.append(failure(name, error))
    before = read_crowd()
    taken = in_turn(ready)
    crowd = crowd_between(before, read_crowd(), device)
    ways += [Way(name, Outcome.MEASURED, ns) for name, ns in taken.items()]
    kind = torch.cuda.get_device_name() if device == "cuda" else cpu_name()
    return Measured(kind, str(torch.__version__), tuple(ways), None if crowd is None else round(crowd.other_cores, 2))


def warm(steps: Stepper) -> Stepper:
    for _ in range(WARM_UP_STEPS):
        steps.timed()
    return steps


def in_turn(ready: dict[str, Stepper]) -> dict[str, tuple[int, ...]]:
    """Steps in ns. The rounds are even on every way, every second one backwards."""
    if not ready:
        return {}
    for steps in ready.values():  # again: compiling the later ones has gone through the earlier ones' caches
        warm(steps)
    slowest = max(steps.timed() for steps in ready.values())
    rounds = turn_count(slowest, ways=len(ready), target_s=SAMPLING_S)
    gc.collect()
    taken = sample_in_turn([(steps, _nothing) for steps in ready.values()], rounds)
    return {name: samples.ns for name, samples in zip(ready, taken, strict=True)}


def _nothing() -> None:
    pass


if __name__ == "__main__":
    sys.exit(main())
