"""Candidates that other packages bring: found by their entry point; a broken one costs itself alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from optimizers.candidates import CANDIDATES, known
from optimizers.candidates.base import Axis, Candidate
from optimizers.candidates.known import candidate_notes, candidate_of, known_candidates
from optimizers.candidates.third_party import GROUP

MODULE = """
from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

GOOD = Candidate("their_tuning", "fusion + theirs", (*PYTHON_LAUNCH, ("shape_padding", True)), axis=Axis.KERNELS)
TAKEN = Candidate("fused", "not the fused one")
JOINED = Candidate("a+b", "a joined id")
NONE = "no candidate"
"""
ENTRY_POINTS = f"""
[{GROUP}]
bad_import = their_broken_package:CANDIDATE
good = their_package:GOOD
joined = their_package:JOINED
missing = their_package:MISSING
not_one = their_package:NONE
taken = their_package:TAKEN
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution with one good candidate and five that cannot be had."""
    (tmp_path / "their_package.py").write_text(MODULE)
    (tmp_path / "their_broken_package.py").write_text("raise RuntimeError('no licence')")
    info = tmp_path / "their_package-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    known._others.cache_clear()
    yield
    known._others.cache_clear()


@pytest.mark.usefixtures("installed")
def test_a_good_one_is_a_candidate_like_ours() -> None:
    theirs = candidate_of("their_tuning")
    assert theirs in known_candidates()
    assert [c.id for c in known_candidates()] == [*(c.id for c in CANDIDATES), "their_tuning"]
    both = candidate_of("their_tuning+cuda_graphs")
    assert dict(both.patches)["shape_padding"] is True
    assert both.uses_cuda_graphs


@pytest.mark.usefixtures("installed")
def test_each_broken_one_is_reported_with_its_package_and_skipped() -> None:
    notes = {note.split("'")[1]: note for note in candidate_notes()}
    assert set(notes) == {"bad_import", "joined", "missing", "not_one", "taken"}
    assert all("of their-package 1.2 was skipped" in note for note in notes.values())
    assert "RuntimeError: no licence" in notes["bad_import"]
    assert "AttributeError" in notes["missing"]
    assert "of type str" in notes["not_one"]
    assert "a candidate 'fused' already" in notes["taken"]
    assert "hold '+'" in notes["joined"]
    assert candidate_of("fused") is CANDIDATES[0]


def test_without_such_a_package_there_are_ours_alone() -> None:
    known._others.cache_clear()
    assert known_candidates() == CANDIDATES
    assert candidate_notes() == ()
    with pytest.raises(KeyError):
        candidate_of("their_tuning")


def test_a_third_partys_candidate_needs_little() -> None:
    assert Candidate("mine", "mine").axis is Axis.ALONE
