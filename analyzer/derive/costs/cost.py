"""What an operator has to compute and to move at least."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """`flops` are the operations of matrix products and convolutions (a multiply-add is two), 0 where there are none:
    arithmetic beside them is not counted. `bytes` is the compulsory traffic, each tensor read or written once.
    `dtype` is the input type of the matrix product, None without one.
    """

    flops: int
    bytes: int
    dtype: str | None = None
