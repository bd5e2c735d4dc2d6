"""The random numbers of one step: recorded in one run, and given again in one whose wider types would draw others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import torch

from collectors.torch_compat import DispatchMode

_DRAWING: Final = frozenset(
    f"aten::{name}{place}"
    for name in (
        *("rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm"),
        *("bernoulli", "uniform", "normal", "exponential", "cauchy", "log_normal", "geometric", "random"),
        *("poisson", "binomial", "multinomial", "_standard_gamma", "_sample_dirichlet"),
    )
    for place in ("", "_")
)
"""Operators whose whole result is what was drawn."""

_DROPOUT: Final = "aten::native_dropout"
"""It gives what is left, and what was drawn: which elements those are."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One operator that drew, and what it gave: of a dropout the mask."""

    operator: str
    values: torch.Tensor


Draws = tuple[Draw, ...]


class Recording(DispatchMode):  # type: ignore[no-untyped-call]
    """Notes what a step draws, and changes nothing of it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._draws: list[Draw] = []
        self._is_whole = True

    @property
    def draws(self) -> Draws | None:
        """In their order; None where an operator drew within what it computes, such as attention with a dropout."""
        return tuple(self._draws) if self._is_whole else None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = _operator(func)
        is_known = name in _DRAWING or name == _DROPOUT
        may_draw = not is_known and torch.Tag.nondeterministic_seeded in func.tags
        before = _states() if may_draw else ()
        result = func(*args, **(kwargs or {}))
        if is_known:
            self._draws.append(Draw(name, (result[1] if name == _DROPOUT else result).detach().clone()))
        elif may_draw:
            self._is_whole &= all(torch.equal(a, b) for a, b in zip(before, _states(), strict=True))
        return result


class Replay:
    """Gives recorded draws in the place of new ones. `is_true` until a step asks for what was not recorded."""

    def __init__(self, draws: Draws) -> None:
        self._left = list(reversed(draws))
        self._is_true = True

    @property
    def is_true(self) -> bool:
        """Whether all that was asked for so far was given; once the step is over: and nothing was left."""
        return self._is_true and not self._left

    def given(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        """What an operator is to give that has just run and given `result`: the same where it draws nothing, or other
        things than were recorded.
        """
        name = _operator(func)
        if name not in _DRAWING and name != _DROPOUT:
            return result
        draw = self._left.pop() if self._left else None
        own = result[1] if name == _DROPOUT else result
        if draw is None or draw.operator != name or draw.values.shape != own.shape:
            self._is_true, self._left = False, []
            return result
        if name == _DROPOUT:
            return _left_by(draw.values, *args, **kwargs)
        return own.copy_(draw.values)


def _left_by(
    mask: torch.Tensor, value: torch.Tensor, p: float, train: bool | None
) -> tuple[torch.Tensor, torch.Tensor]:
    if train is False:
        return value.clone(), mask.clone()
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return value * mask * scale, mask.clone()


def _operator(func: Any) -> str:
    return str(func.name()).partition(".")[0]


def _states() -> tuple[torch.Tensor, ...]:
    on_gpu = (torch.cuda.get_rng_state(),) if torch.cuda.is_available() else ()
    return torch.get_rng_state(), *on_gpu
