"""What `python examples/NAME.py` prints: the time of a step, eager and under torch.compile."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

WARM_UP_STEPS = 3
STEPS = 10


def print_step_times(get_model: Callable[[], nn.Module], get_inputs: Callable[[str], Any]) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = get_model().to(device).eval()
    inputs = get_inputs(device)
    for name, run in (("eager", model), ("torch.compile", torch.compile(model))):
        print(f"{name}: {_milliseconds(run, inputs, device):.2f} ms a step on {device}")


def _milliseconds(run: Callable[..., Any], inputs: Any, device: str) -> float:
    times = []
    with torch.no_grad():
        for _ in range(WARM_UP_STEPS + STEPS):
            start = time.perf_counter()
            _ = run(**inputs) if isinstance(inputs, dict) else run(*inputs)
            if device == "cuda":
                torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
    return statistics.median(times[WARM_UP_STEPS:]) * 1e3
