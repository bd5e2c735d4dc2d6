"""The search chooses what it measured to be faster, as a whole, and nothing else."""

from __future__ import annotations

import pytest

from analyzer.core.trial import Trial, TrialOutcome
from analyzer.derive.compare import MIN_CHANGE
from optimizers.search import MAX_GRAPHS, JointTrial, is_faster, search, speedup, worth_trying
from tests.unit.optimizers.fake_lab import DEFAULT_NS, FakeLab, a_target, additive, measured, wrong

MS = 1_000_000
STAGES = (("cuda_graphs", "eager"), ("cpp_wrapper",))


def test_each_graph_gets_its_best_and_all_together_are_measured() -> None:
    savings = {("a", "cuda_graphs"): 2 * MS, ("a", "cpp_wrapper"): MS, ("b", "cpp_wrapper"): 3 * MS}
    lab = FakeLab(additive(savings))
    found = search((a_target("a"), a_target("b")), STAGES, lab)
    assert found.best == {"a": "cuda_graphs", "b": "cpp_wrapper"}
    assert {"a": "cuda_graphs", "b": "cpp_wrapper"} in lab.asked
    assert found.joint[0].name == "best of each graph"
    assert len(found.trials) == 6
    assert found.untried == ()


def test_where_nothing_helps_nothing_is_chosen() -> None:
    found = search((a_target("a"), a_target("b")), STAGES, FakeLab(lambda _: measured(DEFAULT_NS)))
    assert found.best == {}
    assert all(t.trial.outcome is TrialOutcome.MEASURED for t in found.trials)


def test_wins_alone_that_lose_together_are_not_put_together() -> None:
    def cost(choices: object) -> Trial:
        alone = {"a": 8 * MS, "b": 9 * MS}
        assert isinstance(choices, dict)
        return measured(12 * MS) if len(choices) > 1 else measured(alone[next(iter(choices))])

    found = search((a_target("a"), a_target("b")), (("eager",),), FakeLab(cost))
    assert found.best == {"a": "eager"}


def test_a_candidate_everywhere_may_beat_the_best_of_each() -> None:
    """CUDA graphs that follow one another share their pool: none wins alone, all do together."""

    def cost(choices: object) -> Trial:
        assert isinstance(choices, dict)
        together = len(choices) == 2 and set(choices.values()) == {"cuda_graphs"}
        return measured(5 * MS if together else DEFAULT_NS)

    found = search((a_target("a"), a_target("b")), (("cuda_graphs",),), FakeLab(cost))
    assert found.best == {"a": "cuda_graphs", "b": "cuda_graphs"}


def test_between_equals_the_choice_made_for_each_graph_is_kept() -> None:
    def cost(choices: object) -> Trial:
        assert isinstance(choices, dict)
        if choices == {"a": "cpp_wrapper"}:
            return measured(8 * MS)
        return measured(round(7.96 * MS)) if len(choices) == 2 else measured(round(9.95 * MS))

    found = search((a_target("a"), a_target("b")), (("cpp_wrapper",),), FakeLab(cost))
    assert found.best == {"a": "cpp_wrapper"}


@pytest.mark.parametrize(
    "outcome",
    [o for o in TrialOutcome if o not in (TrialOutcome.MEASURED, TrialOutcome.WRONG_RESULT)],
)
def test_what_was_not_measured_is_never_chosen(outcome: TrialOutcome) -> None:
    found = search((a_target("a"), a_target("b")), STAGES, FakeLab(lambda _: Trial(outcome, "no")))
    assert found.best == {}
    assert found.joint == ()
    assert {t.trial.reason for t in found.trials} == {"no"}


def test_a_wrong_result_is_never_chosen_however_fast() -> None:
    found = search((a_target("a"), a_target("b")), STAGES, FakeLab(lambda _: wrong(MS)))
    assert found.best == {}


