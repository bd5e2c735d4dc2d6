"""`/code` and the folds of a graph's card: generated code, shown on request and as text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plotly.utils import PlotlyJSONEncoder

from analyzer.cli import main
from analyzer.code_files import write_code
from analyzer.core.generated_code import GeneratedCode, StoredCode
from analyzer.core.report import Report
from analyzer.reporting.json import write_report
from dashboard.app import make_app
from dashboard.code_route import ROUTE, code_address, code_file_name
from dashboard.panels.graphs_card import card
from dashboard.panels.graphs_generated import COMPILES_NOTHING
from tests.reports import a_graph, a_key, a_report

KEY = a_key(1)
HOSTILE = "</script><script>alert(1)</script>\n\tx = '\u202e\x1b[31m'\n"


def a_run(folder: Path, *candidates: str, **changes: Any) -> Report:
    codes = tuple(
        write_code(folder, GeneratedCode(KEY, f"# {name}\n{HOSTILE}", len(name) + len(HOSTILE.encode()) + 3), name)
        for name in candidates
    )
    report = replace(a_report(**changes), generated_code=codes)
    write_report(report, folder / "report.json")
    return report


def test_it_answers_with_text_in_which_nothing_is_hidden(tmp_path: Path) -> None:
    report = a_run(tmp_path, "fused", "cuda_graphs")
    client = make_app(tmp_path).server.test_client()
    answer = client.get(f"/{code_address(report.generated_code[0])}")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.text == "# fused\n</script><script>alert(1)</script>\n\tx = '\\u202e\\x1b[31m'\n"


def test_the_download_is_the_code_as_it_is(tmp_path: Path) -> None:
    report = a_run(tmp_path, "cuda_graphs")
    answer = make_app(tmp_path).server.test_client().get(f"/{code_address(report.generated_code[0], is_file=True)}")
    assert answer.text == f"# cuda_graphs\n{HOSTILE}"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{KEY}.cuda_graphs.py"'


def test_what_is_not_there_is_404_with_a_sentence(tmp_path: Path) -> None:
    report = a_run(tmp_path, "fused")
    client = make_app(tmp_path).server.test_client()
    for words in ("", "?graph=x&candidate=fused", f"?graph={KEY}&candidate=no", f"?graph={KEY}"):
        answer = client.get(f"{ROUTE}{words}")
        assert (answer.status_code, answer.text) == (404, "This report keeps no such code.")
    (tmp_path / str(report.generated_code[0].file)).unlink()
    answer = client.get(f"/{code_address(report.generated_code[0])}")
    assert answer.status_code == 404
    assert "is gone" in answer.text
    assert client.get(ROUTE, headers={"Host": "evil.example"}).status_code == 403
    assert make_app(tmp_path / "nothing").server.test_client().get(ROUTE).status_code == 404


def test_the_card_has_a_fold_for_each_without_its_code(tmp_path: Path) -> None:
    report = a_run(tmp_path, "fused", "cuda_graphs")
    text = _text(card(report, str(KEY))).partition('"Generated code"')[2]
    assert text.index('"cuda_graphs"') < text.index("chosen, ") < text.index("default, ")
    assert text.count('"data-gb-code"') == 2
    assert "alert(1)" not in text


@pytest.mark.parametrize(
    ("chosen", "kept", "said"),
    [
        ("eager", ("fused",), COMPILES_NOTHING),
        ("cpp_wrapper", ("fused",), "That of cpp_wrapper, which was chosen, is not kept"),
        ("fused", (), "Nothing of it is kept"),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, chosen: str, kept: tuple[str, ...], said: str) -> None:
    report = a_run(tmp_path, *kept, graphs=(a_graph(chosen=chosen),))
    assert said in _text(card(report, str(KEY)))


def test_what_was_cut_or_had_no_room_is_said() -> None:
    codes = (StoredCode(KEY, "cuda_graphs", "code/x.py.gz", 4 << 20, 2 << 20), StoredCode(KEY, "fused", None, 900, 0))
    text = _text(card(a_report(generated_code=codes), str(KEY)))
    assert "the first 2.00 MiB of 4.00 MiB are kept" in text
    assert "900 B, none of it kept" in text
    assert text.count('"data-gb-code"') == 1


def test_a_hostile_name_makes_no_other_address_or_file() -> None:
    code = StoredCode(KEY, 'a&b="x"\r\n/../\udc80', "code/x.py.gz", 1, 1)
    assert "\r" not in code_address(code)
    assert code_address(code).count("&") == 1
    assert code_file_name(code) == f"{KEY}.a-b-x.py"


def test_the_command_prints_it_and_a_recorded_trace_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_run(tmp_path, "fused", "cuda_graphs")
    assert main(["show", str(tmp_path), "--code", KEY.digest]) == 0
    assert capsys.readouterr().out == f"# cuda_graphs\n{HOSTILE}"
    assert main(["show", str(tmp_path / "report.json"), "--code", f"{KEY}=fused"]) == 0
    assert capsys.readouterr().out == f"# fused\n{HOSTILE}"
    assert main(["show", str(tmp_path), "--code", f"{KEY}=none"]) == 2
    assert "there is" in capsys.readouterr().err
    assert main(["show", str(tmp_path), "--code", str(KEY), "--format", "json"]) == 2
    assert "Generated code" not in _text(card(a_report(is_recorded=True), str(KEY)))


def _text(components: Any) -> str:
    return json.dumps(components, cls=PlotlyJSONEncoder, ensure_ascii=False)
