"""Whatever a step changes is put back, in place."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from analyzer.core.settings import Mode
from collectors.state import State
from collectors.workload import Workload
from tests.workloads import Mlp, a_stepper, a_workload

X = torch.ones(2)


@dataclass
class Layer:
    keys: torch.Tensor | None = None
    length: int = 0


@dataclass
class Cache:
    """As transformers keeps one: objects in a list, tensors in the objects."""

    layers: list[Layer] = field(default_factory=list)

    def grow(self, x: torch.Tensor) -> None:
        if not self.layers:
            self.layers.append(Layer())
        layer = self.layers[0]
        layer.keys = x if layer.keys is None else torch.cat([layer.keys, x])
        layer.length += 1


@dataclass(slots=True)
class Slotted:
    count: int = 0
    last: torch.Tensor | None = None


class Stateful(nn.Module):
    """Holds one of each kind of state; a step changes all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.register_buffer("seen", torch.zeros(2))
        self.register_buffer("rebound", torch.zeros(2))
        self.loose = torch.zeros(2)
        self.calls = 0
        self._private = 1.5
        self.nothing = None
        self.tensors = [torch.zeros(2)]
        self.by_name = {"a": torch.zeros(2), "n": 0}
        self.recent: deque[int] = deque([1, 2], maxlen=2)
        self.known = {1}
        self.cache = Cache()
        self.nested = ([{"k": [torch.zeros(1)]}],)
        self.inner = nn.BatchNorm1d(2, affine=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.weight += 1
            self.seen += 1
        self.rebound = self.rebound + 1
        self.loose = self.loose + 1
        self.calls += 1
        self._private *= 2
        self.nothing = x
        self.new = x
        self.tensors[0] += 1
        self.tensors.append(x)
        self.by_name["a"] = x
        self.by_name["n"] += 1
        self.recent.append(3)
        self.known.add(2)
        self.cache.grow(x)
        self.nested[0][0]["k"][0] += 1
        return self.inner(x.expand(3, 2)) + torch.rand(2)


def everything(model: Stateful) -> dict[str, Any]:
    return {
        **{f"state {name}": value.clone() for name, value in model.state_dict().items()},
        "loose": model.loose.clone(),
        "plain": (model.calls, model._private, model.nothing, hasattr(model, "new")),
        "tensors": [t.clone() for t in model.tensors],
        "by_name": {name: torch.as_tensor(value).clone() for name, value in model.by_name.items()},
        "containers": (list(model.recent), set(model.known), len(model.cache.layers)),
        "nested": model.nested[0][0]["k"][0].clone(),
    }


def same(left: Any, right: Any) -> bool:
    if isinstance(left, torch.Tensor):
        return torch.equal(left, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


@pytest.fixture
def stateful() -> Stateful:
    return Workload.of(Stateful(), X, mode="training").model  # type: ignore[return-value]


def test_every_kind_of_state_is_put_back(stateful: Stateful) -> None:
    state = State(a_workload(stateful, X, Mode.TRAINING))
    before = everything(stateful)
    for _ in range(2):
        first = stateful(X)
        changed = everything(stateful)
        assert [name for name in before if same(before[name], changed[name])] == []
        assert state.changed_model()
        state.restore()
        assert same(everything(stateful), before)
        assert not state.changed_model()
        second = stateful(X)
        assert torch.equal(first, second)  # the random state too
        state.restore()


def test_tensors_and_containers_stay_the_same_objects(stateful: Stateful) -> None:
    state = State(a_workload(stateful, X, Mode.TRAINING))
    names = ("weight", "seen", "rebound", "loose", "tensors", "by_name", "recent", "known", "cache")
    before = {name: getattr(stateful, name) for name in names}
    stateful(X)
    state.restore()
    assert [name for name in names if getattr(stateful, name) is not before[name]] == []


def test_a_tensor_that_did_not_change_is_not_written_to() -> None:
    model = Mlp()
    state = State(a_workload(model))
    version = model.first.weight._version
    a_stepper(a_workload(model)).run()
    state.restore()
    assert model.first.weight._version == version


def test_nan_is_the_same_as_nan() -> None:
    x = torch.tensor([float("nan"), 1.0])
    state = State(a_workload(torch.relu, x))
    assert not state.changed_inputs()
    x[0] = 0.0
    assert state.changed_inputs()
    state.restore_inputs()
    assert torch.isnan(x[0])


def test_inputs_are_put_back_however_they_are_nested() -> None:
    cache, x, kept = Cache(), torch.zeros(2), [torch.zeros(1)]

    def step(x: torch.Tensor, cache: Cache, kept: list[torch.Tensor]) -> torch.Tensor:
        x += 1
        cache.grow(x)
        kept.append(x)
        return x

    work = a_workload(step, {"x": x, "cache": cache, "kept": kept})
    state = State(work)
    a_stepper(work).run()
    assert state.changed_inputs()
    state.restore_inputs()
    assert x.tolist() == [0.0, 0.0]
    assert cache.layers == []
    assert len(kept) == 1
    assert not state.changed_inputs()


def test_a_resized_tensor_is_put_back() -> None:
    x = torch.arange(3.0)
    state = State(a_workload(torch.relu, x))
    x.resize_(5)
    assert state.changed_inputs()
    state.restore_inputs()
    assert x.tolist() == [0.0, 1.0, 2.0]


def test_sparse_and_small_floats_are_compared() -> None:
    sparse, small = torch.eye(2).to_sparse(), torch.ones(2).to(torch.float8_e4m3fn)
    state = State(a_workload(lambda *_: None, (sparse, small)))
    assert not state.changed_inputs()
    small.copy_(torch.zeros(2))
    assert state.changed_inputs()
    state.restore_inputs()
    assert small.float().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("kind", ["closure", "method", "partial", "object"])
def test_the_model_behind_a_callable_is_put_back(kind: str) -> None:
    model = Stateful()

    class Pipeline:
        def __init__(self) -> None:
            self.model = model
            self.steps = 0

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            self.steps += 1
            return self.model(x)  # type: ignore[no-any-return]

    pipeline = Pipeline()
    callables = {
        "closure": lambda x: model(x),
        "method": model.forward,
        "partial": partial(model.forward),
        "object": pipeline,
    }
    state = State(a_workload(callables[kind], X))
    callables[kind](X)
    state.restore()
    assert model.calls == 0
    assert model.seen.tolist() == [0.0, 0.0]
    assert pipeline.steps == 0


def test_the_optimizer_is_put_back() -> None:
    model = Mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    work = a_workload(model, mode=Mode.TRAINING, optimizer=optimizer)
    stepper = a_stepper(work)
    stepper.run()
    first = model.first.weight.detach().clone()
    optimizer.param_groups[0]["lr"] = 7.0
    stepper.run()
    assert not torch.equal(model.first.weight, first)
    stepper.state.restore()
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert not optimizer.state
    assert model.first.weight.grad is None
    stepper.run()
    assert torch.equal(model.first.weight, first)


def test_all_random_states_are_put_back_and_can_be_set_apart() -> None:
    generator = torch.Generator().manual_seed(3)

    class Noisy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.generator = generator

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            own = torch.rand((), generator=self.generator)
            return x + torch.rand(()) + random.random() + np.random.rand() + own

    stepper = a_stepper(a_workload(Noisy(), X))
    drawn = []
    for seed in (None, None, 1, 1, 2):
        stepper.state.restore()
        if seed is not None:
            stepper.state.reseed(seed)
        drawn.append(float(stepper.run()[0][0]))
    assert drawn[0] == drawn[1]
    assert drawn[2] == drawn[3]
    assert len(set(drawn)) == 3


def test_what_is_no_data_is_left_alone() -> None:
    import logging

    logger = logging.getLogger("graphbound.test")

    class Logging(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.logger = logger

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    state = State(a_workload(Logging(), X))
    handler = logging.NullHandler()
    logger.addHandler(handler)
    try:
        state.restore()
        assert logger.handlers == [handler]
        assert not state.changed_model()
    finally:
        logger.removeHandler(handler)


def test_a_lazy_module_grows_up_once() -> None:
    model = nn.Sequential(nn.LazyLinear(3), Mlp(3))
    work = a_workload(model, torch.ones(2, 5))
    stepper = a_stepper(work)
    first, _ = stepper.run()
    stepper.state.restore()
    again, _ = stepper.run()
    assert torch.equal(first, again)
    assert model[0].in_features == 5


def test_sizes_are_known_by_the_place_that_holds_a_tensor() -> None:
    class Keeps(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cache = torch.zeros(2, 3)
            self.list = [torch.zeros(1)]

    model = Keeps()
    state = State(a_workload(model, (torch.zeros(1),)))
    before = state.sizes()
    model.other = torch.zeros(7)
    model.list.append(torch.zeros(9))
    assert before.of.items() <= state.sizes().of.items()
    model.cache = torch.zeros(3, 3)
    model.list[0].resize_(4)
    after = state.sizes()
    changed = [(size, after.of[place]) for place, size in before.of.items() if after.of[place] != size]
    assert sorted(changed) == [((1,), (4,)), ((2, 3), (3, 3))]


def test_looking_at_sizes_copies_nothing_and_a_cpu_holds_nothing_of_a_gpu() -> None:
    weight = torch.nn.Parameter(torch.zeros(3))
    model = torch.nn.Module()
    model.weight = weight
    state = State(a_workload(model, (torch.zeros(1),)))
    assert state.kept_bytes == 0
    assert (3,) in state.sizes().of.values()


def test_what_a_slotted_dataclass_holds_is_put_back() -> None:
    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.slot = Slotted()
            self.dtype = torch.float32

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.slot.count += 1
            self.slot.last = x
            return x

    model = Keeps()
    state = State(a_workload(model, X))
    slot = model.slot
    model(X)
    assert state.changed_model()
    state.restore()
    assert model.slot is slot
    assert slot == Slotted()
    assert not state.changed_model()


def test_generators_that_a_model_keeps_of_python_and_numpy_are_put_back() -> None:
    class Noisy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.of_python = random.Random(3)
            self.of_numpy = np.random.default_rng(3)
            self.older = np.random.RandomState(3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.of_python.random() + self.of_numpy.random() + self.older.rand()

    model = Noisy()
    state = State(a_workload(model, X))
    first, second = model(X), model(X)
    assert not torch.equal(first, second)
    state.restore()
    assert torch.equal(model(X), first)


def test_attributes_that_are_parts_of_a_buffer_are_put_back_and_stay_parts_of_it() -> None:
    class Sharing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Module()
            self.inner.register_buffer("whole", torch.arange(12.0).reshape(3, 4))
            whole = self.inner.get_buffer("whole")
            self.row, self.often = whole[0], whole[1].expand(5, 4)
            self.others = [whole[:, 1], (whole[2],)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.row += 1
            self.inner.get_buffer("whole")[1] *= 2
            self.others[1][0].zero_()
            self.row = self.row + 1
            return self.often * 1

    model = Sharing()
    whole = model.inner.get_buffer("whole")
    before = whole.clone()
    state = State(a_workload(model, X))
    first = model(X)
    assert not torch.equal(whole, before)
    state.restore()
    assert torch.equal(whole, before)
    assert model.row.data_ptr() == whole.data_ptr()
    assert torch.equal(model.often, before[1].expand(5, 4))
    assert torch.equal(model(X), first)


def test_the_generators_that_a_step_drew_from_are_known() -> None:
    own, idle = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)

    class Drawing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kept = [own, idle]
            self.is_on = False

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.rand((), generator=self.kept[0]) if self.is_on else x

    model = Drawing()
    state = State(a_workload(model, X))
    assert state.may_draw
    model(X)
    state.note_draws()
    assert (state.may_draw, state.draws_from) == (False, ())
    model.is_on = True
    model(X)
    state.note_draws()
    assert (state.may_draw, state.draws_from) == (True, (own,))
    state.restore()
    torch.rand(())
    state.note_draws()
    assert (state.may_draw, state.draws_from) == (True, ())
