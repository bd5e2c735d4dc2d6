"""Files of any name are checked, stored and told, and what is stored of them is found again."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analyzer.checking import check as checking
from analyzer.checking.subjects import Made
from analyzer.cli import main
from analyzer.core.settings import WorkloadSpec
from benchmarks.ci_demo.commands import annotations
from tests.checks import stored
from tests.gates import a_model_report

NAMES = (
    "a b.py", "::error::x.py", "line\nbreak.py", os.fsdecode(b"n\xff.py"), "ü é.py", "quote'\".py", "#x.py", "%41.py",
    "-dash.py", "a,b=c:d.py", "[x](y).py", "<script>.py", "`tick`.py", "a" * 200 + ".py", "tab\t.py", "x;y.py",
)  # fmt: skip
FORMATS = "terminal,sarif:o/s.sarif,junit:o/j.xml,gitlab:o/g.json,json:o/r.json,markdown:o/m.md,github:o/a.txt"


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_file_of_any_name_is_checked_twice_and_told_in_every_format(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    file = project / "nets" / name
    file.parent.mkdir()
    try:
        file.write_text("\n".join(f"line {number}" for number in range(1, 100)))
    except OSError:
        pytest.skip("this file system takes no such name")
    breaks = [0]

    def made(spec: WorkloadSpec, progress: object) -> Made:
        report = a_model_report(breaks=breaks[0])
        found = tuple(replace(f, where=replace(f.where, file=spec.target)) for f in report.findings if f.where)
        graphs = tuple(replace(g, where=replace(g.where, file=spec.target)) for g in report.graphs if g.where)
        facts = replace(report.workload, source=spec.target, name=Path(spec.target).stem)
        return Made(replace(report, findings=found, graphs=graphs, workload=facts), None)

    monkeypatch.setattr(checking, "graphs_alone", made)
    words = ["check", "--no-run", "-q", f"--format={FORMATS}", "--", f"nets/{name}"]
    assert main(words) == 0
    assert len(stored(project).models) == 1
    breaks[0] = 1
    assert main(words) == 1, "it is found again in what is stored"
    assert "FAILED: 1 new graph break" in capsys.readouterr().out
    breaks[0] = 0
    assert main(words) == 0
    for document in ("s.sarif", "g.json", "r.json"):
        json.loads((project / "o" / document).read_bytes())
    ElementTree.parse(project / "o" / "j.xml")


def test_an_annotation_names_the_file_as_a_runner_reads_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "::error::a,b=c%41.py"
    (project / name).write_text("\n".join(f"line {number}" for number in range(1, 100)))
    report = a_model_report(breaks=1)
    found = tuple(replace(f, where=replace(f.where, file=str(project / name))) for f in report.findings if f.where)
    made = Made(replace(report, findings=found, workload=replace(report.workload, source=name)), None)
    (project / "graphbound.toml").write_text('gates = {graph_breaks = ["error", {max = 0}]}\n')
    monkeypatch.setattr(checking, "graphs_alone", lambda spec, progress: made)
    assert main(["check", "--no-run", "-q", "--format=github", "--", name]) == 1
    (one, *_) = annotations(capsys.readouterr().out)
    assert (one.level, one.file, one.line) == ("error", name, 57)
