"""`analyze perfetto PATH FILE`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from analyzer.cli import main
from tests.unit.dashboard.runs import a_recording, a_run_folder


def test_a_run_folder_is_written_with_both_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new" / "run.json.gz"
    assert main(["perfetto", str(a_run_folder(tmp_path)), str(file)]) == 0
    told = json.loads(gzip.decompress(file.read_bytes()))
    names = {event["args"]["name"] for event in told["traceEvents"] if event.get("name") == "process_name"}
    assert {"before: Graphbound", "after: Graphbound"} <= names
    # Both steps stand at one time: the longest of each is the median of two.
    told_of = capsys.readouterr().err
    assert "(before, after)" in told_of
    assert "note:" not in told_of
    assert list(file.parent.iterdir()) == [file]


def test_a_trace_is_written_unpacked_where_the_name_says_so(tmp_path: Path) -> None:
    trace = a_recording().save(tmp_path / "trace.json.gz")
    assert main(["perfetto", str(trace), str(tmp_path / "out.json")]) == 0
    assert json.loads((tmp_path / "out.json").read_text())["baseTimeNanoseconds"] > 0


def test_what_a_cut_trace_and_a_missing_one_leave_out_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_run_folder(tmp_path)
    whole = gzip.decompress((folder / "before.trace.json.gz").read_bytes())
    (folder / "before.trace.json.gz").write_bytes(gzip.compress(whole[: len(whole) * 2 // 3]))
    assert main(["perfetto", str(folder), str(tmp_path / "cut.json")]) == 0
    assert "note: before: the file is cut, and rows are missing from it\n" in capsys.readouterr().err
    (folder / "after.trace.json.gz").unlink()
    assert main(["perfetto", str(folder), str(tmp_path / "cut.json")]) == 0
    assert "note: after: There is no after.trace.json.gz" in capsys.readouterr().err


def test_what_is_not_there_or_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perfetto", str(tmp_path / "nothing"), str(tmp_path / "x.json")]) == 2
    assert "no such run folder or trace" in capsys.readouterr().err
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["perfetto", str(empty), str(tmp_path / "x.json")]) == 2
    assert "no timeline" in capsys.readouterr().err
    assert not (tmp_path / "x.json").exists()
    trace = a_recording().save(tmp_path / "trace.json")
    assert main(["perfetto", str(trace), str(tmp_path)]) == 2
    assert "cannot write" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.part"))
