"""The search chooses what it measured to be better, as a whole, within its time, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import pytest

from analyzer.core.graphs import Direction, GraphKey
from analyzer.core.settings import Objective
from analyzer.core.trial import RegionTime, Trial, TrialOutcome
from analyzer.core.verdict import Bound
from analyzer.derive.compare import MIN_CHANGE
from optimizers.candidates.base import Axis
from optimizers.pace import Pace, Proposal
from optimizers.search import AT_ONCE, MAX_REFINED, Aims, search
from optimizers.trials import CandidateTrial, Choices, Found, JointTrial, Outline, Target, is_faster, speedup
from optimizers.worth import MAX_GRAPHS, worth_trying
from tests.unit.optimizers.fake_lab import (
    ALL,
    COMBO,
    CPP_WRAPPER,
    CUDA_GRAPHS,
    DEFAULT_NS,
    EAGER,
    FROZEN,
    GROUPED,
    MAX_AUTOTUNE,
    FakeLab,
    a_target,
    additive,
    around,
    candidate,
    kit,
    measured,
    wrong,
)

MS = 1_000_000
TWO = (a_target("a"), a_target("b"))


def find(targets: tuple[Target, ...], lab: FakeLab, *candidates: object, aims: Aims | None = None) -> Found:
    return search(targets, kit(*candidates), lab, aims or Aims())  # type: ignore[arg-type]


def outcomes(found: Found) -> dict[tuple[str, str], TrialOutcome]:
    return {(t.digest, t.candidate): t.trial.outcome for t in found.trials}


def reason(found: Found, candidate: str) -> str:
    return next(str(t.trial.reason) for t in found.trials if t.candidate == candidate)


# -- what is chosen ---------------------------------------------------------------------------------------------------


def test_each_graph_gets_its_best_and_all_together_are_measured() -> None:
    savings = {("a", "cuda_graphs"): 2 * MS, ("a", "cpp_wrapper"): MS, ("b", "cpp_wrapper"): 3 * MS}
    lab = FakeLab(additive(savings))
    found = find(TWO, lab)
    assert found.best == {"a": "cuda_graphs", "b": "cpp_wrapper"}
    assert {"a": "cuda_graphs", "b": "cpp_wrapper"} in lab.asked
    assert found.joint[0].name == "best of each graph"
    assert len(found.trials) == 6
    assert found.untried == ()


def test_where_nothing_helps_nothing_is_chosen() -> None:
    found = find(TWO, FakeLab(lambda _: measured(DEFAULT_NS)))
    assert found.best == {}
    assert all(t.trial.outcome is TrialOutcome.MEASURED for t in found.trials)


def test_wins_alone_that_lose_together_are_not_put_together() -> None:
    def cost(choices: Choices) -> Trial:
        alone = {"a": 8 * MS, "b": 9 * MS}
        return measured(12 * MS) if len(choices) > 1 else measured(alone[next(iter(choices))])

    assert find(TWO, FakeLab(cost), EAGER).best == {"a": "eager"}


def test_a_candidate_everywhere_may_beat_the_best_of_each() -> None:
    """CUDA graphs that follow one another share their pool: none wins alone, all do together."""

    def cost(choices: Choices) -> Trial:
        together = len(choices) == 2 and set(choices.values()) == {"cuda_graphs"}
        return measured(5 * MS if together else DEFAULT_NS)

    assert find(TWO, FakeLab(cost), CUDA_GRAPHS).best == {"a": "cuda_graphs", "b": "cuda_graphs"}


def test_between_equals_the_choice_made_for_each_graph_is_kept() -> None:
    def cost(choices: Choices) -> Trial:
        if choices == {"a": "cpp_wrapper"}:
            return measured(8 * MS)
        return measured(round(7.96 * MS)) if len(choices) == 2 else measured(round(9.95 * MS))

    assert find(TWO, FakeLab(cost), CPP_WRAPPER).best == {"a": "cpp_wrapper"}


@pytest.mark.parametrize(
    "outcome",
    [o for o in TrialOutcome if o not in (TrialOutcome.MEASURED, TrialOutcome.WRONG_RESULT)],
)
def test_what_was_not_measured_is_never_chosen(outcome: TrialOutcome) -> None:
    found = find(TWO, FakeLab(lambda _: Trial(outcome, "no")))
    assert found.best == {}
    assert found.joint == ()
    assert {t.trial.reason for t in found.trials} == {"no"}


def test_a_wrong_result_is_never_chosen_however_fast() -> None:
    assert find(TWO, FakeLab(lambda _: wrong(MS))).best == {}


def test_a_joint_choice_that_is_wrong_falls_back_on_the_best_alone() -> None:
    def cost(choices: Choices) -> Trial:
        return wrong(MS) if len(choices) > 1 else measured(8 * MS if "a" in choices else 9 * MS)

    assert find(TWO, FakeLab(cost), EAGER).best == {"a": "eager"}


def test_a_gain_within_noise_is_none() -> None:
    noisy = measured(round(9.5 * MS), spread=0.3)
    assert not is_faster(noisy)
    assert not is_faster(measured(round(DEFAULT_NS / (1 + MIN_CHANGE)) + 20_000))
    assert is_faster(measured(round(DEFAULT_NS / 1.03)))
    assert speedup(Trial(TrialOutcome.FAILED)) == 0.0


# -- what is tried, and in which order --------------------------------------------------------------------------------


def test_a_cpu_bound_graph_begins_with_the_launch_and_makes_kernels_on_top_of_the_best() -> None:
    lab = FakeLab(additive({("a", "cuda_graphs"): 4 * MS, ("a", "frozen"): 2 * MS}))
    found = find((a_target("a", share=0.9, starved=0.8),), lab, *ALL)
    assert lab.asked[0] == {"a": "cuda_graphs"}
    assert {"a": "frozen"} not in lab.asked
    assert found.best == {"a": "frozen+cuda_graphs"}


MERGED = replace(a_target("a", share=0.9, starved=0.6), outline=Outline(merged_share=0.4))


def test_what_makes_a_graph_much_smaller_comes_first_and_all_else_on_top_of_it() -> None:
    lab = FakeLab(additive({("a", "cuda_graphs"): 3 * MS, ("a", "grouped"): 2 * MS, ("a", "frozen"): MS}))
    found = find((MERGED,), lab, CUDA_GRAPHS, FROZEN, GROUPED)
    assert lab.asked[:2] == [{"a": "grouped+cuda_graphs"}, {"a": "frozen+grouped+cuda_graphs"}]
    assert {"a": "cuda_graphs"} in lab.asked, "the launch alone is tried all the same, after it"
    assert found.best == {"a": "frozen+grouped+cuda_graphs"}


@pytest.mark.parametrize("share", [None, 0.9])
def test_where_little_is_merged_the_launch_comes_first(share: float | None) -> None:
    lab = FakeLab(additive({("a", "cuda_graphs"): 3 * MS, ("a", "grouped"): 2 * MS}))
    find((replace(MERGED, outline=Outline(merged_share=share)),), lab, CUDA_GRAPHS, GROUPED)
    assert lab.asked[0] == {"a": "cuda_graphs"}


def test_what_is_merged_is_expected_to_compile_sooner() -> None:
    """Compiling takes 10 s, of what is merged 2: after the default and one of those there are some 15 s left."""

    def cost(choices: Choices) -> Trial:
        trial = additive({("a", "grouped"): 4 * MS, ("a", "frozen"): MS})(choices)
        return replace(trial, compile_ns=2 * 10**9)

    ratio = {"grouped": 0.2, "cuda_graphs": 0.2, "frozen": 0.2}
    lab = FakeLab(cost, left=30.0, ratio=ratio, keeps=True)
    found = find((MERGED,), lab, CUDA_GRAPHS, FROZEN, GROUPED)
    assert outcomes(found)["a", "frozen+grouped+cuda_graphs"] is TrialOutcome.MEASURED


def test_eager_that_was_seen_to_be_faster_is_tried_first() -> None:
    lab = FakeLab(additive({("a", "eager"): 4 * MS}), left=8.0)
    target = a_target("a", share=0.9, starved=0.4)
    found = find((replace(target, predicted_ns={**target.predicted_ns, "eager": 5 * MS}),), lab)
    assert lab.asked == [{"a": "eager"}]
    assert found.best == {"a": "eager"}


def test_where_a_cheap_launch_is_refused_the_dear_one_comes_before_other_kernels() -> None:
    def cost(choices: Choices) -> Trial:
        if "cuda_graphs" in choices.values():
            return Trial(TrialOutcome.REFUSED, "mutated inputs")
        return additive({("a", "cpp_wrapper"): 3 * MS, ("a", "frozen"): MS})(choices)

    lab = FakeLab(cost)
    find((a_target("a", share=0.9, starved=0.6),), lab, *ALL)
    asked = [choices["a"] for choices in lab.asked]
    assert asked.index("cpp_wrapper") < asked.index("frozen")


def test_what_was_refused_takes_no_turn() -> None:
    """Of two graphs the first is given its second candidate before the other its third, whatever was refused it."""

    def cost(choices: Choices) -> Trial:
        if choices == {"a": "cuda_graphs"}:
            return Trial(TrialOutcome.REFUSED, "mutated inputs")
        return additive({("b", "cuda_graphs"): 2 * MS})(choices)

    lab = FakeLab(cost)
    find((a_target("a", 0.3, starved=0.25), a_target("b", 0.6, starved=0.5)), lab, *ALL)
    asked = [pair for choices in lab.asked for pair in choices.items() if len(choices) == 1]
    assert asked.index(("a", "cpp_wrapper")) < asked.index(("b", "combo_kernels+cuda_graphs"))


def test_what_was_built_is_measured_also_where_the_time_is_over_by_then() -> None:
    lab = FakeLab(additive({("a", "cuda_graphs"): 4 * MS}), left=25.0, ratio={"cuda_graphs": 9.0})
    found = find((a_target("a", share=0.9, starved=0.6),), lab, CUDA_GRAPHS)
    assert lab.left is not None
    assert lab.left < 0
    assert found.best == {"a": "cuda_graphs"}


def test_a_launch_that_gains_little_on_each_graph_is_held_against_the_plan_on_all() -> None:
    """Ten graphs on a CPU: the C++ wrapper saved 8 % of a step, no 1 % of it on either of the first two, and the other
    eight were not tried.
    """
    many = tuple(a_target(f"g{n}", share=0.1, starved=0.09) for n in range(6))
    savings = {(target.digest, "cpp_wrapper"): round(0.05 * MS) for target in many}
    lab = FakeLab(additive(savings), left=900.0, keeps=True)
    found = find(many, lab, CPP_WRAPPER)
    tried = [t.digest for t in found.trials if t.trial.outcome is TrialOutcome.MEASURED]
    assert len(tried) == 2
    assert found.best == {target.digest: "cpp_wrapper" for target in many}


@pytest.mark.parametrize(("left", "is_built"), [(900.0, True), (90.0, False)])
def test_what_was_left_out_is_built_for_the_whole_where_there_is_time_for_all_of_it(
    left: float, is_built: bool
) -> None:
    many = tuple(a_target(f"g{n}", share=0.1, starved=0.09) for n in range(6))
    lab = FakeLab(additive({}), left=left, keeps=True)
    find(many, lab, CPP_WRAPPER)
    assert all(lab.prepared[-1].values()) is is_built


def test_the_best_of_each_graph_are_put_together_also_where_the_time_is_over() -> None:
    """On an H200 three graphs of `mixed_graphs` had won alone, 36 s of 87 went to their rivals, and one was chosen."""
    savings = {("a", "cuda_graphs"): 2 * MS, ("b", "cuda_graphs"): 2 * MS}
    lab = FakeLab(additive(savings), left=56.0, trial_s=4.0, keeps=True)
    lab.ratio = {"cuda_graphs": 0.7, "frozen": 3.0}
    found = find((a_target("a", starved=0.3), a_target("b", starved=0.3)), lab, CUDA_GRAPHS, FROZEN)
    assert lab.left is not None
    assert lab.left < 0
    assert found.best == {"a": "cuda_graphs", "b": "cuda_graphs"}


def test_the_best_of_each_graph_are_built_again_where_a_crash_took_them_along_and_the_time_is_over() -> None:
    """On an H200 AOTInductor for the fourth graph of `mixed_graphs` ended the process that held three winners."""
    saved = additive({("a", "cuda_graphs"): 2 * MS, ("b", "cuda_graphs"): 2 * MS})
    crashing = {"b": "max_autotune+cuda_graphs"}

    def cost(choices: Choices) -> Trial:
        if choices != crashing:
            return saved(choices)
        lab.built, lab.left = set(), -1.0
        return Trial(TrialOutcome.CRASHED, "the process was ended by SIGSEGV")

    lab = FakeLab(cost, left=200.0, keeps=True)
    found = find((a_target("a", starved=0.1), a_target("b", starved=0.1)), lab, CUDA_GRAPHS, MAX_AUTOTUNE)
    assert outcomes(found)["b", "max_autotune+cuda_graphs"] is TrialOutcome.CRASHED
    assert lab.prepared[-1] == {"a": ("cuda_graphs",), "b": ("cuda_graphs",)}
    assert found.best == {"a": "cuda_graphs", "b": "cuda_graphs"}


def test_a_compute_bound_graph_begins_with_kernels_and_is_given_no_cuda_graph() -> None:
    lab = FakeLab(additive({("a", "frozen"): 2 * MS}))
    target = replace(
        a_target("a", share=0.9, starved=0.01, bound=Bound.COMPUTE, room=0.4), predicted_ns={"cuda_graphs": 9 * MS}
    )
    found = find((target,), lab, *ALL)
    assert lab.asked[0] == {"a": "frozen"}
    assert outcomes(found)["a", "cuda_graphs"] is TrialOutcome.UNTRIED
    assert "for which the device waits 1 % of a step" in reason(found, "cuda_graphs")
    assert found.best == {"a": "frozen"}


def test_a_compute_bound_graph_whose_device_waits_is_given_one_all_the_same() -> None:
    lab = FakeLab(additive({("a", "cuda_graphs"): 2 * MS}))
    found = find((a_target("a", share=0.9, starved=0.3, bound=Bound.COMPUTE, room=0.4),), lab, *ALL)
    assert found.best == {"a": "cuda_graphs"}


def test_a_saving_foretold_is_worth_a_trial_where_nothing_starves() -> None:
    """Gaps between kernels launched in time are latency, and a CUDA graph closes them."""
    target = replace(a_target("a", share=0.9, starved=0.0, bound=Bound.LATENCY), predicted_ns={"cuda_graphs": 6 * MS})
    assert {"a": "cuda_graphs"} in find_asked(target)


def find_asked(target: Target) -> list[dict[str, str]]:
    lab = FakeLab(additive({}))
    find((target,), lab, *ALL)
    return lab.asked


def test_kernels_are_tried_on_top_of_what_won_before_them() -> None:
    """A Granite on an H200 had time for four trials: each of three apart, and no two of them together."""
    savings = {("a", "cuda_graphs"): 3 * MS, ("a", "frozen"): MS, ("a", "grouped"): MS}
    lab = FakeLab(additive(savings), left=60.0, keeps=True, ratio={"cuda_graphs": 1.5, "frozen": 1.1, "grouped": 1.0})
    found = find((a_target("a", share=0.9, starved=0.7),), lab, CUDA_GRAPHS, FROZEN, GROUPED)
    tried = [choices["a"] for choices in lab.asked]
    assert tried == ["cuda_graphs", "frozen+cuda_graphs", "frozen+grouped+cuda_graphs"]
    assert found.best == {"a": "frozen+grouped+cuda_graphs"}


def test_what_did_not_win_is_not_built_upon() -> None:
    savings = {("a", "cuda_graphs"): 3 * MS, ("a", "frozen"): -MS, ("a", "grouped"): MS}
    lab = FakeLab(additive(savings), left=60.0, keeps=True, ratio={"cuda_graphs": 1.5, "frozen": 1.1, "grouped": 1.0})
    found = find((a_target("a", share=0.9, starved=0.7),), lab, CUDA_GRAPHS, FROZEN, GROUPED)
    assert found.best == {"a": "grouped+cuda_graphs"}


def test_what_won_apart_is_tried_together() -> None:
    savings = {("a", "frozen"): 2 * MS, ("a", "cuda_graphs"): MS, ("a", "max_autotune"): MS}
    lab = FakeLab(additive(savings))
    found = find((a_target("a", share=0.9, starved=0.1, bound=Bound.MEMORY, room=0.5),), lab, *ALL)
    assert found.best == {"a": "frozen+max_autotune+cuda_graphs"}


def test_two_ways_to_make_kernels_that_exclude_each_other_are_never_asked_for_at_once() -> None:
    lab = FakeLab(additive({("a", "frozen"): 2 * MS, ("a", "combo_kernels"): MS}))
    find((a_target("a", share=0.9, starved=0.1, bound=Bound.MEMORY),), lab, FROZEN, COMBO)
    assert {name for one in lab.asked for name in one.values()} == {"frozen", "combo_kernels"}


def test_kernels_at_their_roofs_are_not_tuned() -> None:
    target = a_target("a", share=0.9, starved=0.1, bound=Bound.COMPUTE, room=0.05)
    found = find((target,), FakeLab(additive({})), MAX_AUTOTUNE)
    assert outcomes(found) == {("a", "max_autotune"): TrialOutcome.UNTRIED}
    assert "at their roofs" in reason(found, "max_autotune")
    roomy = replace(target, kernel_room=0.3)
    assert outcomes(find((roomy,), FakeLab(additive({})), MAX_AUTOTUNE))["a", "max_autotune"] is TrialOutcome.MEASURED


def test_dear_candidates_come_last() -> None:
    lab = FakeLab(additive({}))
    find((a_target("a", share=0.9, starved=0.5, room=0.4),), lab, *ALL)
    order = [next(iter(one.values())) for one in lab.asked]
    assert order.index("max_autotune") == len(order) - 1
    assert order.index("cpp_wrapper") > order.index("cuda_graphs")


def test_a_dear_launch_is_left_out_where_no_time_of_the_host_is_left() -> None:
    """Graph a was starved for 30 % of the step, and CUDA graphs took all but 2 % of that away."""
    lab = FakeLab(additive({("a", "cuda_graphs"): round(2.8 * MS)}))
    found = find((a_target("a", starved=0.3), a_target("b", starved=0.3)), lab)
    skipped = [t for t in found.trials if t.trial.outcome is TrialOutcome.UNTRIED]
    assert [(t.digest, t.candidate) for t in skipped] == [("a", "cpp_wrapper")]
    assert "host's time" in str(skipped[0].trial.reason)
    assert {"b": "cpp_wrapper"} in lab.asked


def test_a_package_is_left_out_where_no_time_of_the_host_is_left_and_tried_where_it_is() -> None:
    """A package calls no Python between its kernels and freezes weights, which goes with CUDA graphs as well."""
    package = replace(candidate("aoti", Axis.ALONE, is_dear=True), is_packaged=True)
    lab = FakeLab(additive({("a", "cuda_graphs"): round(2.8 * MS)}))
    found = find((a_target("a", starved=0.3), a_target("b", starved=0.3)), lab, CUDA_GRAPHS, package)
    skipped = [t for t in found.trials if t.trial.outcome is TrialOutcome.UNTRIED]
    assert [(t.digest, t.candidate) for t in skipped] == [("a", "aoti")]
    assert "beyond frozen weights it can only save the host's time" in str(skipped[0].trial.reason)
    assert {"b": "aoti"} in lab.asked


def test_a_graph_that_is_nearly_all_starved_is_given_no_kernels_alone() -> None:
    found = find((a_target("a", share=0.9, starved=0.89),), FakeLab(additive({})), FROZEN)
    assert outcomes(found) == {("a", "frozen"): TrialOutcome.UNTRIED}


def test_a_model_that_is_slower_as_it_is_is_not_tried_so_again() -> None:
    slow = replace(a_target("a", share=0.9), predicted_ns={"eager": 12 * MS})
    found = find((slow,), FakeLab(additive({})), EAGER)
    assert outcomes(found) == {("a", "eager"): TrialOutcome.UNTRIED}
    near = replace(slow, predicted_ns={"eager": round(9.2 * MS)})
    assert outcomes(find((near,), FakeLab(additive({})), EAGER)) == {("a", "eager"): TrialOutcome.MEASURED}


def test_what_the_user_names_is_tried_whatever_was_foretold() -> None:
    target = a_target("a", share=0.9, starved=0.0, bound=Bound.COMPUTE, room=0.0)
    names = [one.id for one in ALL]
    found = search((target,), kit(*ALL, asked=names), FakeLab(additive({})), Aims())
    assert set(outcomes(found).values()) == {TrialOutcome.MEASURED}
    assert {name for _, name in outcomes(found)} == set(names)


def test_without_knowing_what_starves_everything_is_tried() -> None:
    lab = FakeLab(additive({("a", "cuda_graphs"): 9 * MS}))
    find((a_target("a"),), lab)
    assert {"a": "cpp_wrapper"} in lab.asked


def test_each_round_is_prepared_with_what_was_built_before() -> None:
    lab = FakeLab(additive({}))
    find(TWO, lab)
    early, all_of_them = ("cuda_graphs", "eager"), ("cuda_graphs", "eager", "cpp_wrapper")
    assert lab.prepared == [{"a": found, "b": found} for found in (early, all_of_them)]


@pytest.mark.parametrize(("compile_s", "most"), [(0.1, AT_ONCE), (9.0, 2), (60.0, 1)])
def test_where_what_was_built_stands_as_many_are_built_at_a_time_as_compile_soon(compile_s: float, most: int) -> None:
    lab = FakeLab(additive({}), keeps=True)
    target = a_target("a", 0.8, starved=0.3, bound=Bound.LATENCY, room=0.3)
    find((replace(target, compile_s=compile_s),), lab, CUDA_GRAPHS, FROZEN, COMBO)
    counts = [len(prepared["a"]) for prepared in lab.prepared]
    steps = [later - earlier for earlier, later in itertools.pairwise((0, *counts))]
    assert max(steps) == min(most, 3)


def test_a_whole_is_tried_only_beside_what_torch_took_apart() -> None:
    whole = replace(CUDA_GRAPHS, id="cuda_graphs_whole", whole_of="cuda_graphs")
    for is_partitioned in (True, False):

        def cost(choices: Choices, *, is_partitioned: bool = is_partitioned) -> Trial:
            return replace(measured(DEFAULT_NS), is_partitioned=is_partitioned)

        found = find((a_target("a"),), FakeLab(cost), CUDA_GRAPHS, whole)
        expected = TrialOutcome.MEASURED if is_partitioned else TrialOutcome.UNTRIED
        assert outcomes(found)["a", "cuda_graphs_whole"] is expected
    assert reason(found, "cuda_graphs_whole") == "cuda_graphs has the graph whole already"


@pytest.mark.parametrize("outcome", [TrialOutcome.REFUSED, TrialOutcome.TIMED_OUT])
def test_a_whole_is_not_tried_where_its_parts_could_not_be_had(outcome: TrialOutcome) -> None:
    whole = replace(CUDA_GRAPHS, id="cuda_graphs_whole", whole_of="cuda_graphs")
    lab = FakeLab(lambda _: Trial(outcome, "no"))
    found = find((a_target("a"),), lab, CUDA_GRAPHS, whole)
    assert outcome.value in reason(found, "cuda_graphs_whole")
    assert lab.prepared == [{"a": ("cuda_graphs",)}]


def test_a_search_that_is_ended_early_has_the_trials_of_what_was_compiled() -> None:
    class Ended(FakeLab):
        def prepare(self, wanted: Mapping[str, Sequence[str]]) -> None:
            if len(self.prepared) == 2:
                raise KeyboardInterrupt
            super().prepare(wanted)

    lab = Ended(additive({("a", "cuda_graphs"): 3 * MS}), keeps=True)
    with pytest.raises(KeyboardInterrupt):
        find((a_target("a", 0.8, starved=0.3, bound=Bound.LATENCY, room=0.3),), lab, *ALL)
    assert len([told for told in lab.told if told.trial.outcome is TrialOutcome.MEASURED]) == len(lab.prepared[-1]["a"])


def test_time_for_what_is_kept_is_not_reserved_again() -> None:
    """The default and two candidates take 27 of 46 s; the third fits where nothing is built again."""
    left = {"left": 46.0, "ratio": {"frozen": 1.0, "combo_kernels": 1.0, "cuda_graphs": 0.7}, "trial_s": 1.0}
    target = (a_target("a", 0.8, starved=0.3, bound=Bound.LATENCY, room=0.3),)
    kept, again = (FakeLab(additive({}), keeps=keeps, **left) for keeps in (True, False))
    for lab in (kept, again):
        find(target, lab, FROZEN, COMBO, CUDA_GRAPHS)
    assert len(kept.asked) > len(again.asked)


def test_a_round_that_helps_no_graph_is_not_compiled() -> None:
    lab = FakeLab(additive({}))
    find((a_target("a", starved=0.025),), lab)
    assert lab.prepared == [{"a": ("cuda_graphs", "eager")}]


def test_only_the_costliest_graphs_are_tried_and_small_ones_never() -> None:
    many = tuple(a_target(f"g{i:02}", share=0.01 + i / 1000) for i in range(MAX_GRAPHS + 3))
    tiny = a_target("tiny", share=0.001)
    assert len(worth_trying((*many, tiny))) == MAX_GRAPHS
    assert worth_trying((tiny,)) == ()
    found = find((tiny, *many), FakeLab(additive({})), EAGER)
    assert found.untried == ("tiny", "g00", "g01", "g02")
    assert find((tiny,), FakeLab(additive({}))).trials == ()


def test_every_trial_is_told_as_it_ends() -> None:
    lab = FakeLab(additive({("a", "eager"): MS, ("b", "eager"): MS}))
    found = find(TWO, lab)
    assert lab.told == [*found.trials, *found.joint]
    alone = [count for count, told in zip(lab.counts, lab.told, strict=True) if not isinstance(told, JointTrial)]
    assert alone == [(n, 6) for n in range(1, 7)]


def test_one_graph_needs_no_joint_trial() -> None:
    found = find((a_target("a"),), FakeLab(additive({("a", "eager"): MS})), EAGER)
    assert (found.best, found.joint) == ({"a": "eager"}, ())


def test_the_prediction_stays_beside_the_measurement() -> None:
    found = find((a_target("a"),), FakeLab(additive({})))
    predicted = {t.candidate: t.predicted_ns for t in found.trials}
    assert predicted == {"cuda_graphs": round(1.5 * MS), "eager": None, "cpp_wrapper": None}


# -- time -------------------------------------------------------------------------------------------------------------


def test_what_does_not_fit_the_time_is_named_with_what_was_predicted_for_it() -> None:
    lab = FakeLab(additive({("a", "cuda_graphs"): MS}), left=40.0)
    target = a_target("a", share=0.9, starved=0.6, room=0.5)
    found = find((target,), lab, CUDA_GRAPHS, MAX_AUTOTUNE)
    assert outcomes(found)["a", "cuda_graphs"] is TrialOutcome.MEASURED
    assert "was left" in reason(found, "max_autotune+cuda_graphs")
    assert "max_autotune+cuda_graphs (no prediction)" in found.notes[0]
    assert lab.left is not None
    assert lab.left > 0


def test_what_is_left_is_not_said_to_be_what_is_needed() -> None:
    """Of 90 s, 89.6 were left."""
    lab = FakeLab(additive({}), left=106.6)
    found = find((a_target("a", share=0.9, starved=0.6, room=0.5),), lab, CUDA_GRAPHS, MAX_AUTOTUNE)
    assert reason(found, "max_autotune") == "it takes about 1 min 30 s, and a little less was left for it"


def test_the_note_says_how_much_was_foretold() -> None:
    # Building the default again takes 10 s of these 12, so that of two graphs' CUDA graphs none fits; one is made.
    found = find(TWO, FakeLab(additive({}), left=12.0), CUDA_GRAPHS)
    assert list(outcomes(found).values()).count(TrialOutcome.UNTRIED) == 1
    assert found.notes == (
        "left untried for lack of time: cuda_graphs (predicted to save 15 % of a step); --budget gives the search more",
    )


def test_something_is_tried_however_short_the_time_and_nothing_when_there_is_none() -> None:
    lab = FakeLab(additive({}), left=0.5)
    find(TWO, lab)
    assert len(lab.prepared) == 1
    assert sum(map(len, lab.prepared[0].values())) == 1
    over = FakeLab(additive({}), left=0.0)
    found = find(TWO, over)
    assert over.prepared == []
    assert set(outcomes(found).values()) == {TrialOutcome.UNTRIED}
    assert found.best == {}


def test_where_time_is_short_every_graph_is_given_its_first_before_any_its_second() -> None:
    lab = FakeLab(additive({}), left=45.0)
    found = find(TWO, lab, CUDA_GRAPHS, FROZEN, COMBO)
    assert {pair for pair, outcome in outcomes(found).items() if outcome is TrialOutcome.MEASURED} >= {
        ("a", "cuda_graphs"),
        ("b", "cuda_graphs"),
    }


def test_what_a_candidate_took_on_one_graph_is_expected_of_the_next() -> None:
    def cost(choices: Choices) -> Trial:
        slow = measured(DEFAULT_NS - MS if "a" in choices else DEFAULT_NS)
        return replace(slow, compile_ns=90 * 10**9)

    # cuda_graphs turned out nine times as long as the default; a combination of it is then not begun.
    lab = FakeLab(cost, left=60.0)
    found = find((a_target("a", share=0.9, starved=0.4),), lab, CUDA_GRAPHS, FROZEN)
    assert outcomes(found)["a", "frozen+cuda_graphs"] is TrialOutcome.UNTRIED


@pytest.mark.parametrize(("compile_s", "at_most", "at_least"), [(20.0, 45.0, 30.0), (0.5, 10.1, 9.9), (0.25, 5.1, 4.9)])
def test_a_part_that_every_graph_takes_is_not_expected_to_grow_with_the_graph(
    compile_s: float, at_most: float, at_least: float
) -> None:
    """The C++ wrapper took 10 s on a graph of half a second, and was then expected to take 6 min on one of 18 s."""
    (contender,) = kit(CPP_WRAPPER).single
    small, other = (replace(a_target("a"), compile_s=seconds) for seconds in (0.5, compile_s))
    contender = replace(contender, compile_ratio=1.5, once_s=0.0)
    pace = Pace()
    trial = replace(measured(MS), compile_ns=10 * 10**9)
    pace.learn(small, contender, CandidateTrial("a", contender.id, None, trial))
    assert at_least <= pace.compile_s(Proposal(other, contender)) <= at_most


# -- samples ----------------------------------------------------------------------------------------------------------


def test_only_what_is_close_gets_more_samples() -> None:
    lab = FakeLab(lambda c: measured(5 * MS if "cuda_graphs" in c.values() else round(9.97 * MS), spread=0.02))
    find((a_target("a"),), lab, CUDA_GRAPHS, EAGER)
    assert {"a": "cuda_graphs"} not in lab.refined
    assert lab.refined == [{"a": "eager"}] * MAX_REFINED


def test_more_samples_can_decide_between_two() -> None:
    """Both trials begin with intervals that overlap; the better one shows once both are sharp."""
    rough = {"cuda_graphs": round(8.4 * MS), "eager": round(8.2 * MS)}
    sharp = {rough["cuda_graphs"]: 8 * MS, rough["eager"]: round(8.6 * MS)}
    lab = FakeLab(lambda c: measured(rough[c["a"]], spread=0.08))
    lab.sharper = lambda trial: measured(sharp.get(speed_of(trial), speed_of(trial)))
    found = find((a_target("a"),), lab, CUDA_GRAPHS, EAGER)
    assert found.best == {"a": "cuda_graphs"}
    assert {tuple(one.values()) for one in lab.refined} == {("cuda_graphs",), ("eager",)}


def speed_of(trial: Trial) -> int:
    assert trial.step_ns is not None
    return trial.step_ns.median_ns


def test_a_candidate_that_fails_under_more_samples_is_not_chosen() -> None:
    lab = FakeLab(lambda _: measured(round(9.8 * MS), spread=0.1))
    lab.sharper = lambda _: Trial(TrialOutcome.CRASHED, "died")
    found = find((a_target("a"),), lab, CUDA_GRAPHS)
    assert found.best == {}
    assert outcomes(found) == {("a", "cuda_graphs"): TrialOutcome.CRASHED}


def test_what_beat_a_slower_default_by_more_is_held_against_the_faster_one_directly() -> None:
    """GPTlite on an H200: 24.4 → 8.8 ms in one trial, 15.6 → 7.9 ms in another of the same graph."""

    def cost(choices: Choices) -> Trial:
        if choices["a"] == "eager":
            return measured(round(8.8 * MS), against_ns=round(24.4 * MS))
        return measured(round(7.9 * MS), against_ns=round(15.6 * MS))

    lab = FakeLab(cost)
    found = find((a_target("a"),), lab, CUDA_GRAPHS, EAGER)
    assert found.best == {"a": "cuda_graphs"}
    assert lab.duels == [({"a": "cuda_graphs"}, {"a": "eager"})]


def test_where_the_gain_and_the_step_agree_nothing_is_measured_again() -> None:
    lab = FakeLab(additive({("a", "cuda_graphs"): 2 * MS, ("a", "eager"): MS}))
    assert find((a_target("a"),), lab, CUDA_GRAPHS, EAGER).best == {"a": "cuda_graphs"}
    assert lab.duels == []


def test_a_machine_that_slowed_down_is_no_reason_to_take_the_other() -> None:
    """All takes twice as long in the second trial: held directly, its candidate is the faster one all the same."""

    def cost(choices: Choices) -> Trial:
        slow = 2 if choices["a"] == "eager" else 1
        return measured((4 if slow == 2 else 5) * slow * MS, against_ns=DEFAULT_NS * slow)

    lab = FakeLab(cost, alone=lambda trial: 4 * MS if trial.against.median_ns > 15 * MS else 5 * MS)  # type: ignore[union-attr]
    assert find((a_target("a"),), lab, CUDA_GRAPHS, EAGER).best == {"a": "eager"}
    assert len(lab.duels) == 1


# -- together ---------------------------------------------------------------------------------------------------------


def region(digest: str, ns: int, against_ns: int, direction: Direction = Direction.INFERENCE) -> RegionTime:
    return RegionTime(GraphKey(digest, direction), ns, against_ns)


THREE = (a_target("a"), a_target("b"), a_target("c"))


def test_the_choice_that_hurts_is_found_first_and_taken_back() -> None:
    """b saves 2 ms alone, and costs 3 ms beside the others; its own time in the whole shows it."""

    def cost(choices: Choices) -> Trial:
        saved = 2 * MS * len(choices) - (5 * MS if len(choices) > 1 and "b" in choices else 0)
        hurt = {d: -3 * MS if d == "b" and len(choices) > 1 else 2 * MS for d in choices}
        regions = tuple(region(d, 3 * MS - hurt[d], 3 * MS) for d in choices)
        return replace(measured(DEFAULT_NS - saved), regions=regions)

    lab = FakeLab(cost)
    found = find(THREE, lab, EAGER)
    assert found.best == {"a": "eager", "c": "eager"}
    without = [joint for joint in found.joint if "without" in joint.name]
    assert [joint.name for joint in without] == ["best of each graph, without eager for b"]


def test_without_times_by_graph_the_culprit_is_found_all_the_same() -> None:
    def cost(choices: Choices) -> Trial:
        saved = 2 * MS * len(choices) - (5 * MS if len(choices) > 1 and "c" in choices else 0)
        return measured(DEFAULT_NS - saved)

    assert find(THREE, FakeLab(cost), EAGER).best == {"a": "eager", "b": "eager"}


def test_one_choice_that_makes_the_whole_wrong_is_taken_back() -> None:
    def cost(choices: Choices) -> Trial:
        return wrong(MS) if len(choices) > 1 and "a" in choices else measured(DEFAULT_NS - 2 * MS * len(choices))

    assert find(THREE, FakeLab(cost), EAGER).best == {"b": "eager", "c": "eager"}


def test_wins_that_add_up_are_not_taken_apart() -> None:
    found = find(THREE, FakeLab(additive({(d, "eager"): 2 * MS for d in "abc"})), EAGER)
    assert [joint.name for joint in found.joint] == ["best of each graph"]


# -- forward and backward ---------------------------------------------------------------------------------------------


def by_direction(savings_ns: dict[tuple[Direction, str], int]) -> FakeLab:
    def cost(choices: Choices) -> Trial:
        forward, _, backward = choices["a"].partition("/")
        saved = {
            Direction.FORWARD: savings_ns.get((Direction.FORWARD, forward), 0),
            Direction.BACKWARD: savings_ns.get((Direction.BACKWARD, backward or forward), 0),
        }
        regions = tuple(region("a", 4 * MS - saved[d], 4 * MS, d) for d in saved)
        return replace(measured(DEFAULT_NS - sum(saved.values())), regions=regions)

    return FakeLab(cost)


TRAINED = replace(a_target("a", share=0.8), has_backward=True)


def test_forward_and_backward_get_what_suits_each() -> None:
    lab = by_direction(
        {
            (Direction.FORWARD, "frozen"): -MS,
            (Direction.BACKWARD, "frozen"): 2 * MS,
            (Direction.FORWARD, "cpp_wrapper"): MS,
        }
    )
    found = find((TRAINED,), lab, FROZEN, CPP_WRAPPER)
    assert found.best == {"a": "cpp_wrapper/frozen"}
    split = next(t for t in found.trials if t.candidate == "cpp_wrapper/frozen")
    assert split.predicted_ns == 5 * MS


def test_the_default_is_one_of_the_two_where_it_is_the_better() -> None:
    lab = by_direction({(Direction.FORWARD, "frozen"): -MS, (Direction.BACKWARD, "frozen"): 2 * MS})
    assert find((TRAINED,), lab, FROZEN).best == {"a": "fused/frozen"}


def test_a_cuda_graph_is_split_with_nothing() -> None:
    lab = by_direction({(Direction.FORWARD, "cuda_graphs"): -MS, (Direction.BACKWARD, "cuda_graphs"): 3 * MS})
    assert find((TRAINED,), lab, CUDA_GRAPHS).best == {"a": "cuda_graphs"}
    assert not any("/" in one["a"] for one in lab.asked)


def test_a_graph_without_backward_is_never_split() -> None:
    lab = by_direction({(Direction.FORWARD, "frozen"): -MS, (Direction.BACKWARD, "frozen"): 2 * MS})
    find((replace(TRAINED, has_backward=False),), lab, FROZEN)
    assert not any("/" in one["a"] for one in lab.asked)


# -- what is aimed at -------------------------------------------------------------------------------------------------

GIB = 1 << 30


def needing(peaks: dict[str, int], step_ns: dict[str, int]) -> FakeLab:
    def cost(choices: Choices) -> Trial:
        name = choices.get("a", "fused")
        return replace(measured(step_ns.get(name, DEFAULT_NS)), peak_bytes=peaks[name], compile_ns=10**9)

    return FakeLab(cost)


def test_for_memory_the_least_peak_of_what_is_not_slower() -> None:
    peaks = {"fused": 4 * GIB, "cuda_graphs": 5 * GIB, "eager": 3 * GIB, "frozen": 2 * GIB}
    lab = needing(peaks, {"cuda_graphs": 5 * MS, "frozen": 12 * MS})
    found = find((a_target("a"),), lab, CUDA_GRAPHS, EAGER, FROZEN, aims=Aims(Objective.MEMORY))
    assert found.best == {"a": "eager"}
    assert {} in lab.asked


def test_for_memory_what_is_too_noisy_to_call_not_slower_is_not_chosen() -> None:
    lab = FakeLab(lambda c: replace(measured(DEFAULT_NS, spread=0.6 if c else 0.001), peak_bytes=GIB if c else 2 * GIB))
    assert find((a_target("a"),), lab, EAGER, aims=Aims(Objective.MEMORY)).best == {}


def test_where_no_peak_is_known_the_objective_says_so_and_chooses_nothing() -> None:
    found = find((a_target("a"),), FakeLab(additive({("a", "eager"): MS})), EAGER, aims=Aims(Objective.MEMORY))
    assert found.best == {}
    assert "peak memory is not known" in found.notes[0]


def test_for_compile_time_the_fewest_seconds_of_what_is_not_slower() -> None:
    def cost(choices: Choices) -> Trial:
        seconds = {"eager": 0, "frozen": 3, "combo_kernels": 20}[choices["a"]]
        step = {"eager": 12 * MS}.get(choices["a"], DEFAULT_NS)
        return replace(measured(step), compile_ns=seconds * 10**9)

    found = find((a_target("a"),), FakeLab(cost), EAGER, FROZEN, COMBO, aims=Aims(Objective.COMPILE))
    assert found.best == {"a": "frozen"}


def test_a_candidate_over_the_ceiling_is_refused_with_its_figure() -> None:
    peaks = {"fused": 2 * GIB, "cuda_graphs": 5 * GIB, "eager": 3 * GIB}
    lab = needing(peaks, {"cuda_graphs": 5 * MS, "eager": 8 * MS})
    aims = Aims(memory_limit_bytes=4 * GIB)
    found = find((a_target("a"),), lab, CUDA_GRAPHS, EAGER, aims=aims)
    assert found.best == {"a": "eager"}
    assert outcomes(found)["a", "cuda_graphs"] is TrialOutcome.REFUSED
    assert "5.00 GiB" in reason(found, "cuda_graphs")
    assert "over the limit of 4.00 GiB" in reason(found, "cuda_graphs")


def test_what_lies_in_the_pools_of_cuda_graphs_counts() -> None:
    lab = FakeLab(lambda _: replace(measured(5 * MS), peak_bytes=3 * GIB, pool_bytes=2 * GIB))
    found = find((a_target("a"),), lab, CUDA_GRAPHS, aims=Aims(memory_limit_bytes=4 * GIB))
    assert found.best == {}
    assert "2.00 GiB of it in CUDA graphs" in reason(found, "cuda_graphs")


def test_a_default_over_the_ceiling_is_said() -> None:
    lab = needing({"fused": 5 * GIB, "eager": 5 * GIB}, {})
    found = find((a_target("a"),), lab, EAGER, aims=Aims(memory_limit_bytes=4 * GIB))
    assert "torch.compile default itself" in found.notes[0]


def test_samples_of_the_double_are_as_asked() -> None:
    assert around(DEFAULT_NS).median_ns == DEFAULT_NS


# -- changes of meaning -----------------------------------------------------------------------------------------------

BF16 = replace(CUDA_GRAPHS, id="bf16", title="bf16", axis=Axis.MEANING, changes=("bf16",), uses_cuda_graphs=False)
LAYOUT = replace(BF16, id="channels_last", title="channels_last", changes=("channels_last",), joins=("bf16",))


def test_what_changes_the_meaning_comes_last_on_top_of_the_best_and_then_together() -> None:
    savings = {("a", "cuda_graphs"): 2 * MS, ("a", "bf16"): 3 * MS, ("a", "channels_last"): MS}
    lab = FakeLab(additive(savings))
    found = find((a_target("a"),), lab, CUDA_GRAPHS, EAGER, BF16, LAYOUT)
    tried = [choices["a"] for choices in lab.asked]
    changing = [name for name in tried if "bf16" in name or "channels_last" in name]
    assert tried[-len(changing) :] == changing
    assert changing[:2] == ["bf16+cuda_graphs", "channels_last+cuda_graphs"]
    assert found.best == {"a": "bf16+channels_last+cuda_graphs"}


def test_a_change_whose_result_is_wrong_is_not_chosen() -> None:
    def cost(choices: Choices) -> Trial:
        return wrong(MS) if "bf16" in choices.get("a", "") else measured(8 * MS)

    found = find((a_target("a"),), FakeLab(cost), CUDA_GRAPHS, BF16)
    assert found.best == {"a": "cuda_graphs"}
    assert outcomes(found)["a", "bf16+cuda_graphs"] is TrialOutcome.WRONG_RESULT


def test_a_change_is_left_untried_where_no_kernel_time_could_be_saved() -> None:
    target = replace(a_target("a"), starved_share=1.0)
    found = find((target,), FakeLab(lambda _: measured(8 * MS)), CUDA_GRAPHS, BF16)
    assert {t.candidate for t in found.trials if t.trial.outcome is TrialOutcome.UNTRIED} == {"bf16+cuda_graphs"}


# -- products ---------------------------------------------------------------------------------------------------------

MATVEC = replace(candidate("fused_matvec", Axis.KERNELS), fuses_matvecs=True)
TRITON = replace(candidate("triton_gemm", Axis.KERNELS, is_dear=True), tunes_products=True)
A_DECODER = replace(a_target("a", share=0.9, starved=0.8), outline=Outline(products=112, matvecs=112))


def test_vector_products_are_fused_before_other_kernels_and_only_where_there_are_any() -> None:
    lab = FakeLab(additive({("a", "cuda_graphs"): 4 * MS, ("a", "fused_matvec"): MS}))
    found = find((A_DECODER,), lab, CUDA_GRAPHS, MATVEC, FROZEN)
    assert lab.asked[:2] == [{"a": "cuda_graphs"}, {"a": "fused_matvec+cuda_graphs"}]
    assert found.best == {"a": "fused_matvec+cuda_graphs"}
    lab = FakeLab(additive({("a", "cuda_graphs"): 4 * MS}))
    found = find((replace(A_DECODER, outline=Outline(products=112)),), lab, CUDA_GRAPHS, MATVEC, FROZEN)
    assert "of a matrix and a vector" in reason(found, "fused_matvec+cuda_graphs")


@pytest.mark.parametrize(("products", "is_tried"), [(200, True), (3, False)])
def test_products_are_tuned_where_a_launch_less_for_each_repays_it(products: int, is_tried: bool) -> None:
    """A launch is 1.5 µs of a step of 10 ms, most of which the device waits for the host."""
    lab = FakeLab(additive({("a", "cuda_graphs"): 4 * MS, ("a", "triton_gemm"): MS}))
    target = replace(a_target("a", share=0.9, starved=0.89), outline=Outline(products=products))
    found = find((target,), lab, CUDA_GRAPHS, TRITON)
    tried = outcomes(found)["a", "triton_gemm+cuda_graphs"]
    assert (tried is TrialOutcome.MEASURED) is is_tried


def test_what_leaves_fewer_kernels_is_tried_for_the_host_and_other_kernels_on_top_of_it_are_not() -> None:
    """The kernels take 1 % of a step of which the host takes 89 %."""
    target = replace(a_target("a", share=0.9, starved=0.89), outline=Outline(products=9, merged_share=0.9))
    lab = FakeLab(additive({("a", "grouped"): MS}))
    found = find((target,), lab, GROUPED, MAX_AUTOTUNE)
    assert outcomes(found)["a", "grouped"] is TrialOutcome.MEASURED
    assert "it can only save the kernels' time" in reason(found, "max_autotune")


def test_a_replay_is_known_by_what_the_candidate_does_and_not_by_its_name() -> None:
    """As in a test above: replayed, 24 products save too little."""
    replayed = replace(candidate("played_back", Axis.LAUNCH), uses_cuda_graphs=True)
    target = replace(a_target("a", share=0.9, starved=0.8), outline=Outline(products=24))
    found = find((target,), FakeLab(additive({("a", "played_back"): 4 * MS})), replayed, TRITON)
    assert "a launch or two" in reason(found, "triton_gemm+played_back")


# -- several alike ----------------------------------------------------------------------------------------------------

TEN = tuple(a_target(f"g{number}", share=0.09, starved=0.06) for number in range(10))


def test_what_gained_nothing_on_two_graphs_of_a_verdict_is_left_out_for_the_others() -> None:
    lab = FakeLab(additive({(target.digest, "cuda_graphs"): MS // 2 for target in TEN}), left=1000.0, keeps=True)
    found = find(TEN, lab, CUDA_GRAPHS, EAGER)
    assert sum(outcomes(found)[target.digest, "eager"] is TrialOutcome.MEASURED for target in TEN) == 2
    assert any("it was not the best" in str(t.trial.reason) for t in found.trials if t.digest == "g9")
    assert all(outcomes(found)[target.digest, "cuda_graphs"] is TrialOutcome.MEASURED for target in TEN)


def test_without_a_limit_of_time_every_graph_has_its_trial() -> None:
    found = find(TEN, FakeLab(additive({})), CUDA_GRAPHS, EAGER)
    assert all(outcomes(found)[target.digest, "eager"] is TrialOutcome.MEASURED for target in TEN)


def test_a_dear_launch_is_tried_on_each_of_many_graphs_and_pays_for_its_beginning_once() -> None:
    """Each is a twelfth of the step. The first C++ wrapper took 49 s, of which 30 come once; 20 s a graph are left."""

    def cost(choices: Choices) -> Trial:
        if "cuda_graphs" in choices.values():
            return Trial(TrialOutcome.REFUSED, "mutated inputs")
        saved = additive({(target.digest, "cpp_wrapper"): MS // 2 for target in TEN})(choices)
        return replace(saved, compile_ns=49 * 10**9 if choices == {"g0": "cpp_wrapper"} else 20 * 10**9)

    lab = FakeLab(cost, left=400.0, ratio={"cpp_wrapper": 2.0}, keeps=True)
    found = find(TEN, lab, CUDA_GRAPHS, CPP_WRAPPER)
    assert sum(outcomes(found)[target.digest, "cpp_wrapper"] is TrialOutcome.MEASURED for target in TEN) == 10
    assert found.best == {target.digest: "cpp_wrapper" for target in TEN}


def test_where_nothing_is_alike_nothing_is_merged() -> None:
    lab = FakeLab(additive({("a", "cuda_graphs"): 4 * MS, ("a", "grouped"): MS}))
    found = find((replace(A_DECODER, outline=Outline(products=4)),), lab, CUDA_GRAPHS, GROUPED)
    assert reason(found, "grouped+cuda_graphs") == "nothing in the graph is alike"


def test_what_won_less_than_another_on_two_graphs_is_left_out_for_the_others_too() -> None:
    """Frozen weights beat the default on top of the CUDA graph that they make slower."""
    savings = {
        (target.digest, name): ns for target in TEN for name, ns in (("cuda_graphs", MS // 2), ("frozen", -MS // 8))
    }
    found = find(TEN, FakeLab(additive(savings), left=1000.0, keeps=True), CUDA_GRAPHS, FROZEN)
    tried = [outcomes(found)[target.digest, "frozen+cuda_graphs"] for target in TEN]
    assert tried.count(TrialOutcome.MEASURED) == 2
    assert found.best == {target.digest: "cuda_graphs" for target in TEN}


def test_where_the_host_is_late_fewer_kernels_come_before_the_dear_launch() -> None:
    """24 products save 12.5 µs each, 3 % of a step of 10 ms; replayed they would save 0.4 %."""

    def cost(choices: Choices) -> Trial:
        if "cuda_graphs" in choices.values():
            return Trial(TrialOutcome.REFUSED, "mutated inputs")
        return additive({("a", "triton_gemm"): MS, ("a", "cpp_wrapper"): MS})(choices)

    lab = FakeLab(cost)
    target = replace(a_target("a", share=0.9, starved=0.8), outline=Outline(products=24))
    find((target,), lab, CUDA_GRAPHS, CPP_WRAPPER, TRITON)
    asked = [choices["a"] for choices in lab.asked]
    assert asked.index("triton_gemm") < asked.index("triton_gemm+cpp_wrapper")
    lab = FakeLab(additive({("a", "cuda_graphs"): 4 * MS}))
    found = find((target,), lab, CUDA_GRAPHS, TRITON)
    assert "a launch or two" in reason(found, "triton_gemm+cuda_graphs")


def test_of_one_rank_what_promises_something_comes_first() -> None:
    first, second = a_target("a", share=0.5, starved=0.4), a_target("b", share=0.4, starved=0.3)
    first = replace(first, predicted_ns={})
    lab = FakeLab(additive({}))
    find((first, second), lab, CUDA_GRAPHS)
    assert lab.asked[:2] == [{"b": "cuda_graphs"}, {"a": "cuda_graphs"}]


HALF_REFUSING: Final = tuple(replace(target, outline=Outline(products=20)) for target in TEN)


def refusing(savings: Mapping[tuple[str, str], int]) -> Callable[[Choices], Trial]:
    """Costs of ten graphs of which every second refuses CUDA graphs."""

    def cost(choices: Choices) -> Trial:
        if any(name == "cuda_graphs" and int(digest[1:]) % 2 for digest, name in choices.items()):
            return Trial(TrialOutcome.REFUSED, "mutated inputs")
        return additive(dict(savings))(choices)

    return cost


def test_graphs_that_nothing_has_helped_are_given_their_launch_before_kernels_come_on_top_of_others_wins() -> None:
    """Of ten graphs on an H200 two had no C++ wrapper when the time ended, none had it on top of what made its kernels
    fewer, and two trials had gone to frozen weights under CUDA graphs, which gave nothing.
    """
    saved = {"cuda_graphs": MS // 2, "triton_gemm": MS // 4, "cpp_wrapper": MS // 4}
    savings = {(target.digest, name): ns for target in TEN for name, ns in saved.items()}
    lab = FakeLab(refusing(savings), left=400.0, keeps=True, trial_s=4.0, ratio={"frozen": 1.0})
    found = find(HALF_REFUSING, lab, CUDA_GRAPHS, CPP_WRAPPER, FROZEN, TRITON)
    whole = ["cuda_graphs", "triton_gemm+cpp_wrapper"]
    assert found.best == {target.digest: whole[number % 2] for number, target in enumerate(TEN)}
    singles = [choices for choices in lab.asked if len(choices) == 1]
    on_top = [n for n, choices in enumerate(singles) if "frozen+cuda_graphs" in choices.values()]
    overdue = [n for n, choices in enumerate(singles) if "triton_gemm+cpp_wrapper" in choices.values()]
    assert all(n > max(overdue) for n in on_top)


def test_a_dear_launch_comes_alone_where_no_kernels_have_won() -> None:
    savings = {("a", "cpp_wrapper"): MS}
    lab = FakeLab(refusing(savings))
    target = replace(a_target("a", share=0.9, starved=0.8), outline=Outline(products=24))
    assert find((target,), lab, CPP_WRAPPER, TRITON).best == {"a": "cpp_wrapper"}


def test_a_cheap_launch_is_tried_alone_as_it_was_predicted() -> None:
    lab = FakeLab(additive({("a", "cuda_graphs"): 2 * MS, ("a", "frozen"): MS}))
    find((a_target("a", share=0.9, starved=0.4, bound=Bound.MEMORY),), lab, CUDA_GRAPHS, FROZEN)
    assert lab.asked[:2] == [{"a": "frozen"}, {"a": "cuda_graphs"}]
