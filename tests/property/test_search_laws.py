"""Whatever a lab measures, the search never chooses what those measurements do not show better, nor takes its time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.settings import Objective
from analyzer.core.trial import Change, Trial, TrialOutcome
from analyzer.core.verdict import Bound
from optimizers.candidates.base import JOIN
from optimizers.goal import needed_bytes
from optimizers.search import Aims, search
from optimizers.trials import Choices, Found, change, is_faster, speedup
from tests.unit.optimizers.fake_lab import ALL, FakeLab, a_target, kit, measured, wrong

MS = 1_000_000
GIB = 1 << 30

sizes = st.one_of(st.none(), st.integers(GIB, 8 * GIB))
trials = st.one_of(
    st.builds(
        lambda ns, spread, peak, seconds: replace(
            measured(ns, spread=spread), peak_bytes=peak, compile_ns=seconds * 10**9
        ),
        st.integers(MS, 20 * MS),
        st.sampled_from((0.001, 0.02, 0.4)),
        sizes,
        st.integers(0, 60),
    ),
    st.builds(wrong, st.integers(MS, 20 * MS)),
    # What was built is never said to be untried: the lab says so itself of what was not.
    st.sampled_from([Trial(o, "no") for o in TrialOutcome if o not in (TrialOutcome.MEASURED, TrialOutcome.UNTRIED)]),
)


@st.composite
def labs(draw: Any, left: Any = None) -> FakeLab:
    known: dict[tuple[tuple[str, str], ...], Trial] = {}

    def cost(choices: Choices) -> Trial:
        return known.setdefault(tuple(sorted(choices.items())), draw(trials))

    ratio = draw(st.dictionaries(st.sampled_from([c.id for c in ALL]), st.floats(0.0, 12.0)))
    return FakeLab(cost, left=None if left is None else draw(left), ratio=ratio)


targets = st.lists(
    st.builds(
        a_target,
        st.sampled_from("abcd"),
        share=st.floats(0.0, 1.0),
        starved=st.one_of(st.none(), st.floats(0.0, 1.0)),
        bound=st.sampled_from(list(Bound)),
        room=st.one_of(st.none(), st.floats(0.0, 1.0)),
    ),
    max_size=4,
    unique_by=lambda target: target.digest,
)
some = st.lists(st.sampled_from(ALL), min_size=1, unique=True)


def whole(found: Found, choices: Choices) -> Trial:
    """The measurement of exactly these choices."""
    alone = [t.trial for t in found.trials if {t.digest: t.candidate} == dict(choices)]
    return next(iter(alone + [j.trial for j in found.joint if dict(j.choices) == dict(choices)]))


@given(targets, some, labs(st.one_of(st.none(), st.floats(0.0, 300.0))))
@settings(deadline=None, max_examples=50)
def test_what_is_chosen_was_measured_as_a_whole_to_be_faster(graphs: Any, names: Any, lab: FakeLab) -> None:
    found = search(graphs, kit(*names), lab, Aims())
    if found.best:
        assert is_faster(whole(found, found.best))


@given(targets, some, labs())
@settings(deadline=None, max_examples=50)
def test_nothing_measured_beats_the_choice_by_more_than_a_tie(graphs: Any, names: Any, lab: FakeLab) -> None:
    found = search(graphs, kit(*names), lab, Aims())
    chosen = speedup(whole(found, found.best)) if found.best else 1.0
    measured_wholes = [t.trial for t in found.trials] + [j.trial for j in found.joint]
    fastest = max((speedup(t) for t in measured_wholes if is_faster(t)), default=1.0)
    assert chosen >= fastest * 0.99


@given(targets, some, labs(st.floats(0.0, 300.0)), st.sampled_from(list(Objective)), sizes)
@settings(deadline=None, max_examples=50)
def test_what_is_chosen_is_right_and_not_slower_whatever_is_aimed_at(
    graphs: Any, names: Any, lab: FakeLab, objective: Objective, limit: int | None
) -> None:
    found = search(graphs, kit(*names), lab, Aims(objective, limit))
    if found.best:
        trial = whole(found, found.best)
        assert trial.outcome is TrialOutcome.MEASURED
        assert change(trial) in (Change.FASTER, Change.SAME)
        needed = needed_bytes(trial)
        assert limit is None or needed is None or needed <= limit


@given(targets, some, labs(st.floats(0.0, 400.0)))
@settings(deadline=None, max_examples=50)
def test_the_time_is_exceeded_by_no_more_than_one_trial(graphs: Any, names: Any, lab: FakeLab) -> None:
    """A trial is a compilation, with what stands beside it built again, and its measurement."""
    search(graphs, kit(*names), lab, Aims())
    assert lab.left is not None
    assert lab.left >= -(lab.longest_rebuild_s + lab.longest_compile_s + lab.trial_s)


@given(targets, some, labs(st.one_of(st.none(), st.floats(0.0, 300.0))))
@settings(deadline=None, max_examples=50)
def test_every_graph_is_tried_with_everything_or_told_why_not(graphs: Any, names: Any, lab: FakeLab) -> None:
    found = search(graphs, kit(*names), lab, Aims())
    tried = {(t.digest, part) for t in found.trials for part in t.candidate.split(JOIN)}
    assert tried >= {(g.digest, c.id) for g in graphs if g.digest not in found.untried for c in names}
    for t in found.trials:
        assert t.trial.outcome is not TrialOutcome.UNTRIED or t.trial.reason


@given(targets, some, labs(st.one_of(st.none(), st.floats(0.0, 300.0))))
@settings(deadline=None, max_examples=50)
def test_nothing_is_measured_twice(graphs: Any, names: Any, lab: FakeLab) -> None:
    search(graphs, kit(*names), lab, Aims())
    asked = [tuple(sorted(one.items())) for one in lab.asked]
    assert len(asked) == len(set(asked))
