"""A run of the same weights and inputs in higher precision, to judge eager and compiled results by."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import torch
from torch.nn.parameter import is_lazy

from analyzer.core.trial import AccuracyReference
from collectors.draws import Draws, Recording, Replay
from collectors.effects import Results, effects
from collectors.grad_scaling import unscaling_copies
from collectors.outputs import detached
from collectors.state import State
from collectors.step import Stepper
from collectors.tensor_parts import is_dense
from collectors.torch_compat import DispatchMode
from collectors.user_errors import describe
from collectors.workload import Workload

_PRECISIONS: Final = (
    (AccuracyReference.FLOAT64, torch.float64),
    (AccuracyReference.FLOAT32, torch.float32),
)
OTHER_SEED: Final = 1
FURTHER_SEED: Final = 2
SHAKEN_RUNS: Final = 8
"""Of a training step of MobileNetV2 on 4 images of 64 pixels, four in six made a ReLU6 pass what eager's stops: the
gradient of that layer's bias was then off by 0.005 to 0.05, where eager's own was off by 4e-05 and torch.compile's by
0.06. In eight, such a place is missed once in six thousand times."""

MOST_BEYOND: Final = 8
"""Times the size of the tensors that lie in it: beyond so much a storage is a data set that they are slices of, and
copying all of it may be more than the memory holds."""

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


def steady_results(stepper: Stepper, seed: int | None = None) -> Results:
    """Of a step in steady state, from the same start: a CUDA graph is wrong, if at all, when it is replayed."""
    stepper.state.restore()
    if seed is not None:
        stepper.state.reseed(seed)
    stepper.prepare()
    return step_results(stepper)


def reference_results(
    workload: Workload, state: State, say_why_none: Callable[[str], None] = lambda _: None
) -> tuple[AccuracyReference, Results | None]:
    """One step in float64, in float32 where memory or the model forbids it; (EAGER, None) where neither runs, which
    `say_why_none` is told the reason of, and where a step draws from generators of the model's own and the wider one
    could not be given the same numbers.

    The user's model is copied and left as it is.
    """
    draws = _recorded_draws(workload, state) if state.may_draw else ()
    reason = ""
    for reference, dtype in _PRECISIONS:
        if reference is AccuracyReference.FLOAT32 and not _has_narrower(workload, dtype):
            continue
        try:
            return reference, _run_in(workload, state, dtype, draws)
        except Exception as error:
            # Custom kernels and hand-set dtypes may refuse the wider dtype; out of memory is a RuntimeError too. What
            # looks its modules up by their identity, or a table by the dtype, raises what it likes in a copy.
            reason = reason or describe(error)
            if workload.device == "cuda":
                torch.cuda.empty_cache()
    say_why_none(reason)
    return AccuracyReference.EAGER, None


def _recorded_draws(workload: Workload, state: State) -> Draws | None:
    """What one eager step draws; None where that cannot be told."""
    state.restore()
    recording = Recording()
    try:
        with recording:
            Stepper(replace(workload, optimizer=None), workload.model, state).run()
    except Exception:  # some code refuses a dispatch mode
        return None
    return recording.draws


def shaken_results(workload: Workload, state: State) -> Iterator[Results]:
    """Eager steps whose weights are each up to one unit of rounding off, the signs drawn anew each time: how far off
    results get by luck alone. Fewer than SHAKEN_RUNS where the model cannot be copied or memory ends; none where it has
    no weights.

    The user's model is copied and left as it is; its state is put back.
    """
    model = workload.model
    if not isinstance(model, torch.nn.Module) or not any(p.is_floating_point() for p in model.parameters()):
        return

    def shaken(number: int) -> Workload:
        own = copy.deepcopy(model)
        _shake(own, number)
        return replace(workload, model=own, optimizer=None)

    yield from _runs_of_copies(workload, state, shaken)


def elsewhere_results(workload: Workload, state: State) -> Iterator[Results]:
    """Eager steps on quite other weights and inputs: what stays the same in all of them was not computed from those.
    Fewer than SHAKEN_RUNS where the model cannot be copied or refuses them.

    The user's model is copied and left as it is; its state is put back.
    """
    return _runs_of_copies(workload, state, lambda number: _copied(workload, state, _Elsewhere(number)))


def _runs_of_copies(workload: Workload, state: State, copy_of: Callable[[int], Workload]) -> Iterator[Results]:
    for number in range(SHAKEN_RUNS):
        try:
            state.restore()
            copied = copy_of(number)
            with unscaling_copies(workload.model, copied.model):
                results = step_results(Stepper(copied, copied.model, state))
        except Exception:  # as of the wider run
            break
        yield results
    state.restore()


class _Elsewhere:
    """Gives a float tensor with each element up to half as small or half as large again; others as they are."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        own = tensor.detach().clone()
        if not _has_storage(tensor) or not tensor.is_floating_point():
            return own
        return own.mul_(torch.rand(tensor.shape, generator=self._generator).add_(0.5).to(own))


