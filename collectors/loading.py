"""From what the user typed to a Workload: imports their file and finds which form it has. Runs nothing of the model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import torch
from torch import nn

from analyzer.core.errors import UsageError
from analyzer.core.settings import DimRange, Mode, WorkloadSpec
from collectors.callables import require_callable
from collectors.input_sets import given_sets, resized
from collectors.model_file import close_matches, display_path
from collectors.named_models import SCHEMES, build_named_model, named_scheme
from collectors.user_errors import user_error
from collectors.user_module import import_user_module, user_process
from collectors.workload import (
    InputSet,
    Workload,
    fixed_seeds,
    move,
    prepare_model,
    require_plain_step,
    resolve_device,
    split_inputs,
    training_notes,
)

FORMS: Final = (
    "get_model() with get_inputs(device) or get_inputs(), which may give several sets of inputs (a list of tuples or "
    "of dicts, or a generator), and with get_input_variants(device) for what is compiled again",
    "class Model(nn.Module) with get_init_inputs() and get_inputs()",
    "module-level model and inputs (or example_inputs)",
    "--entry FUNCTION, a function returning (model, inputs) or analyzer.Workload.of(model, inputs, step=STEP)",
    f"instead of a file: {', '.join(SCHEMES)}",
)
"""Every form a workload may have, in the order in which they are looked for."""

_VARIANTS: Final = "get_input_variants"
_BY_FUNCTIONS: Final = "get_model() and get_inputs()"
_BY_CLASS: Final = "class Model"
_INPUT_NAMES: Final = ("inputs", "example_inputs")
_BY_NAMES: Final = "model and {}"
_FILE_FORMS: Final = (_BY_FUNCTIONS, _BY_CLASS, *map(_BY_NAMES.format, _INPUT_NAMES))
"""Those whose inputs are the file's, and not of one function in it: only these may have variants of them."""

_MODEL_NAMES: Final = ("get_model", "get_inputs", "get_init_inputs", "Model", "model", *_INPUT_NAMES)


@dataclass(frozen=True, slots=True)
class _Built:
    """A model and its inputs as the file made them; `is_placed` when the file put the inputs on the device itself."""

    model: Any
    inputs: Any
    form: str
    is_placed: bool = False


@dataclass(frozen=True, slots=True)
class _UserFile:
    """The user's file, imported, and what is to be made of it."""

    path: Path
    module: ModuleType
    device: str
    mode: Mode
    ranges: tuple[DimRange, ...] = ()

    def __contains__(self, name: str) -> bool:
        return hasattr(self.module, name)

    def get(self, name: str) -> Any:
        return getattr(self.module, name)

    def call(self, function: Callable[..., Any], *args: Any, what: str) -> Any:
        """`function(*args)`; what it raises becomes a UserProgramError that names the line."""
        try:
            return function(*args)
        except (Exception, SystemExit) as exc:
            raise user_error(exc, root=self.path, doing=f"calling {what}") from exc

    def call_named(self, name: str, *, takes: str | None = None, value: object = None) -> Any:
        """Call the file's function `name`, with `value` where it has an argument called `takes`, else with none."""
        function = self.get(name)
        if not callable(function):
            raise UsageError(f"{name} in {display_path(self.path)} is no function but a {type(function).__name__}")
        if takes is not None and _accepts(function, takes):
            return self.call(lambda: function(**{takes: value}), what=f"{name}({takes})")
        if required := _required(function):
            allowed = f"no argument, or one called {takes}" if takes else "no argument"
            raise UsageError(f"{name} in {self._place(function)} needs {', '.join(required)}; it may take {allowed}")
        return self.call(function, what=f"{name}()")

    def _place(self, function: Callable[..., Any]) -> str:
        code = getattr(function, "__code__", None)
        return f"{display_path(self.path)}:{code.co_firstlineno}" if code is not None else display_path(self.path)


