"""Models that torch.distributed wraps or shards: brought to the state between two steps, whatever the last one did."""

from __future__ import annotations

import sys
from typing import Final

import torch
from torch.nn.parallel import DistributedDataParallel

from collectors import torch_compat

_FSDP2: Final = "torch.distributed.fsdp"


def between_steps(model: object) -> None:
    """Have every module that FSDP2 shards hold its own shards again, and DDP expect a new step; else nothing.

    After a step without a backward the outermost sharded module still holds whole parameters. Whoever puts the shards
    back by hand leaves FSDP believing that they are whole, and the next step fails with "mixed torch.Tensor and
    DTensor". After a step that failed on its way DDP refuses every other one.
    """
    if not isinstance(model, torch.nn.Module):
        return
    kind = getattr(sys.modules.get(_FSDP2), "FSDPModule", ())  # not imported: who shards has it loaded
    for module in model.modules():
        if isinstance(module, kind):
            module.reshard()
        elif isinstance(module, DistributedDataParallel):
            torch_compat.forget_unfinished_reduction(module)