def test_a_joint_choice_that_is_wrong_falls_back_on_the_best_alone() -> None:
    def cost(choices: object) -> Trial:
        assert isinstance(choices, dict)
        return wrong(MS) if len(choices) > 1 else measured(8 * MS if "a" in choices else 9 * MS)

    found = search((a_target("a"), a_target("b")), (("eager",),), FakeLab(cost))
    assert found.best == {"a": "eager"}


def test_a_gain_within_noise_is_none() -> None:
    noisy = measured(round(9.5 * MS), spread=0.3)
    assert not is_faster(noisy)
    assert not is_faster(measured(round(DEFAULT_NS / (1 + MIN_CHANGE)) + 20_000))
    assert is_faster(measured(round(DEFAULT_NS / 1.03)))
    assert speedup(Trial(TrialOutcome.FAILED)) == 0.0


def test_a_later_stage_is_skipped_where_no_time_of_the_host_is_left() -> None:
    """Graph a was starved for 30 % of the step, and CUDA graphs took all but 2 % of that away."""
    lab = FakeLab(additive({("a", "cuda_graphs"): round(2.8 * MS)}))
    found = search((a_target("a", starved=0.3), a_target("b", starved=0.3)), STAGES, lab)
    skipped = [t for t in found.trials if t.trial.outcome is TrialOutcome.UNTRIED]
    assert [(t.digest, t.candidate) for t in skipped] == [("a", "cpp_wrapper")]
    assert "host's time" in str(skipped[0].trial.reason)
    assert {"a": "cpp_wrapper"} not in lab.asked
    assert {"b": "cpp_wrapper"} in lab.asked


def test_a_stage_that_helps_no_graph_is_not_compiled() -> None:
    lab = FakeLab(additive({}))
    search((a_target("a", starved=0.01),), STAGES, lab)
    assert lab.prepared == [{"a": ("cuda_graphs", "eager")}]


def test_without_a_starved_share_every_stage_is_tried() -> None:
    lab = FakeLab(additive({("a", "cuda_graphs"): 9 * MS}))
    search((a_target("a"),), STAGES, lab)
    assert {"a": "cpp_wrapper"} in lab.asked


def test_each_stage_is_prepared_with_what_the_joint_choice_may_need() -> None:
    lab = FakeLab(additive({}))
    search((a_target("a"), a_target("b")), STAGES, lab)
    early, all_of_them = ("cuda_graphs", "eager"), ("cuda_graphs", "eager", "cpp_wrapper")
    assert lab.prepared == [{"a": early, "b": early}, {"a": all_of_them, "b": all_of_them}]


def test_only_the_costliest_graphs_are_tried_and_small_ones_never() -> None:
    many = tuple(a_target(f"g{i:02}", share=0.01 + i / 1000) for i in range(MAX_GRAPHS + 3))
    tiny = a_target("tiny", share=0.001)
    assert len(worth_trying((*many, tiny))) == MAX_GRAPHS
    assert worth_trying((tiny,)) == ()
    found = search((tiny, *many), (("eager",),), FakeLab(additive({})))
    assert found.untried == ("tiny", "g00", "g01", "g02")
    assert search((tiny,), STAGES, FakeLab(additive({}))).trials == ()


def test_every_trial_is_told_as_it_ends() -> None:
    lab = FakeLab(additive({("a", "eager"): MS, ("b", "eager"): MS}))
    found = search((a_target("a"), a_target("b")), STAGES, lab)
    assert lab.told == [*found.trials, *found.joint]
    alone = [count for count, told in zip(lab.counts, lab.told, strict=True) if not isinstance(told, JointTrial)]
    assert alone == [(n, 6) for n in range(1, 7)]


def test_one_graph_needs_no_joint_trial() -> None:
    found = search((a_target("a"),), (("eager",),), FakeLab(additive({("a", "eager"): MS})))
    assert (found.best, found.joint) == ({"a": "eager"}, ())


def test_the_prediction_stays_beside_the_measurement() -> None:
    found = search((a_target("a"),), STAGES, FakeLab(additive({})))
    assert {t.candidate: t.predicted_ns for t in found.trials} == {"cuda_graphs": 5, "eager": None, "cpp_wrapper": None}