def load_workload(spec: WorkloadSpec) -> Workload:
    """The workload that `spec` names, on its device and in its mode, built under a fixed seed.

    The user's module stays registered in `sys.modules`, because the resume functions that Dynamo makes look their
    globals up there. Raises UsageError for what cannot be found or has none of the forms, MissingExtraError for a
    library that is not installed, and UserProgramError for what the user's code raised.
    """
    device = resolve_device(spec.device)
    with fixed_seeds():
        if named_scheme(spec.target) is not None:
            named = build_named_model(spec)
            made = Workload(
                model=prepare_model(named.model, device, spec.mode),
                args=move(named.args, device),
                kwargs=move(named.kwargs, device),
                name=named.name,
                source=spec.target,
                form="named model",
                mode=spec.mode,
                device=device,
                notes=named.notes + (training_notes(None, None) if spec.mode is Mode.TRAINING else ()),
            )
            return _with_ranges(made, spec.ranges)
        _refuse_named_options(spec)
        path = Path(spec.target)
        with user_process(path):
            file = _UserFile(path.resolve(), import_user_module(path), device, spec.mode, spec.ranges)
            return _from_entry(file, spec.entry) if spec.entry is not None else _assemble(file, _find_form(file))


def _with_ranges(workload: Workload, ranges: Sequence[DimRange]) -> Workload:
    """The workload on sets of inputs with sizes in the ranges of `ranges`, made of its first."""
    if not ranges:
        return workload
    if workload.sets:
        raise _has_sets(workload.source, len(workload.sets) + 1)
    first, *others = resized(workload.args, workload.kwargs, ranges)
    return replace(workload, args=first[0], kwargs=first[1], sets=tuple(InputSet(*one) for one in others))


def _has_sets(source: str, count: int) -> UsageError:
    return UsageError(
        f"{source} brings {count} sets of inputs of its own",
        hint="leave out --shape, or return one set from get_inputs()",
    )


def _find_form(file: _UserFile) -> _Built:
    if "get_model" in file and "get_inputs" in file:
        return _built_by_functions(file)
    if "get_init_inputs" in file and "get_inputs" in file and _is_model_class(getattr(file.module, "Model", None)):
        return _built_from_class(file)
    for name in _INPUT_NAMES:
        if "model" in file and name in file:
            return _Built(file.get("model"), file.get(name), form=_BY_NAMES.format(name))
    raise _no_form(file)


def _built_by_functions(file: _UserFile) -> _Built:
    model = file.call_named("get_model")
    inputs, is_placed = _inputs(file)
    return _Built(model, inputs, form=_BY_FUNCTIONS, is_placed=is_placed)


def _built_from_class(file: _UserFile) -> _Built:
    init = file.call_named("get_init_inputs")
    args, kwargs = split_inputs(init, f"the values of get_init_inputs() in {display_path(file.path)}")
    model = file.call(lambda: file.get("Model")(*args, **kwargs), what="Model(*get_init_inputs())")
    inputs, is_placed = _inputs(file)
    return _Built(model, inputs, form=_BY_CLASS, is_placed=is_placed)


def _inputs(file: _UserFile) -> tuple[Any, bool]:
    """The inputs and whether the file was told the device: then a tensor that it left on the CPU is meant to be."""
    is_placed = _accepts(file.get("get_inputs"), "device")
    return file.call_named("get_inputs", takes="device", value=file.device), is_placed


def _from_entry(file: _UserFile, entry: str) -> Workload:
    if entry not in file or not inspect.isroutine(file.get(entry)):
        functions = _functions(file.module)
        raise UsageError(
            f"no function {entry} in {display_path(file.path)}",
            hint=close_matches(entry, functions)
            or (f"its functions: {', '.join(functions)}" if functions else "it defines no function"),
        )
    is_placed = _accepts(file.get(entry), "device")
    returned = file.call_named(entry, takes="device", value=file.device)
    form = f"--entry {entry}"
    if isinstance(returned, Workload):
        require_callable(returned.model, f"the model of {entry}()")
        return _adopt(file, returned, form)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise UsageError(
            f"{entry}() in {display_path(file.path)} returned {_kind(returned)}",
            hint="return (model, inputs) or analyzer.Workload.of(model, inputs, step=STEP)",
        )
    return _assemble(file, _Built(*returned, form=form, is_placed=is_placed))


