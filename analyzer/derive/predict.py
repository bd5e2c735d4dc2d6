"""What a change would give, before it is tried. Every prediction stays in the report beside what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from analyzer.core.budget import Budget, HostKind
from analyzer.core.device import Device
from analyzer.core.graphs import Region
from analyzer.core.timing import RegionTiming, Timing

REPLAY_HOST_SHARE: Final = 0.5
"""Of `Device.replay_ns`, the part that the host spends inside the graph's own call; guards, prologue and the closing
wait are the rest, and no part of the graph. Only for devices measured before the two were told apart, and a rough
figure: 0.5 to 0.6 in the median of 27 models on one H200 (78 to 98 of 156 µs, the larger with copies of inputs in it),
0.47 on one three times as slow that hour (214 of 458 µs), 0.91 on a quiet one (81 of 89 µs)."""


WRAPPER_SAVED_ON_GPU: Final = 0.9
"""Of the device's starved time that Inductor's Python wrapper causes, what the C++ wrapper saves, launches included:
0.63, 0.93, 1.15 and 1.15 in four trials of two models on three H200s (torch 2.11)."""

CALL_SAVED_ON_CPU: Final = 1.5
"""What the C++ wrapper saves of a call of a kernel or an operator on a CPU, in operations on empty tensors
(`Device.empty_op_ns`): 1.5 to 2.0 in four models of one graph (31 to 70 calls a step), 0.65 in a fifth (144 calls, each
of one layer of few inputs) and 0.35 in ten graphs of 12 calls, each of which its own call costs more (torch 2.13 on 2
cores of an EPYC, steps in turn, one and two threads). That is 0 to 2 % of a step too much or too little in the first
four, 11 % in the fifth."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One region of the default run that is to be replayed: device time, kernels and calls of a step.

    `lead_ns` is how far the host runs ahead of the device when the region begins (see `host_lead_ns`).
    `copied_bytes` are those of the inputs of one call that a CUDA graph must copy to its own place, `inputs` how many
    there are, parameters among them; None: unknown, and then not counted.
    """

    busy_ns: int
    kernels: float
    calls: float = 1.0
    lead_ns: int = 0
    copied_bytes: int | None = None
    inputs: int | None = None


def predict_cuda_graphs(region: Replayed, device: Device) -> int | None:
    """Nanoseconds a step, between its device events, that a region takes as a CUDA graph.

    What the device does: kernels, a gap to each, the copies of the inputs. Before it, what the device waits for the
    host to start a replay, as far as the host is not ahead. None where the gap or the cost of a replay was not
    measured. Held to 2 % of the step in the median and 8 % at the 90th percentile over 43 graphs of an H200
    (`tests/golden/interventions_h200`); a host that slows down after the device was measured is the largest error.
    """
    host_ns = replay_host_ns(device, region.inputs)
    if device.kernel_gap_ns is None or host_ns is None:
        return None
    waited_ns = max(0.0, host_ns - region.lead_ns) * region.calls
    return round(region.busy_ns + device.kernel_gap_ns * region.kernels + _copying_ns(region, device) + waited_ns)


def predict_cpp_wrapper(budget: Budget) -> int | None:
    """Nanoseconds a step that a region of a GPU takes with its kernels launched from compiled C++.

    None where it is not known what the host did while the device was starved.
    """
    if budget.starved is None:
        return None
    wrapper_ns = sum(part.ns for part in budget.starved if part.kind is HostKind.WRAPPER)
    return round(budget.elapsed_ns - WRAPPER_SAVED_ON_GPU * wrapper_ns)


def predict_cpp_wrapper_on_cpu(budget: Budget, calls: float | None, device: Device) -> int | None:
    """The same of a CPU, where a region makes so many calls of kernels and operators a step.

    None where these were not counted, or it was not measured what an operation costs.
    """
    if calls is None or device.empty_op_ns is None:
        return None
    return max(0, round(budget.elapsed_ns - CALL_SAVED_ON_CPU * device.empty_op_ns * calls))


def replay_host_ns(device: Device, inputs: int | None = None) -> float | None:
    """What the device waits, in ns a call of so many inputs, from a graph's start event to its replay, where the host
    is not ahead.
    """
    if device.replay_host_ns is not None:
        return device.replay_host_ns + (device.replay_input_ns or 0.0) * (inputs or 0)
    return None if device.replay_ns is None else REPLAY_HOST_SHARE * device.replay_ns


def host_lead_ns(timing: Timing, region: Region) -> int:
    """How far the host is ahead of the device when it comes to `region`, in ns; 0 where the device waits for it.

    The regions of a step follow one another without a hole on both clocks: what the device has taken longer than the
    host until then. For a region called several times, the mean of its first call and the end of the step.
    """
    first = _lead_ns(timing, lambda timed: timed.region == region)
    calls = next((timed.calls_per_step for timed in timing.regions if timed.region == region), 1.0)
    # The last region ends with the host waiting for the device.
    last = timing.regions[-1:]
    return first if calls <= 1 else (first + _lead_ns(timing, lambda timed: timed in last)) // 2


def _lead_ns(timing: Timing, is_it: Callable[[RegionTiming], bool]) -> int:
    lead_ns = 0
    for timed in timing.regions:
        if is_it(timed):
            return lead_ns
        # A device cannot be ahead of its host: where it seems so, the host waited for it.
        lead_ns = max(0, lead_ns + timed.elapsed_ns.median_ns - timed.host_ns.median_ns)
    return 0


def _copying_ns(region: Replayed, device: Device) -> float:
    """Each byte is read and written."""
    if region.copied_bytes is None or device.memory_bytes_per_s is None:
        return 0.0
    return 2e9 * region.copied_bytes * region.calls / device.memory_bytes_per_s