def reseeded_results(stepper: Stepper) -> Iterator[Results]:
    """Eager steps of further seeds than the first of `first_results`: how far off results get by chance."""
    for seed in range(FURTHER_SEED, FURTHER_SEED + SHAKEN_RUNS):
        yield first_results(stepper, seed)
    stepper.state.restore()


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


def _run_in(workload: Workload, state: State, dtype: torch.dtype, draws: Draws | None) -> Results:
    """Raises RuntimeError where the copy drew other numbers from generators of the model's own than the model does."""
    state.restore()
    copied = _wide_copy(workload, state, dtype)
    before = dict(effects(copied, state.written))
    replay = None if draws is None else Replay(draws)
    with _default_dtype(dtype), unscaling_copies(workload.model, copied.model), _Widen(dtype, replay):
        results = _handed_back(Stepper(copied, copied.model, state))
    if state.draws_from and (replay is None or not replay.is_true):
        raise RuntimeError("other random numbers than the model's")
    after = dict(effects(copied, state.written))
    return results + tuple((path, _if_touched(after.get(path), before.get(path))) for path in state.written)


def _wide_copy(workload: Workload, state: State, dtype: torch.dtype) -> Workload:
    """The workload with a model and inputs of its own, in the wider type, wherever they hold a tensor. What shares
    memory, a buffer and an attribute that is a part of it, goes on sharing it.
    """
    wider = _Wider(dtype, state.tensors)
    copied = _copied(workload, state, wider.apart)
    if isinstance(copied.model, torch.nn.Module):
        # What the state does not know, and parameters of types of their own.
        copied.model._apply(wider)  # type: ignore[no-untyped-call]
    return copied


def _copied(workload: Workload, state: State, twin_of: Callable[[torch.Tensor], torch.Tensor]) -> Workload:
    """The workload with a model and inputs of its own, in which `twin_of` gives what stands for a tensor."""
    memo = _Twins(state, twin_of)
    model, args, kwargs, sets = copy.deepcopy(
        (workload.model, workload.args, dict(workload.kwargs), [(one.args, dict(one.kwargs)) for one in workload.sets]),
        memo,
    )
    # The optimizer belongs to the original's parameters; gradients are compared, not the weights after its step.
    other_sets = (replace(one, args=a, kwargs=b) for one, (a, b) in zip(workload.sets, sets, strict=True))
    return replace(workload, model=model, args=args, kwargs=kwargs, optimizer=None, sets=tuple(other_sets))


