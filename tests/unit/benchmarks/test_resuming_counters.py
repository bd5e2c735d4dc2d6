"""Counters that are recorded in several sessions: what was counted stays, and what was not reached is said."""

from __future__ import annotations

import itertools
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from analyzer.core.device import Device, Source, Versions
from analyzer.core.errors import UnreadableFileError, UsageError
from benchmarks.verdicts import record_counters
from benchmarks.verdicts.counted_before import done, joined, kept
from benchmarks.verdicts.items import items_of
from benchmarks.verdicts.ncu import Counting, Ncu
from benchmarks.verdicts.record_counters import FILE, TRACES, Wanted
from benchmarks.verdicts.recorded import (
    TRACED_FILE,
    CounterRecording,
    ItemSet,
    KernelCounters,
    Machine,
    Traced,
    TracedBatch,
    TracedItem,
)
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.store import read, write
from benchmarks.verdicts.traced import SPENT, main, trace_items
from tests.golden.counters_h200 import load

OLD = Machine(Device("cuda", "H200", Source.MEASURED, l2_bytes=100), Versions("1", "3.12", "2.11"), "2026-01-01")
NEW = replace(OLD, date="2026-02-02", versions=replace(OLD.versions, graphbound="2"))
NAMES = ("a", "b", "c", "d")
FOURTH_GOLDEN = Path(__file__).parents[2] / "golden" / "counters_fourth_h200"


def watch() -> Stopwatch:
    return Stopwatch(6000.0, "test")


