"""Whether a user's own inference step leaves gradients on: a measured step runs under no_grad, which would hide it."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import torch

from analyzer.core.environment import Environment
from analyzer.core.graphs import SourceLine
from analyzer.core.settings import Mode
from collectors import torch_compat
from collectors.break_ways import is_of_torch
from collectors.step import Stepper
from collectors.tensor_facts import tensors_in


class _RecordedError(BaseException):
    """The first operator that records a gradient has run. No Exception: a step that goes on after one would not end."""


def with_gradient_mode(environment: Environment, stepper: Stepper) -> Environment:
    """`environment` with the gradient mode in which the user's own step runs its operators where it is called with
    gradients on, and the line of the step that then runs the first of them.

    The step is run eager, and no further than to that operator. State and inputs are put back. The mode stays unknown
    where the step is ours, of training, or does not run under a dispatch mode.
    """
    work = stepper.workload
    if work.mode is not Mode.INFERENCE or work.step is None:
        return environment
    stepper.prepare()
    mode = _Watch()
    try:
        with torch.enable_grad(), mode:
            _call(stepper)
    except _RecordedError:
        return replace(environment, is_grad_enabled=True, grad_line=mode.where)
    except Exception:  # some code refuses a dispatch mode; the step itself has run before
        return environment
    finally:
        stepper.wait()
        stepper.state.restore()
    return replace(environment, is_grad_enabled=False)


def _call(stepper: Stepper) -> None:
    work = stepper.workload
    assert work.step is not None
    work.step(stepper.model, *work.args, **work.kwargs)


class _Watch(torch_compat.WholeStepMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.where: SourceLine | None = None

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors_in([*args, *named.values()])):
            self.where = _line_of_step()
            raise _RecordedError
        return func(*args, **named)


def _line_of_step() -> SourceLine | None:
    """Where the step itself is: the frame that we called, unless it is none of the user's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_back.f_code is not _call.__code__:
        frame = frame.f_back
    code = frame.f_code
    is_theirs = frame.f_back is not None and not code.co_filename.startswith("<") and not is_of_torch(code.co_filename)
    return SourceLine(code.co_filename, frame.f_lineno, code.co_name) if is_theirs else None
