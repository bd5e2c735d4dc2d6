"""What one eager step of the user's model does, operator by operator, with the user's lines. Holds no times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from analyzer.core.graphs import SourceLine

_DTYPE_BYTES: Final[Mapping[str, int]] = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "float32": 4,
    "int64": 8,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """One tensor as an operator saw it. `dtype` is torch's name without the prefix, `device` its type (`cpu`, `cuda`).

    `layout` is `contiguous`, `channels_last`, `channels_last_3d`, `strided` or another torch layout's name; `strides`
    are empty where there are none. `parameter` is the name of the model's parameter that it is, or is a view of; None
    for anything else. `offset` is where in that parameter's memory it begins, in elements. `is_host_made` is whether
    it was made on the CPU in this step out of nothing but Python values; `is_borrowed` whether its memory is another
    library's, as NumPy's, of which it is not seen what it was computed from.
    """

    shape: tuple[int, ...]
    dtype: str
    device: str
    layout: str
    strides: tuple[int, ...] = ()
    parameter: str | None = None
    is_host_made: bool = False
    offset: int = 0
    is_borrowed: bool = False

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int | None:
        """What its elements take; None for a dtype whose size is not known here."""
        size = _DTYPE_BYTES.get(self.dtype)
        return None if size is None else size * self.elements


@dataclass(frozen=True, slots=True)
class OpCall:
    """Calls of one operator with equal arguments from one line, in one step. `op` is `aten::mm`, without overload.

    `first` is the position of the first of them among all calls of the step; `values` the plain arguments as text.
    `inputs` and `outputs` are tensors, those in lists included, in order. `module` is the class of the innermost
    `nn.Module` that ran it. `where` is None outside the user's code; in a backward it is the line whose gradient is
    taken, where that is known. `is_python` is whether the operator is a user's own, written in Python.
    """

    op: str
    where: SourceLine | None
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    count: int
    first: int
    values: tuple[str, ...] = ()
    module: str | None = None
    is_backward: bool = False
    is_python: bool = False


@dataclass(frozen=True, slots=True)
class OptimizerFacts:
    """How an optimizer stepped: `implementation` is `for-loop`, `foreach` or `fused`, by what torch would choose for
    it; None where it does not say. `tensors` is how many parameters with a gradient it holds, `operators` how many
    operators its step called. `can_fuse` is whether torch has a fused form of it for these parameters.
    """

    name: str
    implementation: str | None
    tensors: int
    operators: int = 0
    where: SourceLine | None = None
    is_capturable: bool = False
    can_fuse: bool = False


@dataclass(frozen=True, slots=True)
class HostCall:
    """Calls of one Python function that no operator shows (`torch.cuda.empty_cache`) from one line, in a step.

    `host_ns` is what they took together in the step that was logged; None is unknown.
    """

    name: str
    where: SourceLine | None
    count: int
    host_ns: int | None = None


@dataclass(frozen=True, slots=True)
class LoaderUse:
    """A DataLoader that gave batches inside the step. `workers` 0 means that they were made by the step itself."""

    where: SourceLine | None
    batches: int
    workers: int | None
    pins_memory: bool | None


@dataclass(frozen=True, slots=True)
class DenormalTensor:
    """A tensor of the step that held denormal floats. `what` is `parameter NAME`, `input` or the operator that made
    it; `share` is of its elements looked at, the worst of the tensors of that name.
    """

    what: str
    where: SourceLine | None
    share: float


@dataclass(frozen=True, slots=True)
class DenormalFacts:
    """Float elements looked at and found denormal, in parameters, inputs and a sample of the operators' outputs.

    `slowdown` is how many times longer this CPU takes for a product with denormals than without, as measured; None
    where there was no denormal to measure for.
    """

    looked_at: int
    denormal: int
    tensors: tuple[DenormalTensor, ...] = ()
    slowdown: float | None = None


@dataclass(frozen=True, slots=True)
class ModeUse:
    """A setting of torch that was on while operators of the step ran: `operators` of them, the first at `where`.

    `name` is `anomaly`, `deterministic`, or `gradients`: of that, operators whose gradient is recorded alone count.
    """

    name: str
    where: SourceLine | None
    operators: int


@dataclass(frozen=True, slots=True)
class OpLog:
    """One eager step. `is_complete` is False where the log was cut at its limit, or an operator could not be read.

    `denormals` is None where none were looked for (on any device but a CPU). `modes` are settings that were on in the
    step, wherever they were set. `untaken_gradients` are the model's parameters that the step left a gradient in, and
    that none of the `optimizers` holds; empty without an optimizer.
    """

    calls: tuple[OpCall, ...]
    total: int
    is_complete: bool
    optimizers: tuple[OptimizerFacts, ...] = ()
    host_calls: tuple[HostCall, ...] = ()
    loaders: tuple[LoaderUse, ...] = ()
    denormals: DenormalFacts | None = None
    modes: tuple[ModeUse, ...] = ()
    untaken_gradients: tuple[str, ...] = ()

    def named(self, *ops: str) -> tuple[OpCall, ...]:
        """The calls of these operators, in the order of the step."""
        return tuple(call for call in self.calls if call.op in ops)

    def mode(self, name: str) -> ModeUse | None:
        """The use of this setting in the step, None where no operator ran under it."""
        return next((use for use in self.modes if use.name == name), None)
