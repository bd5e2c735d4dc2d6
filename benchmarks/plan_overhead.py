"""What `analyzer.optimize(model, plan)` adds to a call of a graph over `torch.compile` with the same settings.

    python -m benchmarks.plan_overhead [--out FILE]

The two are called in turn, so that a drift of the machine hits both; each sample is the mean of a batch of calls of a
graph so small that the host's time is all there is. Counted is the calling thread's own processor time, because on a
shared machine the wall clock counts other programs too, and of it the lowest tenth, because interruptions only add; the
kernels have one thread, because one that waits for others counts the waiting. A model is a module; `a function` is what
calls one, around which a call of Python's stays (optimizers/first_call.py).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

import analyzer
from analyzer.core.graphs import Direction, GraphKey
from analyzer.core.plan import Choice, Plan
from collectors import torch_compat
from collectors.cpu_name import cpu_name
from collectors.crowd import crowd_between, read_crowd
from collectors.graph_key import graph_digest
from collectors.versions import versions
from optimizers.candidates.known import candidate_of

RESULTS: Final = Path(__file__).parent / "results" / "plan_overhead.json"
LIMIT_NS: Final = 2000.0
"""Issue 4 allows 2 µs a call."""

BATCH: Final = 20
"""Half a millisecond on a CPU: most are not interrupted even where other programs keep every core busy."""
ROUNDS: Final = 1000

LOWEST: Final = 0.10
RESAMPLES: Final = 500
LEVEL: Final = 0.95
"""Of the interval, by resampling the rounds."""

WARM_UP: Final = 200

A_FUNCTION: Final = "a function"


def main() -> None:
    parser = argparse.ArgumentParser(description="What a plan adds to a call of a graph.")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--candidates", default="fused,cpp_wrapper,frozen")
    arguments = parser.parse_args()
    out, names = arguments.out, arguments.candidates.split(",")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    before = read_crowd()
    torch.set_num_threads(1)
    rows = [measured(name, device) for name in names]
    rows.append(measured("fused", device, is_function=True))
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
        low, high = row["added_interval_ns"]
        print(f"{row['candidate']}, {row['of']}: {row['added_ns']} ns a call (95 % {low} to {high})")


def measured(name: str, device: str, *, is_function: bool = False) -> dict[str, Any]:
    """Host time of a call under torch.compile and under the plan, and what the plan adds, in ns."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).to(device).eval()
    x = torch.randn(4, 8, device=device)
    options: Any = dict(candidate_of(name).patches)
    model, other = (_calling(one) if is_function else one for one in (module, _again(module)))
    with torch.no_grad():
        plain = torch.compile(other, options=options)
        planned = analyzer.optimize(model, plan=_plan(model, x, name, device))
        for call in (plain, planned):
            for _ in range(WARM_UP):
                call(x)
        torch.testing.assert_close(planned(x), plain(x))
        plain_ns, planned_ns = _in_turn(lambda: plain(x), lambda: planned(x))
    torch_compat.reset()
    low, high = _interval(plain_ns, planned_ns)
    return {
        "candidate": name,
        "of": A_FUNCTION if is_function else "a model",
        "torch_compile_ns": round(_lowest(plain_ns)),
        "plan_ns": round(_lowest(planned_ns)),
        "added_ns": round(_lowest(planned_ns) - _lowest(plain_ns)),
        "added_interval_ns": [round(low), round(high)],
        "is_within_limit": _is_within(low, high),
    }


def _lowest(taken: NDArray[np.int64]) -> float:
    return float(np.quantile(taken, LOWEST))


def _interval(plain_ns: NDArray[np.int64], planned_ns: NDArray[np.int64]) -> tuple[float, float]:
    """Of what is added, each way's rounds drawn again."""
    chance = np.random.default_rng(0)
    drawn = (chance.choice(one, (RESAMPLES, len(one))) for one in (plain_ns, planned_ns))
    plain, planned = (np.quantile(each, LOWEST, axis=1) for each in drawn)
    low, high = np.quantile(planned - plain, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _is_within(low: float, high: float) -> bool | None:
    """Whether what is added is under the limit; None where the noise of the machine is larger than the question."""
    if high < LIMIT_NS:
        return True
    return False if low > LIMIT_NS else None


def _calling(module: nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    def function(x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = module(x)
        return y

    return function


def _again(model: nn.Module) -> nn.Module:
    """The same model as another object, so that each way has frames and guards of its own."""
    copied = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).to(next(model.parameters()).device).eval()
    copied.load_state_dict(model.state_dict())
    return copied


def _plan(model: Callable[..., Any], x: torch.Tensor, name: str, device: str) -> Plan:
    digests: list[str] = []

    def note(gm: Any, inputs: Any) -> Any:
        digests.append(graph_digest(gm, inputs))
        return gm.forward

    torch_compat.compiled_model(model, note)(x)
    torch_compat.reset()
    choices = tuple(Choice(GraphKey(digest, Direction.INFERENCE), name) for digest in digests)
    return Plan(choices, torch.cuda.get_device_name() if device == "cuda" else cpu_name(), versions())


def _in_turn(first: Callable[[], object], second: Callable[[], object]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    taken: tuple[list[int], list[int]] = ([], [])
    for turn in range(ROUNDS):
        order = (0, 1) if turn % 2 else (1, 0)
        for way in order:
            taken[way].append(_mean_ns((first, second)[way]))
    return np.array(taken[0]), np.array(taken[1])


def _mean_ns(call: Callable[[], object]) -> int:
    if torch.cuda.is_available():
        torch.cuda.synchronize()  # no sample waits for the kernels of the one before
    start_ns = time.thread_time_ns()
    for _ in range(BATCH):
        call()
    return (time.thread_time_ns() - start_ns) // BATCH


if __name__ == "__main__":
    main()
