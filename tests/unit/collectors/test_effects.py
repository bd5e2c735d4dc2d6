"""What a step writes beside what it returns is named, and read of any copy of the workload."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.settings import Mode
from analyzer.core.trial import Accuracy, AccuracyReference
from analyzer.session_judge import StepJudge
from collectors.effects import effects, models_own, written
from collectors.reference import reference_results, step_results
from collectors.state import State
from collectors.step import Stepper
from collectors.workload import Workload
from tests.workloads import a_workload


@dataclass
class Cache:
    rows: list[torch.Tensor] = field(default_factory=list)


class Writing(nn.Module):
    """Writes to a buffer, to what it keeps, and to its input; returns what depends on none of it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.kept = Cache()
        self.last: torch.Tensor | None = None
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x * 1)
        self.norm(y)
        self.kept.rows.append(y.detach())
        self.last = y.detach() * 2
        self.calls += 1
        x.zero_()
        return y


def stepped(work: Workload) -> tuple[State, Stepper]:
    state = State(work)
    stepper = Stepper(work, work.model, state)
    stepper.run()
    state.written = written(work, state)
    return state, stepper


def test_buffers_what_a_module_keeps_and_inputs_are_named() -> None:
    state, _ = stepped(a_workload(Writing(), torch.randn(3, 4), mode=Mode.TRAINING))
    norm = [f"buffer norm.{name}" for name in ("running_mean", "running_var", "num_batches_tracked")]
    assert state.written == (*norm, "attribute kept.rows[0]", "attribute last", "input 0", "number calls")


def test_a_step_that_writes_nothing_has_nothing_to_compare() -> None:
    work = a_workload()
    state, stepper = stepped(work)
    assert state.written == ()
    assert [path for path, _ in step_results(stepper)] == ["output"]


def test_the_weights_that_a_step_of_the_users_own_updates_are_compared() -> None:
    model = nn.Linear(4, 4)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(run: Any, x: torch.Tensor) -> None:
        run(x).square().sum().backward()
        sgd.step()
        sgd.zero_grad(set_to_none=False)

    work = a_workload(model, torch.randn(3, 4), mode=Mode.TRAINING, step=step)
    state, _ = stepped(work)
    assert state.written == ("parameter weight", "parameter bias")
    state.restore()
    _, wide = reference_results(work, state)
    assert wide is not None
    # The copy in higher precision has weights that this optimizer does not know: it says nothing of them.
    assert [tensor.is_meta for path, tensor in wide if path in state.written] == [True, True]


def test_an_optimizer_of_ours_is_judged_by_its_gradients_alone() -> None:
    model = nn.LSTM(4, 4)
    sgd = torch.optim.SGD(model.parameters())
    work = a_workload(model, torch.randn(3, 4), mode=Mode.TRAINING, optimizer=sgd)
    assert stepped(work)[0].written == ()


def test_what_was_written_is_read_of_a_copy_and_what_is_not_there_is_left_out() -> None:
    work = a_workload(Writing(), torch.randn(3, 4), mode=Mode.TRAINING)
    state, _ = stepped(work)
    other = replace(work, model=copy.deepcopy(work.model))
    assert isinstance(other.model, Writing)
    other.model.last = None
    other.model.norm.running_mean.fill_(7.0)
    found = dict(effects(other, state.written))
    assert "attribute last" not in found
    assert found["buffer norm.running_mean"].eq(7.0).all()


def test_a_candidate_that_forgets_what_the_model_writes_is_wrong() -> None:
    work = a_workload(Writing(), torch.randn(3, 4), mode=Mode.TRAINING)
    state, eager = stepped(work)
    judge = StepJudge(lambda event: None)
    judge.prepare(eager)
    same = judge.accuracy(eager)
    assert same is not None
    assert (same.is_right, same.reference) == (True, AccuracyReference.FLOAT64)

    def forgetful(x: torch.Tensor) -> Any:
        assert isinstance(work.model, Writing)
        kept = work.model.norm.running_mean.clone()
        y = work.model(x)
        work.model.norm.running_mean.copy_(kept)
        return y

    found = judge.accuracy(Stepper(work, forgetful, state))
    assert found is not None
    assert (found.is_right, found.worst) == (False, "buffer norm.running_mean")


def judged(work: Workload, run: Any) -> Accuracy:
    """What is said of a step with `run` in place of the model."""
    state, eager = stepped(work)
    judge = StepJudge(lambda event: None)
    judge.prepare(eager)
    accuracy = judge.accuracy(Stepper(work, run, state))
    assert accuracy is not None
    return accuracy


@pytest.mark.parametrize("path", ["buffer kept", "input 0", "attribute last"])
def test_a_candidate_that_writes_where_the_model_writes_nothing_is_wrong(path: str) -> None:
    model = nn.Linear(4, 4)
    model.register_buffer("kept", torch.zeros(3))

    def writing(x: torch.Tensor) -> Any:
        y = model(x)
        match path:
            case "buffer kept":
                model.get_buffer("kept").add_(1)
            case "input 0":
                x.zero_()
            case _:
                vars(model)["last"] = y * 2
        return y

    found = judged(a_workload(model, torch.randn(3, 4)), writing)
    assert not found.is_right
    assert path in (found.worst or found.detail or "")


