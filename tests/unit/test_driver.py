"""In a notebook the session runs in the caller's own process, and leaves everything as it was."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from torch._dynamo.utils import dynamo_timed
from torch._inductor import config as inductor
from torch._inductor import select_algorithm
from torch._inductor.virtualized import V

from analyzer.core.errors import UserProgramError
from analyzer.core.run import Event, LostChildError
from analyzer.core.settings import Mode
from analyzer.driver import LocalDriver
from tests.workloads import Mlp, a_workload


def test_the_callers_model_is_as_it_was_afterwards() -> None:
    model = Mlp()
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    heard: list[Event | None] = []
    driver = LocalDriver(a_workload(model, mode=Mode.TRAINING, optimizer=sgd), heard.append)
    driver.start((), None)
    facts = driver.call("start", limit_s=1.0)
    driver.call("time_eager")
    assert facts.mode == "training"
    assert not torch.equal(model.first.weight, before["first.weight"])
    driver.close()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert [event.doing for event in heard if event] == ["running the model once", "timing eager"]


def test_what_the_model_raises_is_one_message_and_closing_still_works() -> None:
    def failing(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("no such thing")

    driver = LocalDriver(a_workload(failing, torch.ones(1)), lambda _: None)
    driver.start((), None)
    with pytest.raises(UserProgramError, match="ValueError: no such thing"):
        driver.call("start")
    driver.close()
    driver.close()


def _autotune() -> None:
    """What Inductor writes where it has timed the choices of a product."""
    choices: dict[Any, float] = {Choice("mkl_linear"): 16.0, Choice("cpp_gemm"): 8.0}
    event = "linear_template_autotuning"
    with inductor.patch(max_autotune=True), V.set_debug_handler(Mock()):
        with dynamo_timed(event, log_pt2_compile_event=True):
            select_algorithm._log_autotune_choices_stats(event, choices)
        select_algorithm.AlgorithmSelectorCache.log_results("linear", [], choices, 0.1, 0.1)


class Choice:
    description = ""

    def __init__(self, name: str) -> None:
        self.name = name


def test_what_torch_writes_of_its_autotuning_goes_to_the_log_and_not_to_the_callers_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "program.log"
    driver = LocalDriver(a_workload(), lambda _: None, log)
    for _ in range(2):
        driver.start((), None)
        _autotune()
    print("the model's own", file=sys.stderr)
    assert capfd.readouterr().err == "the model's own\n"
    told = log.read_text()
    assert (told.count("AUTOTUNE linear("), told.count("Autotune Choices Stats:")) == (2, 2)
    assert "cpp_gemm 8.0000 ms" in told
    driver.close()
    _autotune()
    assert log.read_text() == told
    assert "AUTOTUNE linear(" in capfd.readouterr().err


def test_it_says_that_a_candidate_that_crashes_takes_the_caller_with_it() -> None:
    assert LocalDriver(a_workload(), lambda _: None).is_isolated is False


def test_a_gpu_is_measured_apart_from_the_caller_whose_process_has_had_the_profiler_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[object] = []

    class Apart:
        def __init__(self, spec: object, log: Path, on_event: object) -> None:
            done.append(spec)

        def spawn(self) -> None:
            done.append("spawn")

        def call(self, method: str, *arguments: object, limit_s: float | None) -> object:
            done.append((method, arguments))
            raise LostChildError("gone")

        def close(self) -> None:
            done.append("close")

    monkeypatch.setattr("analyzer.driver.Child", Apart)
    driver = LocalDriver(a_workload(), lambda _: None)
    with pytest.raises(LostChildError):
        driver.measure_device("cuda", 60.0, renew=True)
    assert done == [None, "spawn", ("measure_device", ("cuda", True)), "close"]
