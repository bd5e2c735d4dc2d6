"""torch.compile's own result is judged like any candidate's."""

from __future__ import annotations

import pytest
import torch

from analyzer.core.trial import AccuracyReference
from analyzer.session import Session
from tests.workloads import a_workload


class Liar(torch.nn.Module):
    def __init__(self, lie: float) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.lie = lie

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.layer(x)
        return y + self.lie if torch.compiler.is_compiling() else y


@pytest.mark.slow
@pytest.mark.parametrize(("lie", "is_right"), [(1.0, False), (0.0, True)])
def test_a_model_that_computes_something_else_when_compiled_is_told(lie: float, is_right: bool) -> None:
    session = Session(a_workload(Liar(lie)), lambda event: None)
    try:
        session.start()
        session.capture()
        accuracy = session.judge_default()
    finally:
        session.close()
    assert accuracy is not None
    assert accuracy.is_right is is_right
    assert accuracy.reference is AccuracyReference.FLOAT64
