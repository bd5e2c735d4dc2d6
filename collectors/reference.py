"""A run of the same weights and inputs in higher precision, to judge eager and compiled results by."""

from __future__ import annotations

import contextlib
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import torch
from torch.nn.parameter import is_lazy

from analyzer.core.trial import AccuracyReference
from collectors.effects import Results, effects
from collectors.outputs import detached
from collectors.state import State
from collectors.step import Stepper
from collectors.tensor_parts import is_dense
from collectors.torch_compat import DispatchMode
from collectors.workload import Workload

_PRECISIONS: Final = (
    (AccuracyReference.FLOAT64, torch.float64),
    (AccuracyReference.FLOAT32, torch.float32),
)
SHAKEN_RUNS: Final = 8
"""Of a training step of MobileNetV2 on 4 images of 64 pixels, four in six made a ReLU6 pass what eager's stops: the
gradient of that layer's bias was then off by 0.005 to 0.05, where eager's own was off by 4e-05 and torch.compile's by
0.06. In eight, such a place is missed once in six thousand times."""

_NARROW: Final = (torch.float32, torch.float16, torch.bfloat16)


def step_results(stepper: Stepper) -> Results:
    """Outputs, loss and gradients of one step, and what else it wrote (`State.written`), copied; of several sets of
    inputs `set 1 output`, `set 1 loss`, …
    """
    results = _handed_back(stepper)
    return results + effects(stepper.workload, stepper.state.written)


def _handed_back(stepper: Stepper) -> Results:
    results: Results = ()
    for number, (output, loss) in enumerate(stepper.passes(), start=1):
        which = f"set {number} " if stepper.workload.sets else ""
        results += tuple((f"{which}{path}", tensor) for path, tensor in detached(output))
        if isinstance(loss, torch.Tensor):
            results += ((f"{which}loss", loss.detach().clone()),)
    results += stepper.gradients()
    stepper.wait()
    return results


def first_results(stepper: Stepper, seed: int | None = None) -> Results:
    """Of one step from the state as it was found, its random numbers begun at `seed` where one is given."""
    stepper.state.restore()
    if seed is not None:
        stepper.state.reseed(seed)
    return step_results(stepper)


def steady_results(stepper: Stepper) -> Results:
    """Of a step in steady state, from the same start: a CUDA graph is wrong, if at all, when it is replayed."""
    stepper.state.restore()
    stepper.prepare()
    return step_results(stepper)


def reference_results(workload: Workload, state: State) -> tuple[AccuracyReference, Results | None]:
    """One step in float64, in float32 where memory or the model forbids it; (EAGER, None) where neither runs.

    The user's model is copied and left as it is.
    """
    for reference, dtype in _PRECISIONS:
        if reference is AccuracyReference.FLOAT32 and not _has_narrower(workload, dtype):
            continue
        try:
            return reference, _run_in(workload, state, dtype)
        except (RuntimeError, TypeError, ValueError, NotImplementedError, AssertionError, AttributeError):
            # Custom kernels and hand-set dtypes may refuse the wider dtype; out of memory is a RuntimeError too.
            if workload.device == "cuda":
                torch.cuda.empty_cache()
    return AccuracyReference.EAGER, None


def shaken_results(workload: Workload, state: State) -> Iterator[Results]:
    """Eager steps whose weights are each up to one unit of rounding off, the signs drawn anew each time: how far off
    results get by luck alone. Fewer than SHAKEN_RUNS where the model cannot be copied or memory ends; none where it has
    no weights.

    The user's model is copied and left as it is; its state is put back.
    """
    model = workload.model
    if not isinstance(model, torch.nn.Module) or not any(p.is_floating_point() for p in model.parameters()):
        return
    for number in range(SHAKEN_RUNS):
        try:
            state.restore()
            shaken = copy.deepcopy(model)
            _shake(shaken, number)
            copied = replace(workload, model=shaken, optimizer=None)
            results = step_results(Stepper(copied, shaken, state))
        except (RuntimeError, TypeError, ValueError, NotImplementedError, AttributeError):
            break
        yield results
    state.restore()


