"""Logs the operators of one eager step with the user's lines. Times nothing, and changes no result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import torch

from analyzer.core.graphs import SourceLine
from analyzer.core.ops import ModeUse, OpCall, OpLog, TensorFacts
from collectors import torch_compat, torch_eager
from collectors.call_place import Places
from collectors.denormals import DenormalCount
from collectors.host_calls import HostEars
from collectors.step import Stepper
from collectors.tensor_facts import TensorReader, plain_values, tensors_in

MOST_CALLS: Final = 50_000
"""Calls of operators that are logged; the log of a training step of a 16-layer transformer is some 3,000 long."""

_NEW_TENSOR: Final = "aten::lift_fresh"
"""What torch.tensor and torch.from_numpy end with: its argument was made below every mode, out of plain values."""


_CAST: Final = "aten::_to_copy"


def _records_gradients(name: str, taken: list[torch.Tensor]) -> bool:
    # Autocast casts a weight with gradients on, whatever the mode around it (`cached_cast` in ATen/autocast_mode.cpp,
    # 2.13): what follows a cast tells.
    return name != _CAST and torch.is_grad_enabled() and any(tensor.requires_grad for tensor in taken)


_MODES: Final[tuple[tuple[str, Callable[[str, list[torch.Tensor]], bool]], ...]] = (
    ("anomaly", lambda *_: torch.is_anomaly_enabled()),
    ("deterministic", lambda *_: torch.are_deterministic_algorithms_enabled()),
    ("gradients", _records_gradients),
)
"""Settings of torch that are looked at as each operator runs, with its name and the tensors that it takes."""

_Row = tuple[
    str, SourceLine | None, tuple[TensorFacts, ...], tuple[TensorFacts, ...], tuple[str, ...], str | None, bool, bool
]


def record_ops(stepper: Stepper, root: Path | None, most_calls: int = MOST_CALLS) -> OpLog:
    """Run one step of `stepper`, which must hold the model itself and no compilation of it, and log its operators.

    `root` is the folder of the user's files. Raises what the step raises. The caller restores the state, as after
    any step.
    """
    places = Places(root, Stepper.run.__code__)
    ears = HostEars(places)
    reader = TensorReader(stepper.workload.model)
    denormals = DenormalCount() if stepper.workload.device == "cpu" else None
    recorder = _Recorder(places, ears, reader, denormals, most_calls)
    stepper.prepare()
    if denormals is not None:
        _look_at_start(stepper, denormals)
    with ears.listening(), _LoggingMode(recorder):
        result = stepper.run()
    stepper.wait()
    del result
    untaken = ears.untaken_gradients(stepper.workload.model)
    return OpLog(
        calls=recorder.calls(),
        total=recorder.total,
        is_complete=recorder.total <= most_calls and not recorder.unread,
        optimizers=ears.optimizers,
        host_calls=ears.calls,
        loaders=ears.loaders,
        denormals=denormals.facts() if denormals is not None else None,
        modes=recorder.modes,
        untaken_gradients=untaken,
    )


def _look_at_start(stepper: Stepper, denormals: DenormalCount) -> None:
    work = stepper.workload
    if isinstance(work.model, torch.nn.Module):
        for name, parameter in work.model.named_parameters():
            denormals.look(parameter, f"parameter {name}", None)
    inputs = [value for one in work.every_set for value in (*one.args, *one.kwargs.values())]
    for tensor in tensors_in(inputs):
        denormals.look(tensor, "input", None)


@dataclass(slots=True)
class _Counted:
    call: OpCall
    count: int = 0


class _Recorder:
    """Takes one call after another and adds up equal ones. What it trips over is counted, and never raised."""

    def __init__(
        self,
        places: Places,
        ears: HostEars,
        reader: TensorReader,
        denormals: DenormalCount | None,
        most_calls: int,
    ) -> None:
        self.total = 0
        self.unread = 0
        self._places = places
        self._ears = ears
        self._reader = reader
        self._denormals = denormals
        self._most_calls = most_calls
        self._rows: dict[_Row, _Counted] = {}
        self._forward_lines: dict[int, SourceLine | None] = {}
        self._is_python: dict[object, bool] = {}
        self._modes: dict[str, ModeUse] = {}

    @property
    def modes(self) -> tuple[ModeUse, ...]:
        return tuple(self._modes.values())

    def calls(self) -> tuple[OpCall, ...]:
        return tuple(replace(row.call, count=row.count) for row in self._rows.values())

    def note(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        self.total += 1
        if self.total > self._most_calls:
            return
        try:
            self._note(operator, args, kwargs, result)
        except Exception:
            # Tensor subclasses may refuse any question; the user's step must not fail on ours.
            self.unread += 1

    def _note(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        self._ears.count_operator()
        where, is_backward = self._where()
        taken, given = list(tensors_in([*args, *kwargs.values()])), list(tensors_in(result))
        name = _name(operator)
        self._note_modes(name, where, taken)
        inputs = tuple(self._reader.facts(tensor) for tensor in taken)
        self._reader.note_origin(
            [] if name == _NEW_TENSOR else taken,
            given,
            is_data=self._ears.is_loading,
        )
        outputs = tuple(self._reader.facts(tensor) for tensor in given)
        row = (
            name,
            where,
            inputs,
            outputs,
            plain_values(args, kwargs),
            self._ears.module,
            is_backward,
            self._python(operator),
        )
        known = self._rows.get(row)
        if known is None:
            known = self._rows[row] = _Counted(_call(row, self.total - 1))
        known.count += 1
        # The 1st, 2nd, 4th, … of equal calls: values that decay in a loop turn denormal late in it.
        if self._denormals is not None and known.count & (known.count - 1) == 0:
            for tensor in given:
                self._denormals.look(tensor, name, where)

    def _note_modes(self, op: str, where: SourceLine | None, taken: list[torch.Tensor]) -> None:
        # Here and not once before the step: a context manager inside the model's forward sets them too.
        for name, is_on in _MODES:
            if is_on(op, taken):
                known = self._modes.get(name) or ModeUse(name, where, 0)
                self._modes[name] = replace(known, operators=known.operators + 1)

    def _where(self) -> tuple[SourceLine | None, bool]:
        node = torch_eager.running_node()
        if node is not None:
            line = self._forward_lines.get(node._sequence_nr())
            return line if line is not None else self._places.here(), True
        where = self._places.here()
        if torch.is_grad_enabled():
            upcoming = torch_eager.sequence_number()
            if upcoming is not None:
                self._forward_lines.setdefault(upcoming - 1, where)
        return where, False

    def _python(self, operator: Any) -> bool:
        known = self._is_python.get(operator)
        if known is None:
            known = self._is_python[operator] = torch_eager.is_python_op(operator)
        return known


class _LoggingMode(torch_compat.WholeStepMode):  # type: ignore[no-untyped-call]
    def __init__(self, recorder: _Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._recorder = recorder

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        if torch.is_inference_mode_enabled() and torch_compat.is_torch_op(func):
            # Without autograd above it, a composite operator arrives here whole: its parts are what runs.
            with self:
                result = func.decompose(*args, **named)
            if result is not NotImplemented:
                return result
        result = func(*args, **named)
        self._recorder.note(func, args, named, result)
        return result


def _call(row: _Row, first: int) -> OpCall:
    op, where, inputs, outputs, values, module, is_backward, is_python = row
    return OpCall(
        op=op,
        where=where,
        inputs=inputs,
        outputs=outputs,
        count=0,
        first=first,
        values=values,
        module=module,
        is_backward=is_backward,
        is_python=is_python,
    )


def _name(operator: Any) -> str:
    """`aten::add` for `aten.add.Tensor`, `higher_order::cond` for an operator without overloads."""
    if torch_compat.is_torch_op(operator):
        return str(operator.name()).partition(".")[0]
    return f"higher_order::{getattr(operator, '__name__', operator)}"
