"""The device's memory, and whether the device still answers."""

from __future__ import annotations

import torch


def reset_peak(device: str) -> None:
    """Start counting the peak anew."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()


def peak_bytes(device: str) -> int | None:
    """The most that torch held on the device since `reset_peak`, CUDA graphs' own pools included; None on a CPU."""
    return torch.cuda.max_memory_reserved() if device == "cuda" else None


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
