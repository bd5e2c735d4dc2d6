"""What the candidates of a plan are, on this installation. Imports no torch."""

from __future__ import annotations

from analyzer.core.errors import UsageError
from analyzer.core.graphs import Direction
from analyzer.core.plan import Plan
from optimizers.candidates.base import Candidate
from optimizers.candidates.known import candidate_of
from optimizers.plan import RENEW, shown


def chosen_candidates(plan: Plan) -> dict[tuple[str, Direction], Candidate]:
    """The candidate of each graph, by its digest and direction; equal ids are one object.

    Raises UsageError for a candidate that this installation does not have.
    """
    found = {name: _candidate(name) for name in dict.fromkeys(choice.candidate for choice in plan.choices)}
    return {(choice.key.digest, choice.key.direction): found[choice.candidate] for choice in plan.choices}


def _candidate(name: str) -> Candidate:
    try:
        return candidate_of(name)
    except KeyError:
        raise UsageError(f"the plan asks for an unknown candidate, {shown(name)}", hint=RENEW) from None
