"""What an operator has to compute and to move at least."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call costs at least. None is unknown.

    `flops` are the operations of matrix products and convolutions (a multiply-add is two), 0 where there are none,
    with the `dtype` of their inputs. `bytes` is the compulsory traffic with a cold cache, each element moved once;
    `reads` and `writes` are its parts, one a tensor, where they are known apart. `instructions` is the arithmetic
    beside matrix products, in the time of one float32 instruction each (see `instructions.py`). `is_floor` where the
    real traffic may be several times `bytes`: a sort goes over its input many times.

    `dtype` is also `float64` where the `instructions` are those, which run at a rate of their own. `crossings` are the
    bytes that cross between the last cache and the multiprocessors, in whole sectors, where strides make them more than
    `bytes`. `rereads` are bytes read a second time or more; the cache keeps those from memory as far as it holds the
    `reread_span` that lies between two readings. `is_counted` where the instructions an element are from hardware
    counters of kernels of this kind. `masked_flops` are operations that the kernel does beside `flops` and throws away:
    where a causal mask or an end cuts through a tile, all of it is multiplied. `again` are bytes that accesses through
    an index move beside `bytes` as far as no cache near the core has kept them, which nothing here can tell. `near` is
    the time that the load/store units need for the first cache and shared memory, as `instructions` count time; None
    where it is not known. `is_fed` where that is for the products of `flops`, and goes with them. `issued` are the
    issue slots that a product outside the matrix units takes, its multiply-adds among them, counted in the same way;
    None for any other, and where they are not known.
    """

    flops: int | None
    bytes: int
    dtype: str | None = None
    instructions: int | None = None
    is_floor: bool = False
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    crossings: int | None = None
    rereads: int = 0
    reread_span: int = 0
    is_counted: bool = False
    masked_flops: int = 0
    again: int = 0
    near: int | None = None
    is_fed: bool = False
    issued: int | None = None


def moving(reads: Iterable[int], writes: Iterable[int] = (), *, is_floor: bool = False) -> Cost:
    """The cost of an operator that multiplies no matrices."""
    read, written = tuple(reads), tuple(writes)
    return Cost(0, sum(read) + sum(written), is_floor=is_floor, reads=read, writes=written)


def multiplying(flops: int, dtype: str | None, reads: Iterable[int], writes: Iterable[int]) -> Cost:
    """The cost of a matrix product, a convolution or an attention: beside its `flops` nothing counts."""
    read, written = tuple(reads), tuple(writes)
    return Cost(flops, sum(read) + sum(written), dtype, instructions=0, reads=read, writes=written)
