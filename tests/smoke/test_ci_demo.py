"""The action, played on five pull requests: four are said at their line with the cause, the fifth is quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.ci_demo.demonstration import demonstrate
from benchmarks.ci_demo.page import page
from benchmarks.ci_demo.scene import CHANGES


@pytest.mark.slow
@pytest.mark.timeout(2700)
def test_each_pull_request_is_said_what_it_must_be_and_nothing_else(tmp_path: Path) -> None:
    shown = demonstrate(tmp_path.resolve(), lambda text: None)
    said = [problem for one in shown.played for problem in one.problems]
    assert not said, "\n".join([*said, *(one.job.log[-3000:] for one in shown.played if one.problems)])
    assert len(shown.played) == len(CHANGES) + 1
    text = page(shown)
    assert "6 of 6 jobs" in text
    for change in CHANGES:
        assert (f"{change.file}:{change.line()}" in text) is (change.marked is not None)
