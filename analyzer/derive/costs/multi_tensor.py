"""Lists of tensors of which a trace shows no shapes: how much one launch over them moves, from its blocks.

torch's profiler tells the tensors of a list up to thirty of them (`TENSOR_LIST_DISPLAY_LENGTH_LIMIT` in
torch/csrc/profiler/util.h). ATen's MultiTensorApply.cuh gives each block a chunk of one tensor, and ends a launch when
it has so many blocks or tensors: so many chunks but the last of each tensor are whole.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.instructions import aten_slots
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.lists import item_bytes_of_kernel, list_elements
from analyzer.derive.costs.step import Kernel

CHUNK: Final = 65_536
"""`kChunkSize`, elements."""
FULL_BLOCKS: Final = 320
MOST_TENSORS: Final = {1: 110, 2: 64, 3: 48, 4: 36, 5: 30}
MOST_TENSORS_SINCE: Final = {1: 770, 2: 448, 3: 336, 4: 252, 5: 210}
"""`depth_to_max_blocks` and `depth_to_max_tensors`: of so many lists a launch takes as many tensors at most. The second
are those of later torch built for CUDA 13, of up to 2240 blocks: which of them hold a launch of 320 blocks tells."""
WIDEST: Final = 0.25
"""How far from the middle the elements may be for the middle to be said."""

_DEPTH: Final = re.compile(
    r"multi_tensor_apply_kernel<[^<]*(?:TensorListMetadata|ScalarListMetadata)<(?:\w+, ?)?(?P<depth>\d)>"
)
_READ: Final = re.compile(r"Functor(?:V2)?<[^<>]*?\b\d+, (?P<read>\d+), -?\d+>")
"""`BinaryOpListAlphaFunctor<float, depth, r_args_depth, res_arg_index>` and its like in ForeachFunctors.cuh."""
_FUSED: Final = re.compile(r"Fused(?:Adam|Sgd|Adagrad)\w*<")


def of_launch(name: str, kernel: str, launch: Launch | None) -> Cost | None:
    """The cost of one launch over lists; None where its blocks leave too much open."""
    depth, item = _DEPTH.search(kernel), item_bytes_of_kernel(kernel)
    if depth is None or item is None or launch is None:
        return None
    lists = int(depth["depth"])
    moved = _moved(kernel, lists)
    most = MOST_TENSORS if launch.blocks == FULL_BLOCKS else MOST_TENSORS_SINCE
    tensors = min(most.get(lists, 0), launch.blocks)
    if moved is None or not tensors or tensors > 2 * WIDEST * launch.blocks:
        return None
    elements = round((launch.blocks - tensors / 2) * CHUNK)
    read, written = moved
    cost = moving([elements * item] * read, [elements * item] * written)
    slots = aten_slots(name, is_gpu=True)
    return cost if slots is None else replace(cost, instructions=slots * elements)


def launched(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """One launch of an operator whose lists are not told; where they are, its launches share the whole."""
    return None if list_elements(detail) else whole


def _moved(kernel: str, lists: int) -> tuple[int, int] | None:
    """How many of the lists are read, and how many written."""
    if _FUSED.search(kernel):
        return lists, lists - 1  # all but gradients
    if "ZeroFunctor<" in kernel:
        return 0, 1
    if "LpNormFunctor<" in kernel:
        return 1, 0
    found = _READ.search(kernel)
    return (int(found["read"]), 1) if found is not None else None
