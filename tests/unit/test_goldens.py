"""What holds of every run that was recorded on a GPU: today's code explains it as the product did there."""

from __future__ import annotations

import gzip

import pytest

from analyzer.core.budget import Part
from analyzer.core.graphs import GraphKey
from analyzer.core.verdict import Bound
from analyzer.derive.predict import Replayed, predict_cuda_graphs
from tests.golden.record import FOLDER_OF_A_MACHINE, shortened
from tests.goldens import FOLDER, RUNS, Golden, read_golden


@pytest.fixture(scope="module", params=RUNS)
def golden(request: pytest.FixtureRequest) -> Golden:
    return read_golden(str(request.param))


def test_every_kernel_is_linked(golden: Golden) -> None:
    for diagnosis in (golden.before, golden.after):
        attributed = diagnosis.attribution.attributed
        assert attributed.kernels > 0
        assert attributed.unlinked_kernels == 0
        assert attributed.linked_share == 1.0


def test_the_parts_of_every_budget_add_up(golden: Golden) -> None:
    for diagnosis in (golden.before, golden.after):
        assert sum(part.ns for part in diagnosis.step.parts) == diagnosis.timing.step_ns.median_ns
        for judged in diagnosis.regions:
            budget = judged.budget.budget
            assert budget is None or sum(part.ns for part in budget.parts) == budget.elapsed_ns


def test_starved_time_is_what_the_machine_with_the_gpu_printed(golden: Golden) -> None:
    """To 3 % of the region: a golden may hold one recorded step of three."""
    for graph in golden.report.graphs:
        judged = golden.before.judged(graph.key)
        assert judged is not None
        budget, printed = judged.budget.budget, graph.budget
        assert budget is not None
        assert printed is not None
        assert abs(budget.ns(Part.STARVED) - printed.ns(Part.STARVED)) < 0.03 * printed.elapsed_ns


def test_what_was_sure_there_is_said_here(golden: Golden) -> None:
    for graph in golden.report.graphs:
        judged = golden.before.judged(graph.key)
        assert judged is not None
        if graph.verdict.confidence is not None and graph.verdict.confidence > 0.6:
            assert judged.verdict.bound is graph.verdict.bound


def test_no_file_names_a_folder_of_the_machine_that_recorded_it() -> None:
    files = [path for path in FOLDER.rglob("*") if path.suffix in (".json", ".gz")]
    assert len(files) >= 4 * len(RUNS) >= 8
    for path in files:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        assert FOLDER_OF_A_MACHINE.search(text) is None, path


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("/tmp/torchinductor_ada/3n/c3narik.py", "torchinductor_ada/3n/c3narik.py"),
        ("/tmp/runs1/a.cuda/cache/3n/c3narik.py", "3n/c3narik.py"),
        ("/opt/torch/lib/python3.12/site-packages/torch/nn.py", "site-packages/torch/nn.py"),
    ],
)
def test_a_file_is_named_from_where_it_is_the_same_on_every_machine(told: str, kept: str) -> None:
    assert shortened(f'{{"file": "{told}"}}') == f'{{"file": "{kept}"}}'


def test_what_still_names_a_folder_is_no_golden() -> None:
    with pytest.raises(ValueError, match=r"/home/ada/secret/net\.py"):
        shortened('{"file": "/home/ada/secret/net.py"}')


# -- four graphs, three bounds, two candidates -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed() -> Golden:
    return read_golden("mixed_graphs_h200")


def test_graphs_of_one_step_have_bounds_of_their_own(mixed: Golden) -> None:
    bounds = [j.verdict.bound for j in mixed.before.regions if isinstance(j.region, GraphKey)]
    assert bounds == [Bound.CPU, Bound.COMPUTE, Bound.CPU, Bound.CPU]


def test_the_plan_takes_two_candidates_and_beats_each_taken_everywhere(mixed: Golden) -> None:
    assert [g.chosen for g in mixed.report.graphs] == ["cuda_graphs", "fused", "cpp_wrapper", "cuda_graphs"]
    assert mixed.report.comparison is not None
    for plan in mixed.report.plans:
        if plan.name.endswith("everywhere") and plan.step_ns is not None and plan.against_ns is not None:
            assert mixed.report.comparison.ratio > plan.against_ns.median_ns / plan.step_ns.median_ns


def test_a_graph_that_writes_to_its_inputs_is_refused_by_name(mixed: Golden) -> None:
    refused = [c for g in mixed.report.graphs for c in g.candidates if c.outcome.value == "refused"]
    assert [(c.candidate, "mutated inputs" in str(c.reason)) for c in refused] == [("cuda_graphs", True)]


def test_a_replay_leaves_its_kernels_and_little_else(mixed: Golden) -> None:
    for graph in mixed.report.graphs:
        if graph.chosen == "cuda_graphs":
            first, second = mixed.before.judged(graph.key), mixed.after.judged(graph.key)
            assert first is not None
            assert second is not None
            assert first.budget.budget is not None
            assert second.budget.budget is not None
            assert second.budget.budget.ns(Part.STARVED) < 0.1 * first.budget.budget.ns(Part.STARVED)
            assert second.verdict.bound is Bound.LATENCY


def test_a_device_measured_in_a_crowd_predicts_for_that_crowd(mixed: Golden) -> None:
    """This one was: a replay took 0.46 ms where a quiet host needs 0.10, and half of it inside the graph's own call. So
    it was for the trial, minutes later. It is the reason why a crowd is noticed."""
    (first, *_) = mixed.report.graphs
    judged = mixed.before.judged(first.key)
    trial = next(c for c in first.candidates if c.candidate == "cuda_graphs")
    assert judged is not None
    assert judged.budget.busy_ns is not None
    assert judged.budget.kernels_per_step is not None
    assert trial.measured_ns is not None
    region = Replayed(judged.budget.busy_ns, judged.budget.kernels_per_step)
    assert predict_cuda_graphs(region, mixed.report.device) == pytest.approx(trial.measured_ns, rel=0.1)
