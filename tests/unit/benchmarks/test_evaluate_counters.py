"""Counters against our verdicts: the truth, the figures, the reasons, and the whole way from a recording on a CPU."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from analyzer.core.budget import Part
from analyzer.core.device import Device, Peak, Source, Versions
from benchmarks.verdicts import evaluate_counters as counters
from benchmarks.verdicts.counter_tables import class_reliability, reason
from benchmarks.verdicts.evaluate import evaluate
from benchmarks.verdicts.evaluate_counters import TOGETHER, counter_section, judge
from benchmarks.verdicts.held_kernels import Held, accepted, byte_error, kernels_of_items, touched_error, truth
from benchmarks.verdicts.items import by_name
from benchmarks.verdicts.judged_kernels import JudgedKernel
from benchmarks.verdicts.recorded import CounterRecording, ItemSet, KernelCounters, Machine
from benchmarks.verdicts.result import Meets
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.store import read, write
from benchmarks.verdicts.traced import trace_items
from benchmarks.verdicts.workplace import zip_traces

DEVICE = Device("cuda", "X", Source.MEASURED, (Peak("float32", 5e13),), memory_bytes_per_s=4e12, l2_bytes=1_000)
MACHINE = Machine(DEVICE, Versions("0", "3", "2"), "2026-01-01")
COUNTED = KernelCounters("r", 0, "k", "i", False, ns=6e3, sm_percent=20.0, memory_percent=80.0, dram_percent=78.0)
OURS = JudgedKernel(0, "k", "aten::add", 6_000, Part.MEMORY, Part.MEMORY, 0.0, 1_100.0, None, memory_bytes=900.0)


def held(part: Part = Part.MEMORY, **changes: float | None) -> Held:
    counted = replace(COUNTED, **changes)
    true = truth(counted)
    assert true is not None
    return Held("i", "f", replace(OURS, part=part), counted, true)


@pytest.mark.parametrize(
    ("sm", "memory", "part"),
    [
        (39.9, 10.0, Part.LATENCY),
        (40.0, 10.0, Part.COMPUTE),
        (50.0, 60.0, Part.MEMORY),
        (90.0, 60.0, Part.COMPUTE),
        (None, 60.0, None),
    ],
)
def test_the_nearer_peak_is_the_truth(sm: float | None, memory: float, part: Part | None) -> None:
    assert truth(replace(COUNTED, sm_percent=sm, memory_percent=memory)) is part


@pytest.mark.parametrize(
    ("sm", "memory", "parts"),
    [
        (93.0, 95.0, {Part.COMPUTE, Part.MEMORY}),
        (93.0, 80.0, {Part.COMPUTE}),
        (10.0, 42.0, {Part.MEMORY, Part.LATENCY}),
        (10.0, 38.0, {Part.MEMORY, Part.LATENCY}),
        (36.0, 37.0, {Part.COMPUTE, Part.MEMORY, Part.LATENCY}),
        (10.0, 12.0, {Part.LATENCY}),
        (None, 12.0, set()),
    ],
)
def test_near_an_edge_the_counters_could_say_either_part(sm: float | None, memory: float, parts: set[Part]) -> None:
    assert accepted(replace(COUNTED, sm_percent=sm, memory_percent=memory)) == parts


def test_either_part_counts_beside_the_asked_figure_and_never_in_it() -> None:
    near = held(Part.COMPUTE, sm_percent=78.0)
    asked, _, clear, either = counters._agreement_checks([near])
    assert asked.found == pytest.approx(0.0)
    assert clear.found is None
    assert either.found == pytest.approx(1.0)


def test_shared_memory_that_feeds_arithmetic_of_nearly_the_same_time_is_told_apart() -> None:
    one = held(Part.MEMORY)
    ours = replace(one.ours, counts_to=Part.COMPUTE, memory_share=0.6, confidence=0.6)
    tied, clear = (replace(one, ours=replace(ours, compute_share=share)) for share in (0.55, 0.5))
    feeds_nothing = replace(tied, ours=replace(tied.ours, counts_to=Part.MEMORY))
    assert counters._fed_note([clear, one, feeds_nothing]) == ()
    (note,) = counters._fed_note([tied, clear, one, feeds_nothing])
    assert note.startswith("1 products")
    assert "0.60 in the mean" in note


def test_reliability_is_told_by_class_and_confidence() -> None:
    sure, unsure = (replace(held(), ours=replace(OURS, confidence=p)) for p in (0.95, 0.55))
    rows = class_reliability([sure, unsure, held(Part.UNKNOWN_KERNELS)]).rows
    assert [row[:3] for row in rows] == [("memory", "0.5–0.6", "1"), ("memory", "0.9–1.0", "1")]


def test_bytes_are_held_against_what_dram_moved() -> None:
    one = held(dram_read_bytes=600.0, dram_write_bytes=400.0)
    assert byte_error(one) == pytest.approx(-0.1)
    assert touched_error(one) == pytest.approx(0.1)
    assert byte_error(held()) is None
    assert touched_error(held()) is None


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (held(Part.UNKNOWN_KERNELS), "far from both"),
        (held(Part.LATENCY, sm_percent=78.0), "edge"),
        (held(Part.COMPUTE, sm_percent=78.0, tensor_percent=78.0), "shared memory, which feeds"),
        (held(Part.MEMORY, sm_percent=95.0), "arithmetic beside"),
        (held(Part.LATENCY, dram_percent=5.0), "cache"),
        (held(Part.MEMORY, memory_percent=20.0), "under 40 %"),
        (held(Part.LATENCY, dram_read_bytes=500.0, dram_write_bytes=10.0), "off by +76%"),
    ],
)
def test_every_disagreement_has_a_reason(one: Held, words: str) -> None:
    assert words in reason(one)


def test_unknown_kernels_count_against_the_asked_figure_and_not_against_the_judged_one() -> None:
    right, unknown = held(), held(Part.UNKNOWN_KERNELS)
    asked, judged, *_ = counters._agreement_checks([right, unknown])
    assert asked.found == pytest.approx(0.5)
    assert asked.meets is Meets.NO
    assert judged.found == pytest.approx(1.0)
    assert counters._agreement_checks([])[0].meets is Meets.UNKNOWN


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> tuple[CounterRecording, Path]:
    """Three eager items traced on this CPU, with counters that say MEMORY of all kernels."""
    out = tmp_path_factory.mktemp("counters")
    items = [by_name("mm_fp32_256x256x256"), by_name("add_fp32_1024"), by_name("attention_cudnn_bf16_4x16x512x128")]
    with torch.no_grad():
        traced = trace_items(items, "cpu", out, Stopwatch(6000.0, "test"))
    zip_traces(out, [b.trace for b in traced.batches], out / "traces.zip")
    kernels = kernels_of_items(traced.items, traced.batches, out / "traces.zip", DEVICE)
    counted = tuple(replace(COUNTED, kernel=kernel.name, item=item) for item, own in kernels.items() for kernel in own)
    return CounterRecording(MACHINE, traced, counted, "ncu 1"), out / "traces.zip"


def test_each_item_is_a_step_and_its_kernels_are_those_the_product_sees(
    recording: tuple[CounterRecording, Path],
) -> None:
    traced = recording[0].traced
    kernels = kernels_of_items(traced.items, traced.batches, recording[1], DEVICE)
    assert [k.name for k in kernels["mm_fp32_256x256x256"]] == ["aten::mm"]
    assert [k.name for k in kernels["add_fp32_1024"]] == ["aten::add"]
    (product,) = kernels["mm_fp32_256x256x256"]
    assert product.flops == 2 * 32**3
    assert product.bytes == 3 * 32 * 32 * 4


def test_an_item_that_the_device_does_not_have_is_said(recording: tuple[CounterRecording, Path]) -> None:
    section = counter_section(judge(*recording))
    assert any("attention_cudnn" in note and "did not run" in note for note in section.notes)


def test_a_recording_is_judged_to_tables_and_checks(recording: tuple[CounterRecording, Path]) -> None:
    section = counter_section(judge(*recording))
    assert "2 matched by item, name and order" in section.notes[0]
    assert {t.title for t in section.tables} >= {"Every disagreement", "By family"}
    assert all(len(row) == len(t.columns) for t in section.tables for row in t.rows)


def test_two_sets_stand_side_by_side_and_together(recording: tuple[CounterRecording, Path], tmp_path: Path) -> None:
    for name, items in (("a", ItemSet.FIRST), ("b", ItemSet.HELD_OUT)):
        write(replace(recording[0], items=items), tmp_path / name / "counters.json.gz")
        shutil.copy(recording[1], tmp_path / name / "counters.traces.zip")
    sections = evaluate([tmp_path / "a", tmp_path / "b"], None)
    assert [s.title for s in sections] == ["Counters", "Counters, held-out set", TOGETHER]
    (table,) = [t for t in sections[2].tables if t.title == "By set"]
    assert [row[0] for row in table.rows] == ["Counters", "Counters, held-out set", TOGETHER]
    counts = [int(row[1]) for row in table.rows]
    assert counts[0] == counts[1]
    assert counts[2] == 2 * counts[0]
    assert sections[0].notes[-1] != sections[1].notes[-1]


def test_a_recording_without_a_set_is_of_the_first(recording: tuple[CounterRecording, Path], tmp_path: Path) -> None:
    write(recording[0], tmp_path / "new.json.gz")
    old = json.loads(gzip.decompress((tmp_path / "new.json.gz").read_bytes()))
    del old["items"]
    (tmp_path / "old.json.gz").write_bytes(gzip.compress(json.dumps(old).encode()))
    assert read(tmp_path / "old.json.gz", CounterRecording) == replace(recording[0], items=ItemSet.FIRST)
