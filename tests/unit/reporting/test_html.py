"""The report as a page: its five blocks, its bars, its strips, its timeline, and its size."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from analyzer.core.budget import Part
from analyzer.core.finding import Excerpt
from analyzer.core.samples import Samples
from analyzer.core.timing import Crowd, SetTiming
from analyzer.core.trial import Change
from analyzer.reporting.html import MOST_BYTES, NO_ROOM, render
from analyzer.reporting.html_bars import row_bar, step_section
from analyzer.reporting.html_findings import by_cost
from analyzer.reporting.html_graphs import graphs_section
from analyzer.reporting.html_measured import measured_section
from analyzer.reporting.html_patterns import PATTERNS, ink_on, part_pattern
from analyzer.reporting.html_style import STYLE
from analyzer.reporting.html_timeline import AXIS_PX, LANE_PX, MARK_PX, NO_TIMELINE, ZOOMS, timeline_section
from analyzer.reporting.palette import part_colour
from analyzer.reporting.renderer import Page
from analyzer.reporting.shown_step import ShownLane, ShownShade
from analyzer.reporting.word import Word
from tests.reports import (
    MS,
    a_budget,
    a_comparison,
    a_finding,
    a_graph,
    a_plan_trial,
    a_report,
    an_accuracy,
    an_empty_report,
    at,
    some_samples,
)
from tests.shown_steps import a_mark, a_step

BLOCKS = ("step", "findings", "measured", "next", "timeline")


def page(**changes: object) -> str:
    return render(a_report(**changes), Page())


def widths(svg: str) -> list[float]:
    """Of the coloured shapes, in per cent: a pattern's lies over one of them."""
    return [float(found) for found in re.findall(r'width="([0-9.]+)%" height="\d+" fill="#', svg)]


def test_the_blocks_stand_in_the_order_of_the_first_page_and_the_rest_is_folded_below() -> None:
    text = render(a_report(), Page(steps=(a_step(),)))
    places = [text.index(f'<section id="{block}">') for block in BLOCKS]
    assert places == sorted(places)
    folded = [text.index(f'<details id="{name}">') for name in ("graphs", "all-findings", "how")]
    assert min(folded) > places[-1]
    assert folded == sorted(folded)


def test_the_verdict_and_the_next_command_are_the_reports_own() -> None:
    text = page()
    assert "<h1>CPU-bound: the host cannot feed the device. 31.8 → 11.5 ms a step, 2.8× (95 % 2.7–2.9)</h1>" in text
    assert "FASTER: results are right, 3.1e-03 from float64" in text
    assert '<pre class="command"><code>analyze dashboard runs/gptlite-20260101-120000</code></pre>' in text


def test_what_is_to_be_typed_is_set_as_code_in_the_verdict_too() -> None:
    assert "<h1>Undecided: run <code>analyze model.py</code></h1>" in page(headline="Undecided: run `analyze model.py`")


def test_budgets_of_another_time_than_the_comparison_say_so() -> None:
    assert "first clean pass" not in page()
    report = a_report(step_budget=a_budget(starved=10.0, memory=6.2))
    assert "taken at 16.2 and 31.8 ms a step before" in step_section(report)
    assert "31.0 ms; 62.0 ms was measured later" in page(graphs=(a_graph(before_ns=62_000_000),))


def test_every_reason_for_doubt_stands_before_the_verdict() -> None:
    wrong = a_comparison(Change.WRONG_RESULT, accuracy=an_accuracy(is_right=False))
    text = page(partial="stopped by Ctrl-C", honesty=("12 replays have no row",), comparison=wrong, graphs=())
    verdict = text.index("<h1>")
    for doubt in (
        "Partial report: stopped by Ctrl-C",
        "12 replays have no row",
        "WRONG RESULT",
        "NO GRAPH WAS CAPTURED",
    ):
        assert text.index(doubt) < verdict, doubt
    assert "RESULTS ARE WRONG" in text[verdict:]
    assert 'class="warnings"' not in page()


def test_a_model_that_is_left_alone_is_not_called_faster() -> None:
    text = page(plans=(a_plan_trial("eager", 11.5, is_chosen=True), a_plan_trial("default", 31.8)))
    assert "LEFT ALONE: the model runs as it is" in text
    assert "FASTER" not in text


def test_a_bar_adds_up_and_both_are_on_one_scale() -> None:
    before, after = a_budget(starved=6.0, memory=2.0, other=2.0), a_budget(starved=1.0, memory=4.0)
    html = step_section(a_report(step_budget=before, step_budget_after=after))
    first, second = re.findall(r"<svg.*?</svg>", html)[:2]
    assert widths(first) == [60.0, 20.0, 20.0]
    assert widths(second) == [10.0, 40.0]
    assert "starved: 6.00 ms, 60 %" in first
    assert re.findall(r'class="letter">(.)<', first) == ["S", "M", "."]


def test_the_unexplained_is_told_even_where_there_is_none_and_all_is_100_per_cent() -> None:
    html = step_section(a_report(step_budget=a_budget(starved=6.0), step_budget_after=None))
    assert "other: what no evidence explains" in html
    last = re.findall(r"<tr>.*?</tr>", html)[-1]
    assert re.findall(r"<td[^>]*>([^<]*)</td>", last) == ["", "together", "6.00 ms", "100 %"]


