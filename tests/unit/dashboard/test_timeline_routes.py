"""The routes the canvas asks, through the real application: bytes, words, and what is refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dashboard.app import app_of
from dashboard.run_folder import RunData, Side, read_run, read_target
from dashboard.timeline.recording import recording_of
from dashboard.timeline.wire import MAGIC, MOST_MARKS
from dashboard.timelines import timeline_page
from tests.rank_files import a_rank
from tests.traces import Recording
from tests.unit.dashboard.runs import FIRST, HOSTILE, a_run_folder


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return app_of(read_run(a_run_folder(tmp_path_factory.mktemp("run")))).server.test_client()


@pytest.fixture(scope="module")
def facts(client: Any) -> dict[str, Any]:
    answer = client.get("/_timeline/facts")
    assert answer.status_code == 200
    return dict(answer.json)


@dataclass(frozen=True)
class Window:
    bins: int
    sums: list[float]
    lanes: list[int]
    events: list[int]
    counts: list[int]
    event: np.ndarray
    left: np.ndarray
    right: np.ndarray
    shade: np.ndarray
    cover: np.ndarray
    hit: np.ndarray
    names: dict[str, Any]


def decode(data: bytes) -> Window:
    """As `assets/gb_3_wire.js` does it; raises for what is left over or missing."""
    magic, lanes, marks, bins = struct.unpack_from("<4I", data)
    assert magic == MAGIC
    at = 16
    columns = []
    for kind, size in (("<f8", lanes), ("<u4", lanes), ("<u4", lanes), ("<u4", lanes), ("<u4", marks), ("<u2", marks),
                       ("<u2", marks), ("u1", marks), ("u1", marks), ("u1", marks)):  # fmt: skip
        assert at % np.dtype(kind).itemsize == 0  # a browser reads aligned columns only
        columns.append(np.frombuffer(data, dtype=kind, count=size, offset=at))
        at += columns[-1].nbytes
    (length,) = struct.unpack_from("<I", data, at)
    assert at + 4 + length == len(data)
    sums, numbers, events, counts, *rest = columns
    return Window(
        bins, sums.tolist(), numbers.tolist(), events.tolist(), counts.tolist(), *rest, json.loads(data[at + 4 :])
    )


def _window(client: Any, start: int, end: int, lanes: str, **words: Any) -> Window:
    answer = client.get(
        "/_timeline/marks", query_string={"from": start, "to": end, "lanes": lanes, "bins": 800, **words}
    )
    assert answer.status_code == 200, answer.text
    assert answer.content_type == "application/octet-stream"
    return decode(answer.data)


def _group(facts: dict[str, Any], side: int, label: str) -> dict[str, Any]:
    return next(group for group in facts["sides"][side]["groups"] if group["label"] == label)


def test_the_facts_name_both_sides_their_steps_and_their_graphs_alike(facts: dict[str, Any]) -> None:
    before, after = facts["sides"]
    assert (before["name"], after["name"]) == ("before", "after")
    assert [len(side["steps"]) for side in (before, after)] == [2, 2]
    assert [graph["label"] for graph in before["graphs"]] == [graph["label"] for graph in after["graphs"]]
    assert "gptlite.py:41" in [graph["label"] for graph in before["graphs"]]
    assert [shade["code"] for shade in facts["shades"]] == list(range(len(facts["shades"])))
    numbers = [n for side in facts["sides"] for g in side["groups"] for n in range(g["first"], g["first"] + g["count"])]
    assert numbers == list(range(len(numbers)))


def test_a_window_has_the_marks_of_both_sides_at_one_time(client: Any, facts: dict[str, Any]) -> None:
    stream = [_group(facts, side, "stream 7")["first"] for side in (0, 1)]
    origins = [side["steps"][0][0] for side in facts["sides"]]
    length = facts["sides"][0]["steps"][0][1] - origins[0]
    found = _window(client, 0, length, ",".join(map(str, stream)), origin0=origins[0], origin1=origins[1])
    assert found.lanes == stream
    assert all(count > 0 for count in found.counts)
    # Three gemms of the one step, the copy, the hostile one and the other thread's; after, the second step begins too.
    assert found.events[0] == 6
    words = f"lane={stream[1]}&from={origins[1]}&to={origins[1] + length}"
    assert found.events[1] == len(client.get(f"/_timeline/table?{words}").json["rows"])
    assert facts["sides"][1]["steps"][0][1] - origins[1] < length


def test_the_sum_of_a_lane_is_that_of_its_events(client: Any, facts: dict[str, Any]) -> None:
    group = _group(facts, 0, "stream 20")
    found = _window(client, facts["sides"][0]["start"], facts["sides"][0]["end"], str(group["first"]))
    assert found.sums == [60_000.0]
    assert found.events == [2]


def test_colours_follow_what_is_asked_for(client: Any, facts: dict[str, Any]) -> None:
    lane = str(_group(facts, 0, "stream 20")["first"])
    whole = facts["sides"][0]["start"], facts["sides"][0]["end"]
    labels = [shade["label"] for shade in facts["shades"]]
    assert {labels[code] for code in _window(client, *whole, lane).shade} == {"outside of any graph"}
    assert {labels[code] for code in _window(client, *whole, lane, by="bound").shade} == {"collectives"}


def test_a_search_marks_what_it_finds_and_counts_it(client: Any, facts: dict[str, Any]) -> None:
    lanes = f"{_group(facts, 0, 'stream 7')['first']},{_group(facts, 0, 'stream 9')['first']}"
    found = _window(client, facts["sides"][0]["start"], facts["sides"][0]["end"], lanes, q="GEMM")
    first = found.counts[0]
    assert found.hit[:first].any()
    assert not found.hit[:first].all()
    assert not found.hit[first:].any()
    told = client.get("/_timeline/find?q=gemm").json
    assert [side["events"] for side in told["sides"]] == [6, 2]
    assert told["sides"][0]["ns"] == 30_000
    assert told["next"] is None
    assert client.get("/_timeline/find?q=no+such+kernel&side=0").json["next"] is None
    assert client.get("/_timeline/find?q=&side=0").json["next"] is None


def test_searching_on_goes_through_every_hit_and_round(client: Any) -> None:
    seen, numbers = [], []
    words = {"q": "gemm", "side": 0, "from": 0}
    for _ in range(7):
        told = client.get("/_timeline/find", query_string=words).json
        lane, at = told["next"]
        seen.append((lane, at))
        numbers.append(told["number"])
        words |= {"lane": lane, "at": at}
    assert len(set(seen[:6])) == 6
    assert seen[6] == seen[0]
    assert numbers == [1, 2, 3, 4, 5, 6, 1]
    back = client.get("/_timeline/find", query_string=words | {"back": 1}).json["next"]
    assert tuple(back) == seen[5]


def test_hostile_names_are_text_in_every_answer(client: Any, facts: dict[str, Any]) -> None:
    group = _group(facts, 0, "stream 7")
    lane, at = client.get("/_timeline/find", query_string={"q": "onerror", "side": 0}).json["next"]
    answer = client.get(f"/_timeline/event?lane={lane}&at={at}")
    assert answer.content_type == "application/json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.json["title"] == HOSTILE
    start, end = answer.json["start"], answer.json["end"]
    assert HOSTILE in _window(client, start, end, str(group["first"])).names["names"]
    table = client.get(f"/_timeline/table?lane={lane}&from={start}&to={end}").json
    assert [row[1] for row in table["rows"]] == [HOSTILE]


def test_the_script_never_writes_markup(root: Path) -> None:
    for script in sorted((root / "dashboard" / "assets").glob("*.js")):
        text = script.read_text()
        assert not [
            word for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(") if word in text
        ]


def test_a_megabyte_of_a_name_is_cut(tmp_path: Path) -> None:
    run = Recording()
    with run.step():
        run.launch("x" * 2**20, us=5)
    data = RunData("runs/x", None, "none", (Side("before", recording_of(run.trace(), None), None),))
    client = app_of(data).server.test_client()
    lane, at = client.get("/_timeline/find?q=xxxx&side=0").json["next"]
    assert len(client.get(f"/_timeline/event?lane={lane}&at={at}").data) < 4_000


@pytest.mark.parametrize(
    "address",
    [
        "marks",
        "marks?from=0&to=0&lanes=0",
        "marks?from=5&to=1&lanes=0",
        "marks?from=0&to=9e9&lanes=0",
        f"marks?from=0&to={2**60}&lanes=0",
        f"marks?from={-(2**62)}&to={-(2**62) + 5}&lanes=0",
        f"marks?from=0&to=9&lanes=0&origin0={2**60}",
        "marks?from=0&to=9&lanes=0-100000",
        "marks?from=0&to=9&lanes=" + ",".join(["0"] * 401),
        "marks?from=0&to=9&lanes=x",
        "marks?from=0&to=9&lanes=9-0",
        "marks?from=0&to=9&lanes=0&bins=0",
        "marks?from=0&to=9&lanes=0&bins=²",
        "event",
        "event?lane=0",
        "find?q=a&side=7",
        "table?lane=0&from=1&to=1",
        "table.csv?lane=0&from=1&to=1",
        "perfetto.json.gz?side=7",
        "perfetto.json.gz?origin0=-5",
        f"perfetto.json.gz?origin1={2**50}",
        f"perfetto.json.gz?origin0={2**60}",
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(client: Any, address: str) -> None:
    answer = client.get(f"/_timeline/{address}")
    assert answer.status_code == 400
    assert answer.json["error"]


@pytest.mark.parametrize("address", ["event?lane=0&at=99999", "event?lane=-1&at=0", "marks?from=0&to=9&lanes=399",
                                     "find?q=gemm&side=0&lane=0&at=123456"])  # fmt: skip
def test_what_is_not_there_is_not_found(client: Any, address: str) -> None:
    assert client.get(f"/_timeline/{address}").status_code == 404


def test_no_answer_is_longer_than_it_may_be() -> None:
    rows = Recording()
    # Forty streams of events thinner than a pixel: 40 × 1,000 marks, had they all been drawn.
    for number in range(40_000):
        rows.orphan(f"kernel_{number % 50}", us=0.4 + number % 3, stream=number % 40)
    data = RunData("runs/x", None, "none", (Side("before", recording_of(rows.trace(), None), None),))
    client = app_of(data).server.test_client()
    side = client.get("/_timeline/facts").json["sides"][0]
    lanes = sum(group["count"] for group in side["groups"])
    found = _window(client, side["start"], side["end"], f"0-{lanes - 1}", bins=4_000)
    assert found.event.size <= MOST_MARKS
    assert found.bins < 4_000
    assert sum(found.events[-40:]) == 40_000
    answer = client.get(f"/_timeline/marks?from={side['start']}&to={side['end']}&bins=4000&lanes=0-{lanes - 1}")
    assert len(answer.data) < 400_000


def test_the_table_lists_the_lane_in_the_window_and_counts_the_rest(client: Any, facts: dict[str, Any]) -> None:
    group = _group(facts, 0, "stream 20")
    side = facts["sides"][0]
    told = client.get(f"/_timeline/table?lane={group['first']}&from={side['start']}&to={side['end']}").json
    assert (told["title"], told["events"], told["sum"]) == ("stream 20", 2, "60.0 µs")
    assert [row[3] for row in told["rows"]] == ["30.0 µs", "30.0 µs"]


def test_the_csv_has_every_event_of_the_lane_in_the_window(client: Any, facts: dict[str, Any]) -> None:
    group, side = _group(facts, 0, "stream 20"), facts["sides"][0]
    answer = client.get(f"/_timeline/table.csv?lane={group['first']}&from={side['start']}&to={side['end']}")
    assert answer.content_type.startswith("text/csv")
    assert "attachment" in answer.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["event"] for row in rows] == ["ncclDevKernel_AllReduce_Sum_f32"] * 2
    assert [row["duration ns"] for row in rows] == ["30000", "30000"]
    assert all(int(row["end ns"]) - int(row["start ns"]) == 30_000 for row in rows)


def test_no_cell_of_the_csv_is_a_formula(tmp_path: Path) -> None:
    run = Recording()
    for name in ("=HYPERLINK(1)", "+1", "-1", "@x", 'say "a, b"\n=1'):
        run.orphan(name, us=1)
    data = RunData("runs/x", None, "none", (Side("before", recording_of(run.trace(), None), None),))
    client = app_of(data).server.test_client()
    lane = client.get("/_timeline/find?q=hyperlink&side=0").json["next"][0]
    text = client.get(f"/_timeline/table.csv?lane={lane}&from=0&to=100000").text
    cells = [row["event"] for row in csv.DictReader(io.StringIO(text))]
    assert cells == ["'=HYPERLINK(1)", "'+1", "'-1", "'@x", 'say "a, b" =1']


def test_the_recording_comes_packed_for_perfetto_with_every_side_or_one(client: Any, facts: dict[str, Any]) -> None:
    origins = {f"origin{number}": side["steps"][0][0] for number, side in enumerate(facts["sides"])}
    answer = client.get("/_timeline/perfetto.json.gz", query_string=origins)
    assert answer.content_type == "application/gzip"
    assert "graphbound-timeline.json.gz" in answer.headers["Content-Disposition"]
    both = json.loads(gzip.decompress(answer.data))["traceEvents"]
    steps = [event["ts"] for event in both if event.get("name") == "ProfilerStep#0"]
    assert len(steps) == 2
    assert steps[0] == steps[1]
    alone = client.get("/_timeline/perfetto.json.gz", query_string=origins | {"side": 1})
    names = [e["args"]["name"] for e in json.loads(gzip.decompress(alone.data))["traceEvents"] if e["ph"] == "M" and
             e["name"] == "process_name"]  # fmt: skip
    assert names
    assert all(name.startswith("after: ") for name in names)


def test_an_event_of_a_graph_leads_to_its_card_and_of_none_to_no_card(client: Any) -> None:
    cards = {}
    for name in ("gemm", "ncclDevKernel", "graphbound::"):
        lane, at = client.get("/_timeline/find", query_string={"q": name, "side": 0}).json["next"]
        cards[name] = client.get(f"/_timeline/event?lane={lane}&at={at}").json["card"]
    assert cards == {"gemm": FIRST, "ncclDevKernel": None, "graphbound::": FIRST}


def test_ranks_are_judged_each_by_its_own_rows(tmp_path: Path) -> None:
    """The report tells the graphs of one rank alone: a card or a verdict of it is none of another."""
    for rank, own_us in enumerate((50, 20)):
        a_rank(own_us, 50 - own_us).save(tmp_path / f"rank{rank}.json.gz")
    data = read_target(tmp_path)
    shown = timeline_page(data).shown
    assert [one.name.split(",")[0] for one in shown] == ["rank 0", "rank 1"]
    for one in shown:
        assert one.judged.cards == frozenset()
        budget = one.timeline.recording.budget
        assert budget is not None
        assert set(one.judged.verdicts) == {traced.region.key for traced in budget.regions}
    client = app_of(data).server.test_client()
    assert [side["name"] for side in client.get("/_timeline/facts").json["sides"]] == [one.name for one in shown]


def test_asking_only_reads(client: Any, facts: dict[str, Any]) -> None:
    for name in ("facts", "marks", "event", "find", "table", "table.csv", "perfetto.json.gz"):
        assert client.post(f"/_timeline/{name}").status_code == 405
