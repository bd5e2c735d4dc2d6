"""Candidates of other packages: each an entry point of the group `graphbound.candidates` that is a Candidate.

In the other package's pyproject.toml:

    [project.entry-points."graphbound.candidates"]
    my_candidate = "my_package.my_module:MY_CANDIDATE"
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from optimizers.candidates.base import JOIN, Candidate
from optimizers.candidates.registered_backend import PREFIX

GROUP: Final = "graphbound.candidates"


@dataclass(frozen=True, slots=True)
class ThirdParty:
    """`notes` say, a sentence each, which entry points were skipped and why."""

    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...]


def third_party(taken: Iterable[str]) -> ThirdParty:
    """What installed packages bring. One that cannot be loaded or whose id is `taken` is skipped with a note."""
    ids = set(taken)
    found: list[Candidate] = []
    notes: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        candidate = _loaded(point)
        problem = candidate if isinstance(candidate, str) else _problem(candidate, ids)
        if isinstance(candidate, str) or problem is not None:
            notes.append(f"the candidate {point.name!r}{_origin(point)} was skipped: {problem}")
            continue
        ids.add(candidate.id)
        found.append(candidate)
    return ThirdParty(tuple(found), tuple(notes))


def _loaded(point: EntryPoint) -> Candidate | str:
    """The candidate, or why there is none."""
    try:
        loaded = point.load()
    except Exception as error:  # a package of others may raise anything as it is imported
        return f"{point.value} could not be loaded: {type(error).__name__}: {error}"
    if not isinstance(loaded, Candidate):
        return f"{point.value} is no Candidate, but of type {type(loaded).__name__}"
    return loaded


def _problem(candidate: Candidate, ids: set[str]) -> str | None:
    if candidate.id in ids:
        return f"there is a candidate {candidate.id!r} already"
    if not candidate.id or JOIN in candidate.id or candidate.id.startswith(PREFIX):
        return f"{candidate.id!r} is no id: it must not be empty, hold {JOIN!r} or begin with {PREFIX!r}"
    return None


def _origin(point: EntryPoint) -> str:
    return f" of {point.dist.name} {point.dist.version}" if point.dist is not None else ""
