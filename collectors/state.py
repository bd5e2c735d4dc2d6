"""The state a step may change, kept so that every trial starts from the same one."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import is_lazy

from collectors.data import MAX_DEPTH, MODULE_INTERNALS, PLAIN, is_data
from collectors.held import are_same, are_same_keys
from collectors.kept_numbers import are_alike, kept_numbers
from collectors.outputs import gpu_bytes, tensors
from collectors.sharding import between_steps
from collectors.step_state import KEEPERS, training_state
from collectors.tensor_parts import parts
from collectors.tensor_values import copy_of, differs, put_back
from collectors.workload import Workload


class State:
    """A copy of everything of a workload that a step may change: parameters, buffers, plain attributes, containers
    and tensors kept on modules (a KV cache, a counter), the inputs, the optimizer, the random states.

    Tensors and containers are put back in place, so that compiled code which knows them stays right; a name that a
    step bound to another tensor is bound to its own again.
    """

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._model = Snapshot((*_held_by(workload.model), *_held_by(workload.step)))
        sets = workload.every_set
        self._inputs = Snapshot(value for one in sets for value in (*one.args, *one.kwargs.values()))
        self._optimizer = copy.deepcopy(workload.optimizer.state_dict()) if workload.optimizer else None
        self._random = torch.get_rng_state()
        self._cuda_random = torch.cuda.get_rng_state() if workload.device == "cuda" else None
        self._numbers = kept_numbers(workload)
        self._python_random = random.getstate()
        self._numpy_random = np.random.get_state()
        self.mutates_inputs = False
        self.draws_from: tuple[torch.Generator, ...] = self.generators
        """The model's own generators that a step draws from; until one was run, all."""
        self.may_draw = True
        """Whether a step draws random numbers of torch at all; until one was run, it may."""
        self.written: tuple[str, ...] = ()
        """The paths of what a step writes beside what it returns (`effects.written`), to be judged with its results."""

    def restore(self) -> None:
        """Put everything back as it was when this was made."""
        between_steps(self._workload.model)
        self._model.restore()
        self._model.drop_gradients()
        if self._workload.optimizer is not None and self._optimizer is not None:
            self._workload.optimizer.load_state_dict(copy.deepcopy(self._optimizer))
        self.restore_inputs()
        self.reseed()

    def restore_inputs(self) -> None:
        """Put the inputs alone back, for a step that writes into them."""
        self._inputs.restore()

    def reseed(self, seed: int | None = None) -> None:
        """Put the random states back, or set others to see whether the step depends on them."""
        if seed is not None:
            torch.manual_seed(seed)
            random.seed(seed)
            np.random.seed(seed)
            return
        torch.set_rng_state(self._random)
        random.setstate(self._python_random)
        np.random.set_state(self._numpy_random)
        if self._cuda_random is not None:
            torch.cuda.set_rng_state(self._cuda_random)

    @property
    def generators(self) -> tuple[torch.Generator, ...]:
        """The random generators of the model's and the inputs' own."""
        return tuple(generator for generator, _ in (*self._model.generators, *self._inputs.generators))

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """Every tensor of the model and the inputs that was there when this was made, and could be copied."""
        return (*self._model.tensors, *self._inputs.tensors)

    def note_draws(self) -> None:
        """See which random numbers the step drew that was run since this was made or restored."""
        kept = (*self._model.generators, *self._inputs.generators)
        self.draws_from = tuple(one for one, state in kept if not torch.equal(one.get_state(), state))
        of_cuda = self._cuda_random is not None and not torch.equal(torch.cuda.get_rng_state(), self._cuda_random)
        self.may_draw = bool(self.draws_from) or of_cuda or not torch.equal(torch.get_rng_state(), self._random)

    @property
    def unread(self) -> tuple[str, ...]:
        """The types of the tensors that cannot be read, each once: whether a step changes those is not known."""
        return tuple(dict.fromkeys((*self._model.unread, *self._inputs.unread)))

    @property
    def kept_bytes(self) -> int:
        """What the copies take of a GPU's memory, beside the model's own tensors."""
        return self._model.kept_bytes + self._inputs.kept_bytes + gpu_bytes(tensors(self._optimizer))

    def sizes(self) -> Sizes:
        """The size of every tensor that the model keeps now, each by the container and the name that hold it."""
        return _Survey((*_held_by(self._workload.model), *_held_by(self._workload.step))).sizes()

    def changed_inputs(self) -> bool:
        """Whether any input now differs from when this was made."""
        return self._inputs.differs()

    def is_changed(self, tensor: torch.Tensor) -> bool:
        """Whether this tensor of the model or of the inputs was not there when this was made, or held other values."""
        kept = self._model.value_of(tensor)
        kept = kept if kept is not None else self._inputs.value_of(tensor)
        return kept is None or differs(tensor, kept)

    def changed_numbers(self) -> tuple[str, ...]:
        """The paths (`kept_numbers`) of the Python numbers that were not there when this was made, or were others."""
        now, then = kept_numbers(self._workload), self._numbers
        return tuple(path for path, one in now.items() if path not in then or not are_alike(one, then[path]))

    def changed_model(self) -> bool:
        """Whether any parameter, buffer, attribute or tensor of the model now differs."""
        return self._model.differs()


