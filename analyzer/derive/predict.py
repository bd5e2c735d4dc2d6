"""What a change would give, before it is tried. Every prediction stays in the report beside what was measured."""

from __future__ import annotations

from analyzer.core.device import Device


def predict_cuda_graphs(busy_ns: int, kernels: float, device: Device, *, calls: float = 1.0) -> int | None:
    """Nanoseconds a step that a region takes as a CUDA graph: busy + gap * kernels + replay * calls.

    `busy_ns` and `kernels` are those of a step of the default run, `calls` how often a step calls the graph. The two
    constants are measured on the device; on an H200 they were 0.8 µs and 0.15 ms, and held to a few per cent
    (design, "Prediction, and its ledger"). None where they were not measured.
    """
    if device.kernel_gap_ns is None or device.replay_ns is None:
        return None
    return round(busy_ns + device.kernel_gap_ns * kernels + device.replay_ns * calls)
