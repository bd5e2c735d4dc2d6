"""Inputs that a step uses up are named; those that last are not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.errors import UsageError
from analyzer.session import Session
from collectors.spent_inputs import spent_inputs
from collectors.workload import InputSet, Workload


def spent(*args: Any, **kwargs: Any) -> tuple[str, ...]:
    return spent_inputs((InputSet(args, kwargs),))


def used(iterator: Iterator[Any]) -> Iterator[Any]:
    list(iterator)
    return iterator


@pytest.mark.parametrize(
    "make",
    [lambda: (n for n in range(3)), lambda: map(abs, [1, 2]), lambda: iter([1]), lambda: zip([1], [2], strict=True)],
    ids=["generator", "map", "list's iterator", "zip"],
)
def test_any_iterator_that_was_run_through_is_spent(make: Callable[[], Iterator[Any]]) -> None:
    assert spent(used(make())) == ("0",)
    assert spent(make()) == ()


def test_an_iterator_inside_another_input_is_named_by_its_place() -> None:
    assert spent(1, [2, used(iter([1]))], x={"y": used(iter([1]))}) == ("1[1]", "x['y']")


def test_what_can_be_gone_through_again_and_what_never_ends_is_not() -> None:
    assert spent(torch.ones(2), [torch.ones(1)], "text", range(3), itertools.cycle([1])) == ()


class _Summed(nn.Module):
    def forward(self, xs: Any) -> torch.Tensor:
        return torch.stack([x * 2 for x in xs] or [torch.zeros(2)]).sum()


def test_a_run_on_inputs_that_its_first_step_used_up_is_refused() -> None:
    given = Workload.of(_Summed(), ((torch.ones(2) for _ in range(3)),))
    session = Session(given, lambda event: None)
    with pytest.raises(UsageError, match="input 0 gives nothing after the first step") as refused:
        session.start()
    assert "list" in (refused.value.hint or "")
    Session(Workload.of(_Summed(), ([torch.ones(2)],)), lambda event: None).start()
