"""Kernels are judged by all that the product is told of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.core.budget import Part
from analyzer.core.device import Device, Source
from benchmarks.verdicts.judged_kernels import judged_kernels
from tests.traces import Recording
from tests.unit.derive.runs import A
from tests.unit.derive.test_library_calls import FIRST, GEMM, GRAPH, SECOND

DEVICE = Device("cuda", "H200", Source.MEASURED, l2_bytes=50_000_000)


@pytest.mark.parametrize(("is_told", "expected"), [(True, 2 * 128 * 64 * 32), (False, None)])
def test_a_kernel_without_an_operator_is_known_by_the_order_of_calls(
    tmp_path: Path, is_told: bool, expected: int | None
) -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.replay([(name, 5) for name in (FIRST, GEMM, SECOND, GEMM)])
        run.synchronize()
    graph = GRAPH if is_told else replace(GRAPH, calls=None)
    found = judged_kernels(run.save(tmp_path / "trace.json"), (graph,), DEVICE, frozenset())
    assert [kernel.name for kernel in found] == [FIRST, GEMM, SECOND, GEMM]
    assert found[1].flops == expected
    assert found[1].bytes == (None if expected is None else 2 * (128 * 64 + 64 * 32 + 128 * 32))
    assert found[0].part is Part.UNKNOWN_KERNELS
