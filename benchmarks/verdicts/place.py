"""Where the tensors of an item live, and how large they may be: the same item in full on a GPU and small on a CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor, nn

SMALL_SIDE: Final = 32
"""The longest dimension of an item in miniature: every kernel then takes microseconds on a CPU."""


@dataclass(frozen=True, slots=True)
class Call:
    """What is run, and the tensors that it may read, for the size of its working set."""

    run: Callable[[], Any]
    tensors: tuple[Tensor, ...]

    @property
    def input_bytes(self) -> int:
        unique = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in self.tensors}
        return sum(unique.values())


@dataclass(frozen=True, slots=True)
class Place:
    """`most` limits every dimension, None for none. `compiled` makes a callable a compiled one."""

    device: str
    most: int | None = None
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]] = field(default=torch.compile)

    def d(self, size: int) -> int:
        """A dimension, as long as it may be here."""
        return size if self.most is None else min(size, self.most)

    def randn(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        sizes = [self.d(s) for s in shape]
        if dtype.is_floating_point and dtype.itemsize > 1:
            return torch.randn(sizes, device=self.device, dtype=dtype)
        if dtype.is_floating_point:
            return torch.randn(sizes, device=self.device).to(dtype)
        return torch.randint(-8, 8, sizes, device=self.device, dtype=dtype)

    def rows(self, high: int, *shape: int) -> Tensor:
        """Row numbers under `high`, which is limited as a dimension is."""
        return torch.randint(0, self.d(high), [self.d(s) for s in shape], device=self.device)

    def call(self, function: Callable[..., Any], *args: Any) -> Call:
        return Call(lambda: function(*args), tuple(a for a in args if isinstance(a, Tensor)))

    def compiled_call(self, function: Callable[..., Any], *args: Any) -> Call:
        """`function`, compiled; the weights of a module count to its working set."""
        owned = (*function.parameters(), *function.buffers()) if isinstance(function, nn.Module) else ()
        compiled = self.compiled(function)
        return Call(lambda: compiled(*args), (*owned, *(a for a in args if isinstance(a, Tensor))))

    def module(self, module: nn.Module, dtype: torch.dtype = torch.float32) -> nn.Module:
        return module.to(device=self.device, dtype=dtype).eval()