def test_a_step_that_is_not_known_says_so() -> None:
    assert "is not known" in step_section(an_empty_report())
    assert row_bar(None) == "unknown"
    assert row_bar(a_budget()) == "unknown"


def test_no_two_parts_have_one_pattern_and_every_letter_can_be_read() -> None:
    patterns = [part_pattern(part) for part in Part]
    assert len(set(patterns)) == len(patterns)
    assert set(patterns) - {"none"} <= {name for name, _ in PATTERNS}
    assert ink_on("#FFFFFF") == "#000"
    assert ink_on("#000000") == "#fff"
    assert {ink_on(part_colour(part)) for part in Part} == {"#000", "#fff"}


def test_the_three_findings_that_cost_most_come_first_and_the_rest_is_counted() -> None:
    costs = (None, 1 * MS, 7 * MS, 3 * MS, 5 * MS)
    findings = tuple(a_finding(f"rule_{number}", ns_per_step=ns) for number, ns in enumerate(costs))
    assert [f.rule for f in by_cost(a_report(findings=findings))] == ["rule_2", "rule_4", "rule_3", "rule_1", "rule_0"]
    text = page(findings=findings)
    top = text[text.index('id="findings"') : text.index('id="measured"')]
    assert re.findall(r"rule_\d", top) == ["rule_2", "rule_4", "rule_3"]
    assert "2 more are below." in top
    assert "cost unknown" in text[text.index('id="all-findings"') :]


def test_a_finding_shows_its_place_its_remedy_and_its_lines() -> None:
    kept = Excerpt(56, ("def forward(self, x):", "    n = x.sum().item()", "    return x[:n]"))
    finding = replace(a_finding(where=at("/home/ada/gptlite.py:57")), excerpt=kept, count=3)
    text = page(findings=(finding,))
    assert '<code title="/home/ada/gptlite.py:57">gptlite.py:57</code> in forward, likely, 3 times' in text
    assert (
        "  56  def forward(self, x):\n<strong>&gt; 57      n = x.sum().item()</strong>\n  58      return x[:n]" in text
    )
    assert "<strong>Do:</strong> keep it a tensor" in text


def test_a_rule_is_explained_once() -> None:
    text = render(a_report(findings=(a_finding(), a_finding())), Page(rules=(Word("graph_break", "Stops.\n\n  Why"),)))
    assert text.count("What `analyze explain graph_break` says") == 1
    assert "<pre>Stops.\n\n  Why</pre>" in text


def test_no_finding_is_no_proof_where_rules_could_not_judge() -> None:
    assert "No known pattern was found, but 1 rules could not judge" in page(findings=())
    assert "No known pattern was found.<" in page(findings=(), rule_failures=())
    assert "in what was measured before the run ended" in render(an_empty_report(), Page())


def test_each_sample_is_a_mark_and_what_lies_beyond_the_scale_is_counted() -> None:
    slow = Samples(tuple([10 * MS] * 99 + [90 * MS]))
    html = measured_section(a_report(plans=(replace(a_plan_trial("plan", 10.0), step_ns=slow),)))
    assert html.count("<circle") == 99
    assert "1 beyond the scale" in html
    assert 'aria-label="100 samples from 10.0 to 90.0 ms"' in html
    many = Samples(tuple(range(MS, MS + 1_000)))
    assert measured_section(a_report(plans=(), step_ns=many)).count("<circle") == 200


def test_ways_to_run_the_model_show_their_spread_and_what_failed() -> None:
    html = measured_section(a_report())
    assert re.search(r"<strong>\* plan</strong></td><td class=\"number\">11.5 ms", html)
    assert "± <1 %" not in html
    assert "± &lt;1 %" in html
    assert "cpp_wrapper: failed, no C++ compiler was found" in html


def test_steps_sets_of_inputs_and_other_programs_are_told() -> None:
    assert "steps without the profiler" in measured_section(a_report(plans=()))
    assert "steps as recorded" in measured_section(a_report(plans=(), is_recorded=True))
    sets = (SetTiming(("float32[4, 8]",), default_ns=some_samples(2.0), compiles=3),)
    assert "float32[4, 8]" in measured_section(a_report(input_sets=sets))
    assert "Other programs kept 3 of 4 cores busy" in measured_section(a_report(crowd=Crowd(3.0, 4, 4)))
    assert "Other programs" not in measured_section(a_report(crowd=Crowd(0.0, 4, 4)))
    assert "No step was timed" in measured_section(an_empty_report())


def test_a_graph_shows_its_evidence_and_what_was_predicted_and_measured() -> None:
    html = graphs_section(a_report(), 60)
    assert "the device waits for the host in 66 % of the step" in html
    assert "without “starved” a step would be at most 21.0 ms shorter" in html
    row = next(row for row in re.findall(r"<tr>.*?</tr>", html) if "* cuda_graphs" in row)
    cells = re.findall(r"<td[^>]*>(?:<code>)?([^<]*)", row)
    assert cells[1:8] == ["measured", "10.8 ms", "11.2 ms", "-4 %", "31.3 ms", "11.5 ms", "31.8 ms"]
    assert "no C++ compiler was found" in html


