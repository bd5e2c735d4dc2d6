"""Scaled dot-product attention: two matrix products forward, five backward (`sdpa_flop_count` in torch).

Unlike there, a causal mask halves the work, because the fused kernels skip what it hides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.instructions import ATTENTION_PAIR
from analyzer.derive.costs.tensors import (
    dtype_name,
    flags,
    input_bytes,
    is_tensor,
    item_bytes,
    numbers,
    shape,
    tensor_inputs,
)

FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Places:
    """Where an operator's schema puts what matters. `query` is the first of query, key and value.

    `is_length_first` where tensors are [batch, length, heads, width] rather than [batch, heads, length, width].
    `cuts` are the places of the cumulative lengths of packed sequences, followed by their two maxima at `longest`;
    `windows` those of the sizes of a sliding window. `causal` is the place of a flag, or of a mask's number.
    """

    causal: int
    query: int = 0
    is_length_first: bool = False
    cuts: int | None = None
    longest: int | None = None
    windows: tuple[int, ...] = ()


SDPA_FLASH = Places(causal=4)
SDPA_FLASH_QUANTIZED = Places(causal=7)
SDPA_EFFICIENT = Places(causal=6)
SDPA_OVERRIDEABLE = Places(causal=5)
CUDNN = Places(causal=10, cuts=4, longest=6)
FLASH = Places(causal=8, is_length_first=True, cuts=3, longest=5, windows=(11, 12))
FLASH_QUANTIZED = Places(causal=8, is_length_first=True, cuts=3, longest=5, windows=(14, 15))
EFFICIENT = Places(causal=9, is_length_first=True, cuts=4, longest=6, windows=(13,))

SDPA_FLASH_BACKWARD = Places(causal=11, query=1, cuts=6, longest=8)
SDPA_EFFICIENT_BACKWARD = Places(causal=11, query=1)
SDPA_CPU_BACKWARD = Places(causal=7, query=1)
SDPA_OVERRIDEABLE_BACKWARD = Places(causal=13, query=1)
CUDNN_BACKWARD = Places(causal=14, query=1, cuts=9, longest=11)
FLASH_BACKWARD = Places(causal=11, query=1, is_length_first=True, cuts=6, longest=8, windows=(15, 16))
EFFICIENT_BACKWARD = Places(causal=14, query=1, is_length_first=True, cuts=6, longest=8, windows=(18,))


def sdpa_flash(detail: OpDetail) -> Cost | None:
    """`_scaled_dot_product_flash_attention(q, k, v, dropout, is_causal, …)`, the CPU's included; with the scales of a
    quantized one after the value.
    """
    is_plain = detail.dtypes[3:4] == ("Scalar",)
    return _forward(detail, SDPA_FLASH if is_plain or len(detail.dtypes) < 8 else SDPA_FLASH_QUANTIZED)


def sdpa_efficient(detail: OpDetail) -> Cost | None:
    """`_scaled_dot_product_efficient_attention` and `…_cudnn_attention`: `(q, k, v, bias, lse, dropout, is_causal)`."""
    return _forward(detail, SDPA_EFFICIENT)


def sdpa_overrideable(detail: OpDetail) -> Cost | None:
    return _forward(detail, SDPA_OVERRIDEABLE)


def cudnn(detail: OpDetail) -> Cost | None:
    """`aten::_cudnn_attention_forward`."""
    return _forward(detail, CUDNN)


def flash(detail: OpDetail) -> Cost | None:
    """`aten::_flash_attention_forward`, whose quantized overload has three more tensors before the scale."""
    return _forward(detail, FLASH_QUANTIZED if len(detail.dtypes) > 17 and is_tensor(detail, 10) else FLASH)


def efficient(detail: OpDetail) -> Cost | None:
    """`aten::_efficient_attention_forward`."""
    return _forward(detail, EFFICIENT)


def sdpa_flash_backward(detail: OpDetail) -> Cost | None:
    return _backward(detail, SDPA_FLASH_BACKWARD)


def sdpa_efficient_backward(detail: OpDetail) -> Cost | None:
    return _backward(detail, SDPA_EFFICIENT_BACKWARD)


def sdpa_cpu_backward(detail: OpDetail) -> Cost | None:
    return _backward(detail, SDPA_CPU_BACKWARD)


def sdpa_overrideable_backward(detail: OpDetail) -> Cost | None:
    return _backward(detail, SDPA_OVERRIDEABLE_BACKWARD)


def cudnn_backward(detail: OpDetail) -> Cost | None:
    """`aten::_scaled_dot_product_cudnn_attention_backward` and `aten::_cudnn_attention_backward`."""
    return _backward(detail, CUDNN_BACKWARD)


def flash_backward(detail: OpDetail) -> Cost | None:
    return _backward(detail, FLASH_BACKWARD)


def efficient_backward(detail: OpDetail) -> Cost | None:
    return _backward(detail, EFFICIENT_BACKWARD)


def filled_up(op: str, detail: OpDetail, rows: int, columns: int) -> float:
    """How many times the pairs that are looked at are in tiles of these sizes that hold one of them: a kernel goes over
    whole tiles, at a causal mask and behind the end of a sequence. 1.0 with a window, or with such a mask where queries
    and keys are not the same sequence.
    """
    walk = _walk(op, detail, rows, columns)
    return 1.0 if walk is None else rows * columns * sum(walk.tiles) / walk.pairs


def last_share(op: str, detail: OpDetail, rows: int, columns: int, last: int) -> float:
    """Of the pairs in whole tiles, the share of those in so many at the end of each row of tiles; 0.0 where
    `filled_up` knows no tiles.
    """
    walk = _walk(op, detail, rows, columns)
    return 0.0 if walk is None else sum(min(last, tiles) for tiles in walk.tiles) / sum(walk.tiles)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Of one head: the tiles along each row of them, and the pairs that are looked at."""

    tiles: tuple[int, ...]
    pairs: float


