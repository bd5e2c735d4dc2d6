"""What this device can do at most, measured once and kept. The only door to the measuring of devices."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import torch

from analyzer.core.device import Device
from analyzer.core.errors import UsageError
from collectors import device_cache
from collectors.device_cache import Identity
from collectors.device_cpu import cpu_name, measure_cpu
from collectors.device_cuda import measure_cuda
from collectors.versions import versions

KINDS: Final = ("cpu", "cuda")

_SEED: Final = 0


def measure_device(kind: str, *, renew: bool = False) -> Device:
    """The peaks and costs of the CPU, or of the current CUDA device; from the cache unless `renew`.

    Measuring takes under 3 s on a CPU and about 10 s on a GPU, most of it the compilation of a small model: call it
    in a process of its own, or after the user's model was captured, since Dynamo numbers its frames. Torch settings
    and random states are put back. An incomplete measurement is not kept, so that the next run tries again.
    Raises UsageError when `kind` is none of `KINDS` or the device is not there.
    """
    identity = _identity(kind)
    known = None if renew else device_cache.load(identity)
    if known is not None:
        return known
    device = _measure(kind, identity.name)
    if is_complete(device):
        device_cache.store(identity, device)
    return device


def is_cached(kind: str) -> bool:
    """Whether `measure_device` would answer without measuring. Raises what it raises."""
    return device_cache.load(_identity(kind)) is not None


def is_complete(device: Device) -> bool:
    """Nothing that its kind of device has is unknown."""
    always = (*(device.peaks or (None,)), device.memory_bytes_per_s, device.empty_op_ns)
    cuda = (device.launch_ns, device.empty_kernel_ns, device.kernel_gap_ns, device.replay_ns)
    return None not in always and (device.kind != "cuda" or None not in cuda)


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


def _measure(kind: str, name: str) -> Device:
    with plain_torch(kind):
        return measure_cuda(name) if kind == "cuda" else measure_cpu(name)


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
