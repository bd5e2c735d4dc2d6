"""Items given by a function and the tensors that it is called on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from benchmarks.verdicts.item import Item, shape_text
from benchmarks.verdicts.place import Call, Place

F32, BF16, F16, F64 = torch.float32, torch.bfloat16, torch.float16, torch.float64
I64, BOOL = torch.int64, torch.bool
M: Final = 1 << 20
_SHORT: Final = {F32: "fp32", BF16: "bf16", F16: "fp16", F64: "fp64", I64: "i64", BOOL: "bool"}


@dataclass(frozen=True, slots=True)
class Of:
    """A tensor to make. `last`: channels last; `high`: row numbers under it; `swapped`: a view of one whose last two
    dimensions lie the other way round in memory.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype = F32
    last: bool = False
    high: int | None = None
    swapped: bool = False

    @property
    def name(self) -> str:
        layout = "_nhwc" if self.last else "_swapped" if self.swapped else ""
        return f"{_SHORT[self.dtype]}{layout}_{shape_text(*self.shape)}"

    def made(self, place: Place) -> Tensor:
        if self.dtype is BOOL:
            return place.rows(2, *self.shape).bool()
        if self.high is not None:
            return place.rows(self.high, *self.shape)
        if self.swapped:
            *outer, rows, columns = self.shape
            return place.randn(*outer, columns, rows, dtype=self.dtype).transpose(-1, -2)
        found = place.randn(*self.shape, dtype=self.dtype)
        return found.to(memory_format=torch.channels_last) if self.last else found


def called(family: str, name: str, function: Callable[..., Any], *tensors: Of) -> Item:
    """Named for the first tensor."""

    def build(place: Place) -> Call:
        return place.call(function, *(t.made(place) for t in tensors))

    return Item(f"{name}_{tensors[0].name}", family, build)