class Sessions:
    """Sessions that trace all that is left and count two items each, the last one with a trace of its own name."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.machine, self.version = OLD, "Version 1"
        self.counted: list[tuple[str, str]] = []
        patch.setattr(record_counters, "measure_machine", lambda work, device, watch: self.machine)
        patch.setattr(record_counters, "run", self._traced)
        patch.setattr(record_counters.ncu, "version", lambda: self.version)
        patch.setattr(record_counters.ncu, "first_that_counts", self._first)
        patch.setattr(record_counters.ncu, "count", lambda way, counting, limit_s: self._count(counting))

    def _traced(self, command: list[str], log: Path, limit_s: float, **extra: str) -> None:
        given = dict(itertools.pairwise(command))
        number, before = int(given["--first-batch"]), Path(given["--without"]).read_text().split()
        names = [name for name in NAMES if name not in before]
        items = tuple(TracedItem(name, "matmul", False, number, i, 50) for i, name in enumerate(names))
        trace = f"traces/batch_{number:02}.trace.json.gz"
        (log.parent / "traces").mkdir()
        (log.parent / trace).write_text(self.machine.date)
        write(Traced(items, (TracedBatch(trace, ()),)), log.parent / TRACED_FILE)

    def _first(self, path: str, counting: Counting, watch: Stopwatch, limit_s: float) -> tuple[Ncu, Any]:
        return Ncu(path, (), has_ranges=True, has_base_units=True), self._count(counting)

    def _count(self, counting: Counting) -> tuple[KernelCounters, ...]:
        (counting.out / f"{counting.name}.csv").write_text(counting.name)
        reached = counting.items[:2]
        self.counted += [(counting.name, name) for name in reached]
        return tuple(KernelCounters(counting.name, i, "k", name, counting.is_cold) for i, name in enumerate(reached))

    def record(self, out: Path, items: ItemSet = ItemSet.FIFTH, device: str = "cuda") -> CounterRecording:
        record_counters.record_counters(out, device, watch(), Wanted(items), resumes=True)
        return read(out / FILE, CounterRecording)


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Sessions:
    return Sessions(monkeypatch)


def test_a_later_session_counts_what_the_first_did_not_reach(sessions: Sessions, tmp_path: Path) -> None:
    first = sessions.record(tmp_path)
    assert first.notes == ("2 of 4 items were counted: the time was over",)
    assert done(first) == {"a", "d"}, "spread over the set"
    sessions.machine = NEW
    found = sessions.record(tmp_path)
    assert sessions.counted == [("warm0", "a"), ("warm0", "d"), ("warm1", "b"), ("warm1", "c")]
    assert done(found) == set(NAMES)
    assert found.machine == OLD, "all is judged by one measurement"
    assert found.notes == (f"{record_counters.ADDED} 2026-02-02",)
    assert {i.name: (i.batch, i.step) for i in found.traced.items} == {
        "a": (0, 0),
        "d": (0, 3),
        "b": (1, 0),
        "c": (1, 1),
    }
    with zipfile.ZipFile(tmp_path / TRACES) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert texts == {
        "traces/batch_00.trace.json.gz": "2026-01-01",
        "traces/batch_01.trace.json.gz": "2026-02-02",
        "ncu/warm0.csv": "warm0",
        "ncu/warm1.csv": "warm1",
    }


def test_without_being_asked_to_add_it_records_all(sessions: Sessions, tmp_path: Path) -> None:
    sessions.record(tmp_path)
    record_counters.record_counters(tmp_path, "cuda", watch(), Wanted(ItemSet.FIFTH))
    assert [name for _, name in sessions.counted] == ["a", "d", "a", "d"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"machine": replace(NEW, versions=replace(OLD.versions, torch="2.12"))}, "2.12 and not 2.11"),
        ({"machine": replace(NEW, device=replace(OLD.device, name="H100"))}, "H100 and not H200"),
        ({"version": "Version 2"}, "Version 2 and not Version 1"),
    ],
)
def test_another_device_or_release_is_not_mixed_in(
    sessions: Sessions, tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    before = sessions.record(tmp_path)
    for name, value in changed.items():
        setattr(sessions, name, value)
    with pytest.raises(UsageError, match=said):
        sessions.record(tmp_path)
    assert read(tmp_path / FILE, CounterRecording) == before


def test_what_cannot_be_added_to_is_said(sessions: Sessions, tmp_path: Path) -> None:
    sessions.record(tmp_path)
    with pytest.raises(UsageError, match="holds the fifth set"):
        sessions.record(tmp_path, ItemSet.FOURTH)
    with pytest.raises(UsageError, match="recorded on cuda"):
        sessions.record(tmp_path, device="cpu")
    with zipfile.ZipFile(tmp_path / TRACES, "w"):
        pass
    with pytest.raises(UnreadableFileError, match="lacks traces/batch_00"):
        sessions.record(tmp_path)
    (tmp_path / TRACES).unlink()
    with pytest.raises(UnreadableFileError, match="not an archive"):
        sessions.record(tmp_path)


def test_an_item_that_a_later_session_did_not_reach_keeps_its_counters() -> None:
    counted = (KernelCounters("warm0", 0, "k", "a", False),)
    items = tuple(TracedItem(name, "x", False, 0, i, 1) for i, name in enumerate("ab"))
    base = CounterRecording(OLD, Traced(items, (TracedBatch("t", ()),)), counted, "1", items=ItemSet.FIFTH)
    late = Traced(tuple(TracedItem(name, "x", False, 1, None, error=SPENT) for name in "abc"), ())
    found = joined(base, late, ())
    assert [(i.name, i.error) for i in found.traced.items] == [("a", None), ("b", SPENT), ("c", SPENT)]


def test_items_beyond_the_budget_are_listed(tmp_path: Path) -> None:
    items = items_of(ItemSet.FIFTH)[:2]
    with torch.no_grad():
        found = trace_items(items, "cpu", tmp_path, Stopwatch(0.0, "test"))
    assert [(i.name, i.step, i.error) for i in found.items] == [(i.name, None, SPENT) for i in items]
    assert read(tmp_path / TRACED_FILE, Traced) == found


def test_the_traced_process_leaves_out_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [i.name for i in items_of(ItemSet.FIFTH) if i.name.startswith("silu_")]
    assert len(names) == 2
    (tmp_path / "done").write_text(names[0])
    arguments = ["--device", "cpu", "--out", str(tmp_path), "--budget-s", "6000", "--set", "fifth", "--only", "silu_"]
    arguments += ["--without", str(tmp_path / "done"), "--first-batch", "3"]
    monkeypatch.setattr("sys.argv", ["traced", *arguments])
    assert main() == 0
    found = read(tmp_path / TRACED_FILE, Traced)
    assert [(i.name, i.batch, i.step) for i in found.items] == [(names[1], 3, 0)]
    assert [b.trace for b in found.batches] == ["traces/batch_03.trace.json.gz"]
    assert (tmp_path / found.batches[0].trace).is_file()


def test_the_fourth_golden_is_added_to_as_the_recording_that_it_was_cut_from(tmp_path: Path) -> None:
    load.main(FOURTH_GOLDEN, tmp_path)
    found = kept(tmp_path / FILE, tmp_path / TRACES, ItemSet.FOURTH, "cuda")
    assert found is not None
    left = {i.name for i in items_of(ItemSet.FOURTH)} - done(found)
    assert len(left) == 65
