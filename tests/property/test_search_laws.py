"""Whatever a lab measures, the search never chooses what those measurements do not show faster."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.trial import Trial, TrialOutcome
from optimizers.search import Choices, Found, is_faster, search, speedup
from tests.unit.optimizers.fake_lab import FakeLab, a_target, measured, wrong

CANDIDATES = ("cuda_graphs", "eager", "cpp_wrapper")
MS = 1_000_000

trials = st.one_of(
    st.builds(measured, st.integers(MS, 20 * MS), spread=st.sampled_from((0.001, 0.02, 0.4))),
    st.builds(wrong, st.integers(MS, 20 * MS)),
    st.sampled_from([Trial(o, "no") for o in TrialOutcome if o not in (TrialOutcome.MEASURED,)]),
)


@st.composite
def labs(draw: Any) -> FakeLab:
    known: dict[tuple[tuple[str, str], ...], Trial] = {}

    def cost(choices: Choices) -> Trial:
        return known.setdefault(tuple(sorted(choices.items())), draw(trials))

    return FakeLab(cost)


targets = st.lists(
    st.builds(
        a_target,
        st.sampled_from("abcd"),
        share=st.floats(0.0, 1.0),
        starved=st.one_of(st.none(), st.floats(0.0, 1.0)),
    ),
    max_size=4,
    unique_by=lambda target: target.digest,
)
stages = st.lists(st.sampled_from(CANDIDATES), unique=True, max_size=3).map(lambda names: [(name,) for name in names])


def whole(found: Found, choices: Choices) -> Trial:
    """The measurement of exactly these choices."""
    alone = [t.trial for t in found.trials if {t.digest: t.candidate} == dict(choices)]
    return next(iter(alone + [j.trial for j in found.joint if dict(j.choices) == dict(choices)]))


@given(targets, stages, labs())
@settings(deadline=None)
def test_what_is_chosen_was_measured_as_a_whole_to_be_faster(graphs: Any, names: Any, lab: FakeLab) -> None:
    found = search(graphs, names, lab)
    if found.best:
        assert is_faster(whole(found, found.best))


@given(targets, stages, labs())
@settings(deadline=None)
def test_nothing_measured_beats_the_choice_by_more_than_a_tie(graphs: Any, names: Any, lab: FakeLab) -> None:
    found = search(graphs, names, lab)
    chosen = speedup(whole(found, found.best)) if found.best else 1.0
    measured_wholes = [t.trial for t in found.trials] + [j.trial for j in found.joint]
    fastest = max((speedup(t) for t in measured_wholes if is_faster(t)), default=1.0)
    assert chosen >= fastest * 0.99


@given(targets, stages, labs())
@settings(deadline=None)
def test_every_graph_is_tried_with_everything_or_named_untried(graphs: Any, names: Any, lab: FakeLab) -> None:
    found = search(graphs, names, lab)
    tried = {(t.digest, t.candidate) for t in found.trials}
    expected = {(g.digest, c) for g in graphs if g.digest not in found.untried for (c,) in names}
    assert tried == expected
