"""Builds what rules see. Each builder takes what the test is about and fills in an H200 run without a flaw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analyzer.core.activity import Activity, EntryCost, EntryKind, KernelSizes
from analyzer.core.budget import Budget
from analyzer.core.device import Device, Peak, Source
from analyzer.core.environment import Environment
from analyzer.core.graphs import Capture, Direction, GapKey, Graph, GraphBreak, GraphKey
from analyzer.core.report import WorkloadFacts
from analyzer.rules.facts import Facts, PlannedRegion, RankFacts, RegionFacts
from tests.op_logs import an_op_log
from tests.reports import MS, a_budget, a_key, a_plan_trial, at


def a_captured_graph(number: int = 1, **changes: Any) -> Graph:
    direction = changes.pop("direction", Direction.INFERENCE)
    graph = Graph(
        key=a_key(number, direction),
        compile_ids=(f"{number - 1}/0",),
        source=(at(f"/home/ada/net.py:{10 * number}"),),
        op_count=12,
        ended_by=None,
        dtype="bfloat16",
    )
    return replace(graph, **changes)


def a_break(place: str | None = "/home/ada/net.py:15", reason: str = "Tensor.item()", **changes: Any) -> GraphBreak:
    stop = GraphBreak(where=at(place) if place else None, reason=reason, hint=None, compile_id="0/0")
    return replace(stop, **changes)


def captured(*graphs: Graph, **changes: Any) -> Capture:
    capture = Capture(
        graphs=graphs or (a_captured_graph(),),
        breaks=(),
        recompiles=(),
        skips=(),
        compile_ns=9_000 * MS,
        first_call_ns=9_100 * MS,
    )
    return replace(capture, **changes)


def a_region(region: GraphKey | GapKey, budget: Budget | None = None, **changes: Any) -> RegionFacts:
    elapsed_ns = budget.elapsed_ns if budget is not None else MS
    return replace(RegionFacts(region, elapsed_ns, budget, kernels_per_step=4.0), **changes)


def a_plan_of(
    candidate: str = "cuda_graphs", before_ns: int | None = None, after_ns: int | None = None
) -> PlannedRegion:
    """What a plan runs a graph with, and the graph's time in a step by default and under it."""
    return PlannedRegion(candidate, "cuda_graph" in candidate, "cpp_wrapper" in candidate, before_ns, after_ns)


def an_environment(**changes: Any) -> Environment:
    environment = Environment(
        is_grad_enabled=False,
        is_anomaly_mode=False,
        is_deterministic=False,
        allows_tf32=False,
        matmul_precision="highest",
        is_cudnn_benchmark=False,
        threads=16,
        interop_threads=8,
        affinity_cpus=16,
        quota_cpus=None,
    )
    return replace(environment, **changes)


def a_device(**changes: Any) -> Device:
    peaks = (Peak("float32", 50e12), Peak("tf32", 400e12), Peak("bfloat16", 740e12))
    return replace(Device(kind="cuda", name="NVIDIA H200", source=Source.MEASURED, peaks=peaks), **changes)


def a_workload(**changes: Any) -> WorkloadFacts:
    workload = WorkloadFacts(
        name="net",
        source="/home/ada/net.py",
        form="get_model",
        mode="inference",
        device="cuda",
        inputs=("float32[8, 64]",),
        parameters=4096,
    )
    return replace(workload, **changes)


def an_activity(**changes: Any) -> Activity:
    """A profiled step of 10 ms, brought to the clean pass: one graph of a few long kernels, and cheap guards."""
    key = a_key(1)
    activity = Activity(
        steps=3,
        step_ns=10 * MS,
        is_scaled=True,
        is_host=False,
        small_kernel_ns=4_500,
        kernels=(KernelSizes(key, 30.0, 9 * MS, 30.0, 2.0, 6_000),),
        entries=(EntryCost(EntryKind.GUARDS, GapKey(None, key), 1.0, 80_000, 40_000, 40_000),),
        entry_cost_ns=40_000,
    )
    return replace(activity, **changes)


def facts(**changes: Any) -> Facts:
    """One bfloat16 graph, bound by memory, all of a step of 10 ms; eager takes 20 ms."""
    whole = Facts(
        workload=a_workload(),
        capture=captured(),
        step_ns=10 * MS,
        regions=(a_region(a_key(1), a_budget(memory=9.0, starved=1.0)),),
        plans=(a_plan_trial("eager", 20.0), a_plan_trial("default", 10.0)),
        device=a_device(),
        environment=an_environment(),
        ops=an_op_log(),
        activity=an_activity(),
        ranks=(RankFacts(0, 10 * MS, MS), RankFacts(1, 10 * MS, MS)),
    )
    return replace(whole, **changes)
