"""What is run: a model, its inputs, a step, a device and a mode. Builds one from what a user hands over."""

from __future__ import annotations

import contextlib
import inspect
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from analyzer.core.errors import UsageError
from analyzer.core.settings import Mode
from collectors.callables import require_callable
from collectors.input_sets import given_sets

SEED: Final = 0

DEVICES: Final = ("cpu", "cuda")

INPUT_FORMS: Final = "a tuple (or list) of arguments, a dict of keyword arguments, or one tensor"

NO_LOSS: Final = "no loss was given: the sum of the float outputs is used"
OWN_STEP: Final = (
    "the step is your own, with the loss and the optimizer that it calls; of what it returns, float outputs that still "
    "have a gradient to give are added up and gone back through"
)
NO_OPTIMIZER: Final = "no optimizer was given: gradients are computed and no weight is updated"


@dataclass(frozen=True, slots=True)
class InputSet:
    """The inputs of one more call, and the loss that knows them; None is the workload's own way."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    loss: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """One thing to run, ready on its device.

    `model` is an `nn.Module` or any callable, called as `model(*args, **kwargs)`, or by the user's own
    `step(model, *args, **kwargs) -> output`. `loss(output)` gives a scalar; None is the sum of the float outputs.
    `loss` and `optimizer` are None in inference. `form` says which of the forms the user chose.

    `sets` are further sets of inputs of the same step, for inputs whose sizes change: a step is then one call for
    `args` and `kwargs` and one for each of these, in order, all of one weight; in training the gradients of all are
    added up before the optimizer's one step. `variants` are inputs of later calls, for what only a change of inputs
    shows: no figure is for them.
    """

    model: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    name: str
    source: str
    form: str
    mode: Mode
    device: str
    step: Callable[..., Any] | None = None
    loss: Callable[..., Any] | None = None
    optimizer: torch.optim.Optimizer | None = None
    notes: tuple[str, ...] = field(default=())
    variants: tuple[InputSet, ...] = field(default=())
    sets: tuple[InputSet, ...] = field(default=())

    @property
    def every_set(self) -> tuple[InputSet, ...]:
        """The inputs of each call of a step."""
        return (InputSet(self.args, self.kwargs, self.loss), *self.sets)

    def on(self, inputs: InputSet) -> Workload:
        """This workload on other inputs."""
        loss = inputs.loss or self.loss
        return replace(self, args=inputs.args, kwargs=inputs.kwargs, loss=loss, variants=(), sets=())

    @classmethod
    def of(
        cls,
        model: Callable[..., Any],
        inputs: object,
        *,
        mode: str = Mode.INFERENCE,
        device: str | None = None,
        step: Callable[..., Any] | None = None,
        loss: Callable[..., Any] | None = None,
        optimizer: torch.optim.Optimizer | None = None,
    ) -> Workload:
        """A workload from objects. `device` None leaves the model where it is.

        The model and the inputs are moved to the device, and the model is set to `eval()` or `train()`, in place
        as torch does it. Raises UsageError when the model cannot be called, the inputs are none of the three
        forms, or the device is not there.
        Several sets of inputs, a list of tuples or of dicts or a generator, are one step.
        """
        require_callable(model, "the model")
        given = given_sets(inputs)
        if given is not None and not given.sets:
            raise UsageError("the inputs yield nothing", hint=INPUT_FORMS)
        first, *others = given.sets if given is not None else (inputs,)
        args, kwargs = split_inputs(first, "the inputs")
        target = resolve_device(device or _device_of(model, args, kwargs))
        chosen = _parse_mode(mode)
        training = chosen is Mode.TRAINING
        if training and optimizer is not None:
            require_plain_step(optimizer)
        name = type(model).__name__ if isinstance(model, nn.Module) else getattr(model, "__name__", "model")
        return cls(
            model=prepare_model(model, target, chosen),
            args=move(args, target),
            kwargs=move(kwargs, target),
            name=name,
            source=f"{type(model).__module__}.{type(model).__qualname__}" if isinstance(model, nn.Module) else name,
            form="model and inputs",
            mode=chosen,
            device=target,
            step=step,
            loss=loss if training else None,
            optimizer=optimizer if training else None,
            notes=(*(given.notes if given else ()), *(training_notes(loss, optimizer, step) if training else ())),
            sets=tuple(InputSet(*move(split_inputs(one, "the inputs"), target)) for one in others),
        )


def training_notes(loss: object | None, optimizer: object | None, step: object | None = None) -> tuple[str, ...]:
    """What a training run does in place of what the user did not give. A step of their own may hold both."""
    if step is not None and loss is None and optimizer is None:
        return (OWN_STEP,)
    return tuple(note for given, note in ((loss, NO_LOSS), (optimizer, NO_OPTIMIZER)) if given is None)


def require_plain_step(optimizer: torch.optim.Optimizer) -> None:
    """Raises UsageError for an optimizer whose step calls the model itself, as LBFGS does."""
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    if closure is not None and closure.default is closure.empty:
        raise UsageError(
            f"{type(optimizer).__name__} runs the model several times a step, through a closure",
            hint="write the whole step yourself: --entry FUNCTION that returns an analyzer.Workload with a step that "
            "calls optimizer.step(closure) and returns a detached output, and without an optimizer",
        )


def split_inputs(inputs: object, what: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments out of a tuple, a list, a mapping with text keys or a single tensor."""
    if isinstance(inputs, torch.Tensor):
        return (inputs,), {}
    if isinstance(inputs, Mapping):
        wrong = [key for key in inputs if not isinstance(key, str)]
        if wrong:
            raise UsageError(f"{what} have the key {wrong[0]!r}, which is no argument name", hint=INPUT_FORMS)
        return (), dict(inputs)
    if isinstance(inputs, tuple | list):
        return tuple(inputs), {}
    raise UsageError(f"{what} are of type {type(inputs).__name__}", hint=f"give {INPUT_FORMS}")


