"""The first line of what a check says: how many gates failed, and the worst of it at its line."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analyzer.core import quantities
from analyzer.core.gate import GateCheck, GateStatus, GateUnit, ModelGate
from analyzer.core.gate_number import seen_share
from analyzer.gate.gates import GATES, gate
from analyzer.gate.reading import Sources


def gate_headline(
    models: Sequence[ModelGate],
    sources: Sources,
    against: str | None,
    *,
    is_accepted: bool = False,
    has_new_file: bool = False,
) -> str:
    """`1 new graph break: +1.9 ms a step, model.py:41`, or that nothing is past its limit. `is_accepted`: values were
    stored as they are, and held against none. `has_new_file`: values that are better can be accepted, as those held
    against a commit or a run cannot.
    """
    for wanted in ("failures", "warnings"):
        found = [(model, check) for model in models for check in getattr(model, wanted)]
        errors = [model for model in models if model.error is not None] if wanted == "failures" else []
        if errors:
            return _named(models, errors[0], f"could not be checked: {errors[0].error}")
        if found:
            model, worst = min(found, key=lambda pair: _rank(pair[1]))
            others = len(found) - 1
            more = f" (and {others} more)" if others else ""
            unseen = _unseen(models) if wanted == "warnings" else ""
            return _named(models, model, f"{_short(worst, sources)}{more}{unseen}")
    improved = [check for model in models for check in model.checks if check.status is GateStatus.IMPROVED]
    if improved:
        better = f"and {len(improved)} of it is better"
        if has_new_file:
            return f"nothing is past its limit, {better}: accept the new file{_unseen(models)}"
        return f"nothing is past its limit, against {against}, {better}{_unseen(models)}"
    if is_accepted:
        return "nothing is past a written limit, and the values are stored as they are"
    if against is None:
        return "nothing to compare with yet: there is no baseline of it"
    return f"nothing is past its limit, against {against}{_unseen(models)}"


def _unseen(models: Sequence[ModelGate]) -> str:
    """What a pass does not say: of times that were compared, and told nothing, below which size a slow-down may hide;
    of all sizes, where it is not known.
    """
    untold = [
        (model.name, check.seen)
        for model in models
        for check in model.checks
        if check.unit is GateUnit.NS and check.baseline is not None and check.status is GateStatus.NOT_COMPARED
    ]
    if not untold:
        return ""
    name, seen = max(untold, key=lambda each: math.inf if each[1] is None else each[1])
    of = f" of {name}" if len(models) > 1 else ""
    below = "" if seen is None else f" below {seen_share(seen)}"
    return f"; a slow-down{of}{below} may have gone unseen"


def _named(models: Sequence[ModelGate], model: ModelGate, text: str) -> str:
    return text if len(models) == 1 else f"{model.name}: {text}"


def _rank(check: GateCheck) -> tuple[int, int, int, int]:
    """What names a line says most, a broken gate least, as its number is not known."""
    place = [one.id for one in GATES].index(check.gate)
    return int(check.status is GateStatus.BROKEN), 0 if check.where else 1, -(check.ns_per_step or 0), place


def _short(check: GateCheck, sources: Sources) -> str:
    """One check in a line of its own."""
    judged = gate(check.gate)
    if check.unit is not GateUnit.COUNT or check.measured is None or check.baseline is None:
        return check.message
    more = check.measured - check.baseline
    if more <= 0:
        return check.message
    text = f"{quantities.count(more)} new {judged.one if more == 1 else judged.many}"
    if check.ns_per_step is not None:
        text += f": up to +{quantities.duration(check.ns_per_step)} a step"
    if check.where is not None:
        text += f", {sources.path(check.where.file)}:{check.where.line}"
    return text
