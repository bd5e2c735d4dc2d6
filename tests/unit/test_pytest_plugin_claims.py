"""What a test may claim of a model, and what fails: never what is unknown in silence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from analyzer.core.budget import Budget, BudgetPart, Part
from analyzer.core.errors import UnreadableFileError, UsageError
from analyzer.core.graphs import SourceLine
from analyzer.core.plan import Choice, Plan
from analyzer.core.report import Report
from analyzer.core.timing import Crowd
from analyzer.core.verdict import Bound, Verdict
from analyzer.gate.gates import GATES
from analyzer.gate.reading import Needs
from analyzer.gate.silence import Silence, Silences
from analyzer.pytest_plugin_claims import NAMES, WITHOUT_BASELINE, Miss, misses, read_claims
from analyzer.pytest_plugin_model import Bottleneck, HeldSettings, plan_file
from tests.gates import Lines, a_model_report
from tests.reports import MS, a_gap, a_plan_trial, some_samples

FILE = "/home/ada/gptlite.py"


def found(report: Report, silences: Silences | None = None, **asked: Any) -> tuple[Miss, ...]:
    return misses(read_claims(asked), report, Lines(), silences or Silences())


def a_step(part: Part = Part.MEMORY, bound: Bound | None = None, **changes: Any) -> Report:
    """A report of one graph whose step goes to this part."""
    budget = Budget(10 * MS, (BudgetPart(part, 8 * MS), BudgetPart(Part.OTHER, 2 * MS)))
    report = a_model_report()
    verdict = Verdict(bound or Bound.MEMORY, 0.9, ("8 ms of 10 ms is in kernels",))
    graph = replace(report.graphs[0], budget=budget, verdict=verdict)
    return replace(replace(report, graphs=(graph,), step_budget=budget), **changes)


def test_every_gate_can_be_named_or_is_refused_with_its_reason() -> None:
    assert {*NAMES, *WITHOUT_BASELINE} == {*(gate.id for gate in GATES), "bound"}
    for name, reason in WITHOUT_BASELINE.items():
        with pytest.raises(UsageError, match=reason) as refused:
            read_claims({name: 0})
        assert refused.value.hint == "`analyze check` can"


@pytest.mark.parametrize("gate", [gate for gate in GATES if gate.id in NAMES], ids=lambda gate: gate.id)
def test_a_gate_that_is_not_known_never_holds(gate: Any) -> None:
    bare = replace(
        a_model_report(), capture=None, graphs=(), findings=(), plans=(), step_ns=None, step_budget=None,
        host_waits=None, attributed=None,
    )  # fmt: skip
    limit = {"ns": "1 min", "bytes": "1 TiB", "share": 1}.get(gate.unit.value, 10**9)
    for claimed in (limit, (None, limit), (0 if not isinstance(limit, str) else None, limit)):
        (miss,) = found(bare, **{gate.id: claimed})
        assert miss.name == gate.id
        assert "could not be judged" in miss.message


def test_a_number_is_the_most_and_a_pair_the_least_and_the_most() -> None:
    report = a_model_report(breaks=2)
    assert not found(report, graph_breaks=2, graphs=3)
    assert not found(report, graph_breaks=3)
    assert not found(report, graph_breaks=(2, 2), graphs=(1, None))
    assert [miss.name for miss in found(report, graph_breaks=1, graphs=2)] == ["graph_breaks", "graphs"]
    (few,) = found(report, graphs=(4, None))
    assert few.message == "3 graphs; at least 4 was claimed"
    assert not found(report, graphs=(None, 3))


def test_a_miss_says_what_where_and_what_to_do() -> None:
    report = a_model_report(breaks=2)
    (miss,) = found(report, graph_breaks=0)
    assert miss.message.startswith("2 graph breaks; at most 0 may be: gptlite.py:57")
    assert miss.lines[:2] == ("at gptlite.py:57: line 57", "at gptlite.py:58: line 58")
    assert miss.lines[2:] == (report.findings[0].message, f"→ {report.findings[0].remedy}")


def test_a_silenced_break_is_let_pass_as_in_a_check() -> None:
    silences = Silences((Silence(SourceLine(FILE, 57), ("graph_break",)),))
    assert not found(a_model_report(breaks=1), silences, graph_breaks=0)
    assert found(a_model_report(breaks=2), silences, graph_breaks=0)


def test_a_run_that_ended_early_proves_nothing() -> None:
    (miss,) = found(a_model_report(partial="the process was lost"), graph_breaks=0)
    assert (miss.name, miss.message) == ("run", "it ended early: the process was lost")


def test_a_time_needs_its_unit_and_fails_past_it_or_where_it_cannot_be_told() -> None:
    report = a_model_report()
    assert not found(report, step_time="40 ms")
    assert "at most 20.0 ms may be" in found(report, step_time="20 ms")[0].message
    with pytest.raises(UsageError, match=r'step_time is 12\.5, and must be a time like "12\.5 ms"'):
        read_claims({"step_time": 12.5})
    wide = a_model_report(step_ns=some_samples(31.8, 60), plans=())
    limit_ns = wide.step_ns.median_ns - 1 if wide.step_ns is not None else 0
    (miss,) = found(wide, step_time=f"{limit_ns} ns")
    assert "cannot be told from the limit" in miss.message
    crowded = replace(wide, crowd=Crowd(other_cores=8, cores=8, threads=8))
    assert "busy" in found(crowded, step_time="1 ms")[0].message


def test_bound_holds_where_the_longest_graph_and_the_step_agree() -> None:
    assert not found(a_step(), bound="memory")
    assert not found(a_step(), bound=("compute", "memory"))
    assert not found(a_step(Part.STARVED, Bound.CPU), bound="CPU")
    (miss,) = found(a_step(), bound="compute")
    assert "compute-bound was claimed, and gptlite.py:41" in miss.message
    assert "is memory-bound (confidence 90 %)" in miss.message
    assert miss.lines == ("8 ms of 10 ms is in kernels",)


def test_where_graph_and_step_differ_neither_is_the_models_bound() -> None:
    mixed = a_step(Part.STARVED, Bound.MEMORY)
    (miss,) = found(mixed, bound="memory")
    assert "the step as a whole is not" in miss.message
    assert miss.lines == ("“starved” takes 80 % of the step",)
    assert found(mixed, bound="cpu")
    assert not found(mixed, bound=("cpu", "memory"))


def test_undecided_fails_with_what_is_missing() -> None:
    report = a_step()
    undecided = Verdict(Bound.UNDECIDED, None, (), missing="record shapes")
    report = replace(report, graphs=(replace(report.graphs[0], verdict=undecided),))
    for bound in ("compute", "memory", "cpu", "latency"):
        assert found(report, bound=bound)[0].message.endswith("is undecided: record shapes")
    assert "no step has a budget" in found(a_step(step_budget=None, graphs=()), bound="cpu")[0].message


def a_planned_step(after: Part, bound: Bound, **changes: Any) -> Report:
    """Memory-bound under the default; under the plan its step goes to this part."""
    budget = Budget(4 * MS, (BudgetPart(after, 3 * MS), BudgetPart(Part.OTHER, 1 * MS)))
    report = a_step()
    graph = replace(
        report.graphs[0], budget_after=budget, after_ns=4 * MS, verdict_after=Verdict(bound, 0.8, ("under the plan",))
    )
    plans = (*report.plans, a_plan_trial("plan", 4.0, is_chosen=True))
    return replace(replace(report, graphs=(graph,), plans=plans, step_budget_after=budget), **changes)


def test_under_a_plan_the_bound_is_that_of_the_plan() -> None:
    report = a_planned_step(Part.LATENCY, Bound.LATENCY)
    assert not found(report, bound="latency")
    (miss,) = found(report, bound="memory")
    assert "100 % of a step under the plan, is latency-bound (confidence 80 %)" in miss.message
    assert miss.lines == ("under the plan",)
    (gone,) = found(replace(report, step_budget_after=None), bound="memory")
    assert gone.message.endswith("it is undecided: no step has a budget under the plan")
    alone = (a_plan_trial("default", 10.0), a_plan_trial("eager", 4.0, is_chosen=True))
    (left,) = found(replace(report, plans=alone), bound="memory")
    assert left.message.endswith("the plan leaves the model uncompiled, and no such step was recorded")


def test_a_gap_that_takes_longest_under_a_plan_has_no_verdict_there() -> None:
    report = a_planned_step(Part.LATENCY, Bound.LATENCY)
    gap = replace(a_gap(), after_ns=9 * MS)
    (miss,) = found(replace(report, eager_gaps=(gap,)), bound="latency")
    assert "is between graphs, where none is judged under a plan" in miss.message


def test_who_was_busy_stands_beside_a_bound_that_was_missed() -> None:
    crowded = replace(a_step(), crowd=Crowd(other_cores=8, cores=8, threads=8))
    (miss,) = found(crowded, bound="compute")
    assert miss.lines[-2:] == (
        "other programs kept the machine busy meanwhile",
        "→ time it where nothing else runs, or claim no time",
    )
    assert not found(crowded, bound="memory")


@pytest.mark.parametrize("plan", ["", {}, 3, b""])
def test_what_is_no_path_of_a_plan_is_refused(plan: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must be the path of a plan\.json"):
        plan_file(plan, tmp_path)
    assert plan_file(Path("a/plan.json"), tmp_path) == tmp_path / "a" / "plan.json"


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ({}, "asked nothing", "graph_breaks"),
        ({"graph_break": 0}, "knows no 'graph_break'", "did you mean graph_breaks?"),
        ({"cuda_graph_refusals": 0}, "knows no", "did you mean cudagraph_refusals?"),
        ({"qqq": 0}, "knows no 'qqq'", "there are graph_breaks, graphs"),
        ({"graphs": True}, "graphs is True, and must be a number from 0", None),
        ({"graphs": None}, "graphs is None", None),
        ({"graphs": -1}, "graphs is -1", None),
        ({"graphs": float("nan")}, "graphs is nan", None),
        ({"graphs": (1, 2, 3)}, "a pair of the least and the most", None),
        ({"graphs": (None, None)}, "a pair of the least and the most", None),
        ({"graphs": (3, 1)}, "its least is more than its most", None),
        ({"bound": "gpu"}, "bound is 'gpu'", "did you mean cpu?"),
        ({"bound": "undecided"}, "bound is 'undecided'", "undecided is what is found where nothing is sure"),
        ({"bound": ()}, "bound is ()", None),
        ({"bound": 3}, "bound is 3", None),
    ],
)
def test_what_is_no_claim_is_refused(asked: dict[str, Any], message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as refused:
        read_claims(asked)
    assert message in refused.value.message
    assert hint is None or hint in (refused.value.hint or "")


def test_the_coverage_of_a_plan_is_held_where_one_is_given() -> None:
    report = a_model_report(breaks=1)
    one, other = report.graphs
    plan = Plan((Choice(one.key, "cuda_graphs"),), report.device.name, report.versions)

    def missed(plan: Plan | None) -> tuple[Miss, ...]:
        return misses(read_claims({"plan_coverage": 1}), report, Lines(), Silences(), plan)

    (miss,) = missed(plan)
    assert miss.message == "50 % of the graphs in the plan; at least 100 % may be"
    assert not missed(replace(plan, choices=(*plan.choices, Choice(other.key, "fused"))))
    (none,) = missed(None)
    assert none.message == "could not be judged: no plan is named for this model"
    assert none.lines == ('→ bottleneck(…, plan="plan.json") names it',)


def test_a_plan_that_is_not_there_is_told_before_the_model_runs(tmp_path: Path) -> None:
    settings = HeldSettings("inference", None, False, False, None, tmp_path, tmp_path / "gone.json")
    with pytest.raises(UnreadableFileError, match=r"cannot read the plan .*gone\.json"):
        Bottleneck(None, None, settings).has(plan_coverage=1)


def test_a_flag_of_the_command_is_told_as_the_argument_that_it_is_here() -> None:
    settings = HeldSettings("inference", "cuda:1", False, False, None, Path())
    with pytest.raises(UsageError) as caught:
        Bottleneck(torch.nn.Identity(), (torch.zeros(1),), settings).has(graphs=1)
    assert "--device" not in caught.value.message
    assert 'CUDA_VISIBLE_DEVICES=1 and say bottleneck(…, device="cuda")' in caught.value.message


def test_only_what_needs_a_step_has_one_run() -> None:
    assert read_claims({"graph_breaks": 0, "recompiles": 0}).needs is Needs.GRAPHS
    assert read_claims({"graph_breaks": 0, "kernels": 9}).needs is Needs.STEPS
    assert read_claims({"bound": "cpu"}).needs is Needs.CLOCK


def test_an_error_comes_without_the_frames_that_it_passed_through() -> None:
    settings = HeldSettings("inference", None, False, False, None, Path())
    for asked in ({"graph_breaks": "none"}, {"graph_brakes": 0}):
        with pytest.raises(UsageError) as caught:
            Bottleneck(None, None, settings).has(**asked)
        assert [frame.name for frame in caught.traceback][1:] == ["has"], "which pytest does not show"
