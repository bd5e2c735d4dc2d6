"""Which targets are recorded traces, by their name or by what lies there."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from analyzer.cli import main
from analyzer.commands.trace import is_trace


@pytest.mark.parametrize(
    "target", ["a.json", "b.pt.trace.json.gz", "c.json.zst", "d.tar", "s3://bucket/e", "ranks/*.zst"]
)
def test_a_trace_is_known_by_its_ending_as_a_url_or_as_a_glob(target: str) -> None:
    assert is_trace(target)


@pytest.mark.parametrize("target", ["model.py", "models/[old]/model.py", "model", "runs"])
def test_a_model_is_none(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where a command has run before, a folder `runs` lies, which is looked into
    assert not is_trace(target)


def test_a_folder_is_one_unless_it_is_a_run(tmp_path: Path) -> None:
    assert is_trace(str(tmp_path))
    (tmp_path / "report.json").write_text("{}")
    assert not is_trace(str(tmp_path))


@pytest.mark.parametrize("words", [["runs"], ["trace", "runs"], ["./runs/"]])
def test_a_folder_of_runs_is_no_ranks_and_what_to_type_is_said(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs" / "gptlite").mkdir(parents=True)
    (tmp_path / "runs" / "gptlite" / "report.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "is a folder of runs, and no trace" in said
    assert "`analyze dashboard runs`" in said
    assert "`analyze show runs/gptlite`" in said


TRACE = b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1}]}'


@pytest.mark.parametrize("name", ["trace", "trace.txt", "trace.json.1", "trace.json.bak", "trace.pt.trace"])
@pytest.mark.parametrize("content", [TRACE, b"\n" + TRACE, gzip.compress(TRACE), b"[" + TRACE[37:-1]])
def test_a_file_called_anything_is_one_by_what_is_in_it(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert is_trace(str(path))


@pytest.mark.parametrize("content", [b"", b"import torch\n", b'{"cells": []}', b"PK\x03\x04", b"hello", b"\xff\xfe\0"])
def test_a_file_of_something_else_is_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "something"
    path.write_bytes(content)
    assert not is_trace(str(path))


def test_standard_input_and_pipes_are_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for target, said in (("-", "not from standard input"), (str(tmp_path / "pipe"), "not a regular file")):
        assert main([target]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert "to a file first" in error