def _walk(op: str, detail: OpDetail, rows: int, columns: int) -> _Walk | None:
    places = _IN_TILES.get(op)
    if places is None:
        return None
    q, k = shape(detail, places.query), shape(detail, places.query + 1)
    if q is None or k is None or len(q) != 4 or len(k) != 4:
        return None
    queries, keys = (t[1] if places.is_length_first else t[2] for t in (q, k))
    has_window = any((numbers(detail, i) or (-1,))[0] >= 0 for i in places.windows)
    if has_window or not queries or not keys:
        return None
    tops = range(0, queries, rows)
    if not _is_causal(detail, places):
        return _Walk((-(-keys // columns),) * len(tops), float(queries * keys))
    if queries != keys:
        return None
    return _Walk(tuple(-(-min(top + rows, keys) // columns) for top in tops), keys * (keys + 1) / 2)


_IN_TILES: Final = {
    "aten::_flash_attention_forward": FLASH,
    "aten::_cudnn_attention_forward": CUDNN,
    "aten::_efficient_attention_forward": EFFICIENT,
    "aten::_flash_attention_backward": FLASH_BACKWARD,
}


@dataclass(frozen=True, slots=True)
class _Sizes:
    """One attention. `pairs` of query and key are summed over the batch, None where the lengths are not recorded."""

    pairs: int | None
    heads: int
    width: int
    value_width: int
    queries: int


def _forward(detail: OpDetail, places: Places) -> Cost | None:
    sizes = _sizes(detail, places)
    if sizes is None:
        return None
    out = sizes.queries * sizes.heads * sizes.value_width * item_bytes(detail, places.query)
    writes = (out, sizes.queries * sizes.heads * FLOAT_BYTES)
    return _cost(detail, places, sizes, sizes.width + sizes.value_width, writes)


def _backward(detail: OpDetail, places: Places) -> Cost | None:
    sizes = _sizes(detail, places)
    if sizes is None:
        return None
    # Scores again, gradients of q and of k over the head; gradients of scores and of v over the value's width.
    widths = 3 * sizes.width + 2 * sizes.value_width
    writes = tuple(input_bytes(detail, places.query + i) for i in range(3))
    return _cost(detail, places, sizes, widths, writes)


def _cost(detail: OpDetail, places: Places, sizes: _Sizes, widths: int, writes: tuple[int, ...]) -> Cost:
    reads = tuple(input_bytes(detail, i) for i in tensor_inputs(detail))
    pairs = None if sizes.pairs is None else sizes.pairs * sizes.heads
    return Cost(
        flops=None if pairs is None else 2 * pairs * widths,
        bytes=sum(reads) + sum(writes),
        dtype=dtype_name(detail, places.query),
        instructions=None if pairs is None else pairs * ATTENTION_PAIR,
        reads=reads,
        writes=writes,
    )


def _sizes(detail: OpDetail, places: Places) -> _Sizes | None:
    q, k, v = (shape(detail, places.query + i) for i in range(3))
    if q is None or k is None or v is None:
        return None
    if not places.is_length_first and len(q) == 4:
        q, k, v = ((*t[:1], *t[2:3], *t[1:2], *t[3:]) for t in (q, k, v))
    is_packed = places.cuts is not None and shape(detail, places.cuts) not in (None, (), (0,))
    if len(q) == 3 and is_packed:
        q, k, v = ((1, *t) for t in (q, k, v))
    if not _fit(q, k, v):
        return None
    pairs = _packed_pairs(detail, places, q[1], k[1]) if is_packed else q[0] * _pairs(detail, places, q[1], k[1])
    return _Sizes(pairs, q[2], q[3], v[3], q[0] * q[1])


def _fit(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> bool:
    """Whether these are [batch, length, heads, width] of one attention; keys may have fewer heads than queries."""
    if not len(q) == len(k) == len(v) == 4:
        return False
    shares_heads = k[2] == v[2] and k[2] > 0 and q[2] % k[2] == 0
    return q[0] == k[0] == v[0] and q[3] == k[3] and k[1] == v[1] and shares_heads


def _packed_pairs(detail: OpDetail, places: Places, queries: int, keys: int) -> int | None:
    """Packed sequences: known only where the total length says that all are as long as the longest."""
    if places.cuts is None or places.longest is None:
        return None
    cuts = shape(detail, places.cuts)
    longest = [numbers(detail, places.longest + i) for i in range(2)]
    if cuts is None or not longest[0] or not longest[1]:
        return None
    count, longest_query, longest_key = cuts[0] - 1, longest[0][0], longest[1][0]
    if count * longest_query != queries or count * longest_key != keys:
        return None
    return count * _pairs(detail, places, longest_query, longest_key)


def _pairs(detail: OpDetail, places: Places, queries: int, keys: int) -> int:
    """How many of the query-key pairs are looked at. The causal mask is aligned at the first of both."""
    reach = [numbers(detail, i) for i in places.windows]
    behind = reach[0][0] if reach and reach[0] and reach[0][0] >= 0 else None
    if not _is_causal(detail, places):
        return queries * (keys if behind is None else min(keys, 2 * behind + 1))
    full = min(queries, keys)
    pairs = full * (full + 1) // 2 + max(0, queries - keys) * keys
    return pairs if behind is None else min(pairs, queries * (behind + 1))


def _is_causal(detail: OpDetail, places: Places) -> bool:
    """A flag, or the number of a mask (`custom_mask_type`: 0 none, 1 and 2 causal)."""
    found = flags(detail, places.causal)
    if found is not None:
        return found[0]
    mask = numbers(detail, places.causal)
    return bool(mask and mask[0])
