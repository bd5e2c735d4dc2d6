"""`analyzer.optimize`: a model compiled as its plan says, with no search, and nothing left around a call of a module.

Imports torch, what compiles a graph under a candidate, and no package beside: production installs this and torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from analyzer.core.errors import UsageError
from analyzer.core.plan import Plan
from collectors import torch_compat
from collectors.callables import require_callable
from collectors.cpu_name import cpu_name
from collectors.model_digest import model_digest
from optimizers.candidates.base import Candidate, release_text
from optimizers.candidates.fused import FUSED
from optimizers.first_call import watching_first_call
from optimizers.plan import RENEW, read_plan, release_of, shown
from optimizers.plan_backend import ReportingBackend
from optimizers.plan_candidates import chosen_candidates

BUCKETS: Final = (
    "torch cuts the graphs of a DistributedDataParallel at its gradient buckets: make the plan with the model wrapped "
    "as it is here, or turn that off (torch._dynamo.config.optimize_ddp = False)"
)

_ANYWAY: Final = f"{RENEW}, or pass strict=False"


def optimize(model: Callable[..., Any], plan: Plan | str | Path, *, strict: bool = True) -> Callable[..., Any]:
    """`torch.compile(model)` with each graph under the candidate that `plan` chose for it.

    A graph the plan does not know takes torch's default, and the first of them is warned of. Where the plan says that
    compiling does not help, `model` comes back as it is. Raises UsageError for a plan made for a model of other
    parameters, on another device or torch release, unless `strict` is False, and for one that names a candidate or a
    backend this installation does not have; UnreadableFileError, a UsageError, for a file that is no plan or was
    changed.
    """
    named = f"the plan of {len(plan.choices)} graphs" if isinstance(plan, Plan) else f"the plan {plan}"
    chosen = plan if isinstance(plan, Plan) else read_plan(Path(plan))
    if strict:
        _require_same_machine(chosen, named)
        _require_same_model(chosen, model, named)
    candidates = chosen_candidates(chosen)
    if not chosen.is_compiled:
        return model
    require_callable(model, "the model")
    wanted = {candidate.id: candidate for candidate in candidates.values()}
    _require_backends(wanted.values(), named)
    had: dict[str, Candidate] = {}
    for name, candidate in wanted.items():  # no comprehension, whose frame a warning would take for the caller's
        had[name] = _had_here(candidate, named)
    choices = {graph: had[candidate.id] for graph, candidate in candidates.items()}
    backend = ReportingBackend(choices, FUSED, named, _cut_otherwise(model))
    compiled = torch_compat.compiled_model(model, backend)
    return watching_first_call(compiled, backend, named) if chosen.choices else compiled


def _cut_otherwise(model: object) -> str | None:
    """Why torch may cut this model into other graphs than it cut the plan's; None where it does not."""
    if isinstance(model, nn.Module) and any(isinstance(one, DistributedDataParallel) for one in model.modules()):
        return BUCKETS
    return None


def _require_backends(candidates: Iterable[Candidate], named: str) -> None:
    """Before the first call: Dynamo would raise in the middle of it, and name our backend in place of the plan's."""
    wanted = dict.fromkeys(candidate.backend for candidate in candidates if candidate.backend is not None)
    known = torch.compiler.list_backends(exclude_tags=None) if wanted else ()
    for backend in wanted:
        if backend not in known:
            raise UsageError(
                f"{named} wants the torch.compile backend {shown(backend)}, which is not registered here",
                hint=f"import or install what registers it, or {RENEW}",
            )


def _had_here(candidate: Candidate, named: str) -> Candidate:
    """The candidate, or the default with a warning where no device here or this torch has it (`strict` False)."""
    devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    direction, release = candidate.directions[0], release_of(torch.__version__)
    reasons = [candidate.refusal(device, direction, release) for device in devices]
    if None in reasons:
        return candidate
    text = f"{named} wants {candidate.id}, in place of which torch.compile's default is taken: {reasons[-1]}"
    warnings.warn(text, UserWarning, stacklevel=3)
    return FUSED


def _require_same_machine(plan: Plan, named: str) -> None:
    here = [cpu_name()] + ([torch.cuda.get_device_name()] if torch.cuda.is_available() else [])
    if plan.device not in here:
        found = " and ".join(here)
        raise UsageError(f"{named} was made on {shown(plan.device)}, this is {found}", hint=_ANYWAY)
    made, running = release_of(plan.versions.torch), release_of(torch.__version__)
    if made != running:
        then = release_text(made) if made != release_of("") else shown(plan.versions.torch)
        raise UsageError(f"{named} was made with torch {then}, this is {release_text(running)}", hint=_ANYWAY)


def _require_same_model(plan: Plan, model: Callable[..., Any], named: str) -> None:
    here = model_digest(model)
    if plan.model is not None and here is not None and plan.model != here:
        raise UsageError(f"{named} was made for another model: its parameters have other shapes or types", hint=_ANYWAY)
