"""The command: what it writes, and that judging again needs no torch."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.verdicts.__main__ import main
from benchmarks.verdicts.case_report import CaseRecording, CaseRun
from benchmarks.verdicts.item import Item
from benchmarks.verdicts.items import FIFTH_ITEMS, FOURTH_ITEMS, HELD_OUT_ITEMS, ITEMS, THIRD_ITEMS, by_name, items_of
from benchmarks.verdicts.machine_paths import without_paths
from benchmarks.verdicts.markdown import page
from benchmarks.verdicts.models import MODELS
from benchmarks.verdicts.recorded import ItemSet
from benchmarks.verdicts.result import Check, Meets, Section, Stated, Table, reliability
from benchmarks.verdicts.scaling import PAIRS
from benchmarks.verdicts.store import write

CASE = "# id: x\n# device: both | grad: off\n# expected_class: cpu-bound\n# expected_tags: print\n"


def test_there_are_as_many_items_and_graphs_as_asked() -> None:
    assert len(ITEMS) >= 160
    assert len({item.name for item in ITEMS}) == len(ITEMS)
    assert len({item.family for item in ITEMS}) >= 9
    assert len({model.name for model in MODELS}) == len(MODELS)
    five_graphs = sum(model.name.startswith("broken") for model in MODELS)
    assert 5 * five_graphs + len(MODELS) - five_graphs >= 40
    assert any(pair.flops_ratio != pair.bytes_ratio for pair in PAIRS)


ALL_ITEMS = (*ITEMS, *HELD_OUT_ITEMS, *THIRD_ITEMS, *FOURTH_ITEMS, *FIFTH_ITEMS)
SETS = [HELD_OUT_ITEMS, THIRD_ITEMS, FOURTH_ITEMS, FIFTH_ITEMS]


@pytest.mark.parametrize("items", SETS, ids=["held_out", "third", "fourth", "fifth"])
def test_a_set_has_the_families_of_the_first_and_blocks_of_ten_models(items: tuple[Item, ...]) -> None:
    assert len(items) >= 130
    assert {item.family for item in items} == {item.family for item in ITEMS}
    assert sum(item.name.startswith("block_") for item in items) >= 10


def test_no_item_is_in_two_sets() -> None:
    assert len({item.name for item in ALL_ITEMS}) == len(ALL_ITEMS)
    assert all(by_name(item.name) is item for item in ALL_ITEMS)
    assert all(re.fullmatch(r"[\w.]+", item.name) for item in ALL_ITEMS), "a range's name is read up to another sign"
    assert sum(len(items_of(which)) for which in ItemSet) == len(ALL_ITEMS)


def test_evaluating_writes_a_page_and_its_figures(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "x.py").write_text(CASE)
    write(
        CaseRecording("cpu", "2026-01-01", (CaseRun("x", "inference", 4, 1.0, error="boom | <b>"),)),
        tmp_path / "cases.json.gz",
    )
    result = tmp_path / "verdicts"
    assert main(["evaluate", str(tmp_path), "--cases", str(tmp_path / "cases"), "--results", str(result)]) == 0
    text = result.with_suffix(".md").read_text()
    assert "boom \\| &lt;b>" in text
    (section,) = json.loads(result.with_suffix(".json").read_text())["sections"]
    assert section["checks"][0] == {
        "what": "cases with the expected class",
        "asked": 0.9,
        "found": 0.0,
        "of": 1,
        "meets": "missed",
    }


def test_what_is_published_names_no_folder_of_a_machine(tmp_path: Path, root: Path) -> None:
    error = (
        'File "/opt/lib/python/x.py", line 3: C:\\\\Users\\\\me\\\\net.py, ~/.cache/y/z.so, https://a.b/c/d: 33/44 %'
    )
    assert without_paths(error) == 'File "x.py", line 3: net.py, z.so, https://a.b/c/d: 33/44 %'
    (tmp_path / "x.py").write_text(CASE)
    run = CaseRun("x", "inference", 4, 1.0, error="/opt/lib/python/x.py: boom")
    write(CaseRecording("cpu", "2026-01-01", (run,), ("a note on /opt/lib/y.py",)), tmp_path / "cases.json.gz")
    assert main(["evaluate", str(tmp_path), "--cases", str(tmp_path), "--results", str(tmp_path / "v")]) == 0
    texts = [(tmp_path / f"v{ending}").read_text() for ending in (".md", ".json")]
    assert all("x.py: boom" in text and "a note on y.py" in text for text in texts)
    texts += [(root / "benchmarks" / "results" / f"verdicts{ending}").read_text() for ending in (".md", ".json")]
    for text in texts:
        assert not re.findall(r"(?<![\w.:/])/\w[\w.-]*/\w[^\s|]*", text)
        assert str(Path.home()) not in text


@pytest.mark.parametrize("where", [[], ["--out", "a", "--into", "b"]])
def test_a_recording_goes_to_one_place(where: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["record", "cases", *where])
    assert left.value.code == 2


def test_the_same_recording_gives_the_same_page(tmp_path: Path) -> None:
    table = Table("T", ("a", "b"), (("1", "2"),))
    section = Section("S", "here", (Check("x", 0.5, 0.6, 3),), (table,), (Stated("v", 0.9, True),))
    assert page([section]) == page([section])
    assert "| S | x | at least 50.0% | 60.0% | 3 | met |" in page([section])


def test_nothing_to_judge_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(tmp_path)]) == 2
    assert "no recording" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("found", "is_at_most", "meets"),
    [
        (None, False, Meets.UNKNOWN),
        (0.5, False, Meets.YES),
        (0.49, False, Meets.NO),
        (0.5, True, Meets.YES),
        (0.51, True, Meets.NO),
    ],
)
def test_a_figure_over_nothing_is_not_met(found: float | None, is_at_most: bool, meets: Meets) -> None:
    assert Check("x", 0.5, found, 1, is_at_most).meets is meets


def test_reliability_counts_each_verdict_once() -> None:
    stated = (Stated("a", 0.95, True), Stated("b", 1.0, False), Stated("c", 0.8, True), Stated("d", 0.0, False))
    rows = reliability(stated).rows
    assert [(row[0], row[1], row[3]) for row in rows] == [
        ("0.0–0.5", "1", "0.00"),
        ("0.8–0.9", "1", "1.00"),
        ("0.9–1.0", "2", "0.50"),
    ]


def test_judging_again_imports_no_torch(root: Path) -> None:
    code = "import sys, benchmarks.verdicts.__main__; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=root, env={"PYTHONPATH": str(root)}).returncode == 0
