"""The Python numbers of a model are found by path and compared by type and value."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from collectors.kept_numbers import Numbers, are_alike, as_tensor, is_number, kept_numbers
from tests.workloads import a_workload


@dataclass
class Cache:
    length: int = 0
    rows: list[torch.Tensor] = field(default_factory=list)


@dataclass(slots=True)
class Slotted:
    share: float = 0.5


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.calls = 3
        self.is_ready = True
        self.turn = 1j
        self.recent = deque([0.5, 0.25])
        self.mixed = [1, 2.0, "three", None]
        self.by_name = {"n": 1, "deeper": (2, [3])}
        self.cache = Cache(7)
        self.slot = Slotted()
        self.name = "counting"
        self.of_numpy = np.float64(2.0)
        self.table = torch.ones(2)
        self.own_type = int

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def test_every_number_is_found_by_its_path_and_what_is_none_is_not() -> None:
    found = kept_numbers(a_workload(Counting(), torch.ones(1)))
    own = {path: one for path, one in found.items() if not path.startswith("number inner.")}
    assert own == {
        "number calls": 3,
        "number is_ready": True,
        "number turn": 1j,
        "number recent": (0.5, 0.25),
        "number mixed[0]": 1,
        "number mixed[1]": 2.0,
        "number by_name['n']": 1,
        "number by_name['deeper'][0]": 2,
        "number by_name['deeper'][1]": (3,),
        "number cache.length": 7,
        "number slot.share": 0.5,
    }
    assert found["number inner.in_features"] == 2
    assert all(is_number(path) for path in found)


def test_what_lies_in_an_input_is_found_and_of_a_function_nothing() -> None:
    work = a_workload(lambda x, cache: x, {"x": torch.ones(1), "cache": Cache(2)})
    assert kept_numbers(work) == {"number input cache.length": 2}


@pytest.mark.parametrize(
    "number", [True, 0, -1, 2**62, -(2**63), 0.1, 1e300, float("inf"), 2 - 1j, (1, 2), (0.5,), (True, False)]
)
def test_a_number_is_a_tensor_of_the_same_value(number: Numbers) -> None:
    held = as_tensor(number)
    assert held.tolist() == (list(number) if isinstance(number, tuple) else number)
    assert held.device.type == "cpu"


def test_whole_numbers_beyond_64_bits_are_told_apart() -> None:
    large = [2**63, 2**63 + 1, 2**64 - 1, -(2**70), 10**30]
    assert len({as_tensor(one).item() for one in large}) == len(large)
    assert torch.equal(as_tensor(10**30), as_tensor(10**30))


@pytest.mark.parametrize(
    ("left", "right", "is_so"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, True, False),
        (1, 1.0, False),
        (float("nan"), float("nan"), True),
        ((1, 2), (1, 2), True),
        ((1, 2), (1, 2, 3), False),
        ((1,), 1, False),
    ],
)
def test_numbers_are_alike_in_type_and_value(left: Numbers, right: Numbers, is_so: bool) -> None:
    assert are_alike(left, right) is is_so
    assert are_alike(right, left) is is_so


NUMBERS = st.one_of(st.booleans(), st.integers(-(2**80), 2**80), st.floats(), st.complex_numbers())


@given(NUMBERS, NUMBERS)
def test_what_is_alike_makes_equal_tensors_and_what_is_not_makes_others(left: Numbers, right: Numbers) -> None:
    one, other = as_tensor(left), as_tensor(right)
    are_nan = bool(torch.isnan(one).all() and torch.isnan(other).all())
    is_equal = one.dtype == other.dtype and (torch.equal(one, other) or are_nan)
    assert is_equal is are_alike(left, right)
    assert are_alike(left, left)


def test_the_mark_that_torch_leaves_on_a_part_that_it_compiled_is_no_number_of_the_models() -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    torch.compile(model[0], backend="eager")
    assert set(kept_numbers(a_workload(model, torch.ones(1, 2)))) == {"number 0.in_features", "number 0.out_features"}
