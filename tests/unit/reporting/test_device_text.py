"""Where the peaks of a report come from is said, and travels with it."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from analyzer.core.device import VECTOR, Device, Peak, Source
from analyzer.reporting.device_text import peaks_text
from analyzer.reporting.json import read_report, write_report
from analyzer.reporting.renderer import Page
from analyzer.reporting.renderers import RENDERERS
from tests.reports import a_report

FULL = Device(
    kind="cuda",
    name="NVIDIA H200",
    source=Source.DATA_SHEET,
    peaks=(Peak("bfloat16", 989.4e12), Peak(VECTOR, 66.9e12)),
    memory_bytes_per_s=4.8e12,
    memory_bytes=150 * 10**9,
    l2_bytes=50 * 2**20,
    launch_ns=4_000.0,
    kernel_gap_ns=800.0,
    replay_ns=150_000.0,
    empty_kernel_ns=1_300.0,
    empty_op_ns=3_000.0,
    threads=3,
    read_bytes_per_s=4.7e12,
    l2_bytes_per_s=6e12,
    launch_gap_ns=900.0,
    notes=("one", "two"),
    replay_host_ns=80_000.0,
    replay_input_ns=400.0,
)


@pytest.mark.parametrize(
    ("source", "words"), [(Source.MEASURED, "peaks measured"), (Source.DATA_SHEET, "peaks of the data sheet")]
)
@pytest.mark.parametrize("format_id", ["terminal", "html_fragment"])
def test_a_report_says_where_its_peaks_come_from(format_id: str, source: Source, words: str) -> None:
    (renderer,) = [r for r in RENDERERS if r.id == format_id]
    text = renderer.render(a_report(device=replace(FULL, source=source)), Page(width=120))
    assert words in text


def test_nothing_is_called_measured_where_no_peak_is_known() -> None:
    assert peaks_text(replace(FULL, source=Source.MEASURED, peaks=())) == ()


def test_every_figure_of_a_device_survives_the_round_trip(tmp_path: Path) -> None:
    unset = Device(kind="", name="", source=Source.MEASURED)
    assert [f.name for f in fields(Device) if getattr(FULL, f.name) == getattr(unset, f.name)] == []
    path = tmp_path / "report.json"
    write_report(a_report(device=FULL), path)
    assert read_report(str(path)).device == FULL
    assert json.loads(path.read_text())["device"]["source"] == "data sheet"


def test_a_report_written_before_a_figure_was_measured_is_read_without_it(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_report(a_report(device=FULL), path)
    whole = json.loads(path.read_text())
    for name in ("read_bytes_per_s", "l2_bytes_per_s", "launch_gap_ns", "notes"):
        del whole["device"][name]
    path.write_text(json.dumps(whole))
    older = replace(FULL, read_bytes_per_s=None, l2_bytes_per_s=None, launch_gap_ns=None, notes=())
    assert read_report(str(path)).device == older
