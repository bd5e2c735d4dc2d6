"""A file that is no trace is named for what it is, with what to do instead."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from analyzer.core.errors import NotATraceError, UnreadableFileError
from collectors.readers.kineto import read_trace
from collectors.readers.strangers import TABLE

BEGINS = {
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 3\n",
    "a pointer of git-annex": b"/annex/objects/SHA256E-s12--ab.json.gz\n",
    "a web page": b"\n<!DOCTYPE html>\n<html><title>404</title></html>",
    "a SQLite file": b"SQLite format 3\0" + bytes(100),
    "a zip archive": b"PK\x03\x04" + bytes(60),
    "a tar archive": b"rank0.json".ljust(257, b"\0") + b"ustar\0" + bytes(250),
    "a pickle": b"\x80\x04\x95" + bytes(20),
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(20),
    "a PDF document": b"%PDF-1.7\n",
}


@pytest.mark.parametrize("what", BEGINS)
def test_it_is_named_with_the_next_step(tmp_path: Path, what: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(BEGINS[what])
    if what in ("a zip archive", "a tar archive"):
        path = tmp_path / "trace.json.gz"
        path.write_bytes(gzip.compress(BEGINS[what]))
    with pytest.raises(UnreadableFileError, match=f"it is {what}") as caught:
        read_trace(path)
    assert caught.value.hint
    assert not isinstance(caught.value, NotATraceError)


def test_each_line_of_the_table_is_tried_here() -> None:
    assert {stranger.what.split(",")[0] for _, stranger in TABLE} == set(BEGINS)


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(b"")
    with pytest.raises(UnreadableFileError, match="it is empty"):
        read_trace(path)


@pytest.mark.parametrize("content", [b"{}", b"3", b"null", b'{"lr": 1}', b'{"traceEvents": 3}'])
def test_json_of_something_else_is_no_damaged_trace(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(NotATraceError, match="JSON, but not a trace"):
        read_trace(path)
