"""What every rule keeps to, whatever it finds."""

from __future__ import annotations

import importlib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import analyzer.rules
from analyzer.core.activity import (
    Activity,
    AllocatorCalls,
    CopyDirection,
    EntryCost,
    EntryKind,
    GraphReplays,
    HostWait,
    InputWait,
    KernelSizes,
    PointwiseChain,
)
from analyzer.core.graphs import CudaGraphSkip, GapKey, GraphBreak, Recompile, SourceLine
from analyzer.core.trial import Accuracy, AccuracyReference
from analyzer.rules import RULES
from analyzer.rules.explain import explain
from analyzer.rules.facts import Facts, RankFacts
from analyzer.rules.rule import SECTIONS, MissingData, Rule
from analyzer.rules.runner import run_rules
from tests.op_logs import a_flawed_log
from tests.reports import MS, a_budget, a_key, a_plan_trial
from tests.rule_facts import (
    a_captured_graph,
    a_region,
    a_workload,
    an_activity,
    an_environment,
    captured,
    facts,
)

HELPERS = {
    "__init__",
    "attention",
    "evidence",
    "explain",
    "facts",
    "op_evidence",
    "places",
    "remedies",
    "rule",
    "runner",
}

HOSTILE = "</script>\x1b[2J\u202e\r\n'; DROP--" + "x" * 10_000

every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


_WRONG = Accuracy(AccuracyReference.FLOAT64, 1.0, 0.0, 0.1, is_right=False, worst=HOSTILE)


def _hostile() -> Facts:
    """Every pattern at once, with names that a report must survive."""
    where = SourceLine(HOSTILE, 0, HOSTILE)
    stop = GraphBreak(where=where, reason=HOSTILE, hint=HOSTILE, compile_id=None)
    graph = a_captured_graph(1, ended_by=stop, source=(where,), dtype="float32")
    other = a_captured_graph(2, ended_by=replace(stop, where=None, hint=None), source=(), dtype=HOSTILE)
    capture = captured(
        graph,
        other,
        breaks=(stop, replace(stop, where=None, hint=None)),
        recompiles=(Recompile(where, HOSTILE, None), Recompile(None, "", None, is_limit=True)),
        skips=(CudaGraphSkip(a_key(1), where, HOSTILE), CudaGraphSkip(None, None, "")),
    )
    regions = (
        a_region(a_key(1), a_budget(compute=5.0)),
        a_region(GapKey(a_key(1), a_key(2)), a_budget(starved=3.0)),
        a_region(GapKey(a_key(2), None), elapsed_ns=0, kernels_per_step=None),
    )
    return facts(
        workload=a_workload(name=HOSTILE, source=HOSTILE, inputs=(HOSTILE,)),
        capture=capture,
        regions=regions,
        plans=(a_plan_trial("eager", 5.0), a_plan_trial("default", 10.0, accuracy=_WRONG), a_plan_trial(HOSTILE, None)),
        environment=an_environment(is_grad_enabled=True, is_anomaly_mode=True, is_deterministic=True),
        ops=a_flawed_log(HOSTILE),
        activity=_busy_activity(),
        ranks=(RankFacts(0, 10 * MS, 9 * MS), RankFacts(1, 10 * MS, 0)),
    )


def _busy_activity() -> Activity:
    gap = GapKey(a_key(1), a_key(2))
    return an_activity(
        waits=(
            HostWait(HOSTILE, (HOSTILE,), gap, CopyDirection.TO_HOST, 3.0, 2 * MS, MS, MS),
            HostWait("", (), gap, None, 0.3, 2 * MS, 0, None),
            HostWait(HOSTILE, (), gap, CopyDirection.TO_DEVICE, 0.3, 2 * MS, MS, MS),
        ),
        allocations=(AllocatorCalls(HOSTILE, gap, 0.3, MS, MS),),
        allocation_cost_ns=MS,
        kernels=(KernelSizes(gap, 90.0, MS, 90.0, 80.0, MS),),
        chains=(PointwiseChain(gap, (HOSTILE,) * 9, 64, 0.3, MS, 0),),
        entries=(EntryCost(EntryKind.GUARDS, gap, 0.3, MS, MS, MS),),
        entry_cost_ns=MS,
        replays=GraphReplays(1.0, 0.3, MS, MS, gap),
        inputs=(InputWait(HOSTILE, gap, 0.3, MS, MS, MS),),
    )


def test_every_file_is_a_rule_in_the_list_and_its_name_the_id() -> None:
    folder = Path(analyzer.rules.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} - HELPERS == {rule.id for rule in RULES}
    assert len({rule.id for rule in RULES}) == len(RULES)


@every_rule
def test_its_documentation_is_its_files_own(rule: Rule) -> None:
    assert rule.doc == importlib.import_module(f"analyzer.rules.{rule.id}").__doc__


@every_rule
def test_it_documents_every_section_in_order(rule: Rule) -> None:
    lines = rule.doc.splitlines()
    assert [line for line in lines if line in SECTIONS] == list(SECTIONS)
    for section in SECTIONS:
        assert len(lines[lines.index(section) + 1].strip()) > 20
    assert rule.title.endswith(".")


@every_rule
def test_its_explanation_fits_a_terminal(rule: Rule) -> None:
    assert all(len(line) <= 80 for line in explain(rule.id).splitlines())


@every_rule
def test_without_any_data_it_cannot_tell(rule: Rule) -> None:
    with pytest.raises(MissingData, match=r"\w+ \w+"):
        rule.judge(Facts())


@every_rule
def test_a_run_without_a_flaw_is_silent(rule: Rule) -> None:
    assert rule.judge(facts()) == ()


@every_rule
@pytest.mark.parametrize("missing", [field.name for field in fields(Facts)])
def test_one_missing_fact_finds_nothing_new(rule: Rule, missing: str) -> None:
    lacking: dict[str, Any] = {missing: () if missing in ("regions", "plans") else None}
    findings, failures = run_rules(facts(**lacking), (rule,))
    assert findings == ()
    assert all("the rule failed" not in failure.reason for failure in failures)


@every_rule
def test_hostile_names_neither_raise_nor_leave_a_finding_incomplete(rule: Rule) -> None:
    for finding in rule.judge(_hostile()):
        assert finding.rule == rule.id
        assert finding.message
        assert finding.remedy
        assert finding.count >= 1
        assert finding.ns_per_step is None or finding.ns_per_step >= 0


def test_a_run_full_of_flaws_is_found_by_nearly_every_rule() -> None:
    findings, failures = run_rules(_hostile())
    assert failures == ()
    # The others need a CPU, a run in training, or one in which no graph was captured.
    silent = {rule.id for rule in RULES} - {finding.rule for finding in findings}
    assert silent == {
        "denormals",
        "half_precision_on_slow_path",
        "no_graph_captured",
        "thread_oversubscription",
        "unused_gradients",
    }


def test_the_same_facts_give_the_same_findings() -> None:
    assert run_rules(_hostile()) == run_rules(_hostile())


def test_no_cost_is_above_the_time_that_was_measured() -> None:
    findings, _ = run_rules(_hostile())
    assert max(finding.ns_per_step or 0 for finding in findings) <= 10 * MS