def _adopt(file: _UserFile, workload: Workload, form: str) -> Workload:
    """The user's own Workload, on the device and in the mode that the command asked for."""
    training = file.mode is Mode.TRAINING
    if training and workload.optimizer is not None:
        require_plain_step(workload.optimizer)
    adopted = replace(
        workload,
        model=prepare_model(workload.model, file.device, file.mode),
        args=move(workload.args, file.device),
        kwargs=move(workload.kwargs, file.device),
        name=file.path.stem,
        source=display_path(file.path),
        form=form,
        mode=file.mode,
        device=file.device,
        loss=workload.loss if training else None,
        optimizer=workload.optimizer if training else None,
        notes=training_notes(workload.loss, workload.optimizer, workload.step) if training else _other_mode(workload),
        variants=_moved(workload.variants, file.device),
        sets=_moved(workload.sets, file.device),
    )
    return _with_ranges(adopted, file.ranges)


def _other_mode(workload: Workload) -> tuple[str, ...]:
    is_other = workload.mode is Mode.TRAINING
    return ("the workload is one of training, and was run for inference: --mode training runs it as it is",) * is_other


def _moved(sets: Sequence[InputSet], device: str) -> tuple[InputSet, ...]:
    return tuple(replace(one, args=move(one.args, device), kwargs=move(one.kwargs, device)) for one in sets)


def _assemble(file: _UserFile, built: _Built) -> Workload:
    shown = display_path(file.path)
    require_callable(built.model, f"the model of {shown} ({built.form})")
    given = file.call(given_sets, built.inputs, what="get_inputs()")
    inputs = [built.inputs] if given is None else given.sets
    if not inputs:
        raise UsageError(f"get_inputs() in {shown} yields nothing", hint="yield one set of inputs after another")
    split = [split_inputs(one, f"the inputs of {shown} ({built.form})") for one in inputs]
    model = file.call(prepare_model, built.model, file.device, file.mode, what=f"model.to({file.device!r})")
    if not built.is_placed:
        split = [move(one, file.device) for one in split]
    if file.ranges and len(split) > 1:
        raise _has_sets(shown, len(split))
    split = list(resized(*split[0], file.ranges)) if file.ranges else split
    (args, kwargs), *others = split
    training = file.mode is Mode.TRAINING
    given_loss = _given_loss(file) if training and "get_loss" in file else None
    loss = _bound_loss(given_loss, args, kwargs) if given_loss is not None else None
    optimizer = _optimizer(file, model) if training and "get_optimizer" in file else None
    return Workload(
        model=model,
        args=args,
        kwargs=kwargs,
        name=file.path.stem,
        source=shown,
        form=built.form,
        mode=file.mode,
        device=file.device,
        loss=loss,
        optimizer=optimizer,
        notes=(*(given.notes if given is not None else ()), *(training_notes(loss, optimizer) if training else ())),
        variants=_variants(file, given_loss) if _VARIANTS in file and built.form in _FILE_FORMS else (),
        sets=tuple(_input_set(given_loss, *one) for one in others),
    )


