"""The routes that the canvas asks: what there is, the marks of a window, one event, a search, a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from analyzer.core import quantities
from dashboard.timeline.facts import event_facts, place_of
from dashboard.timeline.page import ShownTimeline, TimelinePage, page_facts
from dashboard.timeline.search import Hits, next_hit
from dashboard.timeline.table import lane_table
from dashboard.timeline.wire import Asked, AskedLane, answer

PREFIX: Final = "/_timeline"
MOST_LANES: Final = 400
"""Lanes of one answer: a screen holds some 80."""
BYTES: Final = "application/octet-stream"


class BadRequest(Exception):
    """The address asks for what cannot be; the text says what."""


Words = Mapping[str, str]
"""The query of an address."""


def add_routes(flask_app: Any, page: TimelinePage) -> None:
    """Answers under PREFIX. A wrong address is 400 or 404 with a sentence, never a trace of ours."""
    from flask import Response, jsonify, request  # comes with Dash

    def guarded(work: Callable[[Words], Any], *, is_binary: bool = False) -> Callable[[], Any]:
        def view() -> Any:
            try:
                found = work(request.args)
            except BadRequest as error:
                return jsonify({"error": str(error)}), 400
            except IndexError:
                return jsonify({"error": "there is no such event"}), 404
            response = Response(found, content_type=BYTES) if is_binary else jsonify(found)
            response.headers["Cache-Control"] = "no-store"
            response.headers["X-Content-Type-Options"] = "nosniff"
            return response

        return view

    routes: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("facts", guarded(lambda words: page_facts(page))),
        ("marks", guarded(lambda words: answer(asked(page, words)), is_binary=True)),
        ("event", guarded(lambda words: event(page, words))),
        ("find", guarded(lambda words: found(page, words))),
        ("table", guarded(lambda words: table(page, words))),
    )
    for name, view in routes:
        flask_app.add_url_rule(f"{PREFIX}/{name}", f"timeline_{name}", view)


def asked(page: TimelinePage, words: Words) -> Asked:
    """`from` and `to` in ns from each side's `origin<side>`, `bins`, `lanes` as `0-4,9`, `by` graph or bound, `q`."""
    start, end = _window(words, 2**52)
    origins = {one.first_lane: _whole(words, f"origin{i}", 0) for i, one in enumerate(page.shown)}
    if any(abs(origin) > 2**52 for origin in origins.values()):
        raise BadRequest("an origin lies outside of any trace")
    hits = {one.first_lane: one.searches.of(words.get("q", "")) for one in page.shown}
    lanes = []
    for number in _lane_numbers(words.get("lanes", "")):
        one, lane = page.side_of(number)
        own = hits[one.first_lane]
        lanes.append(AskedLane(one.timeline, lane, number, origins[one.first_lane], own.by_lane[lane] if own else None))
    bins = _whole(words, "bins", 1_000)
    if bins < 1:
        raise BadRequest("bins must be above 0")
    return Asked(start, end, bins, words.get("by") == "bound", tuple(lanes))


def event(page: TimelinePage, words: Words) -> dict[str, Any]:
    one, lane = page.side_of(_whole(words, "lane"))
    at = _whole(words, "at")
    told = event_facts(one.timeline, lane, at, page.places)
    return {
        "title": told.title,
        "kind": told.kind,
        "side": one.name,
        "start": told.start_ns,
        "end": told.end_ns,
        "of": len(one.timeline.lanes[lane]),
        "facts": [[fact.label, fact.value] for fact in told.facts],
        "follows": [[follow.label, one.first_lane + follow.lane, follow.at] for follow in told.follows],
    }


def found(page: TimelinePage, words: Words) -> dict[str, Any]:
    """How often `q` occurs on each side; with `side`, the next one after `lane` and `at`, or after `from`."""
    query = words.get("q", "")
    hits = [one.searches.of(query) for one in page.shown]
    told: dict[str, Any] = {
        "sides": [_count(one, own) for one, own in zip(page.shown, hits, strict=True)],
        "next": None,
    }
    if "side" in words:
        number = _whole(words, "side")
        if not 0 <= number < len(page.shown):
            raise BadRequest("there is no such side")
        told["next"] = _next(page, page.shown[number], hits[number], words)
    return told


def table(page: TimelinePage, words: Words) -> dict[str, Any]:
    """The events of a lane that touch a window, as rows of text; `from` and `to` in ns of the trace."""
    one, lane = page.side_of(_whole(words, "lane"))
    start, end = _window(words, 2**53)
    return lane_table(one.timeline, lane, start, end)


def _next(page: TimelinePage, one: ShownTimeline, hits: Hits | None, words: Words) -> list[int] | None:
    if hits is None:
        return None
    after = None
    if "lane" in words:
        side, lane = page.side_of(_whole(words, "lane"))
        after = _row(side, lane, _whole(words, "at")) if side is one else None
    row = next_hit(one.timeline, hits, after, _whole(words, "from", 0), back=words.get("back") == "1")
    if row is None:
        return None
    lane, at = place_of(one.timeline, row)
    return [one.first_lane + lane, at]


def _row(side: ShownTimeline, lane: int, at: int) -> int | None:
    """The trace row of an event, None for one that was derived."""
    rows = side.timeline.lanes[lane].row
    if not 0 <= at < rows.size:
        raise IndexError("no such event")
    row = int(rows[at])
    in_trace = row < side.timeline.lane_of_row.size and place_of(side.timeline, row) == (lane, at)
    return row if in_trace else None


def _count(one: ShownTimeline, hits: Hits | None) -> dict[str, Any]:
    rows = 0 if hits is None else int(hits.rows.size)
    sum_ns = 0 if hits is None else hits.sum_ns
    return {
        "name": one.name,
        "events": rows,
        "names": 0 if hits is None else hits.names,
        "ns": sum_ns,
        "text": quantities.duration(sum_ns),
    }


def _window(words: Words, farthest_ns: int) -> tuple[int, int]:
    start, end = _whole(words, "from"), _whole(words, "to")
    if not 0 < end - start < 2**50 or abs(start) > farthest_ns:
        raise BadRequest("the window is empty or too long")
    return start, end


def _whole(words: Words, name: str, default: int | None = None) -> int:
    text = words.get(name)
    if text is None and default is not None:
        return default
    try:
        # int() itself refuses more than 4,300 digits, and takes spaces and underscores: nothing else is let through.
        if text is None or len(text) > 20 or not text.lstrip("-").isdecimal():
            raise ValueError
        return int(text)
    except ValueError:
        raise BadRequest(f"{name} must be a whole number") from None


def _lane_numbers(text: str) -> list[int]:
    """`0-2,7` is 0, 1, 2 and 7."""
    numbers: list[int] = []
    for piece in filter(None, text.split(",")):
        first, _, last = piece.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal() or len(piece) > 20:
            raise BadRequest("lanes must read like 0-4,9")
        low, high = int(first), int(last or first)
        if not low <= high < low + MOST_LANES or len(numbers) + high - low >= MOST_LANES:
            raise BadRequest(f"at most {MOST_LANES} lanes at once")
        numbers += range(low, high + 1)
    return numbers
