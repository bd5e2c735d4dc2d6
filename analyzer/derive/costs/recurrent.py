"""Recurrent layers: the matrix products of their gates, over every step of the sequence."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving, multiplying
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import (
    dense_bytes,
    dtype_name,
    flags,
    input_bytes,
    is_tensor,
    item_bytes,
    numbers,
    shape,
    tensor_inputs,
)

GATES: Final = {0: 1, 1: 1, 2: 4, 3: 3}
"""Gates of a cell by mode: plain with relu, plain with tanh, LSTM, GRU (`cudnnRNNMode_t`)."""
LSTM: Final = 2
"""The mode whose cell has a second state."""


LAID_OUT_ANEW: Final = re.compile(r"region_transform_")
"""cuDNN's kernels that lay weights out anew. Nothing is known of what they move, and the layer's products are not
theirs."""

GATE_SLOTS: Final = 26
"""A gate of a cell as a `tanh` of `instructions.py`, with its two sums and their loads: an estimate."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the schema puts the layer's description. `projection` is None where there is none."""

    mode: int
    hidden: int
    layers: int
    bidirectional: int
    projection: int | None = None


CUDNN = Places(mode=6, hidden=7, projection=8, layers=9, bidirectional=13)
CUDNN_BACKWARD = Places(mode=10, hidden=11, projection=12, layers=13, bidirectional=17)
MIOPEN = Places(mode=5, hidden=6, layers=7, bidirectional=11)


def cudnn(detail: OpDetail) -> Cost | None:
    """`aten::_cudnn_rnn`."""
    return _layers(detail, CUDNN, passes=1)


def cudnn_backward(detail: OpDetail) -> Cost | None:
    """`aten::_cudnn_rnn_backward`: gradients of inputs and of weights, each as much as the forward pass."""
    return _layers(detail, CUDNN_BACKWARD, passes=2)


def miopen(detail: OpDetail) -> Cost | None:
    """`aten::miopen_rnn`."""
    return _layers(detail, MIOPEN, passes=1)


def mkldnn(detail: OpDetail) -> Cost | None:
    """`aten::mkldnn_rnn_layer(x, input weight, hidden weight, …)`: one layer in one direction."""
    x, inner, hidden = (shape(detail, i) for i in range(3))
    if not x or inner is None or hidden is None or len(inner) != 2 or len(hidden) != 2 or inner[1] != x[-1]:
        return None
    tokens = math.prod(x[:-1])
    reads = tuple(input_bytes(detail, i) for i in tensor_inputs(detail))
    out = tokens * hidden[1] * item_bytes(detail, 0)
    flops = 2 * tokens * (math.prod(inner) + math.prod(hidden))
    return multiplying(flops, dtype_name(detail, 0), reads, (out,))


def cell(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """cuDNN's `elemWiseRNNcell`, one thread a number of the hidden state: products of the input and of the state for
    each gate become the new state. It multiplies no matrices. What it keeps for the backward pass is not known.
    """
    mode = numbers(detail, CUDNN.mode)
    if kernel.launch is None or not mode or mode[0] not in GATES:
        return None
    gates, states = GATES[mode[0]], 2 if mode[0] == LSTM else 1
    state = kernel.launch.all_threads * item_bytes(detail, 0)
    found = moving((2 * gates * state, states * state), (states * state,))
    return replace(found, instructions=(gates + 1) * GATE_SLOTS * kernel.launch.all_threads)


def lstm_cell(detail: OpDetail) -> Cost | None:
    """`_thnn_fused_lstm_cell(input gates, hidden gates, c, …)`: new h and c, and the gates kept for the backward."""
    return _cell(detail, state=2)


def gru_cell(detail: OpDetail) -> Cost | None:
    """`_thnn_fused_gru_cell(input gates, hidden gates, h, …)`: new h, and five values a cell for the backward."""
    if not all(is_tensor(detail, i) for i in range(3)):
        return None
    reads = tuple(input_bytes(detail, i) for i in tensor_inputs(detail))
    state = dense_bytes(detail, 2)
    return moving(reads, (state, 5 * state))


def lstm_cell_backward(detail: OpDetail) -> Cost | None:
    """`_thnn_fused_lstm_cell_backward_impl(grad h, grad c, c, new c, kept gates, …)`."""
    if not is_tensor(detail, 2) or not is_tensor(detail, 4):
        return None
    reads = tuple(input_bytes(detail, i) for i in tensor_inputs(detail))
    return moving(reads, (dense_bytes(detail, 4), dense_bytes(detail, 2)))


def _cell(detail: OpDetail, state: int) -> Cost | None:
    if not all(is_tensor(detail, i) for i in range(3)):
        return None
    reads = tuple(input_bytes(detail, i) for i in tensor_inputs(detail))
    kept = dense_bytes(detail, state)
    return moving(reads, (kept, kept, dense_bytes(detail, 0)))


def _layers(detail: OpDetail, places: Places, passes: int) -> Cost | None:
    x = shape(detail, 0)
    mode, hidden, layers = (numbers(detail, i) for i in (places.mode, places.hidden, places.layers))
    both = flags(detail, places.bidirectional)
    if not x or not mode or not hidden or not layers or both is None or mode[0] not in GATES:
        return None
    projected = (numbers(detail, places.projection) if places.projection is not None else None) or (0,)
    tokens, directions = math.prod(x[:-1]), 2 if both[0] else 1
    out = projected[0] or hidden[0]
    weights, width = 0, x[-1]
    for _ in range(layers[0]):
        gates = GATES[mode[0]] * hidden[0] * (width + out)
        weights += directions * (gates + (projected[0] * hidden[0]))
        width = directions * out
    item = item_bytes(detail, 0)
    beside = sum(input_bytes(detail, i) for i in tensor_inputs(detail)[1:] if len(shape(detail, i) or ()) == 3)
    reads = (input_bytes(detail, 0), weights * item, beside)
    writes = (tokens * width * item,) if passes == 1 else (input_bytes(detail, 0), weights * item)
    flops = passes * 2 * tokens * weights
    return multiplying(flops, dtype_name(detail, 0), reads, writes)