def _shake(model: torch.nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() and not parameter.is_meta:
                signs = torch.randint(-1, 2, parameter.shape, generator=generator).to(parameter.device)
                wide = parameter.to(torch.promote_types(parameter.dtype, torch.float32))
                parameter.copy_(wide * (1 + torch.finfo(parameter.dtype).eps * signs))


def _has_narrower(workload: Workload, dtype: torch.dtype) -> bool:
    model = workload.model
    held = model.parameters() if isinstance(model, torch.nn.Module) else ()
    return any(p.is_floating_point() and p.dtype.itemsize < dtype.itemsize for p in held)


def _run_in(workload: Workload, state: State, dtype: torch.dtype) -> Results:
    state.restore()
    wide = copy.deepcopy(workload.model)
    if isinstance(wide, torch.nn.Module):
        wide = wide._apply(_Wider(dtype)) if _is_beyond_to(wide) else wide.to(dtype)  # type: ignore[no-untyped-call]
    args, kwargs = _widened((workload.args, dict(workload.kwargs)), dtype)
    sets = tuple(
        replace(one, args=_widened(one.args, dtype), kwargs=_widened(dict(one.kwargs), dtype)) for one in workload.sets
    )
    # The optimizer belongs to the original's parameters; gradients are compared, not the weights after its step.
    copied = replace(workload, model=wide, args=args, kwargs=kwargs, optimizer=None, sets=sets)
    before = dict(effects(copied, state.written))
    with _default_dtype(dtype), _Widen(dtype):
        results = _handed_back(Stepper(copied, wide, state))
    after = dict(effects(copied, state.written))
    return results + tuple((path, _if_touched(after.get(path), before.get(path))) for path in state.written)


def _is_beyond_to(model: torch.nn.Module) -> bool:
    """Whether `Module.to` makes another model of it: it takes the imaginary parts away, and gives each buffer a storage
    of its own, so that what is written through one is not seen in the other. Eager is then far from the wider run, and
    as much would be allowed.
    """
    buffers = [buffer for _, buffer in model.named_buffers(remove_duplicate=False) if _has_storage(buffer)]
    parameters = [parameter for parameter in model.parameters() if _has_storage(parameter)]
    places = [tensor.untyped_storage().data_ptr() for tensor in (*buffers, *parameters)]
    times = Counter(places)
    is_shared = any(times[place] > 1 for place in places[: len(buffers)])
    return is_shared or any(tensor.is_complex() for tensor in (*buffers, *parameters))


def _has_storage(tensor: torch.Tensor) -> bool:
    return not is_lazy(tensor) and is_dense(tensor) and tensor.untyped_storage().nbytes() > 0


class _Wider:
    """Gives a tensor in the wider type; complex ones stay complex, and those of one storage go on sharing one."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._real, self._complex = dtype, torch.promote_types(dtype, torch.complex32)
        self._wide: dict[tuple[int, torch.dtype], torch.Tensor] = {}

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        if not (tensor.is_floating_point() or tensor.is_complex()):
            return tensor
        dtype = self._complex if tensor.is_complex() else self._real
        if tensor.dtype == dtype or not _has_storage(tensor):
            return tensor.to(dtype)
        storage = tensor.untyped_storage()
        key = storage.data_ptr(), tensor.dtype
        if key not in self._wide:
            whole = torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(storage)
            self._wide[key] = whole.to(dtype)
        return self._wide[key].as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def _if_touched(after: torch.Tensor | None, before: torch.Tensor | None) -> torch.Tensor:
    """A tensor without a value where the copy's step did not write what the model's own does: an optimizer in a step of
    the user's own knows the original's parameters alone.
    """
    is_same = after is None or (before is not None and before.shape == after.shape and torch.equal(before, after))
    return torch.empty((), device="meta") if after is None or is_same else after


def _widened(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        wide = value.detach().clone()
        wide = wide.to(dtype) if wide.is_floating_point() else wide
        return wide.requires_grad_(value.requires_grad)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_widened(child, dtype) for child in value))
    if isinstance(value, tuple | list):
        return type(value)(_widened(child, dtype) for child in value)
    if isinstance(value, dict):
        return {name: _widened(child, dtype) for name, child in value.items()}
    return copy.deepcopy(value)


class _Widen(DispatchMode):  # type: ignore[no-untyped-call]
    """Turns every request for a narrower float (`.to(torch.bfloat16)`, `dtype=torch.float32`) into the wide one."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._dtype = dtype

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        asked = dict(kwargs or {})
        if asked.get("dtype") in _NARROW:
            asked["dtype"] = self._dtype
        result = func(*args, **asked)
        # `torch.tensor([...], dtype=...)` is filled before any dispatch, and then lifted.
        is_literal = func is torch.ops.aten.lift_fresh.default and result.dtype in _NARROW
        return result.to(self._dtype) if is_literal else result


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    old = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(old)