def test_a_candidate_that_keeps_another_tensor_of_the_same_values_is_right() -> None:
    class Keeping(nn.Module):
        last: torch.Tensor | None = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.last = x.contiguous()
            return x * 2

    work = a_workload(Keeping(), torch.randn(3, 4))

    def copying(x: torch.Tensor) -> Any:
        y = work.model(x)
        vars(work.model)["last"] = x.clone()
        return y

    assert judged(work, copying).is_right


def test_what_differs_between_two_equal_runs_is_not_asked_of_a_candidate() -> None:
    class Ticking(nn.Module):
        ticks = 0

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("tick", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            type(self).ticks += 1
            self.tick.fill_(float(type(self).ticks))
            return x * 2

    work = a_workload(Ticking(), torch.randn(3, 4))
    state, eager = stepped(work)
    assert state.written == ("buffer tick",)
    judge = StepJudge(lambda event: None)
    judge.prepare(eager)
    assert state.written == ()
    accuracy = judge.accuracy(eager)
    assert accuracy is not None
    assert accuracy.is_right


def test_of_a_package_only_what_it_returns_and_its_inputs_are_compared() -> None:
    work = a_workload(Writing(), torch.randn(3, 4), mode=Mode.TRAINING)
    state, eager = stepped(work)
    assert models_own(state.written) == {*state.written} - {"input 0"}
    judge = StepJudge(lambda event: None)
    judge.prepare(eager)
    assert judge.results is not None
    state.restore()
    results = step_results(eager)
    packaged = tuple((path, tensor) for path, tensor in results if path not in {"attribute last", "number calls"})
    assert not judge.results.judge(packaged).is_right
    of_package = judge.results.without(models_own(state.written))
    assert of_package.judge(packaged).is_right
    without_input = tuple((path, tensor) for path, tensor in packaged if path != "input 0")
    assert not of_package.judge(without_input).is_right


class Counting(nn.Module):
    """Keeps a counter, a running scale that is read of a tensor, and a count of what depends on rounding."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.calls, self.scale, self.above = 0, 1.0, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.linear(x)
        self.calls += 1
        self.scale = 0.5 * self.scale + 0.5 * float(y.detach().abs().max())
        self.above = int((y > y.mean()).sum())
        return y * 2


def after(model: nn.Module, **kept: Any) -> Any:
    """A candidate that computes as the model does and leaves these numbers in the place of the model's."""

    def run(x: torch.Tensor) -> Any:
        y = model(x)
        vars(model).update(kept)
        return y

    return run


@pytest.mark.parametrize("calls", [0, 2, True, 1.0])
def test_a_candidate_that_leaves_another_number_than_the_model_is_wrong_for_sure(calls: float) -> None:
    model = Counting()
    found = judged(a_workload(model, torch.randn(3, 4)), after(model, calls=calls))
    assert (found.is_right, found.worst) == (False, None if isinstance(calls, bool | float) else "number calls")
    assert found.detail is not None
    assert "number calls" in f"{found.worst} {found.detail}"
    if not isinstance(calls, bool | float):
        assert found.detail == f"{calls} where the model itself leaves 1"


def test_a_candidate_that_forgets_a_number_is_wrong_and_one_that_keeps_it_is_right() -> None:
    model = Counting()
    work = a_workload(model, torch.randn(3, 4))

    def forgetful(x: torch.Tensor) -> Any:
        y = model(x)
        del model.calls
        return y

    assert judged(work, model).is_right
    found = judged(work, forgetful)
    assert (found.is_right, found.detail) == (False, "eager gives number calls, this does not")


def test_a_float_is_judged_by_the_run_in_higher_precision_and_with_the_rounding_of_float32() -> None:
    model = Counting()
    work = a_workload(model, torch.randn(3, 4))
    state, eager = stepped(work)
    judge = StepJudge(lambda event: None)
    judge.prepare(eager)
    scale = dict(step_results(eager))["number scale"].item()

    def said(value: float) -> Accuracy:
        found = judge.accuracy(Stepper(work, after(model, scale=value), state))
        assert found is not None
        return found

    state.restore()
    assert said(scale * (1 + 2**-23)).is_right
    wrong = said(1.0)
    assert (wrong.is_right, wrong.worst, wrong.reference) == (False, "number scale", AccuracyReference.FLOAT64)


def test_a_count_that_rounding_may_change_is_no_accusation_for_sure() -> None:
    model = Counting()
    work = a_workload(model, torch.randn(3, 4))
    model(*work.args)
    found = judged(work, after(model, above=model.above + 1))
    assert (found.is_right, found.worst, found.detail, found.reference) == (
        False,
        "number above",
        None,
        AccuracyReference.EAGER,
    )


def test_a_count_that_rounding_does_change_is_right() -> None:
    class Brink(nn.Module):
        """All its values lie at the border that it counts by."""

        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))
            self.above = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.above = int((self.weight * x > 1).sum())
            return x * 2

    model = Brink()
    assert judged(a_workload(model, torch.ones(3, 4)), after(model, above=5)).is_right


