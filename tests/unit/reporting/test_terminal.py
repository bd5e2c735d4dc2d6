"""The terminal report: what a person reads first, last, and loudly."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from rich.cells import cell_len

from analyzer.core.finding import RUN_THE_MODEL, RuleFailure
from analyzer.core.graphs import GapKey
from analyzer.core.quantities import error_size, milliseconds
from analyzer.core.report import DEFAULT_PLAN
from analyzer.core.samples import Interval
from analyzer.core.shell import ascii_command, shell_command
from analyzer.core.trial import Accuracy, AccuracyReference, Change, TrialOutcome
from analyzer.core.verdict import Bound
from analyzer.reporting.fitted_table import Column, fitted_table, shortened
from analyzer.reporting.renderer import Page
from analyzer.reporting.report_text import error_text, notes_text
from analyzer.reporting.terminal import render
from tests.reports import (
    MS,
    a_budget,
    a_candidate,
    a_capture,
    a_comparison,
    a_finding,
    a_gap,
    a_graph,
    a_plan_trial,
    a_refusal,
    a_report,
    a_verdict,
    an_accuracy,
    an_attribution,
    an_empty_report,
)


def _page(**changes: object) -> str:
    return render(a_report(**changes), Page())


def _line(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.strip().startswith(start))


def test_the_last_line_is_the_next_command_whole() -> None:
    command = "analyze dashboard " + "runs/" + "long-" * 30 + "name"
    assert _page(next_command=command).splitlines()[-1] == command


def test_a_command_keeps_every_space_of_a_name_and_every_letter_on_an_ascii_terminal() -> None:
    command = shell_command("analyze", "dashboard", "my  runs/модель")
    assert _page(next_command=command).splitlines()[-1] == "analyze dashboard 'my  runs/модель'"
    last = render(a_report(next_command=command), Page(is_ascii=True)).splitlines()[-1]
    assert last == ascii_command(command)
    assert "?" not in last


def test_a_command_from_a_hostile_report_steers_no_terminal() -> None:
    assert "\x1b" not in _page(next_command="analyze \x1b[2J\nrm")


def test_the_headline_stands_at_the_top() -> None:
    assert _page(headline="CPU-bound: ...").splitlines()[1] == "CPU-bound: ..."


def test_a_graph_is_a_row_with_place_bound_share_bar_candidate_and_times() -> None:
    graph = a_graph(before_ns=30 * MS, after_ns=10 * MS, budget=a_budget(starved=24, memory=6))
    row = _line(_page(graphs=(graph,), eager_gaps=()), "gptlite.py:41")
    assert row.split() == [
        "gptlite.py:41",
        "CPU",
        "92",
        "%",
        "94",
        "%",
        "SSSSSSSSMM",
        "cuda_graphs",
        "30.0",
        "→",
        "10.0",
    ]


def test_an_eager_gap_is_a_row_too() -> None:
    row = _line(_page(eager_gaps=(a_gap(),)), "gap gptlite.py:57")
    assert "eager" in row
    assert "0.80 → 0.70" in row


def test_what_was_not_measured_after_is_a_question_mark_and_not_zero() -> None:
    graphs = (a_graph(after_ns=None), a_graph("m.py:2", 2))
    assert "31.0 → ?" in _line(_page(graphs=graphs), "gptlite.py:41")


def test_without_a_plan_there_is_one_time_a_row() -> None:
    text = _page(graphs=(a_graph(after_ns=None),), eager_gaps=(), comparison=None, step_budget_after=None)
    assert "→" not in _line(text, "gptlite.py:41")
    assert "a step" in _line(text, "graph ")


def test_the_rows_of_a_model_with_a_break_in_every_line_are_summed_and_none_is_dropped() -> None:
    graphs = tuple(a_graph(f"m.py:{n}", n, before_ns=n * MS, after_ns=n * MS) for n in range(1, 101))
    text = _page(graphs=graphs, eager_gaps=())
    assert "m.py:100" in text
    rest = _line(text, "77 shorter ones")
    assert f"{sum(range(1, 78)):,} → {sum(range(1, 78)):,}".replace("3,003", "3,000") in rest


def test_silence_about_graphs_is_broken_loudly() -> None:
    text = _page(graphs=(), eager_gaps=(), capture=a_capture())
    assert "NO GRAPH WAS CAPTURED" in text.splitlines()[1]
    assert "NO GRAPH" not in _page()
    assert "NO GRAPH" not in render(an_empty_report(), Page()), "nothing captured yet is not the same"


def test_a_partial_report_says_so_before_anything_else() -> None:
    assert _page(partial="interrupted in trials").splitlines()[1] == "PARTIAL REPORT: interrupted in trials"


@pytest.mark.parametrize("change", Change)
def test_every_outcome_is_said_in_its_own_word(change: Change) -> None:
    same = a_comparison(change, ratio=1.0, interval=Interval(0.97, 1.04))
    assert f"{change.value.replace('_', ' ')}: 31.8 → 11.5 ms a step, 1.00× (95 % 0.97–1.04)" in _page(
        headline="x", comparison=same
    )


def test_the_figures_of_the_headline_are_not_said_twice() -> None:
    text = _page(headline="CPU-bound. 31.8 → 11.5 ms a step", comparison=a_comparison())
    assert text.count("31.8 → 11.5 ms") == 1
    assert "FASTER: results are right" in text


def test_wrong_results_are_loud() -> None:
    wrong = a_comparison(Change.WRONG_RESULT, accuracy=an_accuracy(is_right=False, worst="output[0]"))
    text = " ".join(_page(comparison=wrong).split())
    assert "RESULTS ARE WRONG, 3.1e-03 from float64 (eager 2.9e-03, allowed 5.8e-03), worst at output[0]" in text


def test_a_finding_has_its_place_its_cost_and_its_remedy() -> None:
    text = _page(findings=(a_finding(count=3), a_finding("recompile", ns_per_step=None, where=None)))
    assert "gptlite.py:57  graph_break (3 times)  0.80 ms a step" in text
    assert "do: keep it a tensor" in text
    assert "the step  recompile  cost unknown" in text


def test_the_same_advice_is_given_once() -> None:
    text = _page(findings=(a_finding("first", ns_per_step=2 * MS), a_finding("second", ns_per_step=MS)))
    assert text.count("do: keep it a tensor") == 1
    assert text.index("do: the same as above") > text.index("second")


def test_a_model_that_is_left_alone_claims_no_speed_of_ours() -> None:
    plans = (a_plan_trial("eager", 10.0, is_chosen=True), a_plan_trial("default", 11.0))
    text = _page(plans=plans, comparison=a_comparison(accuracy=None))
    assert "LEFT ALONE: the model runs as it is" in text
    assert "not compared" not in text


def test_a_graph_without_a_line_of_the_users_is_named_by_its_number() -> None:
    graph = a_graph(where=None, source=())
    gap = a_gap(where=None, key=GapKey(graph.key, a_graph("m.py:9", 2).key))
    text = _page(graphs=(graph, a_graph("m.py:9", 2)), eager_gaps=(gap,))
    assert "graph 0/0 " in text
    assert "gap after graph 0/0" in text


def test_the_costliest_findings_come_first_and_the_rest_are_counted() -> None:
    text = _page(findings=tuple(a_finding(f"rule_{n}", ns_per_step=n * MS) for n in range(1, 14)))
    assert text.index("rule_13") < text.index("rule_12") < text.index("rule_4")
    assert "rule_3 " not in text
    assert "and 3 more in report.json" in text


@pytest.mark.parametrize("outcome", [o for o in TrialOutcome if o is not TrialOutcome.MEASURED])
def test_a_candidate_that_was_lost_keeps_its_reason(outcome: TrialOutcome) -> None:
    lost = a_refusal("cpp_wrapper", "because of this", outcome)
    assert f"cpp_wrapper {outcome.value} (gptlite.py:41): because of this" in _page(
        graphs=(a_graph(candidates=(lost,)),)
    )


def test_one_reason_for_many_graphs_is_one_line() -> None:
    lost = (a_refusal("cpp_wrapper", "no compiler"),)
    graphs = tuple(a_graph(f"m.py:{n}", n, candidates=lost) for n in range(1, 13))
    assert _page(graphs=graphs).count("no compiler") == 1


def test_prediction_and_measurement_stand_side_by_side() -> None:
    pair = a_candidate("cuda_graphs", predicted_ns=10_800_000, measured_ns=12_000_000)
    text = _page(graphs=(a_graph(candidates=(pair,)),))
    assert "gptlite.py:41 cuda_graphs 10.8 12.0 -10 %" in " ".join(text.split())


@pytest.mark.parametrize("name", ["bf16", "bf16+cuda_graphs", "int8/fused"])
def test_what_changes_the_meaning_is_shown_with_its_error(name: str) -> None:
    kept = a_candidate("cuda_graphs", predicted_ns=10_800_000, measured_ns=12_000_000)
    narrow = a_candidate(name, predicted_ns=None, measured_ns=6_000_000, accuracy=an_accuracy(error=2.1e-2))
    told = " ".join(_page(graphs=(a_graph(candidates=(kept, narrow)),)).split())
    assert "predicted measured off error" in told
    assert f"{name} unknown 6.00 ? 2.1e-02" in told
    assert "predicted measured off error" not in " ".join(_page(graphs=(a_graph(candidates=(kept,)),)).split())
    assert max(cell_len(line) for line in _page(graphs=(a_graph(candidates=(kept, narrow)),)).splitlines()) <= 80


def test_the_ways_to_run_the_model_are_compared_with_the_default() -> None:
    text = _page()
    assert _line(text, "eager  ").split()[:3] == ["eager", "35.4", "0.90×"]
    assert _line(text, "* plan").split()[:4] == ["*", "plan", "11.5", "2.8×"]
    assert "cpp_wrapper: failed, no C++ compiler was found" in text


def test_a_wrong_plan_is_marked_in_the_table() -> None:
    trial = a_plan_trial("reduce-overhead", 11.0, accuracy=an_accuracy(is_right=False))
    assert "WRONG" in _line(_page(plans=(trial,)), "reduce-overhead")


@pytest.mark.parametrize("outcome", list(TrialOutcome))
def test_no_outcome_of_the_whole_model_is_cut(outcome: TrialOutcome) -> None:
    trial = a_plan_trial("x" * 60, None, outcome=outcome)
    assert outcome.value in _line(_page(plans=(trial,)), "x")


@pytest.mark.parametrize("error", [1.7e1, 1e-300, 2.1e-2, float("inf"), float("nan")])
def test_no_error_and_no_memory_of_the_whole_model_is_cut(error: float) -> None:
    wrong = an_accuracy(error=error, is_right=False)
    trial = a_plan_trial("y" * 60, 123_456.0, accuracy=wrong, peak_bytes=999 * 2**30)
    row = _line(_page(plans=(trial,)), "y")
    assert f"WRONG {error_size(error)}" in row
    assert row.endswith("999 GiB")
    assert cell_len(row) <= 80


@pytest.mark.parametrize("ms", [0.004, 9.99, 1_234.0, 98_765.0])
def test_no_time_and_no_verdict_of_a_graph_is_cut(ms: float) -> None:
    graphs = (
        a_graph(before_ns=round(ms * MS), after_ns=round(ms * MS), chosen="frozen+cuda_graphs"),
        a_graph("m.py:2", 2, verdict=a_verdict(Bound.UNDECIDED)),
    )
    text = _page(graphs=graphs, eager_gaps=())
    shown = milliseconds(round(ms * MS))
    assert f"frozen+cuda_graphs {shown} → {shown}" in " ".join(text.split())
    assert "…y:41" in text or "gptlite.py:41" in text
    assert max(cell_len(line) for line in text.splitlines()) <= 80


def test_a_candidate_of_any_length_leaves_the_times_whole() -> None:
    long = "coordinate_descent+cuda_graphs|max_autotune+cpp_wrapper_cuda_graph"
    pair = a_candidate(long, predicted_ns=10_800_000, measured_ns=12_000_000)
    text = _page(graphs=(a_graph(chosen=long, candidates=(pair,)),), eager_gaps=())
    assert "31.0 → 10.9" in _line(text, "gptlite.py:41")
    assert " 10.8 12.0 -10 %" in " ".join(text.split())
    assert max(cell_len(line) for line in text.splitlines()) <= 80


def test_graphs_that_no_step_calls_have_no_row_and_are_no_others_twin() -> None:
    gone = a_graph(number=2, is_in_step=False, budget=None, before_ns=None, after_ns=None)
    text = _page(graphs=(a_graph(), gone), eager_gaps=())
    assert text.count("gptlite.py:41 ") >= 1
    assert "[1/0]" not in text
    assert "[0/0]" not in text


def test_a_candidate_without_a_prediction_is_shown_once_it_was_measured() -> None:
    frozen = a_candidate("frozen", predicted_ns=None, measured_ns=3_210_000)
    text = _page(graphs=(a_graph(candidates=(frozen,)),))
    assert ["gptlite.py:41", "frozen", "unknown", "3.21", "?"] in [line.split() for line in text.splitlines()]


def test_candidates_that_one_reason_keeps_out_stand_on_one_line() -> None:
    lost = tuple(a_refusal(name, "it needs a CUDA device") for name in ("cuda_graphs", "combo_kernels"))
    assert "cuda_graphs, combo_kernels refused (gptlite.py:41): it needs a CUDA device" in _page(
        graphs=(a_graph(candidates=lost),)
    )


def test_a_recording_has_regions_and_no_time_before() -> None:
    text = _page(is_recorded=True, attributed=an_attribution(kernel_ns=100, linked_ns=60, gap_ns=10, unlinked_ns=30))
    assert "60 % in regions" in text
    assert "before: " not in text


def test_kernel_time_that_belongs_to_nobody_is_counted() -> None:
    text = _page(attributed=an_attribution(kernel_ns=100, linked_ns=60, gap_ns=10, unlinked_ns=30, unlinked_kernels=9))
    assert "before: 60 % in graphs, 10 % in eager gaps, 30 % not linked (9 of 296 kernels)" in text


def test_no_kernel_at_all_is_said_and_not_a_hundred_per_cent() -> None:
    nothing = an_attribution(kernel_ns=0, linked_ns=0, gap_ns=0, unlinked_ns=0, kernels=0, unlinked_kernels=0)
    assert "before: no kernel was recorded" in _page(attributed=nothing)


def test_an_undecided_verdict_says_what_is_missing() -> None:
    text = _page(graphs=(a_graph(verdict=a_verdict(Bound.UNDECIDED)),))
    assert "gptlite.py:41 is undecided" in text
    assert "missing: no kernel was recorded: run where CUPTI is installed" in text


def test_the_bars_of_before_and_after_are_on_one_scale() -> None:
    text = _page(step_budget=a_budget(starved=30), step_budget_after=a_budget(memory=15))
    assert _line(text, "before ").count("S") == 2 * _line(text, "after  ").count("M") == 52


def test_the_legend_gives_the_share_of_each_part_before_and_after() -> None:
    assert "S starved 68 → 10 %, C compute 10 → 27 %" in _page()


def test_a_pipe_gets_no_escape_and_a_terminal_its_colours() -> None:
    assert "\x1b" not in _page()
    assert "\x1b[" in render(a_report(), Page(has_colour=True))


def test_an_ascii_terminal_gets_ascii() -> None:
    text = render(a_report(headline="2.8× fäster"), Page(is_ascii=True))
    assert text.isascii()
    assert "2.8x f?ster" in text
    assert "31.0 > 10.9" in text


def test_a_wider_page_gives_the_room_to_the_names() -> None:
    name = "a_rather_long_module_name.py:1234"
    report = a_report(graphs=(a_graph(name),))
    assert _line(render(report, Page()), "a_rather").split()[0] == "a_rather_l…ule_name.py:1234"
    assert _line(render(report, Page(width=110)), "a_rather").split()[0] == name


def test_columns_are_as_narrow_as_their_cells_before_a_name_is_cut() -> None:
    columns = (Column("graph"), Column("bound by", 12), Column("plan", 11))
    for name, widths in (("model.py:41", [14, 12, 11]), ("modeling_granite.py:391", [24, 8, 5])):
        table = fitted_table(columns, [(name, "CPU 97 %", "eager")], 39)
        assert [column.width for column in table.columns] == widths
        assert list(table.columns[0].cells) == [name]


def test_the_environment_does_not_change_the_page() -> None:
    code = (
        "import sys; from tests.reports import a_report; from analyzer.reporting.terminal import render;"
        "from analyzer.reporting.renderer import Page; sys.stdout.reconfigure(encoding='utf-8');"
        "sys.stdout.write(render(a_report(), Page()))"
    )
    environment = {"FORCE_COLOR": "1", "COLUMNS": "40", "TERM": "dumb", "PYTHONPATH": ".", "PATH": ""}
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert out.stdout.decode() == _page()


def test_rows_with_no_budget_have_no_invented_bar() -> None:
    row = _line(_page(graphs=(replace(a_graph(), budget=None),), eager_gaps=()), "gptlite.py:41")
    assert " ? " in row
    assert "SSS" not in row


def test_what_is_cut_from_a_label_is_not_its_line() -> None:
    assert shortened("model.py:41", 22) == "model.py:41"
    label = shortened("modeling_some_long_name_v2.py:222 bwd", 22)
    assert label == "modeling…v2.py:222 bwd"
    assert len(label) == 22
    assert cell_len(shortened("模型" * 20 + ".py:7", 22)) <= 22


def test_a_share_is_never_torn_from_its_sign() -> None:
    parts = {"starved": 8.0, "compute": 3.0, "memory": 4.0, "latency": 1.0, "unknown_kernels": 2.0, "sync": 1.0}
    text = _page(step_budget=a_budget(**parts), step_budget_after=a_budget(**parts))
    assert not [line for line in text.splitlines() if line.strip().startswith("%")]
    assert "| sync 5 → 5 %" in text


def test_regions_too_short_to_matter_are_not_explained() -> None:
    text = _page(
        graphs=(a_graph("long.py:1", 1, before_ns=31 * MS), a_graph("short.py:1", 2, budget=a_budget(starved=1.0)))
    )
    assert "long.py:1 is CPU-bound" in text
    assert "short.py:1 is" not in text


def test_the_default_run_is_called_what_the_rules_call_it() -> None:
    text = _page(plans=(a_plan_trial(DEFAULT_PLAN, 30.0), a_plan_trial("plan", 10.0)))
    assert "3.0×" in _line(text, "plan  ")


def _failures(*reasons: str) -> tuple[RuleFailure, ...]:
    return tuple(RuleFailure(f"rule_{number}", reason) for number, reason in enumerate(reasons))


def test_rules_that_lack_the_same_are_one_note() -> None:
    page = _page(rule_failures=_failures("no trace", "no trace", "no log"))
    assert _line(page, "rules rule_0, rule_1 could") == "  rules rule_0, rule_1 could not judge: no trace"
    assert "rule rule_2 could not judge: no log" in page


def test_rules_that_want_the_same_recorded_are_named_with_what_they_lack_and_what_to_do() -> None:
    lacking = _failures(*(f"no {what}: run analyze on the model" for what in ("log", "graph", "plan", "log", "step")))
    page = " ".join(_page(rule_failures=lacking).split())
    assert "5 rules could not judge: no log; no graph; no plan; no step: run analyze on the model; they are" in page
    assert "rule_0, rule_1, rule_2, rule_3, rule_4" in page


@pytest.mark.parametrize(
    ("slowdown", "says"),
    [
        (1.21, "took 1.2× as long as without"),
        (0.001, "was shorter than without, which it cannot be: the machine changed"),
    ],
)
def test_a_profiled_step_shorter_than_a_clean_one_is_no_cost_of_the_profiler(slowdown: float, says: str) -> None:
    (note,) = [note for note in notes_text(a_report(profiler_slowdown=slowdown)) if "profiler" in note]
    assert note == f"under the profiler a step {says}" + (" in between" if slowdown < 1 else "")


def test_a_run_that_ended_early_does_not_send_back_to_what_it_was() -> None:
    failure = RuleFailure("host_sync", f"no profiled pass: {RUN_THE_MODEL}, or on a trace with its steps marked")
    whole, cut = (
        [note for note in notes_text(a_report(rule_failures=(failure,), partial=partial)) if "host_sync" in note]
        for partial in (None, "interrupted by Ctrl-C")
    )
    assert whole == [f"rule host_sync could not judge: {failure.reason}"]
    assert cut == ["rule host_sync could not judge: no profiled pass: the run ended before it"]


def test_of_random_results_no_size_is_shown_as_an_error() -> None:
    right = Accuracy(AccuracyReference.FLOAT64, 1.7, 1.9, 1212.0, is_right=True, is_random=True)
    assert error_text(right) == "random"
    assert error_text(replace(right, is_right=False)) == "WRONG 1.7e+00"
    assert error_text(replace(right, is_random=False)) == "1.7e+00"
    assert error_text(None) == ""
