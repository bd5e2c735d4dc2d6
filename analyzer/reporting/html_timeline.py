"""One step as it was recorded, before and after on one scale of time, as lanes of plain SVG. It needs no script: what
magnifies it is a style.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from analyzer.core import quantities
from analyzer.reporting.html_bars import swatch
from analyzer.reporting.html_markup import NOTHING, SPACE, Html, folded, joined, paragraph, shown, table, tag
from analyzer.reporting.html_patterns import PATTERNS, PLAIN, ink_on
from analyzer.reporting.shown_step import ShownLane, ShownMark, ShownShade, ShownStep

LANE_PX: Final = 14
MARK_PX: Final = 12
AXIS_PX: Final = 18
"""As `html_style.STYLE` has them for the names beside the lanes."""

ZOOMS: Final = (1, 4, 16)
_LABEL_SHARE: Final = 0.06
"""Of the width: a mark that holds a word. Magnified, a smaller one does."""
_PATTERN_SHARE: Final = 0.004
"""Of the width: on a narrower mark a pattern would only blur its colour."""
_LEAST_SHARE: Final = 0.0002
"""Of the width: a mark is drawn no narrower, a fifth of a pixel of a screen, or it would not be seen at all."""
_TICKS: Final = 6
_COVERS: Final = (0.4, 0.7, 1.0)

NO_TIMELINE: Final = (
    "This page was written without a trace. `analyze show RUN --format html:report.html` draws the timeline of a run "
    "folder that holds one, `analyze dashboard RUN` shows all of it."
)
_EXPLANATION: Final = (
    "Host times are the profiler's, which slows the host and not the kernels. A mark that stands for "
    "several short events is the paler the less of it they cover. A gap has the colour of its largest cause."
)


def timeline_section(steps: Sequence[ShownStep]) -> Html:
    if not steps:
        return paragraph(NO_TIMELINE, "empty")
    whole = max(step.ns for step in steps)
    drawn = [_side(step, whole, number) for number, step in enumerate(steps)]
    return joined((paragraph(_EXPLANATION, "quiet"), *drawn, _legend(steps)))


def without_lanes(steps: Sequence[ShownStep], why: str) -> tuple[ShownStep, ...]:
    """The same steps, of which only their names and lengths are told."""
    return tuple(ShownStep(one.name, one.title, one.ns, note=why) for one in steps)


def _side(step: ShownStep, whole_ns: int, number: int) -> Html:
    length = f", {quantities.duration(step.ns)} as recorded" if step.ns else ""
    title = f"{step.name}: {step.title}{length}"
    notes = [paragraph(step.note, "quiet")] if step.note is not None else []
    if not step.lanes:
        return tag("fieldset", tag("legend", shown(title)), *notes, class_="timeline")
    left_out = f"{quantities.count(step.left_out)} events of further lanes are not drawn." if step.left_out else ""
    return tag(
        "fieldset",
        tag("legend", shown(title)),
        *notes,
        tag("div", *(_zoom(by, number) for by in ZOOMS)),
        tag("div", _names(step.lanes), tag("div", _lanes(step, whole_ns, number), class_="scroll"), class_="stage"),
        *([paragraph(left_out, "quiet")] if left_out else []),
        _as_text(step),
        class_="timeline",
    )


def _zoom(by: int, number: int) -> Html:
    checked = "" if by == ZOOMS[0] else None
    box = tag("input", type="radio", name=f"zoom-{number}", class_=f"by-{by}", checked=checked)
    return tag("label", box, shown(f"{by}×"), class_="zoom")


def _names(lanes: Iterable[ShownLane]) -> Html:
    rows = [tag("div", shown(lane.label, 60), title=lane.label or None) for lane in lanes]
    return tag("div", *rows, class_="lane-names", aria_hidden="true")


def _lanes(step: ShownStep, whole_ns: int, number: int) -> Html:
    scale = step.ns / whole_ns
    rows = [
        tag("svg", *_marks(lane, step.shades, scale, number), y=AXIS_PX + at * LANE_PX, height=MARK_PX)
        for at, lane in enumerate(step.lanes)
    ]
    height = AXIS_PX + len(step.lanes) * LANE_PX + 4
    label = f"timeline of {step.title}, {step.name}: {len(step.lanes)} lanes; told as text below"
    return tag(
        "svg",
        _definitions(step.shades, number),
        *_axis(whole_ns, height),
        *rows,
        height=height,
        role="img",
        aria_label=label,
        class_="lanes",
    )


def _definitions(shades: Sequence[ShownShade], number: int) -> Html:
    """Each pattern with its own colour under it, so that one shape is enough for a mark."""
    paths = dict(PATTERNS)
    found = [
        tag(
            "pattern",
            tag("rect", width=8, height=8, fill=shade.colour),
            tag("path", d=paths[shade.pattern], fill="none", stroke="#000", stroke_opacity=0.4, stroke_width=1.2),
            id=_id(number, at),
            width=8,
            height=8,
            patternUnits="userSpaceOnUse",
        )
        for at, shade in enumerate(shades)
        if shade.pattern != PLAIN
    ]
    return tag("defs", *found) if found else NOTHING


def _axis(whole_ns: int, height: int) -> list[Html]:
    size = _tick_ns(whole_ns)
    found: list[Html] = []
    for ns in range(0, whole_ns + 1, size):
        x = f"{ns / whole_ns:.3%}"
        found.append(tag("line", x1=x, x2=x, y1=0, y2=height, class_="tick"))
        if ns < whole_ns * 0.94:
            text = shown(quantities.duration(ns) if ns else "0")
            found.append(tag("svg", tag("text", text, x=3, y=11, class_="axis"), x=x, width="15%", height=AXIS_PX))
    return found


def _tick_ns(whole_ns: int) -> int:
    """1, 2 or 5 of a power of ten, so that there are some `_TICKS` of them."""
    size = 1
    while True:
        for digit in (1, 2, 5):
            if size * digit * _TICKS >= whole_ns:
                return size * digit
        size *= 10


def _marks(lane: ShownLane, shades: Sequence[ShownShade], scale: float, number: int) -> list[Html]:
    groups: dict[tuple[str, float], list[Html]] = {}
    labels: list[Html] = []
    # A mark is 50 bytes; there are a few thousand.
    for mark in lane.marks:
        shade = shades[mark.shade]
        width = max((mark.right - mark.left) * scale, _LEAST_SHARE)
        is_plain = shade.pattern == PLAIN or width < _PATTERN_SHARE
        fill = shade.colour if is_plain else f"url(#{_id(number, mark.shade)})"
        cover = next(cover for cover in _COVERS if mark.cover <= cover or cover == _COVERS[-1])
        x = f"{mark.left * scale:.3%}"
        inner = (tag("title", shown(mark.text, 120)),) if mark.text is not None else ()
        groups.setdefault((fill, cover), []).append(tag("rect", *inner, x=x, width=f"{width:.3%}", height=MARK_PX))
        if mark.text is not None:
            labels += _label(mark, shade, x, width)
    drawn = [
        tag("g", *rects, fill=fill, fill_opacity=None if cover == _COVERS[-1] else cover)
        for (fill, cover), rects in groups.items()
    ]
    return [*drawn, *labels]


def _label(mark: ShownMark, shade: ShownShade, x: str, width: float) -> list[Html]:
    by = next((by for by in ZOOMS if width * by >= _LABEL_SHARE), None)
    if by is None:
        return []
    text = tag(
        "text", shown(mark.text or "", 60), x=2, y=9, fill=ink_on(shade.colour), stroke=shade.colour, class_="word"
    )
    return [tag("svg", text, x=x, width=f"{width:.3%}", height=MARK_PX, class_=f"word-{by}", aria_hidden="true")]


def _as_text(step: ShownStep) -> Html:
    """What the picture shows, for whoever cannot see it: the lanes, and the longest event of each."""
    rows = []
    above = ""
    for lane in step.lanes:
        longest = max((m for m in lane.marks if m.text is not None), key=lambda m: m.right - m.left, default=None)
        name = lane.label or f"{above}, a level deeper"
        above = lane.label or above
        told = "" if longest is None or longest.text is None else longest.text
        rows.append([shown(name, 80), shown(quantities.count(lane.events)), shown(told, 120)])
    return folded("The same as text", table(("lane", "events", "the longest"), rows, (1,)), class_="inner")


def _legend(steps: Sequence[ShownStep]) -> Html:
    used: dict[str, ShownShade] = {}
    for step in steps:
        for lane in step.lanes:
            for mark in lane.marks:
                used.setdefault(step.shades[mark.shade].label, step.shades[mark.shade])
    lists = []
    # Their colours are as few as the bounds': apart, no two things of a list look the same.
    for title, is_graph in (("Lanes of graphs:", True), ("All other lanes:", False)):
        own = [one for one in used.values() if one.is_graph is is_graph]
        found = [tag("li", swatch(one.colour, one.pattern), SPACE, shown(one.label, 90)) for one in own]
        lists += [tag("ul", tag("li", shown(title)), *found, class_="legend")] if found else []
    return joined(lists)


def _id(number: int, shade: int) -> str:
    return f"gb-{number}-{shade}"
