"""The figure of both timelines: axes, colours, lanes, texts."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import pytest

from analyzer.core.graphs import GapKey
from analyzer.reporting.palette import GREY, OKABE_ITO
from dashboard.colours import NOT_LINKED, choose_colours
from dashboard.run_folder import Side
from dashboard.step_view import Bar, BarKind, StepView
from dashboard.timeline_figure import timelines_figure
from tests.reports import MS, a_graph, a_key, a_report


def _bar(**changes: Any) -> Bar:
    facts: dict[str, Any] = {
        "lane": 1,
        "kind": BarKind.KERNEL,
        "name": "gemm",
        "region": a_key(1),
        "start_ns": 2 * MS,
        "duration_ns": 3 * MS,
    }
    return Bar(**(facts | changes))


def _side(name: str, *bars: Bar, duration_ms: int = 10) -> Side:
    lanes = ("host thread 1", "stream 7")
    view = StepView(1, 3, duration_ms * MS, lanes=lanes, bars=bars or (_bar(),), left_out=0, is_host=False)
    return Side(name, view, None)


def _figure(*sides: Side) -> go.Figure:
    views = tuple(side.view for side in sides if side.view is not None)
    return timelines_figure(sides, choose_colours(a_report(), views))


def test_both_timelines_have_one_axis_in_milliseconds_as_long_as_the_longer() -> None:
    figure = _figure(_side("before", duration_ms=31), _side("after", duration_ms=11))
    assert figure.layout.xaxis.matches == "x2" or figure.layout.xaxis2.matches == "x"
    for axis in (figure.layout.xaxis, figure.layout.xaxis2):
        assert axis.range[0] == 0
        assert axis.range[1] == pytest.approx(31 * 1.01)
    assert "ms" in figure.layout.xaxis2.title.text


def test_before_is_above_after() -> None:
    figure = _figure(_side("before"), _side("after"))
    before, after = figure.layout.annotations
    assert before.text.startswith("before: step 1 of 3, 10.0 ms")
    assert before.y > after.y


def test_a_bar_lies_where_and_as_long_as_it_was() -> None:
    (trace,) = _figure(_side("before", _bar(start_ns=2 * MS, duration_ns=3 * MS))).data
    assert (trace.base, trace.x, trace.y) == ((2.0,), (3.0,), (0,))


def test_the_first_lane_is_at_the_top_and_named() -> None:
    axis = _figure(_side("before")).layout.yaxis
    assert list(zip(axis.tickvals, axis.ticktext, strict=True)) == [(1, "host thread 1"), (0, "stream 7")]


def test_a_graph_has_one_colour_and_one_entry_in_the_legend_for_both_timelines() -> None:
    figure = _figure(_side("before", _bar(), _bar(region=a_key(2))), _side("after", _bar()))
    own = [trace for trace in figure.data if trace.name == "gptlite.py:41"]
    assert [trace.showlegend for trace in own] == [True, False]
    assert len({trace.marker.color for trace in own}) == 1
    assert len({trace.marker.color for trace in figure.data}) == 2


def test_eager_gaps_are_grey_and_what_is_not_linked_is_white() -> None:
    figure = _figure(_side("before", _bar(region=GapKey(None, a_key(1))), _bar(region=None)))
    assert {trace.name: trace.marker.color for trace in figure.data} == {
        "eager gaps": GREY,
        "not linked": NOT_LINKED.colour,
    }


def test_launches_are_drawn_over_the_ranges_and_thinner() -> None:
    bars = (_bar(lane=0, kind=BarKind.LAUNCH), _bar(lane=0, kind=BarKind.GRAPH_RANGE), _bar(lane=0, kind=BarKind.SYNC))
    traces = _figure(_side("before", *bars)).data
    assert traces[0].name == "gptlite.py:41"
    assert {trace.name for trace in traces[1:]} == {"launches", "waits for the device"}
    assert all(trace.width[0] < traces[0].width[0] for trace in traces[1:])


def test_hovering_tells_name_duration_and_graph() -> None:
    (trace,) = _figure(_side("before", _bar(name="gemm", start_ns=2 * MS, duration_ns=412_000))).data
    assert trace.hovertext == ("gemm<br>kernel, 412 µs, from 2.00 ms<br>gptlite.py:41",)


def test_a_name_cannot_become_markup_of_the_figure() -> None:
    (trace,) = _figure(_side("before", _bar(name="<a href='javascript:alert(1)'>k</a>" + "x" * 2_000))).data
    text = trace.hovertext[0]
    assert "<a" not in text
    assert text.startswith("&lt;a href=")
    assert len(text) < 300


def test_one_missing_side_leaves_the_other() -> None:
    figure = _figure(Side("before", None, "gone"), _side("after"))
    assert len(figure.layout.annotations) == 1
    assert figure.layout.annotations[0].text.startswith("after")


def test_an_empty_step_is_still_a_figure() -> None:
    side = Side("before", StepView(1, 1, 5 * MS, lanes=(), bars=(), left_out=0, is_host=False), None)
    assert _figure(side).data == ()


def test_the_longest_graphs_get_the_colours_and_the_rest_are_counted_together() -> None:
    graphs = tuple(a_graph(f"m.py:{n}", n, before_ns=n * MS) for n in range(1, 11))
    colours = choose_colours(a_report(graphs=graphs), ())
    assert colours.of(a_key(10)).label == "m.py:10"
    assert [colours.of(a_key(n)).colour for n in range(10, 3, -1)] == list(OKABE_ITO)
    assert colours.of(a_key(1)) == colours.of(a_key(3))
    assert colours.of(a_key(1)).label == "3 shorter graphs"


def test_without_a_report_the_bars_decide() -> None:
    views = (_side("before", _bar(region=a_key(2), duration_ns=9), _bar(region=a_key(1), duration_ns=5)).view,)
    assert views[0] is not None
    colours = choose_colours(None, (views[0],))
    assert colours.of(a_key(2)).colour == OKABE_ITO[0]
    assert colours.of(a_key(2)).label == str(a_key(2))
