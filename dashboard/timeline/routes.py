"""The routes that the canvas asks: what there is, the marks of a window, one event, a search, a table, a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from analyzer.core import quantities
from dashboard.timeline.export import Exported, first_origin_ns, gzipped, json_chunks
from dashboard.timeline.facts import event_facts, place_of
from dashboard.timeline.page import ShownTimeline, TimelinePage, page_facts
from dashboard.timeline.search import Hits, next_hit
from dashboard.timeline.table import lane_csv, lane_table
from dashboard.timeline.wire import Asked, AskedLane, answer

PREFIX: Final = "/_timeline"
MOST_LANES: Final = 400
"""Lanes of one answer: a screen holds some 80."""
BYTES: Final = "application/octet-stream"
GZIP: Final = "application/gzip"
CSV: Final = "text/csv; charset=utf-8"
FARTHEST_NS: Final = 2**52
"""Fifty days: no trace is that long, and a browser counts so far exactly."""


class BadRequest(Exception):
    """The address asks for what cannot be; the text says what."""


Words = Mapping[str, str]
"""The query of an address."""


def add_routes(flask_app: Any, page: TimelinePage) -> None:
    """Answers under PREFIX. A wrong address is 400 or 404 with a sentence, never a trace of ours."""
    from flask import Response, jsonify, request  # comes with Dash

    def guarded(work: Callable[[Words], Any], content: str | None = None, file: str | None = None) -> Callable[[], Any]:
        """`content` is the type of what is no JSON, `file` the name of what is to be kept."""

        def view() -> Any:
            try:
                found = work(request.args)
            except BadRequest as error:
                return jsonify({"error": str(error)}), 400
            except IndexError:
                return jsonify({"error": "there is no such event"}), 404
            response = jsonify(found) if content is None else Response(found, content_type=content)
            response.headers["Cache-Control"] = "no-store"
            response.headers["X-Content-Type-Options"] = "nosniff"
            if file is not None:
                response.headers["Content-Disposition"] = f'attachment; filename="{file}"'
            return response

        return view

    routes: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("facts", guarded(lambda words: page_facts(page))),
        ("marks", guarded(lambda words: answer(asked(page, words)), BYTES)),
        ("event", guarded(lambda words: event(page, words))),
        ("find", guarded(lambda words: found(page, words))),
        ("table", guarded(lambda words: table(page, words))),
        ("table.csv", guarded(lambda words: table_csv(page, words), CSV, "graphbound-lane.csv")),
        ("perfetto.json.gz", guarded(lambda words: perfetto(page, words), GZIP, "graphbound-timeline.json.gz")),
    )
    for name, view in routes:
        flask_app.add_url_rule(f"{PREFIX}/{name}", f"timeline_{name.partition('.')[0]}_{name.count('.')}", view)


def asked(page: TimelinePage, words: Words) -> Asked:
    """`from` and `to` in ns from each side's `origin<side>`, `bins`, `lanes` as `0-4,9`, `by` graph or bound, `q`."""
    start, end = _window(words, FARTHEST_NS)
    origins = {one.first_lane: _whole(words, f"origin{i}", 0) for i, one in enumerate(page.shown)}
    if any(abs(origin) > FARTHEST_NS for origin in origins.values()):
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
        "card": str(told.graph) if told.graph in one.judged.cards else None,
    }


def found(page: TimelinePage, words: Words) -> dict[str, Any]:
    """How often `q` occurs on each side; with `side`, the next one after `lane` and `at`, or after `from`, and which of
    them it is.
    """
    query = words.get("q", "")
    hits = [one.searches.of(query) for one in page.shown]
    told: dict[str, Any] = {
        "sides": [_count(one, own) for one, own in zip(page.shown, hits, strict=True)],
        "next": None,
        "number": None,
    }
    if "side" in words:
        number = _side(page, words)
        own = hits[number]
        row = None if own is None else _next(page, page.shown[number], own, words)
        if own is not None and row is not None:
            lane, at = place_of(page.shown[number].timeline, row)
            told |= {"next": [page.shown[number].first_lane + lane, at], "number": own.number(row)}
    return told


def table(page: TimelinePage, words: Words) -> dict[str, Any]:
    """The events of a lane that touch a window, as rows of text; `from` and `to` in ns of the trace."""
    one, lane = page.side_of(_whole(words, "lane"))
    start, end = _window(words, 2 * FARTHEST_NS)
    return lane_table(one.timeline, lane, start, end)


def table_csv(page: TimelinePage, words: Words) -> Iterator[bytes]:
    """The same as a file, with every event of the window in it."""
    one, lane = page.side_of(_whole(words, "lane"))
    start, end = _window(words, 2 * FARTHEST_NS)
    return lane_csv(one.timeline, lane, start, end)


def perfetto(page: TimelinePage, words: Words) -> Iterator[bytes]:
    """A file for Perfetto with every side, or with `side` alone; aligned at `origin<side>`, else at their steps."""
    sides = [
        Exported(one, _whole(words, f"origin{number}", first_origin_ns(one))) for number, one in enumerate(page.shown)
    ]
    if "side" in words:
        sides = [sides[_side(page, words)]]
    if not sides:
        raise BadRequest("there is no timeline to export")
    for side in sides:
        timeline = side.shown.timeline
        if not timeline.start_ns <= side.origin_ns <= timeline.end_ns:
            raise BadRequest("an origin lies outside of its trace")
    return gzipped(json_chunks(sides))


def _next(page: TimelinePage, one: ShownTimeline, hits: Hits, words: Words) -> int | None:
    after = None
    if "lane" in words:
        side, lane = page.side_of(_whole(words, "lane"))
        after = _row(side, lane, _whole(words, "at")) if side is one else None
    return next_hit(one.timeline, hits, after, _whole(words, "from", 0), back=words.get("back") == "1")


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


def _side(page: TimelinePage, words: Words) -> int:
    number = _whole(words, "side")
    if not 0 <= number < len(page.shown):
        raise BadRequest("there is no such side")
    return number


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
