"""What the product recorded on an H200 is explained here, without a GPU, as it was there.

The golden is `tests/golden/granite_h200`: a 16-layer bf16 Granite-like model, 1024 wide, at 1 x 128 tokens, recorded on
2026-12-01 by `analyze examples/granite_like.py` with torch 2.11.0 (CUDA 13.0, triton 3.6.0), and shortened by
`tests.golden.record`. The figures below are added up from the rows of its two traces, and from its stored samples. The
order of its graph's calls, which that run wrote with each kernel's name in full, was put into the form of `CallOrder`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib import resources

import pytest

from analyzer.commands.demo import DEMO_REPORT
from analyzer.core.budget import Budget, Part
from analyzer.core.graphs import under_plan
from analyzer.core.report import Report
from analyzer.core.samples import median_ratio
from analyzer.core.trace import EventKind
from analyzer.core.trial import Change
from analyzer.core.verdict import Bound
from analyzer.derive.predict import Replayed, predict_cuda_graphs
from analyzer.diagnosis import Diagnosis, Judged
from analyzer.reporting.json import decode_report
from tests.goldens import Golden, read_golden

LAYERS = 16
STEPS = 3


@pytest.fixture(scope="module")
def golden() -> Golden:
    return read_golden("granite_h200")


@pytest.fixture(scope="module")
def report(golden: Golden) -> Report:
    return golden.report


@pytest.fixture(scope="module")
def before(golden: Golden) -> Diagnosis:
    return golden.before


@pytest.fixture(scope="module")
def after(golden: Golden) -> Diagnosis:
    return golden.after


def _graph(report: Report, diagnosis: Diagnosis) -> Judged:
    (graph,) = report.graphs
    judged = diagnosis.judged(graph.key)
    assert judged is not None
    return judged


def _budget(report: Report, diagnosis: Diagnosis) -> Budget:
    budget = _graph(report, diagnosis).budget.budget
    assert budget is not None
    return budget


def _kernels(diagnosis: Diagnosis) -> tuple[Counter[str], Counter[str]]:
    """How often each kernel was recorded, and its nanoseconds in all."""
    trace, counts, total_ns = diagnosis.attribution.trace, Counter[str](), Counter[str]()
    for row in trace.rows(EventKind.KERNEL).tolist():
        counts[trace.name(row)] += 1
        total_ns[trace.name(row)] += int(trace.duration_ns[row])
    return counts, total_ns


def test_every_kernel_is_linked_to_the_graph(before: Diagnosis, after: Diagnosis) -> None:
    # 251 and 167 kernels a step; each product over split K clears its sums first, one in each layer.
    for diagnosis, kernels in ((before, 251), (after, 167)):
        attributed = diagnosis.attribution.attributed
        assert attributed.kernels == STEPS * (kernels + LAYERS)
        assert attributed.unlinked_kernels == 0
        assert attributed.linked_share == 1.0


def test_the_budget_is_the_one_the_machine_with_the_gpu_printed(report: Report, before: Diagnosis) -> None:
    for graph in (*report.graphs, *report.eager_gaps):
        judged = before.judged(graph.key)
        assert judged is not None
        budget, printed = judged.budget.budget, graph.budget
        assert budget is not None
        assert printed is not None
        assert budget.elapsed_ns == printed.elapsed_ns
        # Rows of the trace say these, whatever is known of a kernel's cost.
        for part in (Part.STARVED, Part.COPIES, Part.SYNC):
            assert budget.ns(part) == printed.ns(part)
        # Which roof a kernel is near is still being learned of: 1 % of the graph are 57 of its kernels' 955 µs.
        for part in (Part.COMPUTE, Part.MEMORY, Part.LATENCY, Part.UNKNOWN_KERNELS):
            assert abs(budget.ns(part) - printed.ns(part)) <= 0.01 * printed.elapsed_ns


def test_what_memory_bounds_is_the_head_and_under_the_plan_the_gates(
    report: Report, before: Diagnosis, after: Diagnosis
) -> None:
    """The one product with a large matrix: 49152 × 1024 bf16 are 101 MB, 23 µs at the measured bandwidth, and it takes
    30.3 µs; then its logits are divided in 8.9 µs. Every other product is under 36 % of the bandwidth, until the plan
    makes the two of a gate one: 8192 × 1024 are 16.8 MB, 46 % of the bandwidth in 7.5 µs, sixteen times.
    """
    assert _budget(report, before).ns(Part.MEMORY) == pytest.approx(39_150, rel=0.02)
    assert _budget(report, after).ns(Part.MEMORY) == pytest.approx(157_800, rel=0.02)


def test_every_product_of_the_plan_is_explained(report: Report, after: Diagnosis) -> None:
    """A replay has no operator around a product, and the products of the default are others: the order of Inductor's
    calls tells them.
    """
    assert _budget(report, after).ns(Part.UNKNOWN_KERNELS) == 0
    (graph,) = report.graphs
    (captured,) = (one for one in report.capture.graphs if one.key == graph.key)
    assert captured.plan_calls is not None
    widths = {call.shapes[1][1] for call in captured.plan_calls.calls if call.op == "aten::mm"}
    assert widths == {128, 1536, 1024, 8192, 49152}
    untold = replace(captured, plan_calls=None)
    assert under_plan([untold])[0].calls is None


def test_the_bound_shifts_from_the_host_to_the_kernels(report: Report, before: Diagnosis, after: Diagnosis) -> None:
    first, second = _graph(report, before).verdict, _graph(report, after).verdict
    assert first.bound is Bound.CPU
    assert first.confidence is not None
    assert first.confidence > 0.9
    # 167 kernels of 4.1 µs on average, and what lies between them.
    assert second.bound is Bound.LATENCY
    assert _budget(report, after).share(Part.LATENCY) > 0.5


def test_the_plan_takes_away_the_starved_time(report: Report, before: Diagnosis, after: Diagnosis) -> None:
    # 4.71 of 5.67 ms; one launch of a CUDA graph a step leaves the device nothing to wait for in between.
    assert _budget(report, before).share(Part.STARVED) == pytest.approx(0.832, abs=0.001)
    assert _budget(report, after).ns(Part.STARVED) < 0.01 * _budget(report, before).ns(Part.STARVED)


def test_the_plan_makes_products_of_one_input_one_and_leaves_the_others(
    report: Report, before: Diagnosis, after: Diagnosis
) -> None:
    """Of seven products a layer and the head, the three of the attention's inputs are one, and the two of the gate."""
    (first, first_ns), (second, second_ns) = _kernels(before), _kernels(after)
    products = [sum(n for name, n in counts.items() if name.startswith("nvjet_")) for counts in (first, second)]
    assert products == [STEPS * (7 * LAYERS + 1), STEPS * (4 * LAYERS + 1)]
    kept = [name for name, n in first.items() if second[name] == n and not name.startswith("triton_")]
    assert sum(first[name] for name in kept) >= STEPS * (3 * LAYERS + 1)
    assert sum(second_ns[name] for name in kept) == pytest.approx(sum(first_ns[name] for name in kept), rel=0.03)
    # 955 and 679 µs of kernels a step.
    for diagnosis, busy_ns in ((before, 955_070), (after, 679_488)):
        assert _graph(report, diagnosis).budget.busy_ns == pytest.approx(busy_ns, rel=0.002)


