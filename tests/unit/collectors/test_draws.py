"""What one step draws is given again, number for number, to one in wider types."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from collectors.draws import Draws, Recording, Replay

X = torch.linspace(0.1, 0.9, 64)


def recorded(step: Callable[[], object]) -> Draws | None:
    recording = Recording()
    with recording:
        step()
    return recording.draws


def bernoulli() -> torch.Tensor:
    return torch.bernoulli(X)


def filled() -> torch.Tensor:
    return torch.empty(64).uniform_(2, 3).add_(torch.empty(64).exponential_())


def whole() -> torch.Tensor:
    return torch.randint(0, 9, (64,)) + torch.randperm(64) + torch.multinomial(X, 64, replacement=True)


@pytest.mark.parametrize("draw", [bernoulli, filled, whole, lambda: torch.rand(64) + torch.randn(64)])
def test_drawing_again_after_other_draws_gives_what_was_recorded(draw: Callable[[], torch.Tensor]) -> None:
    from collectors.reference import _Widen

    first: list[torch.Tensor] = []
    draws = recorded(lambda: first.append(draw()))
    assert draws is not None
    replay = Replay(draws)
    with _Widen(torch.float64, replay):
        again = draw()
    assert replay.is_true
    torch.testing.assert_close(again, first[0].to(again.dtype))


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_a_dropout_leaves_the_same_elements_of_other_values(p: float) -> None:
    from collectors.reference import _Widen

    draws = recorded(lambda: F.dropout(X, p))
    assert draws is not None
    masks = [draw.values != 0 for draw in draws]
    replay = Replay(draws)
    with _Widen(torch.float64, replay):
        left = F.dropout(X.double() * 2, p)
    assert replay.is_true
    kept = masks[0] if masks else torch.ones(64, dtype=torch.bool)
    want = torch.where(kept, X.double() * 2 / (1 - p), 0.0) if p < 1 else torch.zeros(64).double()
    torch.testing.assert_close(left, want)


def test_native_dropout_is_given_its_mask() -> None:
    first: list[torch.Tensor] = []
    draws = recorded(lambda: first.append(torch.native_dropout(X, 0.5, True)[0]))
    assert draws is not None
    dropout, wide = torch.ops.aten.native_dropout.default, (X.double(), 0.5, True)
    out, mask = Replay(draws).given(dropout, wide, {}, dropout(*wide))
    torch.testing.assert_close(out, first[0].double())
    assert torch.equal(mask, first[0] != 0)


@pytest.mark.parametrize("other", [lambda: torch.randn(64), lambda: (torch.rand(64), torch.rand(1)), lambda: None])
def test_a_step_that_draws_otherwise_is_no_replay(other: Callable[[], object]) -> None:
    from collectors.reference import _Widen

    draws = recorded(lambda: torch.rand(64))
    assert draws is not None
    replay = Replay(draws)
    with _Widen(torch.float64, replay):
        other()
    assert not replay.is_true


def test_what_is_drawn_within_an_attention_is_not_known() -> None:
    step = torch.library.custom_op("graphbound_test::noisy", mutates_args=())(noisy)
    assert recorded(lambda: step(X)) == ()  # an operator that does not say that it draws is taken at its word
    torch.library.define("graphbound_test::honest", "(Tensor x) -> Tensor", tags=torch.Tag.nondeterministic_seeded)
    torch.library.impl("graphbound_test::honest", "CPU")(noisy)
    assert recorded(lambda: torch.ops.graphbound_test.honest(X)) is None


def noisy(x: torch.Tensor) -> torch.Tensor:
    with torch._C._DisableTorchDispatch():
        return x + torch.rand(64)


def test_a_step_that_draws_nothing_records_nothing() -> None:
    assert recorded(lambda: X.sin()) == ()
