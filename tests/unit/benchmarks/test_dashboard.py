"""The dashboard's benchmark on a small trace: every part is measured, or says why it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import dashboard
from benchmarks.dashboard import Asked
from benchmarks.dashboard_trace import STEPS, made_trace
from dashboard.timeline.recording import recording_of

ASKED = Asked(events=2_000, large=3_000, browser=None, out=Path("unused"))


def test_the_trace_has_the_events_asked_for_and_all_its_kernels_are_linked() -> None:
    trace = made_trace(2_000, host_us=12.0)
    assert len(trace) == 2_000 + STEPS
    work = recording_of(trace, None).attribution.work
    assert work.has_launch.all()
    assert len(work) == 500


def test_every_part_is_measured_and_told() -> None:
    found = {part: dashboard._part(part, ASKED) for part in ("page", "large", "marks")}
    page = found["page"]
    assert 0 < page["bytes"] < 400_000
    assert page["export_bytes"] > 10_000
    assert len(page["server_ms"]) == dashboard.WINDOWS
    text = dashboard._text(found, ASKED)
    assert "## 2,000 events a side, two sides" in text
    assert "## 3,000 events, one side" in text
    assert text.count("server part of a zoom or pan") == 2
    assert "not measured: no Playwright or no Chromium here" in text


def test_where_the_memory_is_not_there_the_large_part_is_left_out_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard, "_available_bytes", lambda: 2_000_000)
    told = dashboard._in_own_process("large", ASKED)
    assert told == {"missing": "0 GB are wanted, 0 are free"}
    assert dashboard._rows(told, 250.0, is_large=True) == [("all of it", f"not measured: {told['missing']}", "–")]
