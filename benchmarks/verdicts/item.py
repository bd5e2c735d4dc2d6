"""One thing to run whose kernels are measured by the device's counters and by our own profiled pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.verdicts.place import Call, Place


@dataclass(frozen=True, slots=True)
class Item:
    """`build` makes the tensors and what is called on them; `tf32` is whether float32 products may run as TF32."""

    name: str
    family: str
    build: Callable[[Place], Call]
    tf32: bool = False


def shape_text(*sizes: int) -> str:
    return "x".join(map(str, sizes))
