"""A step that does other work each time is told from one that does the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.timing import Changing, StepChange
from collectors import torch_compat
from collectors.capture import GraphLog
from collectors.probe import Probe, ProbeMode, sizes_of
from collectors.sameness import StepWatch
from collectors.state import State
from collectors.step import Stepper
from tests.reports import a_key
from tests.workloads import Mlp, a_workload

KEY = a_key(1)


def watched(model: Callable[..., Any], *, graph: Callable[..., Any] | None = None) -> tuple[StepChange, ...]:
    """The changes of a model; `graph` is called in each step with what the model returned, as a compiled graph is."""
    probe = Probe("cpu")
    work = a_workload(model)
    call = probe.around(KEY, graph) if graph is not None else None

    def step(x: torch.Tensor) -> Any:
        output = model(x)
        return output if call is None else call(output)

    stepper = Stepper(work, step, State(work))
    stepper.timed()
    changes = StepWatch(stepper, probe, GraphLog(root=None)).changes()
    assert probe.mode is ProbeMode.OFF
    return changes


class Cache(nn.Module):
    """Keeps what it has seen, as a KV cache does."""

    def __init__(self, *, shows: bool) -> None:
        super().__init__()
        self.seen = torch.zeros(0, 8)
        self.shows = shows

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen = torch.cat((self.seen, x))
        return self.seen if self.shows else self.seen.sum()


def test_a_model_that_does_the_same_each_time_has_no_changes() -> None:
    assert watched(Mlp(), graph=torch.relu) == ()


def test_a_state_that_grows_is_seen_where_it_lies_and_where_it_is_used() -> None:
    hidden = watched(Cache(shows=False))
    assert hidden == (StepChange(Changing.STATE, sizes=((8, 8), (12, 8))),)
    shown = watched(Cache(shows=True), graph=torch.relu)
    assert [change.what for change in shown] == [Changing.GRAPH_INPUT, Changing.OUTPUT, Changing.STATE]
    assert (shown[0].key, shown[0].sizes) == (KEY, ((8, 8), (12, 8)))


def test_a_list_of_losses_that_grows_is_no_other_work() -> None:
    losses: list[torch.Tensor] = []

    class Logging(Mlp):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = super().forward(x)
            self.history = [*getattr(self, "history", []), float(y.sum())]
            losses.append(y.sum())
            return y

    assert watched(Logging()) == ()


def test_a_list_that_each_step_makes_anew_is_not_mistaken_for_the_one_before() -> None:
    class Features(Mlp):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.features = [x, x[:2]]
            self.features = [x[:1], x]
            return super().forward(x)

    assert watched(Features()) == ()


def test_a_number_that_a_graph_is_given_may_be_a_size() -> None:
    count = iter(range(100))
    found = watched(lambda x: (x, next(count)), graph=lambda pair: pair[0])
    assert [(c.what, c.key, c.is_number) for c in found] == [(Changing.GRAPH_INPUT, KEY, True)]
    assert found[0].sizes[1][0] == found[0].sizes[0][0] + 1


def test_sizes_that_go_up_and_down_have_no_trend() -> None:
    sizes = iter((3, 1, 4, 1, 5, 2, 6, 3))
    found = watched(lambda x: x[: min(next(sizes), 4)], graph=torch.relu)
    assert [(c.what, c.is_varying) for c in found] == [(Changing.GRAPH_INPUT, True), (Changing.OUTPUT, True)]


def test_what_grows_is_told_before_what_varies() -> None:
    sizes, counts = iter((3, 1, 4, 1, 5, 2, 6, 3)), iter(range(1, 100))
    found = watched(lambda x: (x[: next(sizes) % 4], x.repeat(next(counts), 1)), graph=lambda pair: pair[1])
    assert [(c.what, c.is_varying) for c in found] == [(Changing.GRAPH_INPUT, False), (Changing.OUTPUT, False)]


def test_graphs_called_in_another_order_are_other_work() -> None:
    probe, work = Probe("cpu"), a_workload()
    first, second = probe.around(KEY, torch.relu), probe.around(a_key(2), torch.relu)
    count = iter(range(100))

    def step(x: torch.Tensor) -> torch.Tensor:
        return first(x) if next(count) % 2 else second(x)

    stepper = Stepper(work, step, State(work))
    assert [c.what for c in StepWatch(stepper, probe, GraphLog(root=None)).changes()] == [Changing.CALLS]


def test_what_torch_compiles_from_the_first_timed_step_on_is_no_steady_state() -> None:
    probe, work, log = Probe("cpu"), a_workload(), GraphLog(root=None)
    stepper = Stepper(work, work.model, State(work))
    watch = StepWatch(stepper, probe, log)
    log.compiles += 1
    assert watch.changes() == (StepChange(Changing.COMPILING),)


def test_an_input_that_the_step_enlarges_is_put_back_and_so_the_same_each_time() -> None:
    class Cached(nn.Module):
        def forward(self, x: torch.Tensor, cache: dict[str, torch.Tensor]) -> torch.Tensor:
            cache["k"] = torch.cat((cache["k"], x))
            return cache["k"].sum()

    work = a_workload(Cached(), (torch.ones(2, 3), {"k": torch.zeros(1, 3)}))
    state = State(work)
    stepper = Stepper(work, work.model, state)

    def changes() -> tuple[StepChange, ...]:
        probe = Probe("cpu")
        stepper.model = lambda x, cache: (probe.around(KEY, torch.relu)(cache["k"]), work.model(x, cache))[1]
        return StepWatch(stepper, probe, GraphLog(root=None)).changes()

    assert [c.what for c in changes()] == [Changing.GRAPH_INPUT]
    state.mutates_inputs = True
    assert changes() == ()


def test_sizes_are_of_tensors_and_numbers_in_boxed_lists_too() -> None:
    boxed = [torch.zeros(2, 3), 5, True, 1.5, None]
    assert sizes_of((boxed,)) == ((2, 3), 5)
    assert sizes_of((torch.zeros(1), 7)) == ((1,), 7)


@pytest.fixture
def clean_dynamo() -> Iterator[None]:
    torch_compat.reset()
    yield
    torch_compat.reset()


def test_a_compiled_model_with_a_cache_is_caught_through_the_graph_that_it_is_given_to(clean_dynamo: None) -> None:
    probe, work = Probe("cpu"), a_workload(Cache(shows=False))

    def backend(gm: Any, _: Any) -> Any:
        return probe.around(KEY, gm.forward)

    model = torch_compat.compiled_model(work.model, backend)
    stepper = Stepper(work, model, State(work))
    for _ in range(4):
        stepper.timed()
    found = StepWatch(stepper, probe, GraphLog(root=None)).changes()
    assert Changing.GRAPH_INPUT in [change.what for change in found]
    assert not any(change.is_varying for change in found)
