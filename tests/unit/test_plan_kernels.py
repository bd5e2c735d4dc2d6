"""What Inductor told of a plan's kernels is told of those alone: a number of a name is another kernel there."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec
import pytest
import torch
from torch import fx, nn

from analyzer.core.graphs import CallOrder, Capture, Direction, Graph, GraphKey, KernelFacts, LibraryCall, under_plan
from analyzer.core.plan import FUSED, Choice, Plan
from analyzer.derive.attribution import Attribution, attribute
from analyzer.derive.kernel_costs import KernelCosts, from_graphs, from_reference, kernel_costs
from analyzer.session import Session
from analyzer.session_ears import Announcer, CompileClock
from collectors.capture import GraphLog
from collectors.kept_code import KeptCode
from optimizers.candidates.known import candidate_of
from tests.traces import Recording
from tests.workloads import a_workload

KEY: Final = GraphKey("0123456789ab", Direction.INFERENCE)
SMALL: Final = KernelFacts("triton_poi_fused_add_1", 600, reads=(400,), writes=(200,))
LARGE: Final = KernelFacts("triton_poi_fused_add_1", 90_000_000, reads=(60_000_000,), writes=(30_000_000,))
GRAPH: Final = Graph(key=KEY, compile_ids=(), source=(), op_count=2, ended_by=None, bytes=90_000_600, kernels=(SMALL,))


def _log() -> GraphLog:
    log = GraphLog(None)
    log.add_graph(KEY, fx.symbolic_trace(lambda x: x + 1), None)
    return log


def _told(log: GraphLog, kept: KeptCode, candidate: str, facts: KernelFacts) -> None:
    Announcer(lambda event: None, log, CompileClock(), kept).counted(KEY, candidate_of(candidate), None, (facts,))


def _kernels(log: GraphLog) -> tuple[KernelFacts, ...]:
    (graph,) = log.capture(compile_ns=0, first_call_ns=0).graphs
    return graph.kernels


def test_what_candidates_that_are_tried_generate_is_not_mistaken_for_the_defaults() -> None:
    log, kept = _log(), KeptCode(FUSED)
    _told(log, kept, FUSED, SMALL)
    _told(log, kept, "frozen", LARGE)
    assert _kernels(log) == (SMALL,)


def test_the_kernels_of_the_plan_take_the_place_of_those_that_were_compiled_before() -> None:
    log = _log()
    _told(log, KeptCode(FUSED), FUSED, SMALL)
    log.forget_kernels()
    assert _kernels(log) == ()
    _told(log, KeptCode(), "frozen", LARGE)
    assert _kernels(log) == (LARGE,)


MM: Final = CallOrder.of((LibraryCall("aten::mm"), SMALL.name))
BMM: Final = CallOrder.of((LibraryCall("aten::bmm"), LARGE.name))


def _ordered(log: GraphLog, kept: KeptCode, candidate: str, calls: CallOrder | None) -> CallOrder | None:
    Announcer(lambda event: None, log, CompileClock(), kept).ordered(KEY, candidate_of(candidate), calls)
    (graph,) = log.capture(compile_ns=0, first_call_ns=0).graphs
    return graph.calls


def test_the_order_of_calls_is_that_of_the_kept_candidate_and_unknown_where_two_compilations_differ() -> None:
    log, kept = _log(), KeptCode(FUSED)
    assert _ordered(log, kept, FUSED, MM) == MM
    assert _ordered(log, kept, "frozen", BMM) == MM
    assert _ordered(log, kept, FUSED, MM) == MM
    assert _ordered(log, kept, FUSED, BMM) is None
    assert _ordered(log, kept, FUSED, MM) is None
    log.forget_kernels()
    assert _ordered(log, KeptCode(), "frozen", BMM) == BMM


def test_an_order_names_only_calls_that_are_there() -> None:
    with pytest.raises(ValueError, match="not there"):
        CallOrder(MM.kernels, MM.calls, (0, 2))
    with pytest.raises(msgspec.ValidationError, match="not there"):
        msgspec.json.decode(b'{"kernels": ["triton_poi_fused_add_1"], "calls": [], "order": [0, -1]}', type=CallOrder)


def test_under_a_plan_a_graph_calls_in_the_order_of_the_plan_or_in_none_that_is_known() -> None:
    default = Capture((replace(GRAPH, calls=MM),), (), (), (), 0, 0)
    (told,) = default.with_plan(replace(default, graphs=(replace(GRAPH, calls=BMM),))).graphs
    assert (told.calls, told.plan_calls) == (MM, BMM)
    assert [graph.calls for graph in under_plan((told, default.graphs[0]))] == [BMM, None]


def test_a_capture_keeps_both() -> None:
    default = Capture((GRAPH, replace(GRAPH, key=replace(KEY, digest="ba9876543210"))), (), (), (), 0, 0)
    planned = replace(default, graphs=(replace(GRAPH, kernels=(LARGE,)),))
    first, other = default.with_plan(planned).graphs
    assert (first.kernels, first.plan_kernels) == ((SMALL,), (LARGE,))
    assert (other.kernels, other.plan_kernels) == ((SMALL,), None)
    assert default.with_plan(None) == default


def test_what_the_whole_graph_moves_is_known_under_a_plan_where_its_kernels_are_the_same() -> None:
    other, same, untold = under_plan(replace(GRAPH, plan_kernels=told) for told in ((LARGE,), (SMALL,), None))
    assert (other.kernels, other.bytes) == ((LARGE,), None)
    assert (same.kernels, same.bytes) == ((SMALL,), GRAPH.bytes)
    assert (untold.kernels, untold.bytes) == ((SMALL,), None)
    without = replace(GRAPH, kernels=())
    assert under_plan([without]) == (without,)


def _replayed(*kernels: str) -> Attribution:
    run = Recording()
    with run.step():
        with run.graph(str(KEY)):
            run.replay([(name, 5) for name in kernels])
        run.synchronize()
    return attribute(run.trace())


def _under_plan(graph: Graph) -> KernelCosts:
    before, after = _replayed(SMALL.name), _replayed(LARGE.name, "triton_poi_fused_cat_2")
    costs = from_reference(kernel_costs(after), after, kernel_costs(before), before)
    return from_graphs(costs, after, under_plan([graph]))


def test_a_kernel_under_the_plan_has_the_cost_that_was_told_of_it_there() -> None:
    first, second = _under_plan(replace(GRAPH, plan_kernels=(LARGE,))).costs
    assert first is not None
    assert first.bytes == LARGE.bytes
    assert second is None


def test_what_the_default_moves_is_not_spread_over_the_kernels_of_a_plan() -> None:
    """As it was on an H200, where a quarter of a step was called memory-bound by it."""
    costs = _under_plan(GRAPH).costs
    assert costs[1] is None


class Heads(nn.Module):
    """Two linear layers of one input, which `grouped` makes one product: what follows them reads parts of it."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(16, 16)
        self.other = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.one(x)) * torch.sigmoid(self.other(x))


@pytest.mark.slow
def test_a_session_tells_of_the_kernels_that_each_of_its_programs_runs() -> None:
    session = Session(a_workload(Heads(), torch.ones(4, 16)), lambda event: None)
    try:
        session.start()
        (graph,) = session.capture().graphs
        session.prepare_judge()
        session.build({graph.key.digest: ("grouped",)})
        capture = session.verify(Plan((Choice(graph.key, "grouped"),), "cpu", session.versions())).capture
        (code,) = [code.text for code in session.generated_code()]
    finally:
        session.close()
    assert capture is not None
    (planned,) = capture.graphs
    assert graph.kernels
    assert planned.kernels
    assert all(facts.name in code for facts in planned.kernels)
    assert graph.plan_kernels is None
