"""The cases with a known cause as they were recorded on an H200 and on a CPU: what was right must stay so.

The goldens are `tests/golden/cases_h200` and `tests/golden/cases_cpu`; the headers lie beside the checkout.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Final

import pytest

from benchmarks.verdicts.__main__ import SHARED_CASES
from benchmarks.verdicts.case_header import read_header
from benchmarks.verdicts.case_report import CaseRecording
from benchmarks.verdicts.evaluate_cases import evaluate_cases
from benchmarks.verdicts.result import Section
from benchmarks.verdicts.store import read
from tests.golden.record import MAX_BYTES

GOLDEN: Final = Path(__file__).parents[2] / "golden"
MACHINES_FOLDER: Final = re.compile(rb"/(?:tmp|home|root|work|mnt|usr|opt)/")


def _section(name: str) -> Section:
    if not SHARED_CASES.is_dir():
        pytest.skip("the cases are not beside this checkout")
    recording = read(GOLDEN / name / "cases.json.gz", CaseRecording)
    headers = tuple(read_header(path) for path in sorted(SHARED_CASES.glob("*.py")))
    return evaluate_cases([recording], headers, f"Cases ({recording.device})")


@pytest.mark.parametrize("name", ["cases_h200", "cases_cpu"])
def test_the_file_is_small_and_names_no_machines_folder(name: str) -> None:
    path = GOLDEN / name / "cases.json.gz"
    assert path.stat().st_size <= MAX_BYTES
    assert not MACHINES_FOLDER.search(gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize(
    ("name", "classes", "causes", "tags", "recorded"),
    [("cases_h200", 0.92, 0.95, 0.91, 27 / 32), ("cases_cpu", 0.95, 1.0, 1.0, 1.0)],
)
def test_what_was_right_stays_so(name: str, classes: float, causes: float, tags: float, recorded: float) -> None:
    found = [check.found for check in _section(name).checks]
    below = [v for v, floor in zip(found[:3], (classes, causes, tags), strict=True) if v is None or v < floor]
    assert below == []
    assert found[3] == 0.0, "no verdict is wrong with a confidence of 0.8 or more"
    assert found[4] == pytest.approx(recorded)


def test_cases_that_the_recording_did_not_reach_are_named_and_not_judged() -> None:
    section = _section("cases_h200")
    (every,) = [table for table in section.tables if table.title == "Every case"]
    cut = [row[0][:2] for row in every.rows if row[-1].startswith("not recorded to its end")]
    assert cut == ["29", "53", "54", "56", "57"]
    assert {row[5] for row in every.rows if row[0][:2] in cut} == {"not tested"}
