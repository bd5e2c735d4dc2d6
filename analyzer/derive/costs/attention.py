"""Scaled dot-product attention: two matrix products forward, five backward (`sdpa_flop_count` in torch).

Unlike there, a causal mask halves the work, because the fused kernels skip what it hides.
"""

from __future__ import annotations

import math

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.tensors import all_input_bytes, dtype_name, flags, input_bytes, item_bytes, shape


def flash_forward(detail: OpDetail) -> Cost | None:
    """`_scaled_dot_product_flash_attention(q, k, v, dropout, is_causal, …)`, the CPU's included."""
    return _forward(detail, causal=4)


def efficient_forward(detail: OpDetail) -> Cost | None:
    """`_scaled_dot_product_efficient_attention` and `…_cudnn_attention`: `(q, k, v, bias, lse, dropout, is_causal)`."""
    return _forward(detail, causal=6)


def flash_backward(detail: OpDetail) -> Cost | None:
    """`_scaled_dot_product_flash_attention_backward(grad, q, k, v, …)`; the efficient one has the same place."""
    return _backward(detail, causal=11)


def cudnn_backward(detail: OpDetail) -> Cost | None:
    return _backward(detail, causal=14)


def cpu_backward(detail: OpDetail) -> Cost | None:
    """`_scaled_dot_product_flash_attention_for_cpu_backward(grad, q, k, v, out, lse, dropout, is_causal)`."""
    return _backward(detail, causal=7)


def _forward(detail: OpDetail, causal: int) -> Cost | None:
    q, k, v = (shape(detail, i) for i in range(3))
    if q is None or k is None or v is None or not _fit(q, k, v):
        return None
    pairs = _pairs(detail, causal, q[2], k[2])
    flops = 2 * q[0] * q[1] * pairs * (q[3] + v[3])
    out = math.prod((*q[:3], v[3])) * item_bytes(detail, 0)
    return Cost(flops, sum(input_bytes(detail, i) for i in range(4)) + out, dtype_name(detail, 0))


def _backward(detail: OpDetail, causal: int) -> Cost | None:
    q, k, v = (shape(detail, i) for i in range(1, 4))
    if q is None or k is None or v is None or not _fit(q, k, v):
        return None
    pairs = _pairs(detail, causal, q[2], k[2])
    # Scores again, gradients of q and of k over the head; gradients of scores and of v over the value's width.
    flops = 2 * q[0] * q[1] * pairs * (3 * q[3] + 2 * v[3])
    gradients = sum(input_bytes(detail, i) for i in range(1, 4))
    return Cost(flops, all_input_bytes(detail) + gradients, dtype_name(detail, 1))


def _fit(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> bool:
    """Whether these are [batch, heads, length, width] of one attention; keys may have fewer heads than queries."""
    if not len(q) == len(k) == len(v) == 4:
        return False
    return q[0] == k[0] == v[0] and q[3] == k[3] and k[1:3] == v[1:3]


def _pairs(detail: OpDetail, causal: int, queries: int, keys: int) -> int:
    """How many of the query-key pairs are looked at. The causal mask is aligned at the first of both."""
    is_causal = (flags(detail, causal) or (False,))[0]
    if not is_causal:
        return queries * keys
    full = min(queries, keys)
    return full * (full + 1) // 2 + max(0, queries - keys) * keys
