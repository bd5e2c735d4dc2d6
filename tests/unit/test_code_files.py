"""Generated code in a run folder: kept as it was given, and read only where a run would have written it."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.code_files import MOST_READ_BYTES, asked_code, clear_code, codes_of, read_code, write_code
from analyzer.code_stage import keep_code
from analyzer.core.errors import UnreadableFileError, UsageError
from analyzer.core.generated_code import GeneratedCode, StoredCode
from analyzer.core.plan import Choice, Plan
from analyzer.core.report import Report
from analyzer.measured import Measured
from analyzer.reporting.json import decode_report, encode_report
from analyzer.reporting.rows import graph_labels
from tests.reports import a_key, a_report
from tests.unit.fake_driver import VERSIONS, FakeDriver

KEY, OTHER = a_key(1), a_key(2)
TEXT = "# café\ndef call(args):\n\treturn args\n"


def some_code(text: str = TEXT, *, more: int = 0) -> GeneratedCode:
    return GeneratedCode(KEY, text, len(text.encode()) + more)


def stored(candidate: str = "fused", key: object = KEY) -> StoredCode:
    return StoredCode(key, candidate, f"code/{key}.{candidate}.py.gz", 9, 9)  # type: ignore[arg-type]


def keeping(*codes: StoredCode) -> Report:
    return a_report(generated_code=codes)


def test_what_is_written_is_read_again_and_the_same_code_gives_the_same_file(tmp_path: Path) -> None:
    kept = write_code(tmp_path, some_code(), "fused/cpp wrapper")
    assert kept.file == f"code/{KEY}.fused-cpp-wrapper.py.gz"
    assert not kept.is_cut
    assert read_code(tmp_path, kept) == TEXT
    first = (tmp_path / kept.file).read_bytes()
    write_code(tmp_path, some_code(), "fused/cpp wrapper")
    assert (tmp_path / kept.file).read_bytes() == first
    assert len(list((tmp_path / "code").iterdir())) == 1


def test_what_was_cut_says_so_and_what_had_no_room_has_no_file(tmp_path: Path) -> None:
    assert write_code(tmp_path, some_code(more=5), "fused").is_cut
    none = write_code(tmp_path, some_code("", more=700), "eager")
    assert none.file is None
    assert none.is_cut
    with pytest.raises(UnreadableFileError, match="was not kept"):
        read_code(tmp_path, none)


def test_clearing_takes_what_a_run_wrote_and_nothing_else(tmp_path: Path) -> None:
    write_code(tmp_path, some_code(), "fused")
    (tmp_path / "code" / "mine.txt").write_text("mine")
    clear_code(tmp_path)
    assert [path.name for path in (tmp_path / "code").iterdir()] == ["mine.txt"]
    (tmp_path / "code" / "mine.txt").unlink()
    clear_code(tmp_path)
    assert not (tmp_path / "code").exists()
    clear_code(tmp_path)


@pytest.mark.parametrize(
    "file",
    [
        "../secret.py.gz",
        "code/../../secret.py.gz",
        "/etc/secret.py.gz",
        "code/.py.gz",
        "code/x\n.py.gz",
        "code/link.py.gz",
    ],
)
def test_a_report_from_anyone_opens_no_file_but_those_of_its_folder(tmp_path: Path, file: str) -> None:
    folder = tmp_path / "run"
    (folder / "code").mkdir(parents=True)
    (tmp_path / "secret.py.gz").write_bytes(gzip.compress(b"secret"))
    os.symlink(tmp_path / "secret.py.gz", folder / "code" / "link.py.gz")
    with pytest.raises(UnreadableFileError, match="no run would have written"):
        read_code(folder, replace(stored(), file=file))


def test_a_file_that_is_gone_cut_or_swollen_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    kept = write_code(tmp_path, some_code(TEXT * 90), "fused")
    assert kept.file is not None
    path = tmp_path / kept.file
    whole = path.read_bytes()
    for damage in (whole[:40], whole[:-4], b"no gzip", b"", whole[:20] + bytes(30) + whole[50:]):
        path.write_bytes(damage)
        if damage:
            with pytest.raises(UnreadableFileError):
                read_code(tmp_path, kept)
    path.write_bytes(gzip.compress(b"x" * (MOST_READ_BYTES + 1)))
    with pytest.raises(UnreadableFileError, match="more than"):
        read_code(tmp_path, kept)
    path.unlink()
    with pytest.raises(UnreadableFileError, match="gone"):
        read_code(tmp_path, kept)


def test_the_chosen_candidate_comes_first() -> None:
    report = keeping(stored("fused"), stored("cuda_graphs"), stored("fused", OTHER))
    assert report.graphs[0].chosen == "cuda_graphs"
    assert [code.candidate for code in codes_of(report, str(KEY))] == ["cuda_graphs", "fused"]
    assert codes_of(report, "nothing") == ()


def test_a_graph_is_asked_for_by_what_its_row_is_called() -> None:
    """The terminal names graphs only so: `show --code multi.py:8` found none."""
    report = keeping(stored("fused"), stored("cuda_graphs"), stored("fused", OTHER))
    labels = graph_labels(report.graphs)
    assert asked_code(report, labels[KEY]).key == KEY
    assert asked_code(report, f"{labels[KEY]}=fused").candidate == "fused"
    assert asked_code(report, labels[KEY][:-1]).key == KEY
    with pytest.raises(UsageError, match="no graph with code") as caught:
        asked_code(report, "other.py:1")
    assert f"{KEY} ({labels[KEY]})" in str(caught.value.hint)


def test_a_graph_is_asked_for_by_the_beginning_of_its_key_and_a_candidate() -> None:
    report = keeping(stored("fused"), stored("cuda_graphs"), stored("fused", OTHER))
    assert asked_code(report, str(KEY)).candidate == "cuda_graphs"
    assert asked_code(report, f"{KEY}=fused").candidate == "fused"
    assert asked_code(report, OTHER.digest).key == OTHER
    with pytest.raises(UsageError, match="more than one graph"):
        asked_code(report, "")
    with pytest.raises(UsageError, match="no graph with code") as caught:
        asked_code(report, "zzz")
    assert str(KEY) in str(caught.value.hint)
    with pytest.raises(UsageError, match="not kept") as caught:
        asked_code(report, f"{KEY}=tf32")
    assert f"{KEY}=fused" in str(caught.value.hint)
    with pytest.raises(UsageError, match="keeps no generated code"):
        asked_code(a_report(), str(KEY))


def test_a_report_keeps_the_list_and_one_without_it_still_reads() -> None:
    report = keeping(stored(), StoredCode(OTHER, "cpp_wrapper", None, 70_000_000, 0))
    assert decode_report(encode_report(report), "r") == report
    older = encode_report(a_report()).decode().replace('"generated_code"', '"unknown_to_it"')
    assert decode_report(older.encode(), "r").generated_code == ()


def test_a_run_keeps_the_defaults_code_and_the_plans_once_each(tmp_path: Path) -> None:
    measured, driver = Measured(), FakeDriver(code=(some_code(),), is_open=True)
    keep_code(driver, measured, tmp_path)
    plan = Plan((Choice(KEY, "cpp_wrapper"),), "cpu", VERSIONS)
    for _ in range(2):
        keep_code(driver, measured, tmp_path, plan)
    assert [code.candidate for code in measured.generated_code] == ["fused", "cpp_wrapper"]
    assert all(read_code(tmp_path, code) == TEXT for code in measured.generated_code)


def test_a_folder_that_cannot_be_written_to_costs_the_code_and_not_the_run(tmp_path: Path) -> None:
    (tmp_path / "code").write_text("a file stands where the folder would be")
    measured = Measured()
    keep_code(FakeDriver(code=(some_code(),), is_open=True), measured, tmp_path)
    assert measured.generated_code == []
    assert "could not be kept" in measured.notes[0]
