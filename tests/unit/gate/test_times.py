"""Gates on time: SLOWER only beyond doubt, never across machines, never while others were busy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analyzer.core.baseline import MachineClass
from analyzer.core.device import Device
from analyzer.core.gate import GateStatus
from analyzer.core.gate_number import seen_share
from analyzer.core.report import Report
from analyzer.core.samples import Samples
from analyzer.gate.headline import gate_headline
from analyzer.gate.judge import baseline_of, judge, machine_of
from analyzer.gate.times import TURN_STEPS, InTurn, turns_of
from tests.gates import Lines, a_case, a_model_report, a_policy, of
from tests.reports import MS, a_budget, a_plan_trial


def steps(median_ms: float, seed: int, noise: float = 0.01) -> Samples:
    return Samples(tuple(int(n * MS) for n in np.random.default_rng(seed).normal(median_ms, noise * median_ms, 60)))


def timed(median_ms: float, seed: int = 1, **changes: object) -> Report:
    samples = steps(median_ms, seed)
    trial = a_plan_trial("default", None, step_ns=samples, accuracy=a_plan_trial("x", 1.0).accuracy, peak_bytes=2**30)
    return a_model_report(plans=(trial,), step_ns=samples, **changes)


def on(device: Device, **changes: object) -> Report:
    return replace(timed(30.0, 2), device=replace(device, **changes))  # type: ignore[arg-type]


def test_a_fifth_slower_than_stored_fails_and_says_by_how_much() -> None:
    check = of("step_time", judge(a_case(timed(36.0, 2), timed(30.0))))
    assert check.status is GateStatus.FAILED
    assert check.ns_per_step == pytest.approx(6 * MS, rel=0.1)
    assert "slower" in check.message


def test_five_per_cent_against_stored_samples_are_no_alarm() -> None:
    assert of("step_time", judge(a_case(timed(31.5, 2), timed(30.0)))).status is GateStatus.PASSED


def test_faster_is_an_improvement() -> None:
    assert of("step_time", judge(a_case(timed(20.0, 2), timed(30.0)))).status is GateStatus.IMPROVED


def test_five_per_cent_in_turn_fail() -> None:
    base = tuple(t for seed in range(3) for t in turns_of(steps(30.0, seed)))
    head = tuple(t for seed in range(3, 6) for t in turns_of(steps(31.5, seed)))
    case = a_case(timed(31.5, 2), timed(30.0), in_turn=InTurn(base, head))
    check = of("step_time", judge(replace(case, against="main")))
    assert check.status is GateStatus.FAILED
    assert "against main" in check.message


def in_turn(noise: float, **changes: object) -> InTurn:
    base, head = ([t for seed in seeds for t in turns_of(steps(30.0, seed, noise))] for seeds in ((0, 1, 2), (3, 4, 5)))
    return replace(InTurn(tuple(base), tuple(head), processes=3), **changes)  # type: ignore[arg-type]


def test_a_pass_says_how_small_a_slow_down_it_could_have_seen() -> None:
    case = replace(a_case(timed(30.0, 2), timed(30.0)), against="main")
    quiet = of("step_time", judge(replace(case, in_turn=in_turn(0.01))))
    assert quiet.status is GateStatus.PASSED
    assert quiet.seen is not None
    assert 0.03 <= quiet.seen < 0.06
    share = seen_share(quiet.seen)
    assert quiet.message.endswith(f"; a slow-down of {share} or more would most likely have been found")
    judged = judge(replace(case, in_turn=in_turn(0.4)))
    loud = of("step_time", judged)
    assert loud.status is GateStatus.NOT_COMPARED
    assert loud.seen is not None
    assert loud.seen > 0.1
    assert loud.message.split("; ")[1].startswith("not compared: too noisy to tell: ")
    said = gate_headline((judged,), Lines(), "main")
    assert said.endswith(f"against main; a slow-down below {seen_share(loud.seen)} may have gone unseen")
    stored = of("step_time", judge(a_case(timed(30.0, 2), timed(30.0))))
    assert stored.seen is not None
    assert stored.seen >= 0.2, "what stored samples are held to, and what another day may hide"


CROWD = "other programs were busy"


@pytest.mark.parametrize("noise", [0.01, 0.4])
def test_while_others_are_busy_nothing_is_said_to_have_been_found(noise: float) -> None:
    """A slow-down of any size would have been no verdict either."""
    case = replace(a_case(timed(30.0, 2), timed(30.0)), against="main")
    judged = judge(replace(case, in_turn=in_turn(noise, crowd=CROWD)))
    check = of("step_time", judged)
    assert check.seen is None
    assert "would most likely have been found" not in check.message
    said = gate_headline((judged,), Lines(), "main")
    if check.status is GateStatus.PASSED:
        assert said.endswith("against main")
    else:
        assert check.message.endswith(f", and {CROWD}")
        assert said.endswith("against main; a slow-down may have gone unseen")


def test_a_slow_down_that_others_may_have_made_is_in_the_headline() -> None:
    judged = judge(a_case(timed(60.0, 2), timed(30.0), crowd=CROWD))
    assert gate_headline((judged,), Lines(), "main").endswith("; a slow-down may have gone unseen")


def test_who_was_busy_in_another_hour_says_nothing_of_turns() -> None:
    base = tuple(t for seed in range(3) for t in turns_of(steps(30.0, seed)))
    head = tuple(t for seed in range(3, 6) for t in turns_of(steps(36.0, seed)))
    case = a_case(timed(36.0, 2), timed(30.0), in_turn=InTurn(base, head), crowd=CROWD)
    assert of("step_time", judge(case)).status is GateStatus.FAILED
    crowded = replace(case, in_turn=InTurn(base, head, crowd=CROWD), crowd=None)
    assert of("step_time", judge(crowded)).status is GateStatus.NOT_COMPARED


def test_a_margin_of_nothing_is_no_margin_left_out() -> None:
    base = tuple(t for seed in range(3) for t in turns_of(steps(30.0, seed, 0.001)))
    head = tuple(t for seed in range(3, 6) for t in turns_of(steps(30.6, seed, 0.001)))
    case = a_case(timed(30.6, 2), timed(30.0), in_turn=InTurn(base, head))
    assert of("step_time", judge(case)).status is GateStatus.PASSED
    strict = replace(case, policy=a_policy(step_time=["error", {"margin": 0}]))
    assert of("step_time", judge(strict)).status is GateStatus.FAILED


def planned_report(**changes: object) -> Report:
    trials = (
        a_plan_trial("default", None, step_ns=steps(30.0, 1), peak_bytes=2**30),
        a_plan_trial("plan", None, step_ns=steps(15.0, 2), is_chosen=True, peak_bytes=2**31),
    )
    return a_model_report(plans=trials, **changes)


def test_beside_a_base_without_the_plan_only_the_defaults_are_compared_and_it_is_said() -> None:
    before = timed(30.0, step_budget=a_budget(starved=20.0, memory=10.0))
    after = planned_report(step_budget_after=a_budget(starved=1.0, memory=14.0))
    case = replace(a_case(after, before, in_turn=in_turn(0.01)), against="main")
    judged = judge(case)
    assert "against main, both under torch.compile's defaults: " in of("step_time", judged).message
    for gate in ("starved_share", "peak_memory"):
        check = of(gate, judged)
        assert check.status is GateStatus.NOT_COMPARED
        assert "main was run under torch.compile's defaults, and this was not" in check.message


def test_a_model_that_is_left_alone_gives_its_own_results_and_none_of_its_steps_is_recorded() -> None:
    trials = (
        a_plan_trial("default", 30.0),
        a_plan_trial("eager", None, step_ns=steps(15.0, 2), is_chosen=True),
    )
    report = a_model_report(plans=trials, step_budget=a_budget(starved=29.0, memory=1.0))
    judged = judge(a_case(report))
    assert of("accuracy", judged).status is GateStatus.PASSED
    starved = of("starved_share", judged)
    assert starved.status is GateStatus.NOT_COMPARED
    assert starved.measured is None, "that of the compiled model is not its own"


def test_where_a_slow_down_was_found_nothing_is_said_of_what_could_have_been() -> None:
    check = of("step_time", judge(a_case(timed(36.0, 2), timed(30.0))))
    assert check.seen is None
    assert "have been found" not in check.message


@pytest.mark.parametrize(
    ("seen", "shown"), [(0.03, "3 %"), (0.0301, "4 %"), (0.119, "12 %"), (0.996, "100 %"), (2.4, "240 %")]
)
def test_what_could_have_been_seen_is_rounded_up(seen: float, shown: str) -> None:
    assert seen_share(seen) == shown


def test_what_could_not_be_timed_in_turn_fails_with_its_reason() -> None:
    check = of("step_time", judge(a_case(timed(30.0), timed(30.0), in_turn=InTurn(reason="out of memory"))))
    assert check.status is GateStatus.BROKEN
    assert check.is_failure
    assert "out of memory" in check.message


def test_while_others_were_busy_slower_is_no_verdict() -> None:
    judged = judge(a_case(timed(60.0, 2), timed(30.0), crowd="other programs were busy"))
    check = of("step_time", judged)
    assert check.status is GateStatus.NOT_COMPARED
    assert "other programs" in check.message
    assert judged.has_passed


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"name": "NVIDIA A100"}, "another device"),
        ({"threads": 7}, "another number of threads"),
        ({"launch_ns": 9_000.0}, "a host of another speed"),
    ],
)
def test_times_of_another_machine_are_never_compared_and_it_says_why(changes: dict[str, object], why: str) -> None:
    base = timed(10.0)
    judged = judge(a_case(on(base.device, **changes), base))
    check = of("step_time", judged)
    assert check.status is GateStatus.NOT_COMPARED
    assert why in check.message
    assert judged.has_passed


def test_a_host_that_repeats_to_a_few_per_cent_is_the_same_machine() -> None:
    base = timed(30.0)
    assert base.device.launch_ns is not None
    assert of("step_time", judge(a_case(on(base.device, launch_ns=base.device.launch_ns * 1.05), base))).reason is None


def test_times_of_another_torch_are_not_compared() -> None:
    base = timed(10.0)
    newer = replace(timed(30.0, 2), versions=replace(base.versions, torch="2.14.0"))
    assert "2.13.0" in of("step_time", judge(a_case(newer, base))).message


def test_the_version_of_the_kernel_makes_no_other_machine() -> None:
    report = timed(30.0)
    one, other = (
        machine_of(replace(report, versions=replace(report.versions, platform=f"Linux-{kernel}-x86_64-with-glibc2.39")))
        for kernel in ("6.1.0", "6.18.44-fc-v657")
    )
    assert one.difference(other) is None
    assert one.system == "Linux x86_64"


def test_unknown_costs_of_a_host_make_no_other_machine() -> None:
    one = MachineClass("cpu", "x", 2, "Linux x86_64")
    assert one.difference(replace(one, empty_op_ns=900.0)) is None


def test_a_written_limit_fails_only_where_the_whole_interval_is_past_it() -> None:
    policy = a_policy(step_time=["error", {"max": "29.9 ms"}])
    near = of("step_time", judge(a_case(timed(30.0, 5), policy=policy)))
    assert near.status is GateStatus.NOT_COMPARED or near.status is GateStatus.PASSED
    assert of("step_time", judge(a_case(timed(33.0), policy=policy))).status is GateStatus.FAILED
    assert of("step_time", judge(a_case(timed(28.0), policy=policy))).status is GateStatus.PASSED


def test_the_plan_is_compared_with_the_plan_and_the_default_with_the_default() -> None:
    def planned(default_ms: float, plan_ms: float) -> Report:
        trials = (
            a_plan_trial("default", None, step_ns=steps(default_ms, 1)),
            a_plan_trial("plan", None, step_ns=steps(plan_ms, 2), is_chosen=True),
        )
        return a_model_report(plans=trials)

    check = of("step_time", judge(a_case(planned(30.0, 15.0), planned(30.0, 10.0))))
    assert check.status is GateStatus.FAILED
    # Without a stored plan the two defaults are compared.
    assert of("step_time", judge(a_case(planned(30.0, 15.0), timed(30.0)))).status is GateStatus.PASSED


@pytest.mark.parametrize(("peak", "status"), [(2**30, GateStatus.PASSED), (int(1.2 * 2**30), GateStatus.FAILED)])
def test_memory_is_held_to_its_margin(peak: int, status: GateStatus) -> None:
    after = timed(30.0)
    after = replace(after, plans=(replace(after.plans[0], peak_bytes=peak),))
    assert of("peak_memory", judge(a_case(after, timed(30.0)))).status is status


def test_the_starved_share_may_rise_by_its_margin_of_the_step() -> None:
    before = timed(30.0, step_budget=a_budget(starved=10.0, memory=20.0))
    little = timed(30.0, step_budget=a_budget(starved=12.0, memory=18.0))
    much = timed(30.0, step_budget=a_budget(starved=20.0, memory=10.0))
    assert of("starved_share", judge(a_case(little, before))).status is GateStatus.PASSED
    assert of("starved_share", judge(a_case(much, before))).status is GateStatus.WARNED


def test_one_compilation_decides_nothing_but_a_written_limit() -> None:
    assert of("compile_time", judge(a_case(timed(30.0), timed(30.0)))).status is GateStatus.NOT_COMPARED
    policy = a_policy(compile_time=["error", {"max": "10 s"}])
    assert of("compile_time", judge(a_case(timed(30.0), policy=policy))).status is GateStatus.FAILED


def test_turns_hold_every_step_once() -> None:
    samples = steps(30.0, 1)
    for count in (1, TURN_STEPS - 1, TURN_STEPS, 60, 63):
        some = Samples(samples.ns[:count]) if count <= 60 else Samples((*samples.ns, 1, 2, 3))
        turns = turns_of(some)
        assert tuple(ns for turn in turns for ns in turn.ns) == some.ns
        assert all(len(turn.ns) >= min(TURN_STEPS, count) for turn in turns)


def test_a_recorded_trace_has_no_times_to_hold() -> None:
    report = timed(30.0, is_recorded=True)
    assert of("step_time", judge(a_case(report, policy=a_policy(step_time="error")))).status is GateStatus.BROKEN
    assert baseline_of(a_case(report)).times == ()
