"""Whatever the user's program raises in a step names their line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import torch

from analyzer import session_ears
from analyzer.core.errors import ExitCode, InternalError, UserProgramError
from analyzer.core.settings import Mode
from analyzer.session_ears import Telling
from collectors.state import State
from collectors.user_module import import_user_module
from optimizers.candidates.base import RefusedError
from tests.workloads import a_stepper, a_workload


@pytest.mark.parametrize(("statement", "told"), [("sys.exit(3)", "SystemExit: 3"), ("1 / 0", "ZeroDivisionError")])
def test_leaving_in_a_step_is_a_failure_of_that_line(tmp_path: Path, statement: str, told: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(f"import sys\ndef step():\n    {statement}\n")
    step = import_user_module(file).step
    with pytest.raises(UserProgramError) as caught, Telling("the model's first step", tmp_path):
        step()
    assert f"net.py:3 in step: {told}" in caught.value.message


def test_backward_in_an_inference_step_is_told_the_mode_it_wants(tmp_path: Path) -> None:
    with pytest.raises(UserProgramError) as caught, Telling("the model's first step", tmp_path):
        torch.ones(3).sum().backward()  # type: ignore[no-untyped-call]
    assert caught.value.hint is not None
    assert "--mode training" in caught.value.hint


def test_a_fault_of_ours_is_not_blamed_on_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = State(a_workload())
    monkeypatch.setattr(state, "_optimizer", {})
    monkeypatch.setattr(state, "_workload", None)
    with pytest.raises(InternalError, match=r"state\.py:\d+ in restore") as caught, Telling("a step", tmp_path):
        state.restore()
    assert caught.value.exit_code is ExitCode.INTERNAL


@pytest.mark.parametrize("mode", list(Mode))
def test_what_torch_raises_in_the_users_step_stays_theirs(tmp_path: Path, mode: Mode) -> None:
    stepper = a_stepper(a_workload(torch.nn.Linear(8, 3), torch.randn(2, 5), mode=mode))
    with pytest.raises(UserProgramError, match="shapes cannot be multiplied"), Telling("a step", tmp_path):
        stepper.run()


def test_what_the_users_hook_raises_under_our_restore_is_theirs(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def refuse(*_: object) -> None:
        raise ValueError("not this state")

    optimizer.register_load_state_dict_pre_hook(refuse)
    state = State(a_workload(model, torch.randn(2, 2), mode=Mode.TRAINING, optimizer=optimizer))
    with pytest.raises(UserProgramError, match="not this state"), Telling("a step", tmp_path):
        state.restore()


def test_out_of_memory_is_never_our_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = State(a_workload())

    def no_room() -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(state, "reseed", no_room)
    with pytest.raises(UserProgramError, match="out of memory"), Telling("a step", tmp_path):
        state.restore()


def _of_ours(raised: Exception) -> Callable[..., object]:
    """A function whose code lies in our package, as a backend's or an operator log's does, and that fails."""
    namespace: dict[str, object] = {"raised": raised}
    source = Path(session_ears.__file__).parent / "hook_of_a_test.py"
    exec(compile("def hook(*_):\n    raise raised\n", str(source), "exec"), namespace)
    return cast("Callable[..., object]", namespace["hook"])


def test_a_fault_of_our_hook_inside_the_users_step_is_not_blamed_on_the_user(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2)
    model.register_forward_hook(_of_ours(KeyError("of ours")))
    stepper = a_stepper(a_workload(model, torch.randn(2, 2)))
    with pytest.raises(InternalError, match=r"hook_of_a_test\.py:2 in hook") as caught, Telling("a step", tmp_path):
        stepper.run()
    assert caught.value.exit_code is ExitCode.INTERNAL


def test_a_fault_of_our_backend_is_told_through_what_dynamo_wraps_it_in(tmp_path: Path) -> None:
    compiled = torch.compile(torch.nn.Linear(2, 2), backend=_of_ours(KeyError("of ours")))

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return cast(torch.Tensor, compiled(x))

    stepper = a_stepper(a_workload(Net(), torch.randn(2, 2)))
    with pytest.raises(InternalError, match="in hook"), Telling("a step", tmp_path):
        stepper.run()


def test_what_our_hook_says_of_the_model_on_purpose_stays_about_the_model(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2)
    model.register_forward_hook(_of_ours(RefusedError("it changes its weights")))
    stepper = a_stepper(a_workload(model, torch.randn(2, 2)))
    with pytest.raises(UserProgramError, match="it changes its weights"), Telling("a step", tmp_path):
        stepper.run()


def test_ctrl_c_in_a_step_stays_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt), Telling("a step", Path()):
        raise KeyboardInterrupt