class _Twins(dict[int, Any]):
    """What a deep copy puts for the tensors and generators of a state, each made when it is asked for."""

    def __init__(self, state: State, twin_of: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__({id(one): _generator_like(one) for one in state.generators})
        self._known = {id(tensor): tensor for tensor in state.tensors}
        self._twin_of = twin_of

    def get(self, key: int, default: Any = None) -> Any:
        if key in self._known:
            twin = self._twin(self._known.pop(key))
            if twin is not None:
                self[key] = twin
        return super().get(key, default)

    def _twin(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """None for a parameter of a type of its own, which is copied as ever."""
        is_plain_parameter = type(tensor) is torch.nn.Parameter
        if isinstance(tensor, torch.nn.Parameter) and not is_plain_parameter:
            return None
        twin = self._twin_of(tensor)
        twin = torch.nn.Parameter(twin, requires_grad=False) if is_plain_parameter else twin
        if is_plain_parameter or type(tensor) is torch.Tensor:
            twin.__dict__.update(tensor.__dict__)
        return twin.requires_grad_(tensor.requires_grad)


def _generator_like(generator: torch.Generator) -> torch.Generator:
    own = torch.Generator(generator.device)
    own.set_state(generator.get_state())
    return own


def _has_storage(tensor: torch.Tensor) -> bool:
    return not is_lazy(tensor) and is_dense(tensor) and tensor.untyped_storage().nbytes() > 0


def _shared_storages(tensors: Sequence[torch.Tensor]) -> frozenset[int]:
    """Where the memory begins that several of these lie in, and that is not mostly something else's."""
    of_storage: dict[int, list[torch.Tensor]] = {}
    for tensor in filter(_has_storage, tensors):
        of_storage.setdefault(tensor.untyped_storage().data_ptr(), []).append(tensor)
    return frozenset(
        place
        for place, held in of_storage.items()
        if len(held) > 1 and held[0].untyped_storage().nbytes() <= MOST_BEYOND * sum(one.nbytes for one in held)
    )


class _Wider:
    """Gives a tensor in the wider type; complex ones stay complex, and those of these that share a storage go on
    sharing one.
    """

    def __init__(self, dtype: torch.dtype, together: Sequence[torch.Tensor]) -> None:
        self._real, self._complex = dtype, torch.promote_types(dtype, torch.complex32)
        self._shared = _shared_storages(together)
        self._wide: dict[tuple[int, torch.dtype], torch.Tensor] = {}

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        """The same tensor where it is wide already."""
        if is_lazy(tensor):
            return tensor.to(self._dtype_for(tensor))
        is_wide = tensor.dtype == self._dtype_for(tensor)
        return tensor if is_wide else self.apart(tensor)

    def apart(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy, in the wider type where it is a float or complex."""
        dtype, plain = self._dtype_for(tensor), tensor.detach()
        if not _has_storage(tensor) or tensor.untyped_storage().data_ptr() not in self._shared:
            return plain.clone() if tensor.dtype == dtype else plain.to(dtype)
        storage = plain.untyped_storage()
        key = storage.data_ptr(), tensor.dtype
        if key not in self._wide:
            whole = torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(storage)
            self._wide[key] = whole.clone() if tensor.dtype == dtype else whole.to(dtype)
        return self._wide[key].as_strided(tensor.size(), tensor.stride(), tensor.storage_offset()).detach()

    def _dtype_for(self, tensor: torch.Tensor) -> torch.dtype:
        if tensor.is_complex():
            return self._complex
        return self._real if tensor.is_floating_point() else tensor.dtype


def _if_touched(after: torch.Tensor | None, before: torch.Tensor | None) -> torch.Tensor:
    """A tensor without a value where the copy's step did not write what the model's own does: an optimizer in a step of
    the user's own knows the original's parameters alone.
    """
    is_same = after is None or (before is not None and before.shape == after.shape and torch.equal(before, after))
    return torch.empty((), device="meta") if after is None or is_same else after


class _Widen(DispatchMode):  # type: ignore[no-untyped-call]
    """Turns every request for a narrower float (`.to(torch.bfloat16)`, `dtype=torch.float32`) into the wide one, and
    gives the random numbers that were recorded.
    """

    def __init__(self, dtype: torch.dtype, replay: Replay | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._dtype = dtype
        self._replay = replay

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        asked = dict(kwargs or {})
        if asked.get("dtype") in _NARROW:
            asked["dtype"] = self._dtype
        result = func(*args, **asked)
        if self._replay is not None:
            result = self._replay.given(func, args, kwargs or {}, result)
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