def _input_set(loss: Callable[..., Any] | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> InputSet:
    return InputSet(args, kwargs, _bound_loss(loss, args, kwargs) if loss is not None else None)


def _variants(file: _UserFile, loss: Callable[..., Any] | None) -> tuple[InputSet, ...]:
    """The inputs of successive calls, from the file's `get_input_variants(device)` or `get_input_variants()`."""
    shown = f"{_VARIANTS}() in {display_path(file.path)}"
    is_placed = _accepts(file.get(_VARIANTS), "device")
    given = file.call_named(_VARIANTS, takes="device", value=file.device)
    if not isinstance(given, list | tuple):
        raise UsageError(f"{shown} returned {_kind(given)}", hint="return a list of what get_inputs() returns")
    found = []
    for number, inputs in enumerate(given, start=1):
        args, kwargs = split_inputs(inputs, f"the inputs number {number} of {shown}")
        if not is_placed:
            args, kwargs = move(args, file.device), move(kwargs, file.device)
        found.append(_input_set(loss, args, kwargs))
    return tuple(found)


def _given_loss(file: _UserFile) -> Callable[..., Any]:
    """The loss of the file's get_loss.

    `get_loss()` or `get_loss(device)` returns the loss; a get_loss that needs anything else is the loss itself.
    """
    required = _required(file.get("get_loss"))
    if not required or required[0] == "device":
        loss = file.call_named("get_loss", takes="device", value=file.device)
    else:
        loss = file.get("get_loss")
    require_callable(loss, f"what get_loss() in {display_path(file.path)} returned")
    if isinstance(loss, nn.Module):
        loss.to(file.device)
    return loss  # type: ignore[no-any-return]


def _bound_loss(loss: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[..., Any]:
    """`loss(output) -> scalar`: a loss gets the inputs that have names by name, where it has arguments called so, and
    one with several required arguments the others after the output.
    """
    function = loss.forward if isinstance(loss, nn.Module) else loss
    takes_all = any(p.kind is p.VAR_KEYWORD for p in _parameters(function))
    first = next(iter(_parameters(function)), None)
    taken = {
        name: value
        for name, value in kwargs.items()
        if takes_all or (_accepts(function, name) and (first is None or name != first.name))
    }
    after = args if len([name for name in _required(function) if name not in taken]) > 1 else ()
    return (lambda output: loss(output, *after, **taken)) if after or taken else loss


def _optimizer(file: _UserFile, model: Callable[..., Any]) -> torch.optim.Optimizer:
    function = file.get("get_optimizer")
    if not isinstance(model, nn.Module):
        raise UsageError(f"{display_path(file.path)} has get_optimizer but its model is no nn.Module")
    by_parameters = next(iter(_required(function)), "").startswith("param")
    argument = model.parameters() if by_parameters else model
    optimizer = file.call(function, argument, what=f"get_optimizer({'params' if by_parameters else 'model'})")
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise UsageError(f"get_optimizer in {display_path(file.path)} returned {_kind(optimizer)}, no optimizer")
    require_plain_step(optimizer)
    return optimizer


def _no_form(file: _UserFile) -> UsageError:
    has = [name for name in _MODEL_NAMES if name in file]
    forms = "\n".join(f"  {number}. {form}" for number, form in enumerate(FORMS, start=1))
    found = f"it has {', '.join(has)} alone" if has else "it has none of the names"
    return UsageError(
        f"{display_path(file.path)} is none of the forms that a model file may have ({found})",
        hint=f"write one of\n{forms}",
    )


def _refuse_named_options(spec: WorkloadSpec) -> None:
    given = [f"--{name}" for name in ("batch", "dtype", "shape") if getattr(spec, name) is not None]
    if given:
        raise UsageError(
            f"{', '.join(given)} is for named models ({', '.join(SCHEMES)})",
            hint="a file makes its own inputs: change get_inputs()",
        )


def _is_model_class(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, nn.Module)


def _functions(module: ModuleType) -> tuple[str, ...]:
    """The functions that the file itself defines, in its order."""
    return tuple(
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    )


def _accepts(function: Any, name: str) -> bool:
    """Whether `function` has an argument of this name."""
    return any(p.name == name and p.kind is not p.POSITIONAL_ONLY for p in _parameters(function))


def _required(function: Any) -> tuple[str, ...]:
    """The arguments that a call of `function` may not leave out."""
    return tuple(
        p.name
        for p in _parameters(function)
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    )


def _parameters(function: Any) -> tuple[inspect.Parameter, ...]:
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin says nothing of its arguments
        return ()


def _kind(value: object) -> str:
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return "None" if value is None else f"a {type(value).__name__}"
