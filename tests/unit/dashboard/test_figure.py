"""The shared figure: offline, looks that do not rest on colour, names as text."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import plotly.graph_objects as go
from plotly.utils import PlotlyJSONEncoder

from analyzer.core.budget import Part
from dashboard.figure import OTHER_LOOK, SERIES, axis_title, decades, graph, safe, series_look, styled
from dashboard.panels.step_bar import part_look


def _drawn(shown: Any) -> dict[str, Any]:
    """The graph that the browser makes in its place."""
    place = shown.children[0].to_plotly_json()["props"]
    assert place["id"] == "f-place"
    graph_json = json.loads(place["data-gb-figure"])
    assert (graph_json["type"], graph_json["namespace"]) == ("Graph", "dash_core_components")
    return dict(graph_json["props"])


def test_nothing_of_a_figure_leads_to_another_machine() -> None:
    shown = graph("f", go.Figure(go.Bar(y=[1])), height_px=300, label="one bar")
    text = json.dumps(shown, cls=PlotlyJSONEncoder)
    assert "http" not in text
    config = _drawn(shown)["config"]
    assert config["displaylogo"] is False
    assert config["showSendToCloud"] is False
    assert config["plotlyServerURL"] == "about:blank"


def test_a_figure_is_named_sized_and_downloadable() -> None:
    shown = graph("f", go.Figure(), height_px=300, label="one\u202ebar " + "x" * 1_000)
    props = shown.to_plotly_json()["props"]
    assert props["aria-label"].startswith("one\\u202ebar")
    assert len(props["aria-label"]) == 300
    drawn = _drawn(shown)
    assert (drawn["id"], drawn["responsive"], drawn["style"]) == ("f", True, {"height": "300px"})
    buttons = [one.to_plotly_json()["props"] for one in shown.children[1].children[1:]]
    assert [(one["data-figure"], one["data-format"]) for one in buttons] == [("f", "png"), ("f", "svg")]


def test_a_figure_keeps_what_it_sets_and_is_not_changed() -> None:
    own = go.Figure(layout={"xaxis": {"gridcolor": "red"}})
    made = styled(own)
    assert made.layout.xaxis.gridcolor == "red"
    assert made.layout.template.layout.font.color is not None
    assert own.layout.template != made.layout.template


def test_no_two_series_and_no_two_parts_differ_by_colour_alone() -> None:
    looks = [*(series_look(number) for number in range(SERIES)), OTHER_LOOK]
    for one, two in combinations(looks, 2):
        assert one.symbol != two.symbol
        assert one.pattern != two.pattern
        assert one.dash != two.dash
        assert one.colour != two.colour
    assert len({part_look(part).shape for part in Part}) == len(Part)


def test_a_series_beyond_the_last_has_the_look_of_the_others() -> None:
    assert series_look(None) == series_look(SERIES) == series_look(-1) == OTHER_LOOK


def test_names_are_text_for_plotly() -> None:
    assert safe('<a href="javascript:x">&') == "&lt;a href=&quot;javascript:x&quot;&gt;&amp;"
    assert axis_title("time", "ms") == "time (ms)"
    assert axis_title("kernels") == "kernels"


def test_decades_reach_around_the_range() -> None:
    values, texts = decades(0.02, 30, lambda value: f"{value:g}")
    assert values == [0.01, 0.1, 1.0, 10.0, 100.0]
    assert texts == ["0.01", "0.1", "1", "10", "100"]
