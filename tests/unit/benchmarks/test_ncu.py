"""Calling Nsight Compute, by a script in its place."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest

from analyzer.core.device import Device, Source, Versions
from benchmarks.verdicts import ncu, record_counters, stopwatch
from benchmarks.verdicts.ncu import Counting
from benchmarks.verdicts.ncu_csv import TENSOR
from benchmarks.verdicts.recorded import CounterRecording, ItemSet, Machine, Traced, TracedItem
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.store import read

SCRIPT = """#!/bin/sh
case "$1" in
--version) printf 'NVIDIA (R) Nsight Compute\\nVersion 2025.3.1.0\\n'; exit 0;;
--query-metrics) printf 'Device GH100\\nsm__inst_executed_pipe_tensor  Counter  inst\\n'; exit 0;;
esac
for word; do
  case "$before" in --log-file) log=$word;; esac
  before=$word
done
REFUSE
cat > "$log" <<'CSV'
==PROF== Connected
"ID","Kernel Name","Grid Size","gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed","gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
"","","","ns","%","%"
"0","k","(1, 1, 1)","5,000","10","60"
CSV
"""  # noqa: E501


def fake(folder: Path, refuse: str = "") -> str:
    path = folder / "ncu"
    path.write_text(SCRIPT.replace("REFUSE", refuse))
    path.chmod(0o755)
    return str(path)


def counting(folder: Path) -> Counting:
    return Counting("warm0", ("add_fp32_1024",), False, "cuda", folder, folder / "cache")


def test_the_version_is_its_last_line(tmp_path: Path) -> None:
    assert ncu.version(fake(tmp_path)) == "Version 2025.3.1.0"
    assert ncu.version(str(tmp_path / "absent")) is None


def test_the_tensor_metric_is_the_one_the_chip_has(tmp_path: Path) -> None:
    full, plain, bare = ncu.ways(fake(tmp_path))
    assert TENSOR[1] in full.metrics
    assert TENSOR[0] not in full.metrics
    assert not set(TENSOR) & set(plain.metrics)
    assert not bare.has_ranges


def test_the_command_measures_what_was_asked_and_leaves_the_clocks_alone(tmp_path: Path) -> None:
    command = ncu.ways(fake(tmp_path))[0].command(tmp_path / "x.csv", True, ["python", "x.py"])
    pairs = list(itertools.pairwise(command))
    assert ("--clock-control", "none") in pairs
    assert ("--cache-control", "all") in pairs
    assert ("--profile-from-start", "off") in pairs
    assert command[-2:] == ["python", "x.py"]


def test_the_first_way_that_counts_is_kept(tmp_path: Path) -> None:
    way, counted = ncu.first_that_counts(fake(tmp_path), counting(tmp_path), Stopwatch(3000.0, "test"), 3000.0)
    assert way is not None
    assert way.has_ranges
    assert [(c.kernel, c.ns, c.memory_percent) for c in counted] == [("k", 5_000.0, 60.0)]


def test_a_release_that_refuses_an_option_is_called_without_it(tmp_path: Path) -> None:
    refuse = 'for word; do [ "$word" = --nvtx ] && exit 9; done'
    way, counted = ncu.first_that_counts(fake(tmp_path, refuse), counting(tmp_path), Stopwatch(3000.0, "test"), 3000.0)
    assert way is not None
    assert not way.has_ranges
    assert len(counted) == 1


@pytest.mark.parametrize("refuse", ["exit 1", "echo '==ERROR== ERR_NVGPUCTRPERM' > \"$log\"; exit 1"])
def test_counters_that_cannot_be_read_are_none(tmp_path: Path, refuse: str) -> None:
    found = ncu.first_that_counts(fake(tmp_path, refuse), counting(tmp_path), Stopwatch(3000.0, "test"), 3000.0)
    assert found == (None, ())


def test_ncu_starts_once_for_warm_and_once_for_flushed_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(record_counters.shutil, "which", lambda name: fake(tmp_path / "bin"))
    sizes = {"small": 1_000, "large": 10**9, "larger": 2 * 10**9}
    items = tuple(TracedItem(n, "matmul", False, 0, i, size) for i, (n, size) in enumerate(sizes.items()))
    failed = TracedItem("failed", "matmul", False, 0, None, error="no")
    machine = Machine(Device("cuda", "H200", Source.MEASURED), Versions("1", "3.12", "2.11"), "2026-01-01")
    base = CounterRecording(machine, Traced((), ()), (), "Version 1", items=ItemSet.THIRD)
    keep = record_counters._Keeper(tmp_path, base, Traced((*items, failed), ()))
    record_counters._count(keep, tmp_path, "cuda", Stopwatch(6000.0, "test"))
    found = read(tmp_path / record_counters.FILE, CounterRecording)
    assert [(c.run, c.is_cold) for c in found.counters] == [("warm0", False), ("cold0", True)]
    assert (tmp_path / "warm0.names").read_text().split() == ["small"]
    assert (tmp_path / "cold0.names").read_text().split() == ["large", "larger"]
    assert found.items is ItemSet.THIRD
    # The script counts one kernel a run, outside of any item's range.
    assert found.notes == ("0 of 3 items were counted: the time was over",)


def test_each_run_gets_its_part_of_the_time_by_its_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopwatch, "time", SimpleNamespace(monotonic=lambda: 0.0))
    runs = [
        Counting("w", ("a",), False, "cuda", tmp_path, tmp_path),
        Counting("c", ("b", "c"), True, "cuda", tmp_path, tmp_path),
    ]
    first = record_counters._part_s(runs, Stopwatch(90.0 + 2 * ncu.START_S, "test", 0.0))
    assert first == ncu.START_S + 30.0
    assert record_counters._part_s(runs[1:], Stopwatch(60.0 + ncu.START_S, "test", 0.0)) == ncu.START_S + 60.0
