"""What this device can do at most, measured once and kept. The only door to the measuring of devices."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import torch

from analyzer.core.device import NEEDS_KERNELS, Device
from analyzer.core.errors import UsageError
from analyzer.core.timing import Crowd
from collectors import device_cache
from collectors.cpu_name import cpu_name
from collectors.crowd import crowd_between, read_crowd
from collectors.device_cache import Identity
from collectors.device_cpu import measure_cpu
from collectors.device_cuda import measure_cuda
from collectors.versions import versions

KINDS: Final = ("cpu", "cuda")

_SEED: Final = 0


def measure_device(kind: str, *, renew: bool = False) -> Device:
    """The peaks and costs of the CPU, or of the current CUDA device; from the cache unless `renew`.

    Measuring takes about 3 s on a CPU and 10 s on a GPU, most of it the compilation of a small model: call it
    in a process of its own, or after the user's model was captured, since Dynamo numbers its frames. Torch settings
    and random states are put back. A measurement that is incomplete, or that other programs disturbed, is not kept,
    so that the next run tries again; of the latter the device's last note says so.
    Raises UsageError when `kind` is none of `KINDS` or the device is not there.
    """
    identity = _identity(kind)
    known = None if renew else device_cache.load(identity)
    if known is not None:
        return known
    device, crowd = _measure(kind, identity.name)
    if crowd is not None and crowd.is_crowded:
        return replace(device, notes=(*device.notes, crowd_note(crowd)))
    if is_complete(device, has_triton=identity.triton is not None or kind == "cpu"):
        device_cache.store(identity, device)
    return device


def crowd_note(crowd: Crowd) -> str:
    """What other programs did meanwhile, and what it means for the figures."""
    return (
        f"other programs kept {crowd.other_cores:.1f} of {crowd.cores} cores busy meanwhile: what the host computes, "
        "moves and launches is measured too slow, and not kept"
    )


def is_cached(kind: str) -> bool:
    """Whether `measure_device` would answer without measuring. Raises what it raises."""
    return known_device(kind) is not None


def known_device(kind: str) -> Device | None:
    """What `measure_device` would answer without measuring; None where it would measure. Raises what it raises."""
    return device_cache.load(_identity(kind))


def is_complete(device: Device, *, has_triton: bool = True) -> bool:
    """Nothing is unknown that measuring a device of its kind gives, with or without Triton."""
    excused = () if has_triton else NEEDS_KERNELS
    return set(device.unmeasured) <= set(excused)


def _identity(kind: str) -> Identity:
    found = versions()
    match kind:
        case "cpu":
            threads = torch.get_num_threads()
            return Identity(kind, cpu_name(), torch=found.torch, triton=None, driver=None, threads=threads)
        case "cuda":
            if not torch.cuda.is_available():
                raise UsageError("no CUDA device here", hint="use --device cpu")
            name = torch.cuda.get_device_name()
            return Identity(
                kind, name, torch=found.torch, triton=found.triton, driver=found.driver or found.cuda, threads=None
            )
        case _:
            raise UsageError(f"no such device: {kind}", hint=f"choose {' or '.join(KINDS)}")


def _measure(kind: str, name: str) -> tuple[Device, Crowd | None]:
    """The device, and what other programs took meanwhile; None where the system does not say."""
    before, ours_s = read_crowd(), _children_s()
    with plain_torch(kind):
        device = measure_cuda(name) if kind == "cuda" else measure_cpu(name)
    after = read_crowd()
    crowd = crowd_between(before, after, kind)
    if crowd is None or before is None or after is None:
        return device, None
    # The compilers that were started for the measurement are not other programs.
    others = crowd.other_cores - (_children_s() - ours_s) / (after.clock_s - before.clock_s)
    return device, replace(crowd, other_cores=max(others, 0.0))


def _children_s() -> float:
    """Seconds of processor that this process's ended children have taken."""
    times = os.times()
    return times.children_user + times.children_system


@contextlib.contextmanager
def plain_torch(kind: str) -> Iterator[None]:
    """Torch without gradients, autocast and deterministic algorithms, and under a seed; all put back afterwards.

    Deterministic algorithms would make cuBLAS raise, and autocast would change the dtype of what is measured.
    """
    mode = torch.get_deterministic_debug_mode()
    devices = [torch.cuda.current_device()] if kind == "cuda" else []
    with torch.random.fork_rng(devices=devices), torch.no_grad(), torch.autocast(kind, enabled=False):
        torch.manual_seed(_SEED)
        torch.set_deterministic_debug_mode("default")
        try:
            yield
        finally:
            torch.set_deterministic_debug_mode(mode)
