"""`analyzer.optimize`: a model compiled as its plan says, with no search and nothing left around a call.

Imports torch, what compiles a graph under a candidate, and no package beside: production installs this and torch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch

from analyzer.core.errors import UsageError
from analyzer.core.plan import Plan
from collectors import torch_compat
from collectors.cpu_name import cpu_name
from collectors.model_digest import model_digest
from optimizers.candidates.base import release_text
from optimizers.candidates.fused import FUSED
from optimizers.plan import RENEW, read_plan, release_of
from optimizers.plan_backend import ReportingBackend
from optimizers.plan_candidates import chosen_candidates

_ANYWAY: Final = f"{RENEW}, or pass strict=False"


def optimize(model: Callable[..., Any], plan: Plan | str | Path, *, strict: bool = True) -> Callable[..., Any]:
    """`torch.compile(model)` with each graph under the candidate that `plan` chose for it.

    A graph the plan does not know takes torch's default, and the first of them is warned of. Where the plan says that
    compiling does not help, `model` comes back as it is. Raises UsageError for a plan made for a model of other
    parameters, on another device or torch release, unless `strict` is False, and for one that names a candidate this
    installation does not have; UnreadableFileError, a UsageError, for a file that is no plan or was changed.
    """
    named = f"the plan of {len(plan.choices)} graphs" if isinstance(plan, Plan) else f"the plan {plan}"
    chosen = plan if isinstance(plan, Plan) else read_plan(Path(plan))
    if strict:
        _require_same_machine(chosen, named)
        _require_same_model(chosen, model, named)
    candidates = chosen_candidates(chosen)
    if not chosen.is_compiled:
        return model
    return torch_compat.compiled_model(model, ReportingBackend(candidates, FUSED, named))


def _require_same_machine(plan: Plan, named: str) -> None:
    here = [cpu_name()] + ([torch.cuda.get_device_name()] if torch.cuda.is_available() else [])
    if plan.device not in here:
        found = " and ".join(here)
        raise UsageError(f"{named} was made on {plan.device}, this is {found}", hint=_ANYWAY)
    made, running = release_of(plan.versions.torch), release_of(torch.__version__)
    if made != running:
        raise UsageError(
            f"{named} was made with torch {release_text(made)}, this is {release_text(running)}", hint=_ANYWAY
        )


def _require_same_model(plan: Plan, model: Callable[..., Any], named: str) -> None:
    here = model_digest(model)
    if plan.model is not None and here is not None and plan.model != here:
        raise UsageError(f"{named} was made for another model: its parameters have other shapes or types", hint=_ANYWAY)
