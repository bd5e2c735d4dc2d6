"""`analyzer.optimize`: a model compiled as its plan says, with no search and nothing left around a call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from analyzer.core.errors import UsageError
from analyzer.core.graphs import GraphKey
from analyzer.core.plan import Plan
from collectors import torch_compat
from collectors.device_cpu import cpu_name
from optimizers.backend import PlanBackend, candidate_of
from optimizers.candidates.base import Candidate
from optimizers.plan import RENEW, read_plan


def optimize(model: Callable[..., Any], plan: Plan | str | Path, *, strict: bool = True) -> Callable[..., Any]:
    """`torch.compile(model)` with each graph under the candidate that `plan` chose for it.

    A graph the plan does not know takes torch's default, and the first of them is warned of. Where the plan says that
    compiling does not help, `model` comes back as it is. Raises UsageError for a plan made on another device or torch
    release, unless `strict` is False, and for one that names a candidate this release does not have.
    """
    chosen = plan if isinstance(plan, Plan) else read_plan(Path(plan))
    if strict:
        _require_same_machine(chosen)
    _require_known_candidates(chosen)
    if not chosen.is_compiled:
        return model
    named = f"of {len(chosen.choices)} graphs" if isinstance(plan, Plan) else str(plan)
    return torch_compat.compiled_model(model, _WarningBackend(chosen, named))


class _WarningBackend(PlanBackend):
    """Warns once, as the first graph that the plan does not name is compiled: no call after that pays for it."""

    def __init__(self, plan: Plan, named: str) -> None:
        super().__init__(plan)
        self._named = named
        self._met = 0

    def _candidates(self, key: GraphKey) -> tuple[Candidate, Candidate]:
        known = len(self.unknown)
        found = super()._candidates(key)
        self._met += len(self.unknown) == known
        if known == 0 and self.unknown:
            warnings.warn(_unknown_graph(self._named, self.unknown[0], self._met), UserWarning, stacklevel=2)
        return found


def _unknown_graph(named: str, digest: str, met: int) -> str:
    so_far = f"{met} of its graphs have occurred" if met else "none of its graphs has occurred"
    other = "" if met else "; is it the plan of another model, or of other input shapes?"
    return (
        f"the plan {named} does not name the graph {digest}, which takes torch.compile's default, as every other will "
        f"that it does not name; so far {so_far}{other}"
    )


def _require_same_machine(plan: Plan) -> None:
    here = [cpu_name()] + ([torch.cuda.get_device_name()] if torch.cuda.is_available() else [])
    if plan.device not in here:
        found = " and ".join(here)
        raise UsageError(f"the plan was made on {plan.device}, this is {found}", hint=f"{RENEW}, or pass strict=False")
    made, running = _release(plan.versions.torch), _release(torch.__version__)
    if made != running:
        raise UsageError(
            f"the plan was made with torch {made}, this is {running}", hint=f"{RENEW}, or pass strict=False"
        )


def _require_known_candidates(plan: Plan) -> None:
    for choice in plan.choices:
        try:
            candidate_of(choice.candidate)
        except KeyError:
            raise UsageError(f"the plan asks for an unknown candidate, {choice.candidate!r}", hint=RENEW) from None


def _release(version: str) -> str:
    return ".".join(version.split("+")[0].split(".")[:2])
