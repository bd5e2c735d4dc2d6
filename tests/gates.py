"""Builds what gates judge: a report of one model whose source is known, its policy, and what was stored of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from analyzer.core.baseline import ModelBaseline
from analyzer.core.gate import GateCheck, ModelGate
from analyzer.core.graphs import SourceLine
from analyzer.core.policy import Policy
from analyzer.core.report import Report
from analyzer.gate.judge import Case, baseline_of
from analyzer.gate.policy_file import policy_of
from tests.reports import a_capture, a_finding, a_graph, a_plan_trial, a_report, at, some_samples

MODEL = "gptlite.py"


@dataclass(frozen=True)
class Lines:
    """Sources without files: the text of a line by its number."""

    text_of: Mapping[int, str] = field(default_factory=dict)
    root: str = "/home/ada/"

    def path(self, file: str) -> str:
        return file.removeprefix(self.root)

    def is_own(self, file: str) -> bool:
        return file.startswith(self.root)

    def text(self, where: SourceLine) -> str:
        return self.text_of.get(where.line, f"line {where.line}")


def a_break(line: int, **changes: Any) -> Any:
    return a_finding("graph_break", where=at(f"/home/ada/gptlite.py:{line}"), **changes)


def a_model_report(breaks: int = 0, **changes: Any) -> Report:
    """One graph, then one more for every break; breaks at lines 57, 58, …. Everything that gates read is known."""
    graphs = tuple(a_graph(f"/home/ada/gptlite.py:{41 + n}", number=n + 1) for n in range(breaks + 1))
    capture = a_capture(graphs, recompiles=(), skips=())
    capture = replace(capture, graphs=tuple(replace(graph, code_bytes=10_000) for graph in capture.graphs))
    report = a_report(
        graphs=graphs,
        eager_gaps=(),
        capture=capture,
        findings=tuple(a_break(57 + n) for n in range(breaks)),
        rule_failures=(),
        plans=(
            a_plan_trial("default", None, step_ns=some_samples(31.8, 60), accuracy=a_plan_trial("x", 1.0).accuracy,
                         peak_bytes=2**30),
        ),
        step_ns=some_samples(31.8, 60),
        host_waits=0.0,
    )  # fmt: skip
    return replace(report, **changes)


def a_policy(preset: str = "recommended", **gates: Any) -> Policy:
    return policy_of({"preset": preset, "gates": gates}, "graphbound.toml", "/home/ada")


def a_case(report: Report | None = None, stored: Report | ModelBaseline | None = None, **changes: Any) -> Case:
    """`stored` is the report that the baseline was made of, or the baseline itself."""
    case = Case(MODEL, report or a_model_report(), a_policy(), Lines())
    case = replace(case, **changes)
    if isinstance(stored, Report):
        stored = baseline_of(replace(case, report=stored, crowd=None))
    return case if stored is None else replace(case, baseline=stored, against="graphbound.baseline.json")


def of(gate: str, judged: ModelGate) -> GateCheck:
    """The only check of this gate."""
    (found,) = [check for check in judged.checks if check.gate == gate]
    return found
