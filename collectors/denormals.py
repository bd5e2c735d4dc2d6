"""Counts denormal floats in what a step computes with on a CPU, and measures whether this CPU minds them."""

from __future__ import annotations

import math
import time
from typing import Final

import torch

from analyzer.core.graphs import SourceLine
from analyzer.core.ops import DenormalFacts, DenormalTensor

_DTYPES: Final = (torch.float32, torch.float64, torch.bfloat16)
"""float16 is left out: its denormals begin at 6e-5, are common, and are converted before anything is computed."""

_SAMPLE: Final = 4096
"""Elements looked at of one tensor, evenly spread: a share of 1 % is then seen to about a sixth of itself."""
_MOST_LOOKS: Final = 5_000
"""Tensors of operators looked at in a step; each look takes about 15 µs."""

_PROBE_ELEMENTS: Final = 1 << 14
"""Half of what torch splits over threads (ATen's GRAIN_SIZE, 32,768), so that no other thread is waited for."""
_PROBE_REPEATS: Final = 7


class DenormalCount:
    """Adds up what was looked at. Has no effect on the tensors, on gradients or on random states."""

    def __init__(self) -> None:
        self._looks = 0
        self._looked_at = 0
        self._denormal = 0
        self._worst: dict[tuple[str, SourceLine | None], float] = {}

    def look(self, tensor: torch.Tensor, what: str, where: SourceLine | None) -> None:
        if self._looks >= _MOST_LOOKS or tensor.device.type != "cpu" or tensor.dtype not in _DTYPES:
            return
        sample = _sample(tensor)
        if sample is None:
            return
        self._looks += 1
        tiny = torch.finfo(sample.dtype).tiny
        # Compared as floats: where denormals are flushed, they compare as zeros, and cost nothing either.
        found = int(((sample != 0) & (sample.abs() < tiny)).sum())
        self._looked_at += sample.numel()
        self._denormal += found
        if found:
            share = found / sample.numel()
            self._worst[what, where] = max(share, self._worst.get((what, where), 0.0))

    def facts(self) -> DenormalFacts:
        """What was found; measures the CPU, for about a millisecond, where there was a denormal."""
        tensors = tuple(DenormalTensor(what, where, share) for (what, where), share in self._worst.items())
        slowdown = _slowdown() if tensors else None
        return DenormalFacts(self._looked_at, self._denormal, tensors, slowdown)


@torch.no_grad()
def _sample(tensor: torch.Tensor) -> torch.Tensor | None:
    """Some elements as a flat tensor; None for an empty or overlapping one, whose memory cannot be walked."""
    if tensor.layout != torch.strided or not tensor.numel() or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return None
    span = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    if span != tensor.numel():
        return None
    # Dense, in whatever order: its memory is read as one row, without a copy.
    step = math.ceil(span / _SAMPLE)
    return tensor.detach().as_strided((math.ceil(span / step),), (step,))


def _slowdown() -> float:
    normal = torch.ones(_PROBE_ELEMENTS, dtype=torch.float32, device="cpu")
    denormal = torch.full_like(normal, torch.finfo(torch.float32).tiny / 4)
    return _fastest_ns(denormal) / max(_fastest_ns(normal), 1)


def _fastest_ns(values: torch.Tensor) -> int:
    result = torch.empty_like(values)
    samples = []
    for _ in range(_PROBE_REPEATS):
        start_ns = time.perf_counter_ns()
        torch.mul(values, 0.5, out=result)
        samples.append(time.perf_counter_ns() - start_ns)
    return min(samples)
