"""The page Graphs: the table of regions, and the card of the one that is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dash
import pytest
from plotly.utils import PlotlyJSONEncoder

from analyzer.core.graphs import Direction, GraphBreak
from analyzer.core.plan import Choice, Plan
from analyzer.core.report import Report
from analyzer.core.trial import Change
from analyzer.core.verdict import Bound
from analyzer.reporting.json import read_report
from dashboard.callbacks import KEY_LIMIT, add_callbacks, asked_key
from dashboard.panels import graphs
from dashboard.panels.graphs import card_link, columns_of, region_cells
from dashboard.panels.graphs_candidates import candidate_rows, strips_of
from dashboard.panels.graphs_card import card, card_sentence, part_rows
from dashboard.panels.graphs_code import code_of, print_command
from dashboard.panels.graphs_regions import region_of, shown_regions
from dashboard.run_folder import RunData
from optimizers.plan import write_plan
from tests.reports import (
    a_candidate,
    a_comparison,
    a_finding,
    a_gap,
    a_graph,
    a_key,
    a_refusal,
    a_report,
    a_verdict,
    an_empty_report,
    at,
    some_samples,
)

HOSTILE = "<img src=x onerror=alert(1)>"
FIRST = str(a_key(1))
GAP = f"gap:{a_key(1)}>{a_key(2)}"
GOLDENS = sorted(Path(__file__).resolve().parents[2].glob("golden/*/report.json"))


def _text(components: Any) -> str:
    return json.dumps(components, cls=PlotlyJSONEncoder, ensure_ascii=False)


def _card(report: Report | None, key: str | None) -> str:
    return _text(card(report, key))


def test_the_table_has_a_row_for_every_graph_and_gap_in_the_order_of_a_step() -> None:
    regions = shown_regions(a_report())
    assert [region.key for region in regions] == [FIRST, GAP, str(a_key(2))]
    assert [region.kind for region in regions] == ["inference graph", "eager gap", "inference graph"]


def test_every_row_fits_its_columns() -> None:
    for report in (a_report(), a_report(is_recorded=True), a_report(graphs=(a_graph(after_ns=None),))):
        titles = [column.title for column in columns_of(report)]
        for region in shown_regions(report):
            assert len(region_cells(report, region)) == len(titles)


def test_a_row_tells_the_verdict_the_times_and_the_plan() -> None:
    report = a_report()
    told = dict(zip([c.title for c in columns_of(report)], region_cells(report, shown_regions(report)[0]), strict=True))
    assert told["graph"] == "gptlite.py:41"
    assert told["bound by"] == "CPU"
    assert told["sure"] == 0.92
    assert (told["before"], told["after"]) == (31_000_000, 10_900_000)
    assert told["bound after"] == "memory"
    assert told["plan"] == "cuda_graphs"
    assert told["kernels"] == 288.0


@pytest.mark.parametrize(("change", "speed"), [(Change.FASTER, 31 / 10.9), (Change.NOISY, None), (Change.SAME, None)])
def test_the_speed_of_a_graph_is_not_told_where_it_may_be_noise(change: Change, speed: float | None) -> None:
    report = a_report(comparison=a_comparison(change))
    told = dict(zip([c.title for c in columns_of(report)], region_cells(report, shown_regions(report)[0]), strict=True))
    assert told["speed"] == (speed if speed is None else pytest.approx(speed))


def test_a_budget_of_another_time_than_the_comparison_says_so() -> None:
    assert "first clean pass" not in _card(a_report(), FIRST)
    assert "31.0 ms; 62.0 ms was measured later" in _card(a_report(graphs=(a_graph(before_ns=62_000_000),)), FIRST)


def test_a_graph_that_no_step_calls_is_listed_last_and_says_so() -> None:
    old = a_graph("old.py:3", 7, is_in_step=False)
    report = a_report(graphs=(old, a_graph()), eager_gaps=())
    assert [region.key for region in shown_regions(report)] == [FIRST, str(a_key(7))]
    assert region_cells(report, shown_regions(report)[1])[0] == "old.py:3 (no step calls it)"
    assert "no step in steady state calls it" in _card(report, str(a_key(7)))


def test_a_key_that_stands_twice_is_two_rows_with_two_cards() -> None:
    report = a_report(graphs=(a_graph("a.py:1"), a_graph("b.py:2")), eager_gaps=())
    assert [region.key for region in shown_regions(report)] == [FIRST, f"{FIRST}~2"]
    assert region_of(report, f"{FIRST}~2") is not None


def test_without_a_key_the_card_is_that_of_the_longest() -> None:
    report = a_report(graphs=(a_graph("a.py:1", 1, before_ns=5), a_graph("b.py:2", 2, before_ns=9)), eager_gaps=())
    longest = region_of(report, None)
    assert longest is not None
    assert longest.row.label == "b.py:2"


def test_a_card_tells_the_evidence_and_both_verdicts() -> None:
    text = _card(a_report(), FIRST)
    assert "before: CPU-bound (confidence 92 %)" in text
    assert "under the plan: memory-bound (confidence 92 %)" in text
    assert "the device waits for the host in 66 % of the step" in text
    assert "/home/ada/gptlite.py:41" in text


def test_an_undecided_card_says_what_is_missing_and_no_confidence() -> None:
    graph = a_graph(verdict=a_verdict(Bound.UNDECIDED), verdict_after=None, budget=None)
    text = _card(a_report(graphs=(graph,)), FIRST)
    assert "missing: no kernel was recorded" in text
    assert "confidence" not in text
    assert "It is not known: the profiled pass saw no work of it." in text


def test_the_parts_tell_what_each_would_save_at_most_and_none_where_nobody_said() -> None:
    graph = a_graph()
    assert graph.budget is not None
    rows = part_rows(graph.verdict, graph.budget, graph.budget_after)
    assert rows[0] == ("starved", 20_900_000, pytest.approx(20.9 / 31), 21_000_000, 800_000)
    assert [row[3] for row in rows[1:]] == [None, None, None]
    assert sum(row[1] for row in rows) == graph.budget.elapsed_ns  # type: ignore[misc]


def test_a_card_says_why_the_graph_ended() -> None:
    stop = GraphBreak(at("/home/ada/gptlite.py:57"), "Tensor.item", "use a tensor", "0/0", count=3)
    text = _card(a_report(graphs=(a_graph(ended_by=stop),)), FIRST)
    assert "Graph break " in text
    assert "/home/ada/gptlite.py:57" in text
    assert "(3 times)" in text
    assert "torch's hint: use a tensor" in text


def test_a_backward_graph_ends_with_its_forward() -> None:
    graph = a_graph(direction=Direction.BACKWARD)
    assert "ends with its forward" in _card(a_report(graphs=(graph,)), str(graph.key))


def test_findings_at_a_graphs_own_lines_stand_on_its_card() -> None:
    stop = GraphBreak(at("/home/ada/gptlite.py:57"), "Tensor.item", None, "0/0")
    report = a_report(graphs=(a_graph(ended_by=stop), a_graph("/home/ada/gptlite.py:88", 2)), findings=(a_finding(),))
    assert "Found at these lines" in _card(report, FIRST)
    assert "Found at these lines" not in _card(report, str(a_key(2)))


def test_a_gap_has_its_neighbours_and_no_candidates() -> None:
    text = _card(a_report(), GAP)
    assert "eager gap" in text
    assert card_link(FIRST) in text
    assert "No candidate is tried" in text
    assert "It goes with the graph break" in text
    assert "It goes with the graph break" not in _card(a_report(eager_gaps=(a_gap(where=None),)), GAP)


def test_candidates_are_told_with_outcome_reason_predicted_and_measured() -> None:
    rows = {row[0]: row for row in candidate_rows(a_graph())}
    chosen = rows["cuda_graphs (chosen)"]
    assert chosen[1:10] == (
        "measured", "", 10_800_000, 11_200_000, pytest.approx(10.8 / 11.2), 31_300_000, 11_500_000, 31_800_000,
        pytest.approx(31.8 / 11.5),
    )  # fmt: skip
    assert chosen[11:] == ("3.1e-03", 1_610_612_736, None)
    pooled = a_graph(candidates=(a_candidate("cuda_graphs", pool_bytes=1 << 20),))
    assert candidate_rows(pooled)[0][-1] == 1 << 20
    refused = rows["cpp_wrapper"]
    assert refused[1] == "refused"
    assert refused[2] == "no C++ compiler was found"
    assert refused[4] is None


def test_samples_are_drawn_where_the_report_keeps_them_and_asked_for_where_it_does_not() -> None:
    kept = a_candidate(step_samples=some_samples(11.5), step_baseline_samples=some_samples(31.8))
    strips = strips_of(a_graph(candidates=(kept, a_refusal("cpp_wrapper", "no"))))
    assert [(strip.name, strip.samples.median_ns) for strip in strips] == [
        ("cuda_graphs (chosen)", 31_800_000),
        ("cuda_graphs (chosen)", 11_500_000),
    ]
    assert "medians alone" in _card(a_report(), FIRST)
    assert "medians alone" not in _card(a_report(graphs=(a_graph(candidates=(kept,)),)), FIRST)


def test_a_graph_without_candidates_says_what_tries_some() -> None:
    assert "Nothing was tried" in _card(a_report(), str(a_key(2)))


def test_a_recorded_region_has_no_candidates_and_no_plan() -> None:
    graph = a_graph(label="decode", kind="replayed CUDA graph", source=(), where=None, candidates=(), after_ns=None)
    report = a_report(graphs=(graph,), eager_gaps=(), is_recorded=True, capture=None)
    text = _card(report, FIRST)
    assert "replayed CUDA graph" in text
    assert "with_stack=True" in text
    assert "A recorded trace tries nothing" in text
    assert "Why it ended" not in text
    assert "plan" not in [column.title for column in columns_of(report)]


def test_counts_of_a_recording_say_whether_they_are_of_a_step() -> None:
    graph = a_graph(label="decode", calls_per_step=1.0, kernels_per_step=1.0, candidates=(), after_ns=None)
    marked = a_report(graphs=(graph,), eager_gaps=(), is_recorded=True)
    unmarked = replace(marked, step_ns=None)
    assert "1 call a step · " in _card(marked, FIRST)
    assert "1 kernel a step" in _card(marked, FIRST)
    assert "1 call in the recording · " in _card(unmarked, FIRST)
    assert "1 kernel in the recording" in _card(unmarked, FIRST)
    assert [columns_of(one)[-1].title for one in (marked, unmarked)] == ["kernels a step", "kernels"]


@pytest.mark.parametrize("key", ["nonsense", "gap:>", FIRST[:-1], HOSTILE, "x" * 100_000])
def test_an_unknown_key_says_so_and_what_to_do(key: str) -> None:
    text = _card(a_report(), key)
    assert "choose a row of the table" in text
    assert len(text) < 1_000


def test_without_a_report_or_a_region_the_page_says_what_to_do() -> None:
    assert "analyze model.py" in _card(None, None)
    assert "analyze model.py" in _card(an_empty_report(), None)
    assert "record its shapes" in _card(
        an_empty_report(is_recorded=True, headline="Undecided: record its shapes"), None
    )
    assert card_sentence(None, FIRST) == "no such graph"


def test_hostile_names_stand_on_a_card_as_text_and_cut() -> None:
    stop = GraphBreak(at(f"{HOSTILE}.py:3"), HOSTILE * 100_000, HOSTILE, "0/0")
    graph = a_graph(
        f"{HOSTILE}.py:3",
        ended_by=stop,
        candidates=(a_refusal(HOSTILE, "x" * 1_000_000),),
        chosen=HOSTILE,
        verdict=a_verdict(evidence=(HOSTILE * 50_000,)),
    )
    made = card(a_report(graphs=(graph,)), FIRST)
    text = _text(made)
    assert HOSTILE in text
    assert len(text) < 40_000
    assert "dangerously_allow_html" not in text
    assert "Markdown" not in text


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.parent.name)
def test_every_region_of_a_real_run_has_a_card(path: Path) -> None:
    report = read_report(path)
    regions = shown_regions(report)
    assert regions
    for region in regions:
        assert region.row.label in _card(report, region.key)


def test_the_plan_is_shown_as_source_that_python_reads(tmp_path: Path) -> None:
    report = a_report()
    plan = Plan((Choice(a_key(1), "cuda_graphs"),), report.device.name, report.versions)
    write_plan(plan, tmp_path / "plan.json")
    source = next(part for part in code_of(tmp_path) if type(part).__name__ == "Pre").children.children
    compile(source, "plan.py", "exec")
    assert source == plan.to_source()
    assert "load_plan" in print_command(tmp_path / "plan.json")


def test_without_a_plan_or_with_a_broken_one_the_code_says_what_to_do(tmp_path: Path) -> None:
    assert "analyze model.py" in _text(code_of(tmp_path))
    assert "nothing was chosen" not in _text(code_of(tmp_path / "gone"))
    assert "no folder" in _text(code_of(tmp_path / "gone"))
    (tmp_path / "plan.json").write_text("{")
    assert "is not a plan" in _text(code_of(tmp_path))


@pytest.mark.parametrize(
    "asked", [None, 3, "x", [], {}, {"graph": None}, {"graph": 3}, {"graph": ["x"]}, {"graph": ""}]
)
def test_a_store_that_holds_anything_else_asks_for_no_graph(asked: Any) -> None:
    assert asked_key(asked) is None


def test_a_key_is_cut_before_it_is_looked_for() -> None:
    assert asked_key({"graph": "x" * 10**6}) == "x" * KEY_LIMIT
    assert asked_key({"graph": FIRST}) == FIRST


def _asked(app: dash.Dash, output: str, changed: dict[str, Any]) -> Any:
    """What the server answers to a page that asks for a card, as a browser asks it."""
    outputs = [dict(zip(("id", "property"), one.split("."), strict=True)) for one in output.strip(".").split("...")]
    body = {
        "output": output,
        "outputs": outputs if len(outputs) > 1 else outputs[0],
        "inputs": [changed],
        "changedPropIds": [f"{changed['id']}.{changed['property']}"],
    }
    return app.server.test_client().post("/_dash-update-component", json=body)


def test_two_pages_are_answered_by_what_each_asks() -> None:
    app = dash.Dash("two")
    app.layout = dash.html.Div()
    add_callbacks(app, RunData("runs/x", a_report(), None, ()))
    output = f"..{graphs.CARD_ID}.children...{graphs.SAID_ID}.children.."
    for key, label in ((FIRST, "gptlite.py:41"), (str(a_key(2)), "gptlite.py:88"), (FIRST, "gptlite.py:41")):
        changed = {"id": graphs.ASKED_ID, "property": "data", "value": {"graph": key}}
        answer = _asked(app, output, changed)
        assert answer.status_code == 200
        assert answer.get_json()["response"][graphs.SAID_ID]["children"].startswith(f"{label}: CPU-bound")