def test_the_prediction_from_the_default_run_holds_to_five_per_cent(report: Report, before: Diagnosis) -> None:
    (graph,) = report.graphs
    found = _graph(report, before).budget
    trial = next(c for c in graph.candidates if c.candidate == "cuda_graphs")
    assert found.busy_ns is not None
    assert found.kernels_per_step is not None
    predicted_ns = predict_cuda_graphs(Replayed(found.busy_ns, found.kernels_per_step), report.device)
    assert predicted_ns == pytest.approx(1_149_888, rel=0.05)
    assert trial.measured_ns == 1_149_888


def test_the_demo_is_this_run_and_tells_whoever_has_no_gpu_to_run_one(report: Report) -> None:
    demo = decode_report(resources.files("analyzer").joinpath(DEMO_REPORT).read_bytes(), DEMO_REPORT)
    assert demo == replace(report, next_command="analyze model.py")


def test_the_plan_is_faster_by_what_its_samples_say(report: Report) -> None:
    samples = {plan.name: plan.step_ns for plan in report.plans}
    default, planned = samples["default"], samples["plan"]
    assert default is not None
    assert planned is not None
    assert report.comparison is not None
    assert report.comparison.outcome is Change.FASTER
    interval = report.comparison.interval
    assert interval.low < median_ratio(default, planned) < interval.high
    assert (default.median_ns, planned.median_ns) == (report.comparison.before_ns, report.comparison.after_ns)
