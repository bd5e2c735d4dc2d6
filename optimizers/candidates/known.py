"""From an id to its candidate: our own, those of other packages, registered backends, and combinations of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from optimizers.candidates import CANDIDATES
from optimizers.candidates.base import JOIN, Candidate
from optimizers.candidates.combine import combined
from optimizers.candidates.registered_backend import PREFIX, backend_candidate
from optimizers.candidates.third_party import ThirdParty, third_party


def known_candidates(extra_backends: Sequence[str] = ()) -> tuple[Candidate, ...]:
    """Every single candidate in the order of search: our own, those of other packages, then these backends."""
    backends = tuple(backend_candidate(name) for name in dict.fromkeys(extra_backends))
    return (*CANDIDATES, *_others().candidates, *backends)


def candidate_notes() -> tuple[str, ...]:
    """Which candidates of other packages were skipped, and why."""
    return _others().notes


def candidate_of(candidate_id: str) -> Candidate:
    """The candidate of this id, a combination included (`frozen+cuda_graphs`). Raises KeyError where there is none.

    The KeyError of parts that do not go together says why.
    """
    if candidate_id.startswith(PREFIX) and len(candidate_id) > len(PREFIX):
        return backend_candidate(candidate_id.removeprefix(PREFIX))
    names = candidate_id.split(JOIN)
    try:
        return combined([_single(name) for name in names])
    except ValueError as error:
        raise KeyError(f"{candidate_id}: {error}") from error


def _single(name: str) -> Candidate:
    found = next((candidate for candidate in CANDIDATES if candidate.id == name), None)
    found = found or next((candidate for candidate in _others().candidates if candidate.id == name), None)
    if found is None:
        raise KeyError(name)
    return found


@lru_cache(maxsize=1)
def _others() -> ThirdParty:
    # Kept: reading the metadata of every installed package takes milliseconds, and none is installed meanwhile.
    return third_party(candidate.id for candidate in CANDIDATES)
