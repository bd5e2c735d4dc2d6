"""One step of a workload, run through whichever callable stands in for its model."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import torch

from analyzer.core.errors import UserProgramError
from analyzer.core.settings import Mode
from collectors import torch_compat
from collectors.model_file import display_path
from collectors.outputs import float_sum
from collectors.state import State
from collectors.tensor_parts import readable
from collectors.user_errors import DETACHED, GONE_THROUGH
from collectors.workload import Workload


class Stepper:
    """Runs steps of `workload` with `model` in place of the workload's own: itself, or a compilation of it."""

    def __init__(self, workload: Workload, model: Callable[..., Any], state: State) -> None:
        self.workload = workload
        self.model = model
        self.state = state

    def run(self) -> Any:
        """One step. In training: forward, loss, backward, and the optimizer's step where there is one.

        Returns (output, loss): loss is None in inference. Gradients are left for `gradients`. Of several sets of
        inputs (`passes`) the last one's; what the others returned is dropped, as a user's loop drops it.
        """
        if not self.workload.sets:
            return self._whole()
        return deque(self.passes(), maxlen=1)[0]

    def passes(self) -> Iterator[tuple[Any, Any]]:
        """One step, set of inputs by set. What one gives holds until the next is asked for: CUDA graphs reuse it."""
        if not self.workload.sets:
            yield self._whole()
            return
        is_training = self.workload.mode is Mode.TRAINING
        if is_training:
            self._forget()
        for number, inputs in enumerate(self.workload.every_set):
            if number:
                torch_compat.mark_step_begin()
            yield Stepper(self.workload.on(inputs), self.model, self.state)._pass()
        if is_training:
            self._update()

    def alone(self, number: int) -> Stepper:
        """The step of one set of inputs, counted from 0; its optimizer's step is its own."""
        return Stepper(self.workload.on(self.workload.every_set[number]), self.model, self.state)

    def _whole(self) -> tuple[Any, Any]:
        is_training = self.workload.mode is Mode.TRAINING
        if is_training:
            self._forget()
        output, loss = self._pass()
        if is_training and _has_gradient(loss):
            self._update()
        return output, loss

    def _pass(self) -> tuple[Any, Any]:
        """Forward, and in training loss and backward, for this workload's first inputs."""
        if self.workload.mode is Mode.INFERENCE:
            with self.gradients_as_in_a_step():
                return self._forward(), None
        output = self._forward()
        loss = self._given_loss(output) if self.workload.loss is not None else float_sum(output)
        if isinstance(loss, torch.Tensor) and loss.requires_grad:
            self._go_back(loss)
        return output, loss

    def _go_back(self, loss: torch.Tensor) -> None:
        """Backward. Raises UserProgramError where the user's step has been back through what it returns."""
        try:
            self._learn(loss)
        except RuntimeError as error:
            if self.workload.step is None or GONE_THROUGH not in str(error):
                raise
            step = _defined(self.workload.step)
            raise UserProgramError(
                f"{step} returned what backward() has been through already", hint=DETACHED
            ) from error

    def timed(self) -> int:
        """One step from an idle device to an idle device, in nanoseconds; inputs are put back before the clock."""
        self.prepare()
        return self.run_to_idle()

    def run_to_idle(self) -> int:
        """One prepared step and the wait for the device, in nanoseconds. The output is dropped after the clock."""
        start_ns = time.perf_counter_ns()
        result = self.run()
        self.wait()
        elapsed_ns = time.perf_counter_ns() - start_ns
        del result
        return elapsed_ns

    def prepare(self) -> None:
        """What must happen before a step and is no part of it."""
        if self.state.mutates_inputs:
            self.state.restore_inputs()
        torch_compat.mark_step_begin()
        self.wait()

    def wait(self) -> None:
        """Wait for the device."""
        if self.workload.device == "cuda":
            torch.cuda.synchronize()

    def gradients_as_in_a_step(self) -> contextlib.AbstractContextManager[object]:
        """The gradient mode that a step runs in."""
        return torch.no_grad() if self.workload.mode is Mode.INFERENCE else contextlib.nullcontext()

    def gradients(self) -> tuple[tuple[str, torch.Tensor], ...]:
        """The gradients the last step left, by parameter name; empty in inference."""
        model = self.workload.model
        if self.workload.mode is Mode.INFERENCE or not isinstance(model, torch.nn.Module):
            return ()
        found = ((f"grad:{name}", p.grad) for name, p in model.named_parameters() if p.grad is not None)
        return tuple(copied for path, grad in found for copied in _copied(path, grad))

    def _forward(self) -> Any:
        work = self.workload
        if work.step is not None:
            return work.step(self.model, *work.args, **work.kwargs)
        return self.model(*work.args, **work.kwargs)

    def _given_loss(self, output: Any) -> Any:
        return self.workload.loss(output) if self.workload.loss is not None else None

    def _learn(self, loss: torch.Tensor) -> None:
        loss.backward()  # type: ignore[no-untyped-call]

    def _update(self) -> None:
        if self.workload.optimizer is not None:
            self.workload.optimizer.step()

    def _forget(self) -> None:
        if self.workload.optimizer is not None:
            self.workload.optimizer.zero_grad(set_to_none=True)
        else:
            self.drop_gradients()

    def drop_gradients(self) -> None:
        """Leave no gradient behind on the model's parameters."""
        if isinstance(self.workload.model, torch.nn.Module):
            for parameter in self.workload.model.parameters():
                parameter.grad = None


_OF_THE_USER: Final = frozenset(
    function.__code__
    for function in (
        *(Stepper._forward, Stepper._given_loss, Stepper._learn),
        *(Stepper._update, Stepper._forget, Stepper.wait),
    )
)
"""Where a step leaves our code for the user's; `wait` hears what the device says of it."""


def is_in_users_step(trace: TracebackType | None) -> bool:
    """Whether a traceback goes through a step into what the user gave: model, step function, loss, optimizer."""
    while trace is not None:
        if trace.tb_frame.f_code in _OF_THE_USER:
            return True
        trace = trace.tb_next
    return False


def _defined(function: Callable[..., Any]) -> str:
    """The name of the user's step, and where it is defined if that is known."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__name__", "the step")
    return name if code is None else f"{name} at {display_path(Path(code.co_filename))}:{code.co_firstlineno}"


def _has_gradient(loss: Any) -> bool:
    return isinstance(loss, torch.Tensor) and loss.requires_grad


def _copied(path: str, grad: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    # Eager may give an embedding a sparse gradient where compiled code gives a dense one. Both are as large as the
    # parameter at most.
    yield from readable(path, grad.to_dense() if grad.layout == torch.sparse_coo else grad)
