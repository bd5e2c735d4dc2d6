"""What cuDNN does before and after a convolution in another layout than its tensors have."""

from __future__ import annotations

import math
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.step import Kernel, counted
from analyzer.derive.costs.tensors import input_bytes, shape

LAYOUT_CHANNELS: Final = 8
"""cuDNN pads channels to the eight elements that its 16-bit tensor-core kernels load at once (16 bytes)."""

TILE_SIDE: Final = 32
TILE_SLOTS: Final = 27
"""cuDNN transposes in tiles of 32 × 32, of which it walks every element whether there is one or not: 19 to 34 slots
each over five such kernels of three convolutions in float32."""


def tiled_layout(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """One of the two tensors whose layout cuDNN changes before a convolution: the one that the launch fits, a block a
    tile of 32 places and 32 channels of one image. None where it fits neither.
    """
    for tensor in (0, 1):
        dims = shape(detail, tensor)
        if dims is not None and kernel.launch is not None and kernel.launch.grid == _tiles(dims):
            read = input_bytes(detail, tensor)
            return counted(moving((read,), (read,)), _tile_slots(kernel.launch))
    return None


def changes_layout(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """What cuDNN does before and after a convolution in another layout: the input and the weight are rewritten, with
    channels filled up where that is what the kernel is for.
    """
    dims = shape(detail, 0)
    if dims is None or len(dims) < 3 or not dims[1]:
        return None
    read = input_bytes(detail, 0) + input_bytes(detail, 1)
    channels = -(-dims[1] // LAYOUT_CHANNELS) * LAYOUT_CHANNELS if "Padding" in kernel.name else dims[1]
    return counted(moving((read,), (read * channels // dims[1],)), 0)


def changes_back(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """The output of a convolution, rewritten."""
    return counted(moving(whole.writes, whole.writes), _tile_slots(kernel.launch))


def _tiles(dims: tuple[int, ...]) -> tuple[int, ...]:
    return -(-math.prod(dims[2:]) // TILE_SIDE), -(-dims[1] // TILE_SIDE), dims[0]


def _tile_slots(launch: Launch | None) -> int:
    """0 where it is not told: nothing is known of the tiles."""
    return 0 if launch is None else TILE_SLOTS * TILE_SIDE * TILE_SIDE * launch.blocks
