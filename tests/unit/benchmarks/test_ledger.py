"""The ledger on disk grows, loses nothing and holds nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.derive.ledger import Entry
from benchmarks.ledger import Row, append, main, read_rows, table


def a_row(model: str = "gptlite", candidate: str = "cuda_graphs", measured_ns: int = 90) -> Row:
    entry = Entry("abc", candidate, 100, measured_ns, 1000)
    return Row(model, "inference", "Test Device", "2.13.0", "2026-01-02", entry)


def test_rows_are_added_behind_those_there_are_and_none_twice(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    first, second = a_row(), a_row("granite")
    assert read_rows(path) == ()
    assert append([first, first], path) == 1
    assert append([first, second], path) == 1
    assert read_rows(path) == (first, second)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    path.write_text('{"schema": 99, "trials": []}')
    with pytest.raises(ValueError, match="schema 99"):
        read_rows(path)


def test_the_table_has_a_line_a_candidate_and_one_of_all() -> None:
    lines = table([a_row(), a_row(candidate="eager", measured_ns=300)]).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["cuda_graphs", "eager", "all", "asked"]
    assert lines[1].split()[1:] == ["1", "1.0%", "1.0%"]
    assert lines[3].split()[1] == "2"


def test_the_trials_of_a_real_run_are_added(tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, golden = tmp_path / "ledger.json", root / "tests" / "golden" / "mixed_graphs_h200"
    assert main(["--ledger", str(path), "add", "2026-11-28", str(golden)]) == 0
    rows = read_rows(path)
    assert {row.entry.candidate for row in rows} == {"cuda_graphs"}
    assert len(rows) == 3
    assert all(row.device == "NVIDIA H200" for row in rows)
    assert "3 of 3 trials added" in capsys.readouterr().out