def test_a_candidate_that_counts_where_the_model_does_not_is_wrong() -> None:
    model = nn.Linear(4, 4)
    vars(model)["calls"] = 3
    found = judged(a_workload(model, torch.randn(3, 4)), after(model, calls=4))
    assert (found.is_right, found.worst) == (False, "number calls")


def notes_of(work: Workload, *candidates: Any) -> tuple[str, ...]:
    """What is noted when these were judged and found right."""
    state, eager = stepped(work)
    judge = StepJudge(lambda event: None)
    judge.prepare(eager)
    for run in candidates:
        found = judge.accuracy(Stepper(work, run, state))
        assert found is not None
        assert found.is_right, found
    return judge.notes


def test_what_differs_on_every_run_of_the_model_itself_is_noted_once_by_name() -> None:
    clock = iter(range(1000))

    class Clocked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.seen = -1

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            self.seen = next(clock)
            return self.linear(x), torch.tensor(self.seen)

    model = Clocked()
    work = a_workload(model, torch.randn(3, 4))
    assert notes_of(work, model, model) == (
        "number seen, output[1] differ from run to run of the model itself, from one state and one seed: not compared",
    )
    assert notes_of(a_workload(Writing(), torch.randn(3, 4), mode=Mode.TRAINING)) == ()


class Drawing(nn.Module):
    """Draws whole numbers, and gives beside them some that are not drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> Any:
        self.calls += 1
        drawn = torch.randint(0, 100, (6,))
        return self.linear(x), drawn, torch.arange(3) + self.calls


def drawing_otherwise(model: nn.Module, change: Any = lambda *outputs: outputs) -> Any:
    """As compiled code does: the same distribution, of other numbers."""

    def run(x: torch.Tensor) -> Any:
        torch.rand(7)
        return change(*model(x))

    return run


def test_random_whole_numbers_are_compared_in_kind_and_that_is_noted() -> None:
    model = Drawing()
    work = a_workload(model, torch.randn(3, 4))
    assert notes_of(work, model) == ()
    (note,) = notes_of(work, drawing_otherwise(model))
    assert note.startswith("output[1]: random whole numbers")
    shorter = judged(work, drawing_otherwise(model, lambda y, drawn, fixed: (y, drawn[:5], fixed)))
    narrower = judged(work, drawing_otherwise(model, lambda y, drawn, fixed: (y, drawn.int(), fixed)))
    assert (shorter.is_right, narrower.is_right) == (False, False)


def test_what_a_random_step_does_not_draw_is_compared_exactly() -> None:
    model = Drawing()
    work = a_workload(model, torch.randn(3, 4))
    found = judged(work, drawing_otherwise(model, lambda y, drawn, fixed: (y, drawn, fixed + 1)))
    assert (found.is_right, found.worst) == (False, "output[2]")
    off = judged(work, drawing_otherwise(model, lambda y, drawn, fixed: (y * 1.1, drawn, fixed)))
    assert (off.is_right, off.worst) == (False, "output[0]")


@pytest.mark.parametrize("seldom", [0.5, 0.1])
def test_what_two_seeds_gave_alike_by_chance_is_no_accusation(seldom: float) -> None:
    class Coin(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.heads = 0

        def forward(self, x: torch.Tensor) -> Any:
            self.heads = int(torch.rand(()) < seldom)
            return self.linear(x) * torch.randn(()), torch.rand(9).argmax()

    model = Coin()

    def luckily(x: torch.Tensor) -> Any:
        """Draws until it falls as it fell in none of eager's two runs, where chance lets it."""
        y = model(x)
        model.heads = int(torch.rand(()) < seldom)
        return y[0], y[1]

    for _ in range(3):
        assert judged(a_workload(model, torch.randn(3, 4)), luckily).is_right


def test_a_shape_that_is_drawn_is_not_compared_and_the_rest_is() -> None:
    class Choosing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> Any:
            y = self.linear(x)
            return y[torch.rand(64) > 0.5], y

    model = Choosing()
    work = a_workload(model, torch.randn(64, 4))
    (note,) = notes_of(work, drawing_otherwise(model))
    assert note.startswith("output[0] changes its shape")
    found = judged(work, drawing_otherwise(model, lambda some, y: (some, y + 1)))
    assert (found.is_right, found.worst) == (False, "output[1]")


class OwnAdam(nn.Module):
    """Makes its optimizer in its first step, as case 31 does; its state is kept by parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(4, 4)
        self.opt: torch.optim.Adam | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            if self.opt is None:
                self.opt = torch.optim.Adam(self.net.parameters(), lr=0.1, foreach=False)
            loss = self.net(x).pow(2).mean()
            loss.backward()
            self.opt.step()
            self.opt.zero_grad()
        return loss.detach()


def test_what_is_kept_by_parameter_is_named_by_its_place_and_not_by_the_values_of_the_parameter() -> None:
    work = a_workload(OwnAdam(), torch.randn(2, 4))
    assert judged(work, work.model).is_right
    state, _ = stepped(work)
    assert "attribute opt.state[key 0]['exp_avg']" in state.written
