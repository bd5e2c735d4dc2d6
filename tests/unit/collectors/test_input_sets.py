"""Several sets of inputs for one step: told from one set, made of one, and what a step does with them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.errors import UsageError, UserProgramError
from analyzer.core.settings import DimRange, Mode, WorkloadSpec
from collectors.capture import GraphLog
from collectors.describe import workload_facts
from collectors.input_sets import CUT_NOTE, MOST_SETS, given_sets, resized, sizes_between
from collectors.loading import load_workload
from collectors.reference import reference_results, step_results
from collectors.set_timing import first_passes, sets_in_turn, time_sets
from collectors.state import State
from collectors.step import Stepper
from collectors.workload import Workload
from tests.workloads import a_stepper, a_workload

X = torch.ones(2, 3)


# -- told from one set ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", [X, (X, X), [X, X], {"x": X}, [(X, X)], [(X,), X], [{1: X}, {2: X}], [[X], [X]], []])
def test_one_set_of_arguments_stays_one(one: object) -> None:
    assert given_sets(one) is None


@pytest.mark.parametrize("sets", [[(X,), (X,)], [{"x": X}, {"x": X}]])
def test_a_list_of_tuples_or_of_dicts_is_several_sets_and_that_is_said(sets: list[Any]) -> None:
    found = given_sets(sets)
    assert found is not None
    assert list(found.sets) == sets
    assert "2 sets" in found.notes[0]


def test_a_generator_is_several_sets_of_any_form_and_an_endless_one_is_cut() -> None:
    found = given_sets(iter([X, (X,), {"x": X}]))
    assert found is not None
    assert (len(found.sets), found.notes) == (3, ())
    endless = given_sets(X for _ in iter(int, 1))
    assert endless is not None
    assert (len(endless.sets), endless.notes) == (MOST_SETS, (CUT_NOTE,))


# -- made of one ------------------------------------------------------------------------------------------------------


def test_sizes_have_both_ends_and_are_spread_by_their_ratio() -> None:
    assert sizes_between(1, 64) == (1, 4, 16, 64)
    assert sizes_between(1, 2) == (1, 2)
    assert sizes_between(30, 31) == (30, 31)


def test_sets_are_made_by_cutting_and_by_repeating_and_dimensions_change_together() -> None:
    ids = torch.arange(6).view(2, 3)
    ranges = (DimRange(0, 1, 1, 8), DimRange("mask", 0, 2, 5))
    made = resized((ids, 7), {"mask": torch.ones(3)}, ranges)
    assert [tuple(args[0].shape) for args, _ in made] == [(2, 1), (2, 2), (2, 4), (2, 8)]
    assert [kwargs["mask"].shape[0] for _, kwargs in made] == [2, 3, 4, 5]
    assert made[3][0][0][0].tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert all(args[1] == 7 for args, _ in made)
    assert ids.shape == (2, 3)


@pytest.mark.parametrize(
    ("place", "dim", "says"),
    [(3, 0, "no input tensor 3"), ("y", 0, "no input tensor y"), (1, 0, "no input tensor 1"), (0, 2, "2 dimensions")],
)
def test_what_is_not_there_cannot_change(place: int | str, dim: int, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        resized((X, 7), {}, (DimRange(place, dim, 1, 4),))


# -- forms of a file --------------------------------------------------------------------------------------------------


def load(folder: Path, inputs: str, *ranges: DimRange, mode: Mode = Mode.INFERENCE, more: str = "") -> Workload:
    path = folder / "model.py"
    head = "import torch\nfrom torch import nn\ndef get_model(): return nn.Linear(3, 2)\n"
    path.write_text(head + f"def get_inputs():\n    {inputs}\n" + textwrap.dedent(more))
    return load_workload(WorkloadSpec(str(path), mode=mode, device="cpu", ranges=ranges))


def rows(made: Workload) -> list[int]:
    return [one.args[0].shape[0] for one in made.every_set]


def test_get_inputs_may_return_a_list_of_sets_or_be_a_generator(tmp_path: Path) -> None:
    assert rows(load(tmp_path, "return [(torch.ones(n, 3),) for n in (1, 5)]")) == [1, 5]
    made = load(tmp_path, "yield torch.ones(1, 3); yield (torch.ones(4, 3),)")
    assert rows(made) == [1, 4]
    assert any("one call for each of 2 sets" in note for note in workload_facts(made).notes)


def test_what_a_generator_raises_is_the_users_and_an_empty_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserProgramError, match="ZeroDivisionError"):
        load(tmp_path, "yield 1 / 0")
    with pytest.raises(UsageError, match="yields nothing"):
        load(tmp_path, "yield from ()")


def test_ranges_make_sets_of_a_files_own_inputs_and_not_of_its_own_sets(tmp_path: Path) -> None:
    assert rows(load(tmp_path, "return (torch.ones(8, 3),)", DimRange(0, 0, 1, 64))) == [1, 4, 16, 64]
    with pytest.raises(UsageError, match="2 sets of inputs of its own"):
        load(tmp_path, "return [(torch.ones(1, 3),), (torch.ones(2, 3),)]", DimRange(0, 0, 1, 64))


def test_each_set_has_a_loss_that_knows_its_inputs(tmp_path: Path) -> None:
    loss = """
    def get_loss(output, x, target): return (output - target).square().sum()
    """
    inputs = "return [(torch.ones(n, 3), torch.zeros(n, 2)) for n in (1, 4)]"
    model = "\nclass Net(nn.Linear):\n    def forward(self, x, target): return super().forward(x)\n"
    made = load(tmp_path, inputs, mode=Mode.TRAINING, more=loss + model + "def get_model(): return Net(3, 2)\n")
    results = dict(step_results(a_stepper(made)))
    assert {"set 1 loss", "set 2 loss", "grad:weight"} <= set(results)


# -- a step -----------------------------------------------------------------------------------------------------------


class Doubling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def sets(mode: Mode = Mode.INFERENCE, **rest: Any) -> Workload:
    return a_workload(Doubling(), [(torch.ones(1),), (torch.ones(3),), (torch.ones(5),)], mode, **rest)


def test_a_step_calls_the_model_for_every_set_in_order() -> None:
    seen: list[int] = []

    def model(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.numel())
        return x

    output, loss = a_stepper(sets(), model).run()
    assert (seen, output.numel(), loss) == ([1, 3, 5], 5, None)
    a_stepper(sets(), model).alone(1).timed()
    assert seen[3:] == [3]


def test_gradients_of_all_sets_are_added_up_before_the_optimizer_steps_once() -> None:
    made = sets(Mode.TRAINING)
    optimizer = torch.optim.SGD(made.model.parameters(), lr=0.1)  # type: ignore[attr-defined]
    made = Workload.of(made.model, [one.args for one in made.every_set], mode="training", optimizer=optimizer)
    stepper = a_stepper(made)
    stepper.run()
    ((name, gradient),) = stepper.gradients()
    assert (name, gradient.item()) == ("grad:weight", 9.0)
    assert made.model.weight.item() == pytest.approx(1 - 0.9)  # type: ignore[attr-defined]
    stepper.run()
    assert stepper.gradients()[0][1].item() == 9.0


def test_the_results_of_every_set_are_compared_with_the_same_in_higher_precision() -> None:
    made = sets()
    state = State(made)
    results = step_results(Stepper(made, made.model, state))
    assert [path for path, _ in results] == ["set 1 output", "set 2 output", "set 3 output"]
    _, wide = reference_results(made, state)
    assert wide is not None
    assert [(path, tensor.dtype) for path, tensor in wide] == [(path, torch.float64) for path, _ in results]


def test_inputs_of_every_set_are_put_back() -> None:
    def writes(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1)

    made = a_workload(writes, [(torch.zeros(1),), (torch.zeros(2),)])
    state = State(made)
    Stepper(made, writes, state).run()
    assert state.changed_inputs()
    state.restore_inputs()
    assert [one.args[0].sum().item() for one in made.every_set] == [0, 0]


# -- what each set costs ----------------------------------------------------------------------------------------------


def test_each_set_is_timed_alone_and_what_its_first_calls_compile_is_its_own() -> None:
    made, log = sets(), GraphLog(root=None)
    sizes: set[int] = set()

    def compiling(x: torch.Tensor) -> torch.Tensor:
        log.compiles += x.numel() not in sizes
        sizes.add(x.numel())
        return x

    stepper = a_stepper(made, compiling)
    first_ns, costs = first_passes(stepper, log)
    assert first_ns > 0
    assert [(cost.compiles, cost.recompiles, cost.recorded, cost.pool_bytes) for cost in costs] == [
        (1, 0, None, None)
    ] * 3
    timed = sets_in_turn(stepper, stepper, stepper, costs)
    assert [one.inputs for one in timed] == [("float32[1]",), ("float32[3]",), ("float32[5]",)]
    assert all(one.eager_ns and one.default_ns and one.plan_ns and one.compiles == 1 for one in timed)
    assert [one.inputs for one in time_sets(stepper)] == [one.inputs for one in timed]


def test_a_step_of_one_set_has_none_to_tell_of() -> None:
    stepper = a_stepper(a_workload())
    assert time_sets(stepper) == ()
    assert first_passes(stepper, GraphLog(root=None))[1] == ()
    assert sets_in_turn(stepper, stepper, stepper, ()) == ()


def iterate() -> Iterator[tuple[torch.Tensor]]:
    yield (X,)
    yield (X[:1],)


def test_a_notebook_may_hand_over_sets_too() -> None:
    assert rows(Workload.of(nn.Linear(3, 2), iterate(), device="cpu")) == [2, 1]