def resolve_device(asked: str | None) -> str:
    """`cpu` or `cuda`; None means CUDA where there is one. Raises UsageError when the device is not there."""
    if asked is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    if asked not in DEVICES:
        hint = "choose cpu or cuda"
        if asked.startswith("cuda:"):
            hint = f"choose the GPU with CUDA_VISIBLE_DEVICES={asked.removeprefix('cuda:')} and say --device cuda"
        raise UsageError(f"no such device: {asked}", hint=hint)
    if asked == "cuda" and not torch.cuda.is_available():
        raise UsageError(f"no CUDA device here: {_why_no_cuda()}", hint="use --device cpu")
    return asked


def prepare_model(model: Callable[..., Any], device: str, mode: Mode) -> Callable[..., Any]:
    """The model on its device and in its mode, changed in place; a plain callable is left as it is."""
    if isinstance(model, nn.Module):
        model.to(device)
        model.train(mode is Mode.TRAINING)
    return model


def move(value: Any, device: str) -> Any:
    """`value` with its tensors on `device`, through tuples, lists, dicts and objects that have `to`.

    A tensor that is there already is the same object; one that occurs twice is moved once.
    """
    return _Mover(device).move(value)


@contextlib.contextmanager
def fixed_seeds() -> Iterator[None]:
    """Build under one seed of torch, numpy and `random`; the generators go on afterwards as if nothing had happened."""
    python, numpy = random.getstate(), np.random.get_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        try:
            torch.manual_seed(SEED)
            np.random.seed(SEED)
            random.seed(SEED)
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)


class _Mover:
    def __init__(self, device: str) -> None:
        self._device = device
        self._moved: dict[int, torch.Tensor] = {}

    def move(self, value: Any) -> Any:
        match value:
            case torch.Tensor():
                return self._tensor(value)
            case tuple() if hasattr(value, "_fields"):
                return type(value)(*(self.move(v) for v in value))
            case tuple() | list():
                return type(value)(self.move(v) for v in value)
            case dict():
                return {key: self.move(v) for key, v in value.items()}
            case torch.UntypedStorage():  # its `to` takes no device
                move_to: Any = value.cuda if self._device == "cuda" else value.cpu
                return move_to()
            case _ if not isinstance(value, type) and callable(getattr(value, "to", None)):
                return value.to(self._device)
            case _:
                return value

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device.type == self._device:
            return tensor
        if id(tensor) not in self._moved:
            # Detached: the copy of an input that requires a gradient must be a leaf, as the input was.
            moved = tensor.detach().to(self._device).requires_grad_(tensor.requires_grad)
            self._moved[id(tensor)] = moved
        return self._moved[id(tensor)]


def _device_of(model: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """Where the model lives; where its inputs do if it has no weights; None when neither says."""
    if isinstance(model, nn.Module):
        for tensor in (*model.parameters(), *model.buffers()):
            return tensor.device.type
    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Tensor):
            return value.device.type
    return None


def _parse_mode(mode: str) -> Mode:
    try:
        return Mode(mode)
    except ValueError:
        raise UsageError(f"no such mode: {mode}", hint=f"choose {' or '.join(Mode)}") from None


def _why_no_cuda() -> str:
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA"
    return f"torch {torch.__version__} is built for CUDA {torch.version.cuda} but sees no GPU (does nvidia-smi?)"
