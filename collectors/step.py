"""One step of a workload, run through whichever callable stands in for its model."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import torch

from analyzer.core.settings import Mode
from collectors import torch_compat
from collectors.outputs import float_sum
from collectors.state import State
from collectors.workload import Workload


class Stepper:
    """Runs steps of `workload` with `model` in place of the workload's own: itself, or a compilation of it."""

    def __init__(self, workload: Workload, model: Callable[..., Any], state: State) -> None:
        self.workload = workload
        self.model = model
        self.state = state

    def run(self) -> Any:
        """One step. In training: forward, loss, backward, and the optimizer's step where there is one.

        Returns (output, loss): loss is None in inference. Gradients are left for `gradients`.
        """
        work = self.workload
        if work.mode is Mode.INFERENCE:
            with self.gradients_as_in_a_step():
                return self._forward(), None
        if work.optimizer is not None:
            work.optimizer.zero_grad(set_to_none=True)
        else:
            self.drop_gradients()
        output = self._forward()
        loss = work.loss(output) if work.loss is not None else float_sum(output)
        if isinstance(loss, torch.Tensor) and loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]
            if work.optimizer is not None:
                work.optimizer.step()
        return output, loss

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
        return tuple((f"grad:{n}", p.grad.detach().clone()) for n, p in model.named_parameters() if p.grad is not None)

    def _forward(self) -> Any:
        work = self.workload
        if work.step is not None:
            return work.step(self.model, *work.args, **work.kwargs)
        return self.model(*work.args, **work.kwargs)

    def drop_gradients(self) -> None:
        """Leave no gradient behind on the model's parameters."""
        if isinstance(self.workload.model, torch.nn.Module):
            for parameter in self.workload.model.parameters():
                parameter.grad = None
