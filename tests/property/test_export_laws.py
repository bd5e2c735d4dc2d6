"""What an exported file says is what was recorded: whatever ran, and wherever its beginning is put."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.timeline.export import Exported, json_chunks
from tests.traces import Recording
from tests.unit.dashboard.test_timeline_export import read_back, rows_of, shown_of

few = settings(max_examples=25, deadline=None)

names = st.text(max_size=20).map(lambda text: f"k{text}")
acts = st.lists(
    st.one_of(
        st.tuples(st.just("launch"), names, st.integers(0, 20_000), st.integers(0, 3)),
        st.tuples(st.just("orphan"), names, st.integers(0, 20_000), st.integers(0, 3)),
        st.tuples(st.just("copy"), names, st.integers(0, 20_000), st.integers(0, 3)),
        st.tuples(st.just("host"), names, st.integers(0, 9_000), st.integers(0, 3)),
        st.tuples(st.just("wait"), names, st.integers(0, 9), st.integers(0, 3)),
    ),
    min_size=1,
    max_size=20,
)


def a_run(done: list[tuple[str, str, int, int]], *, has_step: bool) -> Recording:
    run = Recording()
    if has_step:
        with run.step():
            _do(run, done)
    else:
        _do(run, done)
    return run


def _do(run: Recording, done: list[tuple[str, str, int, int]]) -> None:
    run.launch("first", us=1)
    for what, name, ns, stream in done:
        match what:
            case "launch":
                run.launch(name, us=ns / 1000, stream=stream)
            case "orphan":
                run.orphan(name, us=ns / 1000, stream=stream)
            case "copy":
                run.copy(name, us=ns / 1000, stream=stream)
            case "host":
                run.host(ns / 1000)
            case _:
                run.synchronize()


@few
@given(acts, st.booleans(), st.integers(0, 10**6))
def test_every_row_is_read_back_as_it_was(done: Any, has_step: bool, origin: int) -> None:
    (shown,) = shown_of(a_run(done, has_step=has_step).trace())
    text = b"".join(json_chunks([Exported(shown, origin)]))
    with tempfile.TemporaryDirectory() as folder:
        back = read_back(text, Path(folder))
    assert rows_of(back) == rows_of(shown.timeline.recording.trace)


@few
@given(acts, acts, st.integers(0, 10**6), st.integers(0, 10**6))
def test_of_two_sides_each_keeps_its_distances_and_none_begins_before_zero(
    one: Any, other: Any, first: int, second: int
) -> None:
    shown = shown_of(a_run(one, has_step=True).trace(), a_run(other, has_step=True).trace())
    sides = [Exported(side, origin) for side, origin in zip(shown, (first, second), strict=True)]
    events = json.loads(b"".join(json_chunks(sides)))["traceEvents"]
    assert min(event["ts"] for event in events) >= 0
    steps = [round(event["ts"] * 1000) for event in events if event.get("name") == "ProfilerStep#0"]
    starts = [
        int(side.timeline.recording.steps.start_ns[0]) - origin
        for side, origin in zip(shown, (first, second), strict=True)
    ]
    assert steps[1] - steps[0] == starts[1] - starts[0]
