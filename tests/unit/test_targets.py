"""What the search is told: one target a digest, with its share, its starved share and what is predicted."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.core.budget import Part
from analyzer.core.graphs import Direction, GraphKey
from analyzer.core.samples import Samples
from analyzer.derive.predict import replay_host_ns
from analyzer.diagnosis import diagnose
from analyzer.measured import Measured
from analyzer.targets import predictions, stages_for, targets_of
from tests.rule_facts import a_captured_graph, captured
from tests.unit.derive.runs import DEVICE, A, B, recording, region, timing
from tests.unit.fake_driver import STEP_NS, a_capture, a_timing, facts


@pytest.fixture
def measured(tmp_path: Path) -> Measured:
    found = Measured(facts=facts(), capture=a_capture(), timing=a_timing(), device=DEVICE)
    path = recording().save(tmp_path / "trace.json.gz")
    found.before = diagnose(a_timing(), path, found.capture, DEVICE, None)
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


def test_what_is_cheap_to_compile_is_tried_first_on_a_gpu() -> None:
    on_gpu, on_cpu = Measured(facts=facts("cuda")), Measured(facts=facts("cpu"))
    assert stages_for(on_gpu, ()) == (("cuda_graphs", "eager"), ("cpp_wrapper",))
    assert stages_for(on_cpu, ()) == (("cuda_graphs", "cpp_wrapper", "eager"),)
    assert stages_for(on_gpu, ("cpp_wrapper",)) == (("cpp_wrapper",),)
    assert stages_for(on_cpu, ("eager",)) == (("eager",),)


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
