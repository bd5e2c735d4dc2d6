"""`--comment`: what is written, when, and what the log says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.cli import main
from analyzer.code_host.comment import Outcome, Posted
from analyzer.commands.comment import comment_body, comment_on, is_news, said
from analyzer.core.gate import GateStatus
from analyzer.reporting.markdown import COMMENT_BYTES
from benchmarks.ci_demo.comments import REPOSITORY, TOKEN, serving
from tests.gate_results import a_check, a_gate, a_hostile_gate, a_model_gate, a_quiet_gate

MARK = "<!-- graphbound comment: a/b -->"


def test_a_comment_fits_with_its_mark_at_the_end() -> None:
    body = comment_body(a_hostile_gate("<script>" * 20_000), MARK)
    assert len(body.encode()) <= COMMENT_BYTES
    assert body.endswith(f"\n{MARK}\n")
    assert comment_body(a_gate(), MARK).startswith("### 1 new graph break")
    named = comment_body(a_hostile_gate("<script>" * 20_000), MARK, "3.12 `x`\n::error::")
    assert len(named.encode()) <= COMMENT_BYTES
    assert named.endswith(f"\n{MARK}\n")
    assert "\nOf the job " in comment_body(a_gate(), MARK, "3.12 linux")
    assert "`3.12 linux`" in comment_body(a_gate(), MARK, "3.12 linux")


def test_only_a_change_that_did_something_is_news() -> None:
    assert not is_news(a_quiet_gate())
    assert is_news(a_gate())
    better = a_model_gate(checks=(a_check(status=GateStatus.IMPROVED),))
    warned = a_model_gate(checks=(a_check(status=GateStatus.WARNED),))
    lost = a_model_gate(checks=(), error="it does not run")
    assert all(is_news(a_gate(model)) for model in (better, warned, lost))


def test_where_none_could_be_written_a_notice_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    posted = Posted(Outcome.NOT_POSTED, "no\n::error::way")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    line = said(posted)
    assert line is not None
    assert line.startswith("::notice title=Graphbound::no comment was written: no")
    assert line.count("\n") == 1
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert (said(posted) or "").startswith("note: no comment was written")
    assert said(Posted(Outcome.NOT_NEEDED)) is None


def test_it_is_posted_with_the_tokens_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 4}}))
    with serving() as host:
        for name, value in (
            ("GITHUB_API_URL", host.url), ("GITHUB_TOKEN", TOKEN), ("GITHUB_REPOSITORY", REPOSITORY),
            ("GITHUB_EVENT_PATH", str(event)), ("GITHUB_WORKFLOW", "W"), ("GITHUB_JOB", "j"),
        ):  # fmt: skip
            monkeypatch.setenv(name, value)
        comment_on(a_gate(), "")
        comment_on(a_quiet_gate(), "")
        (one,) = host.of(4)
    assert one["body"].startswith("### nothing changed")
    assert one["body"].endswith("<!-- graphbound comment: W/j -->\n")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        f"comment written: https://github.com/{REPOSITORY}/pull/4#issuecomment-1",
        f"comment written over the last one: https://github.com/{REPOSITORY}/pull/4#issuecomment-1",
    ]


def test_a_name_without_a_comment_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "m.py", "--comment-name", "x"]) == 2
    assert "add --comment" in capsys.readouterr().err


def test_the_command_comments_after_it_has_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from analyzer.checking import check as checking

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    seen: list[str] = []
    monkeypatch.setattr(checking, "run_check", lambda settings, progress: a_gate())
    monkeypatch.setattr("analyzer.commands.check.print_gate", lambda *_: seen.append("printed"))
    monkeypatch.setattr("analyzer.commands.check.comment_on", lambda gate, name: seen.append(f"comment {name!r}"))
    assert main(["check", "m.py", "-q"]) == 1
    assert main(["check", "m.py", "-q", "--comment", "--comment-name=h200"]) == 1
    assert seen == ["printed", "printed", "comment 'h200'"]
