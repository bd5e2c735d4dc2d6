"""What the recorder does between steps is in the trace and in no lane: rows must not be taken for their neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from analyzer.core.trace import EventKind
from collectors.readers.kineto import read_trace
from dashboard.step_view import BarKind, view_median_step

GOLDEN: Final = Path(__file__).resolve().parents[2] / "golden" / "granite_h200"


def test_every_kernel_bar_is_a_kernel_of_the_step_and_stands_on_a_stream() -> None:
    trace = read_trace(GOLDEN / "before.trace.json.gz")
    kernels = {trace.name(row) for row in trace.rows(EventKind.KERNEL).tolist()}
    view = view_median_step(trace)
    assert view is not None
    bars = [bar for bar in view.bars if bar.kind is BarKind.KERNEL]
    # 251 kernels a step; the rest of the 801 device rows are copies.
    assert len(bars) == 251
    assert view.left_out == 0
    assert {bar.name for bar in bars} <= kernels
    assert {view.lanes[bar.lane] for bar in bars} == {"stream 7"}
