"""The prediction of the design's ledger, from the same constants."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.derive.predict import predict_cuda_graphs
from tests.unit.derive.runs import DEVICE

MS = 1_000_000
H200 = replace(DEVICE, kernel_gap_ns=800.0, replay_ns=0.15 * MS)


def test_the_granite_like_model_is_predicted_as_in_the_design() -> None:
    # The design gives 0.90 to 0.92 ms of kernels and a prediction of 1.26 ms: some 250 kernels, 15 or 16 a layer.
    predicted = predict_cuda_graphs(round(0.91 * MS), 250, H200)
    assert predicted == pytest.approx(1.26 * MS, rel=0.001)


def test_a_kernel_more_costs_one_gap_and_a_call_more_one_replay() -> None:
    base = predict_cuda_graphs(MS, 10, H200)
    assert base == MS + 8_000 + 150_000
    assert predict_cuda_graphs(MS, 11, H200) == base + 800
    assert predict_cuda_graphs(MS, 10, H200, calls=2) == base + 150_000


def test_without_measured_constants_there_is_no_prediction() -> None:
    assert predict_cuda_graphs(MS, 10, replace(H200, kernel_gap_ns=None)) is None
    assert predict_cuda_graphs(MS, 10, replace(H200, replay_ns=None)) is None
