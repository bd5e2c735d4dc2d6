"""What cuDNN does before and after a convolution in another layout than its tensors have."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.step import Kernel, counted
from analyzer.derive.costs.tensors import input_bytes, shape

LAYOUT_CHANNELS: Final = 8
"""cuDNN pads channels to the eight elements that its 16-bit tensor-core kernels load at once (16 bytes)."""

TILE_SIDE: Final = 32
TILE_SLOTS: Final = 31
NARROW_TILE_SLOTS: Final = 45
"""cuDNN transposes in tiles of 32 × 32, of which it walks every element whether there is one or not: 27 to 34 slots
each, 31 in the median, over 13 such kernels in three sets of an H200's, of float32 and of 16 bits; and 45 each over
four of weights with fewer places than a tile is wide."""


def tiled_layout(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """One of the two tensors whose layout cuDNN changes before a convolution: the one that the launch fits, a block a
    tile of 32 places and 32 channels of one image. None where it fits neither.
    """
    for tensor in (0, 1):
        dims = shape(detail, tensor)
        if dims is not None and kernel.launch is not None and kernel.launch.grid == _tiles(dims):
            read = input_bytes(detail, tensor)
            each = NARROW_TILE_SLOTS if math.prod(dims[2:]) < TILE_SIDE else TILE_SLOTS
            return counted(moving((read,), (read,)), _tile_slots(kernel.launch, each))
    return None


def changes_layout(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """What cuDNN does before and after a convolution in another layout: the input and the weight are rewritten, with
    channels filled up where that is what the kernel is for. It writes element by element: of a sector that the cache
    gives up before all of it is written, memory is asked for the rest. DRAM read 44 MB more than the input of a tensor
    of 51 MB (an H200's L2 has 63, half of it for either side), and 6 MB more of one of 26 MB.
    """
    dims = shape(detail, 0)
    if dims is None or len(dims) < 3 or not dims[1]:
        return None
    read = input_bytes(detail, 0) + input_bytes(detail, 1)
    if "Padding" not in kernel.name:
        return counted(moving((read,), (read,)), 0)
    written = read * -(-dims[1] // LAYOUT_CHANNELS) * LAYOUT_CHANNELS // dims[1]
    cost = moving((read,), (written,))
    return counted(replace(cost, rereads=written, reread_span=cost.bytes), 0)


def changes_back(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """The output of a convolution, rewritten."""
    return counted(moving(whole.writes, whole.writes), _tile_slots(kernel.launch))


def _tiles(dims: tuple[int, ...]) -> tuple[int, ...]:
    return -(-math.prod(dims[2:]) // TILE_SIDE), -(-dims[1] // TILE_SIDE), dims[0]


def _tile_slots(launch: Launch | None, each: int = TILE_SLOTS) -> int:
    """0 where it is not told: nothing is known of the tiles."""
    return 0 if launch is None else each * TILE_SIDE * TILE_SIDE * launch.blocks
