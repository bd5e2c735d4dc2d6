"""What the search is told: one target a digest, with its share, its starved share and what is predicted."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.budget import HostKind, Part
from analyzer.core.errors import UsageError
from analyzer.core.graphs import Direction, GraphKey
from analyzer.core.plan import FUSED, Choice, Plan
from analyzer.core.samples import Samples
from analyzer.core.settings import RunSettings, WorkloadSpec
from analyzer.core.timing import Crowd
from analyzer.core.trial import Trial, TrialOutcome
from analyzer.core.verdict import Bound
from analyzer.derive.predict import replay_host_ns
from analyzer.diagnosis import Passes, diagnose
from analyzer.measured import Measured
from analyzer.targets import (
    contenders_for,
    named_backends,
    predictions,
    require_allowed,
    require_backends,
    require_candidates,
    targets_of,
)
from optimizers.candidates.known import known_candidates
from optimizers.contenders import Role
from optimizers.plan import write_plan
from tests.rule_facts import a_captured_graph, captured
from tests.unit.derive.runs import DEVICE, A, B, recording, region, timing
from tests.unit.fake_driver import STEP_NS, VERSIONS, a_capture, a_timing, facts


@pytest.fixture
def measured(tmp_path: Path) -> Measured:
    found = Measured(facts=facts(), capture=a_capture(), timing=a_timing(), device=DEVICE)
    path = recording().save(tmp_path / "trace.json.gz")
    found.before = diagnose(Passes(a_timing(), path, found.capture), DEVICE)
    found.predicted_ns = predictions(found)
    return found


def test_each_graph_is_a_target_with_its_share_of_the_step(measured: Measured) -> None:
    first, second = targets_of(measured)
    assert (first.digest, second.digest) == (A.digest, B.digest)
    assert (first.elapsed_ns, second.elapsed_ns) == (350_000, 380_000)
    assert first.share == pytest.approx(350_000 / STEP_NS)


def test_the_starved_share_is_that_of_the_whole_step(measured: Measured) -> None:
    assert measured.before is not None
    for target, key in zip(targets_of(measured), (A, B), strict=True):
        judged = measured.before.judged(key)
        assert judged is not None
        assert judged.budget.budget is not None
        assert target.starved_share == pytest.approx(judged.budget.budget.ns(Part.STARVED) / STEP_NS)


def test_the_prediction_is_of_the_graph_itself(measured: Measured) -> None:
    assert set(measured.predicted_ns) == {A, B}
    first, _ = targets_of(measured)
    assert first.predicted_ns["cuda_graphs"] == measured.predicted_ns[A]


def test_without_a_diagnosis_nothing_is_predicted_or_known_of_the_host() -> None:
    bare = Measured(facts=facts(), capture=a_capture(), timing=a_timing())
    assert predictions(bare) == {}
    assert [(t.starved_share, t.predicted_ns["cuda_graphs"]) for t in targets_of(bare)] == [(None, None)] * 2
    assert targets_of(Measured(capture=a_capture())) == ()


def test_forward_and_backward_are_one_target() -> None:
    keys = [GraphKey("abc", d) for d in (Direction.FORWARD, Direction.BACKWARD)]
    graphs = [a_captured_graph(n, direction=key.direction) for n, key in enumerate(keys)]
    capture = captured(*(replace(graph, key=key) for graph, key in zip(graphs, keys, strict=True)))
    clean = timing(region(keys[0], 100), region(keys[1], 300), step_ns=500)
    (target,) = targets_of(Measured(facts=facts(), capture=capture, timing=clean))
    assert (target.digest, target.elapsed_ns, target.share) == ("abc", 400, pytest.approx(0.8))


def test_a_graph_that_a_steady_step_does_not_call_is_no_target() -> None:
    clean = timing(region(A, 100), step_ns=200)
    assert [t.digest for t in targets_of(Measured(capture=a_capture(), timing=clean))] == [A.digest]


HERE = Measured(facts=facts(), versions=VERSIONS)


def settings(**changes: Any) -> RunSettings:
    return RunSettings(WorkloadSpec("net.py"), **changes)


def test_everything_known_may_be_tried_but_the_default() -> None:
    every = contenders_for(settings(), HERE)
    assert [one.id for one in every.single] == [c.id for c in known_candidates() if c.id != FUSED and not c.changes]
    assert not any(one.is_asked for one in every.single)
    pair = every.together(*(one for one in every.single if one.id in ("frozen", "cuda_graphs")))
    assert pair is not None
    assert (pair.id, pair.role, pair.uses_cuda_graphs) == ("frozen+cuda_graphs", Role.BOTH, True)
    assert every.find("frozen+cuda_graphs") == pair
    assert every.find("fused") is None
    assert every.find("cuda_graphs+cpp_wrapper") is None


def test_what_the_user_names_is_all_and_is_asked_for() -> None:
    named = contenders_for(settings(candidates=("eager", "frozen+cuda_graphs", "fused/cpp_wrapper")), HERE)
    assert [one.id for one in named.single] == ["eager", "frozen+cuda_graphs", "fused/cpp_wrapper"]
    assert all(one.is_asked for one in named.single)
    assert named.find("frozen+cuda_graphs") == named.single[1]


def test_a_backend_that_torch_does_not_know_is_refused_with_its_neighbour() -> None:
    asked = named_backends(settings(backends=("inductor",), candidates=("eager", "backend:cudagraph")))
    assert asked == ("inductor", "cudagraph")
    with pytest.raises(UsageError) as refused:
        require_backends(asked, ("inductor", "cudagraphs"))
    assert refused.value.hint == "did you mean cudagraphs?"
    require_backends(("inductor",), ("inductor", "cudagraphs"))


def test_a_backend_that_a_plan_names_is_asked_for_as_if_the_user_had(tmp_path: Path) -> None:
    choices = (Choice(A, "backend:warp_drive"), Choice(B, FUSED))
    write_plan(Plan(choices, "AMD EPYC", VERSIONS), tmp_path / "plan.json")
    asked = named_backends(settings(plan=str(tmp_path / "plan.json")))
    assert asked == ("warp_drive",)
    with pytest.raises(UsageError, match="knows no backend 'warp_drive'"):
        require_backends(asked, ("inductor",))


def test_a_backend_that_is_named_joins_the_rest() -> None:
    every = contenders_for(settings(backends=("cudagraphs",)), HERE)
    assert [one.id for one in every.single if one.is_asked] == ["backend:cudagraphs"]
    assert len(every.single) == len([c for c in known_candidates() if not c.changes])


def test_a_change_of_meaning_is_tried_where_it_is_allowed_alone_and_last() -> None:
    every = contenders_for(settings(allow=("bf16", "channels_last")), HERE)
    assert [one.id for one in every.single[-2:]] == ["bf16", "channels_last"]
    assert [one.role for one in every.single[-2:]] == [Role.MEANING, Role.MEANING]
    assert not any(one.is_asked for one in every.single[-2:])
    assert all(one.role is not Role.MEANING for one in every.single[:-2])
    named = contenders_for(settings(candidates=("cuda_graphs",), allow=("bf16",)), HERE)
    assert [one.id for one in named.single] == ["cuda_graphs", "bf16"]


def test_a_candidate_that_changes_results_is_refused_until_it_is_allowed() -> None:
    with pytest.raises(UsageError, match=r"bf16\+cuda_graphs may change") as error:
        require_allowed(("eager", "bf16+cuda_graphs"), ("tf32",))
    assert error.value.hint == "allow it with --allow tf32,bf16"
    require_allowed(("eager", "bf16+cuda_graphs"), ("bf16",))


def test_every_candidate_that_is_called_dear_is_so_to_the_search() -> None:
    dear = {one.id for one in contenders_for(settings(), HERE).single if one.is_dear}
    assert dear == {candidate.id for candidate in known_candidates() if candidate.is_dear}


def test_a_name_that_is_no_candidate_is_refused() -> None:
    require_candidates(("eager", "frozen+cuda_graphs", "fused/cpp_wrapper"))
    with pytest.raises(UsageError, match="warp"):
        require_candidates(("warp",))


def test_what_bounds_a_graph_and_what_room_its_kernels_have_is_told(measured: Measured) -> None:
    assert measured.before is not None
    first, second = targets_of(replaced(measured, compile_ns={A.digest: 3 * 10**9}))
    judged = measured.before.judged(A)
    assert judged is not None
    assert first.bound is judged.verdict.bound
    assert (first.compile_s, second.compile_s) == (3.0, None)
    # 0.2 ms at 86 % of the measured peak and 0.1 ms at 80 % of the bandwidth, and the hardware's own rates are somewhat
    # above what was measured: 48 us above the roofs and some more, of a step of 0.8 ms.
    assert (200_000 * 0.14 + 100_000 * 0.2) / STEP_NS <= (first.kernel_room or 0.0) < 0.1
    assert 0.0 <= (second.kernel_room or 0.0) <= 12_000 / STEP_NS
    assert not first.has_backward


def test_the_only_graph_of_a_step_is_foretold_as_it_is_without_a_compiler() -> None:
    clean = timing(region(A, 100_000), step_ns=200_000)
    alone = Measured(
        facts=facts(),
        capture=a_capture(),
        timing=clean,
        eager_ns=Samples((260_000,)),
        default_ns=Samples((200_000,)),
    )
    (target,) = targets_of(alone)
    assert target.predicted_ns["eager"] == 160_000
    assert target.predicted_saving("eager") == pytest.approx(-0.3)
    (outside,) = targets_of(replaced(alone, eager_ns=Samples((90_000,))))
    assert outside.predicted_ns["eager"] is None, "more than the graph's own time is saved outside of it"
    both = targets_of(replaced(alone, timing=a_timing()))
    assert [one.predicted_ns["eager"] for one in both] == [None, None]


def test_a_cpp_wrapper_is_foretold_where_it_is_known_what_the_host_did(measured: Measured) -> None:
    assert measured.before is not None
    split = {j.region: j.budget.budget.starved for j in measured.before.regions if j.budget.budget is not None}
    for target, key in zip(targets_of(measured), (A, B), strict=True):
        wrapper_ns = sum(part.ns for part in split[key] or () if part.kind is HostKind.WRAPPER)
        expected = None if split[key] is None else pytest.approx(target.elapsed_ns - 0.9 * wrapper_ns, abs=1)
        assert target.predicted_ns["cpp_wrapper"] == expected
        assert target.predicted_ns["cpp_wrapper_eager"] == target.predicted_ns["cpp_wrapper"]


def test_on_a_cpu_a_cpp_wrapper_is_foretold_from_its_calls(measured: Measured) -> None:
    cpu = replace(DEVICE, kind="cpu", empty_op_ns=1_000.0)
    assert measured.before is not None
    for target, key in zip(targets_of(replaced(measured, facts=facts("cpu"), device=cpu)), (A, B), strict=True):
        judged = measured.before.judged(key)
        assert judged is not None
        assert judged.budget.kernels_per_step
        expected = target.elapsed_ns - 1_500 * judged.budget.kernels_per_step
        assert target.predicted_ns["cpp_wrapper"] == pytest.approx(expected, abs=1)
        assert target.predicted_ns["cuda_graphs"] is None
    unmeasured = replaced(measured, facts=facts("cpu"), device=replace(cpu, empty_op_ns=None))
    assert [target.predicted_ns["cpp_wrapper"] for target in targets_of(unmeasured)] == [None, None]


def test_what_is_foretold_of_a_host_keeps_the_pace_of_the_default_in_turn(measured: Measured) -> None:
    (target, _) = targets_of(measured)
    alone = replace(target, predicted_ns={"cpp_wrapper": 300_000, "cuda_graphs": 300_000}, elapsed_ns=400_000)
    slow = Trial(TrialOutcome.MEASURED, region_ns=500_000, region_against_ns=800_000)
    assert alone.foretold_ns("cpp_wrapper", slow) == 600_000
    assert alone.foretold_ns("cuda_graphs", slow) == 300_000, "what the device alone does has its own pace"
    assert alone.foretold_ns("cpp_wrapper", Trial(TrialOutcome.UNTRIED)) == 300_000
    assert alone.foretold_ns("frozen", slow) is None


def test_what_cannot_be_had_here_is_known_without_trying() -> None:
    on_cpu = contenders_for(settings(), replaced(HERE, facts=facts("cpu")))
    reasons = {one.id: on_cpu.refusal(one, has_backward=True) for one in on_cpu.single}
    assert "this is a CPU" in str(reasons["cuda_graphs"])
    assert "alone" in str(reasons["frozen"])
    assert reasons["cpp_wrapper"] is None
    both = on_cpu.find("frozen+cpp_wrapper")
    assert both is not None
    assert on_cpu.refusal(both, has_backward=True) == reasons["frozen"]
    assert on_cpu.refusal(both, has_backward=False) is None
    old = contenders_for(settings(), replaced(HERE, versions=replace(VERSIONS, torch="2.11.0+cu130")))
    late = old.find("cpp_wrapper_cuda_graph")
    assert late is not None
    assert "2.13" in str(old.refusal(late, has_backward=False))


@pytest.mark.parametrize("crowded", [True, False])
def test_of_a_crowded_or_drifting_machine_nothing_is_left_out(measured: Measured, crowded: bool) -> None:
    assert measured.timing is not None
    crowd = Crowd(other_cores=1.5, cores=2, threads=2)
    timed = replace(measured.timing, crowd=crowd) if crowded else measured.timing
    busy = replaced(measured, timing=timed, default_ns=Samples((STEP_NS if crowded else 2 * STEP_NS,)))
    for target in targets_of(busy):
        assert (target.starved_share, target.kernel_room, target.bound) == (None, None, Bound.UNDECIDED)
    idle = replaced(measured, default_ns=Samples((STEP_NS,)))
    assert all(target.starved_share is not None for target in targets_of(idle))


def test_on_a_cpu_no_replay_is_foretold(measured: Measured) -> None:
    (first, _) = targets_of(replaced(measured, facts=facts("cpu")))
    assert first.predicted_ns["cuda_graphs"] is None


def test_a_graph_behind_a_busy_device_is_predicted_without_its_replays_cost(measured: Measured) -> None:
    """What the host takes to replay B is hidden as soon as A keeps the device busy for longer."""
    assert measured.timing is not None
    assert measured.capture is not None
    late = tuple(replace(r, host_ns=Samples((1,))) if r.region == A else r for r in measured.timing.regions)
    behind = replaced(measured, timing=replace(measured.timing, regions=late))
    before, after = predictions(measured)[B], predictions(behind)[B]
    assert before - after == pytest.approx(replay_host_ns(DEVICE), abs=2)
    assert predictions(behind)[A] == predictions(measured)[A]


def test_inputs_that_must_be_copied_are_in_the_prediction(measured: Measured) -> None:
    assert measured.capture is not None
    graphs = tuple(replace(g, copied_bytes=10**7) if g.key == A else g for g in measured.capture.graphs)
    copying = replaced(measured, capture=replace(measured.capture, graphs=graphs))
    # 10 MB read and written at 1 TB/s.
    assert predictions(copying)[A] - predictions(measured)[A] == pytest.approx(20_000, abs=2)
    assert predictions(copying)[B] == predictions(measured)[B]


def replaced(measured: Measured, **changes: object) -> Measured:
    found = copy.copy(measured)
    for name, value in changes.items():
        setattr(found, name, value)
    return found