def test_a_recording_has_regions_and_no_plan() -> None:
    html = graphs_section(a_report(is_recorded=True), 60)
    assert "3 regions of the recording" in html
    titles = re.findall(r"<th[^>]*>([^<]*)</th>", html)
    assert titles[:6] == ["where", "bound by", "share", "budget", "before", "after"]
    assert re.findall(r"<th[^>]*>([^<]*)</th>", graphs_section(a_report(), 0))[4] == "plan"


def test_graphs_that_are_not_explained_are_counted() -> None:
    graphs = tuple(a_graph(f"m.py:{n}", n) for n in range(1, 301))
    html = graphs_section(a_report(graphs=graphs, eager_gaps=()), 20)
    assert html.count('class="inner card"') == 20
    assert "and 100 more in report.json" in html
    assert "280 shorter ones are not explained here" in html


def test_what_the_page_cannot_draw_it_says() -> None:
    assert NO_TIMELINE.split("`")[0] in page()
    text = render(a_report(), Page(steps=(a_step(lanes=(), note="Its trace is too large."),)))
    assert "Its trace is too large." in text


def test_both_timelines_are_on_the_scale_of_the_longer_one() -> None:
    html = timeline_section((a_step(ns=4_000_000), a_step("after", ns=1_000_000)))
    before, after = html.split("<fieldset")[1:]
    assert 'x="25.000%" width="25.000%"' in before
    assert 'x="6.250%" width="6.250%"' in after
    assert "before: step 2 of 3, of median length, 4.00 ms as recorded" in before


def test_a_mark_is_never_too_narrow_to_be_seen_and_is_named_where_it_can_be_pointed_at() -> None:
    html = timeline_section((a_step(),))
    assert 'x="50.000%" width="0.020%"' in html
    assert 'fill-opacity="0.4"' in html
    assert "<title>gemm 5.00 µs</title>" in html
    assert html.count("<rect") - html.count("<pattern") - html.count('class="swatch"') * 2 + 1 == 3


def test_the_timeline_is_there_as_text_and_what_is_not_drawn_is_counted() -> None:
    html = timeline_section((a_step(left_out=1_234),))
    assert "1,234 events of further lanes are not drawn." in html
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in re.findall(r"<tr>.*?</tr>", html)]
    assert ["stream 7", "12", "gemm 5.00 µs"] in rows


def test_a_graph_that_looks_like_something_else_is_told_apart_by_its_lane() -> None:
    looks = ("#0072B2", "none")
    shades = (ShownShade("net.py:8", *looks, is_graph=True), ShownShade("compute-bound kernels", *looks))
    lanes = (ShownLane("graphs", (a_mark(0, 1, shade=0),), 1), ShownLane("stream 7", (a_mark(0, 1, shade=1),), 1))
    html = timeline_section((a_step(lanes=lanes, shades=shades),))
    graphs, others = re.findall(r'<ul class="legend">.*?</ul>', html)
    assert "Lanes of graphs:" in graphs
    assert "net.py:8" in graphs
    assert "compute-bound kernels" in others
    assert "net.py:8" not in others


def test_the_names_beside_the_lanes_have_the_height_of_the_lanes() -> None:
    assert f".lane-names div {{ height: {LANE_PX}px;" in STYLE
    assert f"padding: {AXIS_PX}px 4px 4px 6px;" in STYLE
    assert LANE_PX - MARK_PX == 2
    assert all(f".by-{by}:checked) .lanes {{ width: {by}00%; }}" in STYLE for by in ZOOMS[1:])


def test_a_page_that_would_be_too_large_drops_its_lanes_first_and_says_so() -> None:
    marks = tuple(a_mark(n / 20_000, (n + 1) / 20_000) for n in range(20_000))
    step = a_step(lanes=(ShownLane("stream 7", marks, 20_000),))
    text = render(a_report(), Page(steps=(step,)))
    assert len(text.encode()) <= MOST_BYTES
    assert NO_ROOM.split("`")[0] in text
    assert "10.8 ms" in text, "the candidates are still there"


@pytest.mark.parametrize("name", ["<" * 5_000])
def test_no_report_makes_a_page_over_its_size(name: str) -> None:
    candidates = tuple(replace(c, reason=name, candidate=name) for c in a_graph().candidates * 20)
    graphs = tuple(a_graph(f"{name}.py:{n}", n, candidates=candidates) for n in range(1, 70))
    findings = tuple(a_finding(name, message=name, remedy=name, where=at(f"{name}:{n}")) for n in range(1, 150))
    report = a_report(graphs=graphs, findings=findings, notes=(name,) * 500, honesty=(name,) * 50)
    report = replace(report, plans=tuple(a_plan_trial(name, 3.0, reason=name) for _ in range(100)))
    text = render(report, Page(rules=tuple(Word(name, name * 100) for _ in range(3)), steps=(a_step(name),)))
    assert len(text.encode()) <= MOST_BYTES
