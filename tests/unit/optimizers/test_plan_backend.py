"""Which candidate each graph gets from a plan, and what is told of a graph that gets none of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.errors import UsageError
from analyzer.core.graphs import Direction, GraphKey
from analyzer.core.plan import Choice, Plan
from collectors import torch_compat
from collectors.graph_key import graph_digest
from collectors.versions import versions
from optimizers import plan_backend
from optimizers.candidates.base import Candidate, RefusedError
from optimizers.candidates.fused import FUSED
from optimizers.plan_backend import PlanBackend, ReportingBackend, direction_of
from optimizers.plan_candidates import chosen_candidates
from tests.workloads import Mlp, captured, fresh_dynamo

X = torch.randn(4, 8)


def a_plan(digest: str = "abc", **choices: str) -> Plan:
    """`a_plan(forward="fused", backward="cuda_graphs")` for one graph."""
    chosen = tuple(Choice(GraphKey(digest, Direction(d)), candidate) for d, candidate in choices.items())
    return Plan(chosen, "cpu", versions())


def asked(plan: Plan, direction: Direction) -> tuple[str, str]:
    forward, backward = PlanBackend(chosen_candidates(plan), FUSED).candidates("abc", direction)
    return forward.id, backward.id


def test_an_unknown_graph_takes_the_default_and_is_listed() -> None:
    backend = PlanBackend(chosen_candidates(a_plan(inference="cpp_wrapper")), FUSED)
    assert backend.candidates("other", Direction.INFERENCE) == (FUSED, FUSED)
    assert backend.unknown == ["other"]


def test_a_backward_follows_its_forward_unless_the_plan_says_otherwise() -> None:
    assert asked(a_plan(forward="cpp_wrapper"), Direction.FORWARD) == ("cpp_wrapper", "cpp_wrapper")
    assert asked(a_plan(forward="fused", backward="cpp_wrapper"), Direction.FORWARD) == ("fused", "cpp_wrapper")


def test_a_backward_cuda_graph_needs_a_forward_one() -> None:
    assert asked(a_plan(forward="fused", backward="cuda_graphs"), Direction.FORWARD) == ("fused", "fused")
    both = a_plan(forward="cuda_graphs", backward="cuda_graphs")
    assert asked(both, Direction.FORWARD) == ("cuda_graphs", "cuda_graphs")


def test_a_graph_that_turned_out_to_be_of_inference_is_found() -> None:
    """Its inputs want gradients and its outputs have none: AOTAutograd made an inference program of it."""
    assert asked(a_plan(inference="cpp_wrapper"), Direction.FORWARD)[0] == "cpp_wrapper"


def test_weights_baked_in_for_inference_are_not_where_gradients_are_on() -> None:
    assert asked(a_plan(inference="frozen"), Direction.INFERENCE)[0] == "frozen"
    assert asked(a_plan(inference="frozen"), Direction.FORWARD) == ("fused", "fused")


def test_equal_candidates_of_a_plan_are_one_object() -> None:
    chosen = chosen_candidates(a_plan(forward="frozen+cuda_graphs", backward="frozen+cuda_graphs"))
    first, second = chosen.values()
    assert first is second


@pytest.mark.parametrize("name", ["warp_drive", "fused+warp_drive", "cuda_graphs+cpp_wrapper", ""])
def test_an_unknown_candidate_is_one_line(name: str) -> None:
    with pytest.raises(UsageError, match="unknown candidate") as caught:
        chosen_candidates(a_plan(inference=name))
    assert "\n" not in caught.value.message


def test_what_autograd_will_make_of_a_graph() -> None:
    wants = torch.ones(2, requires_grad=True)
    assert direction_of([wants, 3]) is Direction.FORWARD
    assert direction_of([torch.ones(2), 3]) is Direction.INFERENCE
    with torch.no_grad():
        assert direction_of([wants]) is Direction.INFERENCE


# -- what is told -----------------------------------------------------------------------------------------------------


def compiled_with(backend: Any, model: nn.Module) -> Callable[..., Any]:
    return torch_compat.compiled_model(model, backend)


def refusing(*refused: str) -> Callable[..., Any]:
    """Stands in for the compiler: would not have these candidates, and runs any other as captured."""

    def compile_candidate(gm: Any, inputs: Any, forward: Candidate, backward: Candidate, _: Any) -> Any:
        if forward.id in refused:
            raise RefusedError("it has no weights")
        return gm.forward

    return compile_candidate


def test_a_candidate_that_would_not_have_its_graph_gives_way_to_the_default_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan_backend, "compile_candidate", refusing("frozen"))
    model = Mlp()
    with torch.no_grad():
        ((gm, inputs),) = captured(model, X)
        digest = graph_digest(gm, inputs)
        backend = ReportingBackend(chosen_candidates(a_plan(digest, inference="frozen")), FUSED, "the plan p.json")
        told = f"the plan p.json wants frozen for graph {digest}, which takes .* default: it has no weights"
        with fresh_dynamo(), pytest.warns(UserWarning, match=told):
            torch.testing.assert_close(compiled_with(backend, model)(X), model(X))
    assert backend.unknown == []


def test_only_the_first_unknown_graph_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_backend, "compile_candidate", refusing())
    backend = ReportingBackend({}, FUSED, "the plan")
    with fresh_dynamo(), torch.no_grad(), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        compiled_with(backend, Mlp(talks=True))(X)
    assert len(backend.unknown) == 2
    assert len([one for one in heard if "does not name the graph" in str(one.message)]) == 1


def test_a_reset_of_dynamo_drops_recorded_graphs_where_there_may_be_some(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[str] = []
    monkeypatch.setattr(torch_compat, "forget_cuda_graphs", lambda: dropped.append("all"))
    recording = replace(FUSED, uses_cuda_graphs=True)
    PlanBackend({("abc", Direction.INFERENCE): FUSED}, FUSED).reset()
    assert dropped == []
    PlanBackend({("abc", Direction.INFERENCE): recording}, FUSED).reset()
    assert dropped == ["all"]


def test_recorded_graphs_can_be_dropped_where_there_are_none() -> None:
    torch_compat.forget_cuda_graphs()
