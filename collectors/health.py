"""Whether the device still answers."""

from __future__ import annotations

import torch


def device_is_healthy(device: str) -> bool:
    """Whether the device still computes. After an illegal access no call of the process succeeds any more."""
    if device != "cuda":
        return True
    try:
        torch.zeros(1, device="cuda").add_(1)
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True