@dataclasses.dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the tensors that a model keeps, each by the container and the name that hold it.

    `_alive` are those containers: while they live, none made later has the identity of one of them.
    """

    of: dict[tuple[int, object], tuple[int, ...]]
    _alive: tuple[object, ...]


class Snapshot:
    """What can be reached from some objects, as it is now: tensors by value, containers by what they hold."""

    def __init__(self, roots: Iterable[object]) -> None:
        self._tensors: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._values: dict[int, torch.Tensor] = {}
        self._containers: list[_Kept] = []
        self.generators: list[tuple[torch.Generator, torch.Tensor]] = []
        self._draws: list[tuple[Callable[[Any], None], Any]] = []
        """How the generators of Python and numpy that lie here are set, and to what."""
        self._seen: set[int] = set()
        self.unread: list[str] = []
        """The types of the tensors whose values cannot be read: what a step does to them is not seen."""
        for root in roots:
            self._walk(root, 0)

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        return tuple(tensor for tensor, _ in self._tensors)

    @property
    def kept_bytes(self) -> int:
        return gpu_bytes(("", value) for _, value in self._tensors)

    def restore(self) -> None:
        for kept in self._containers:
            kept.put_back()
        with torch.no_grad():
            for tensor, value in self._tensors:
                put_back(tensor, value)
        for generator, state in self.generators:
            generator.set_state(state)
        for set_to, drawn in self._draws:
            set_to(drawn)

    def value_of(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """What it held; None for one that was not there, or could not be copied."""
        return self._values.get(id(tensor))

    def drop_gradients(self) -> None:
        for tensor, _ in self._tensors:
            tensor.grad = None

    def differs(self) -> bool:
        return any(kept.differs() for kept in self._containers) or any(differs(t, v) for t, v in self._tensors)

    def _walk(self, value: object, depth: int) -> None:
        if depth > MAX_DEPTH or isinstance(value, (*PLAIN, type)) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        match value:
            case torch.Tensor():
                if not is_lazy(value):
                    self._keep(value)
            case torch.nn.Module():
                for module in value.modules():
                    self._walk_module(module)
            case torch.Generator():
                self.generators.append((value, value.get_state()))
            case random.Random():
                self._draws.append((value.setstate, value.getstate()))
            case np.random.RandomState():
                self._draws.append((value.set_state, value.get_state()))
            case np.random.Generator():
                bits = value.bit_generator
                self._draws.append((functools.partial(setattr, bits, "state"), copy.deepcopy(bits.state)))
            case dict() | list() | deque() | set():
                self._hold(value, depth)
            case tuple():
                for child in value:
                    self._walk(child, depth + 1)
            case _ if isinstance(value, KEEPERS):
                self._hold(vars(value), depth)  # no data where a schedule has wrapped `step` on the instance
            case _ if is_data(value):
                held = getattr(value, "__dict__", None)
                if isinstance(held, dict):
                    self._hold(held, depth)
                elif dataclasses.is_dataclass(value):
                    self._note(_KeptSlots(value), depth)

    def _keep(self, tensor: torch.Tensor) -> None:
        kept = copy_of(tensor)
        if kept is not None:
            self._tensors.append((tensor, kept))
            self._values[id(tensor)] = kept
        if kept is None or (not tensor.is_meta and parts(kept) is None):
            self.unread.append(type(tensor).__name__)

    def _walk_module(self, module: torch.nn.Module) -> None:
        if id(vars(module)) in self._seen:
            return
        self._seen.add(id(vars(module)))
        if isinstance(module, LazyModuleMixin) and module.has_uninitialized_params():
            return  # its first step makes it another class, which stays
        if isinstance(module, torch.jit.ScriptModule):  # what names its tensors in Python is no dict
            self._walk((*module.parameters(recurse=False), *module.buffers(recurse=False)), 0)
            return
        for own in (module._parameters, module._buffers):
            self._hold(own, 0)
        self._hold(vars(module), 0, without=MODULE_INTERNALS)

    def _hold(self, container: Any, depth: int, without: frozenset[str] = frozenset()) -> None:
        self._note(_Kept(container, without), depth)

    def _note(self, kept: _Kept, depth: int) -> None:
        self._containers.append(kept)
        for child in kept.children():
            self._walk(child, depth + 1)


class _Survey(Snapshot):
    """The same walk, for sizes alone: no tensor is copied."""

    def _keep(self, tensor: torch.Tensor) -> None:
        pass

    def sizes(self) -> Sizes:
        found = {
            (id(kept.container), name): tuple(value.shape)
            for kept in self._containers
            for name, value in kept.named()
            if isinstance(value, torch.Tensor) and not value.is_nested and not is_lazy(value)
        }
        return Sizes(found, tuple(kept.container for kept in self._containers))


class _Kept:
    """One container and what it held. `without` are keys of a dict that are none of ours."""

    def __init__(self, container: Any, without: frozenset[str]) -> None:
        self.container = container
        self._without = without
        self._items = self._now()

    def children(self) -> Iterator[object]:
        yield from self._items.values() if isinstance(self._items, dict) else self._items

    def named(self) -> Iterable[tuple[object, object]]:
        """What it held, by name or by place; nothing of a set, which has neither."""
        if isinstance(self._items, dict):
            return self._items.items()
        return () if isinstance(self._items, set) else enumerate(self._items)

    def differs(self) -> bool:
        now = self._now()
        if isinstance(now, dict):
            return not (are_same_keys(now, self._items) and are_same(now.values(), self._items.values()))
        return not (now == self._items if isinstance(now, set) else are_same(now, self._items))

    def put_back(self) -> None:
        if not self.differs():
            return
        if isinstance(self.container, dict):
            for name in self._now():
                del self.container[name]
            self.container.update(self._items)
        else:
            self.container.clear()
            (self.container.update if isinstance(self.container, set) else self.container.extend)(self._items)

    def _now(self) -> Any:
        if isinstance(self.container, dict):
            return {name: value for name, value in self.container.items() if name not in self._without}
        return copy.copy(self.container)


class _KeptSlots(_Kept):
    """A slotted dataclass and what its fields held; one that was not set is unset again."""

    def __init__(self, container: object) -> None:
        super().__init__(container, frozenset())

    def put_back(self) -> None:
        for name in self._now().keys() - self._items.keys():
            object.__delattr__(self.container, name)
        for name, value in self._items.items():
            object.__setattr__(self.container, name, value)  # a frozen one too: nobody can have changed it

    def _now(self) -> Any:
        names = (field.name for field in dataclasses.fields(self.container))
        return {name: getattr(self.container, name) for name in names if hasattr(self.container, name)}


def _held_by(function: Callable[..., Any] | None) -> Iterator[object]:
    """Where the state of a callable lies: the module it is, or what a function, a method or an object holds."""
    match function:
        case None | type():
            return
        case torch.nn.Module():
            yield function
        case functools.partial():
            yield from (*_held_by(function.func), function.args, function.keywords)
        case _:
            owner = getattr(function, "__self__", None)
            if isinstance(owner, torch.nn.Module):
                yield owner
            elif owner is not None and not isinstance(owner, ModuleType | type):
                yield getattr(owner, "__dict__", {})
            yield getattr(function, "__dict__", {})
            yield from training_state(getattr(function, "__func__", function))
            for cell in getattr(function, "__closure__", None) or ():
                with contextlib.suppress(ValueError):  # not yet bound
                    yield cell.cell_contents
