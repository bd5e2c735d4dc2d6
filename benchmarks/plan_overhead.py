"""What `analyzer.optimize(model, plan)` adds to a call of a graph over `torch.compile` with the same settings.

    python -m benchmarks.plan_overhead [--out FILE]

The two are called in turn, so that a drift of the machine hits both; each sample is the mean of a batch of calls of a
graph so small that the host's time is all there is. Counted is the calling thread's own processor time, because on a
shared machine the wall clock counts other programs too, and of it the lower quartile, because interruptions only add.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import torch
from torch import nn

import analyzer
from analyzer.core.graphs import Direction, GraphKey
from analyzer.core.plan import Choice, Plan
from analyzer.core.samples import Samples, ratio_interval
from collectors import torch_compat
from collectors.cpu_name import cpu_name
from collectors.crowd import crowd_between, read_crowd
from collectors.graph_key import graph_digest
from collectors.versions import versions
from optimizers.candidates.known import candidate_of

RESULTS: Final = Path(__file__).parent / "results" / "plan_overhead.json"
LIMIT_NS: Final = 2000.0
"""Issue 4 allows 2 µs a call."""

BATCH: Final = 200
ROUNDS: Final = 150


def main() -> None:
    parser = argparse.ArgumentParser(description="What a plan adds to a call of a graph.")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--candidates", default="fused,cpp_wrapper,frozen")
    arguments = parser.parse_args()
    out, names = arguments.out, arguments.candidates.split(",")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    before = read_crowd()
    rows = [measured(name, device) for name in names]
    crowd = crowd_between(before, read_crowd(), device)
    found = {
        "machine": torch.cuda.get_device_name() if device == "cuda" else cpu_name(),
        "torch": torch.__version__,
        "date": datetime.now(UTC).date().isoformat(),
        "other_cores_busy": None if crowd is None else round(crowd.other_cores, 2),
        "batch": BATCH,
        "rounds": ROUNDS,
        "limit_ns": LIMIT_NS,
        "rows": rows,
    }
    out.write_text(json.dumps(found, indent=2) + "\n")
    for row in rows:
        print(f"{row['candidate']}: {row['added_ns']} ns a call, half of all rounds within {row['added_quartiles_ns']}")


def measured(name: str, device: str) -> dict[str, Any]:
    """Median host time of a call under torch.compile and under the plan, and what the plan adds, in ns."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).to(device).eval()
    x = torch.randn(4, 8, device=device)
    options: Any = dict(candidate_of(name).patches)
    with torch.no_grad():
        plain = torch.compile(_again(model), options=options)
        planned = analyzer.optimize(model, plan=_plan(model, x, name, device))
        for call in (plain, planned):
            for _ in range(BATCH):
                call(x)
        torch.testing.assert_close(planned(x), plain(x))
        plain_ns, planned_ns = _in_turn(lambda: plain(x), lambda: planned(x))
    torch_compat.reset()
    low, low_planned = (quantiles(taken, n=4)[0] for taken in (plain_ns, planned_ns))
    added = [after - before for before, after in zip(plain_ns, planned_ns, strict=True)]
    interval = ratio_interval(Samples(tuple(plain_ns)), Samples(tuple(planned_ns)))
    return {
        "candidate": name,
        "torch_compile_ns": median(plain_ns),
        "plan_ns": median(planned_ns),
        "torch_compile_low_ns": low,
        "plan_low_ns": low_planned,
        "added_ns": low_planned - low,
        "added_median_ns": median(added),
        "added_quartiles_ns": [quantiles(added, n=4)[0], quantiles(added, n=4)[2]],
        "ratio_interval": [interval.low, interval.high],
        "is_within_limit": _is_within(quantiles(added, n=4)),
    }


def _is_within(quartiles: list[float]) -> bool | None:
    """Whether what is added is under the limit; None where the noise of the machine is larger than the question."""
    if quartiles[2] < LIMIT_NS:
        return True
    return False if quartiles[0] > LIMIT_NS else None


def _again(model: nn.Module) -> nn.Module:
    """The same model as another object, so that each way has frames and guards of its own."""
    copied = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).to(next(model.parameters()).device).eval()
    copied.load_state_dict(model.state_dict())
    return copied


def _plan(model: nn.Module, x: torch.Tensor, name: str, device: str) -> Plan:
    digests: list[str] = []

    def note(gm: Any, inputs: Any) -> Any:
        digests.append(graph_digest(gm, inputs))
        return gm.forward

    torch_compat.compiled_model(model, note)(x)
    torch_compat.reset()
    choices = tuple(Choice(GraphKey(digest, Direction.INFERENCE), name) for digest in digests)
    return Plan(choices, torch.cuda.get_device_name() if device == "cuda" else cpu_name(), versions())


def _in_turn(first: Callable[[], object], second: Callable[[], object]) -> tuple[list[int], list[int]]:
    taken: tuple[list[int], list[int]] = ([], [])
    for turn in range(ROUNDS):
        order = (0, 1) if turn % 2 else (1, 0)
        for way in order:
            taken[way].append(_mean_ns((first, second)[way]))
    return taken


def _mean_ns(call: Callable[[], object]) -> int:
    if torch.cuda.is_available():
        torch.cuda.synchronize()  # no sample waits for the kernels of the one before
    start_ns = time.thread_time_ns()
    for _ in range(BATCH):
        call()
    return (time.thread_time_ns() - start_ns) // BATCH


if __name__ == "__main__":
    main()
