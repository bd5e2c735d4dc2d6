"""An old plan held against a model as it is now: what of it applies, and what has changed since it was made."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from analyzer.core.errors import UsageError
from analyzer.core.graphs import Graph, GraphKey
from analyzer.core.plan import FUSED, Choice, Plan
from analyzer.lab import PipelineLab
from analyzer.measured import NOT_VERIFIED, Measured
from optimizers.candidates.known import candidate_of
from optimizers.plan import RENEW, read_plan, release_of
from optimizers.plan_candidates import chosen_candidates


@dataclass(frozen=True, slots=True)
class Renewed:
    """The old choices for the graphs of today. `notes` say, a sentence each, where the two differ."""

    plan: Plan
    notes: tuple[str, ...]


def read_old_plan(path: str | None) -> Plan | None:
    """The plan to verify; None where none was asked for. Raises UsageError for one that cannot be carried out."""
    if path is None:
        return None
    plan = read_plan(path)
    chosen_candidates(plan)  # raises for an unknown one
    return plan


def renewed_plan(path: str, measured: Measured, lab: PipelineLab) -> Plan:
    """The plan in `path` for this model, ready to be verified; what differs is noted. Raises UsageError (`renewed`)."""
    found = renewed(read_plan(path), path, measured)
    measured.notes += found.notes
    lab.prepare({})  # on a GPU a process that never profiled, and a judge of results
    return replace(found.plan, note=NOT_VERIFIED)


def renewed(old: Plan, path: str, measured: Measured) -> Renewed:
    """`old` for the graphs that were captured now; one that it does not name takes the default.

    Raises UsageError where it names none of them: it is then the plan of another model, or of other input shapes.
    """
    assert measured.capture is not None
    graphs = measured.capture.graphs
    named = {choice.key: choice.candidate for choice in old.choices}
    _require_one_of(graphs, old, path, measured)
    default = measured.plan_of({}, is_compiled=old.is_compiled)
    refused = {key: reason for key, name in named.items() if (reason := _refusal(key, name, measured)) is not None}
    choices = tuple(_choice(choice, named, refused) for choice in default.choices)
    captured = {graph.key for graph in graphs}
    notes = (
        *_changes(old, default, path),
        *_unknown(graphs, named, path),
        *(f"{named[key]} for graph {key}: {reason}" for key, reason in refused.items() if key in captured),
        *_missing(captured, old, path),
    )
    return Renewed(replace(default, choices=choices), notes)


def require_this_model(path: str | None, measured: Measured) -> None:
    """Raises UsageError where the plan in `path` names none of the captured graphs: minutes before it would be tried.

    None: there is no plan. Where no graph was captured at all, that is what is to be said.
    """
    if path is not None and measured.capture is not None and measured.capture.graphs:
        _require_one_of(measured.capture.graphs, read_plan(path), path, measured)


def _require_one_of(graphs: Sequence[Graph], old: Plan, path: str, measured: Measured) -> None:
    named = {choice.key for choice in old.choices}
    if not any(graph.key in named for graph in graphs):
        raise UsageError(
            f"{path} names none of the graphs of {_name(measured)}: it is the plan of another model, or of other "
            "input shapes",
            hint=RENEW,
        )


def _choice(default: Choice, named: dict[GraphKey, str], refused: Collection[GraphKey]) -> Choice:
    candidate = named.get(default.key, FUSED)
    # A graph that torch's default cannot compile runs as captured, whatever the plan calls its default.
    return default if candidate == FUSED or default.key in refused else Choice(default.key, candidate)


def _refusal(key: GraphKey, name: str, measured: Measured) -> str | None:
    """Why a candidate cannot be had for a graph here, None where it can."""
    if measured.facts is None or measured.versions is None:
        return None
    candidate = candidate_of(name)
    if candidate.is_eager:
        return None  # it needs nothing, and of a training graph a plan names it for the backward too
    return candidate.refusal(measured.facts.device, key.direction, release_of(measured.versions.torch))


def _changes(old: Plan, now: Plan, path: str) -> list[str]:
    """What has changed around the model."""
    pairs = (("on", old.device, now.device), ("with torch", old.versions.torch, now.versions.torch))
    return [f"{path} was made {word} {then}; this is {today}" for word, then, today in pairs if then != today]


def _unknown(graphs: tuple[Graph, ...], named: dict[GraphKey, str], path: str) -> list[str]:
    return [
        f"{path} does not name graph {graph.key} ({graph.where or 'place unknown'}): it takes the default, {FUSED}"
        for graph in graphs
        if graph.key not in named
    ]


def _missing(captured: Collection[GraphKey], old: Plan, path: str) -> list[str]:
    gone = [str(choice.key) for choice in old.choices if choice.key not in captured]
    return [f"{path} names graphs that did not occur: {', '.join(gone)}"] if gone else []


def _name(measured: Measured) -> str:
    return measured.facts.name if measured.facts is not None else "this model"
