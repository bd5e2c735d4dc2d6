"""One comment a job, written over; a host that refuses, stumbles or is gone fails nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.code_host.comment import PER_PAGE, TRIES, WAITS_S, Outcome, Posted, marker, post_comment
from analyzer.code_host.github_api import GithubApi
from analyzer.code_host.pull_request import PullRequest, pull_request
from benchmarks.ci_demo.comments import REPOSITORY, TOKEN, Comments, serving

JOB = {"GITHUB_WORKFLOW": "Graphbound", "GITHUB_JOB": "check"}
MARK = marker("", JOB)
REQUEST = {"pull_request": {"number": 7, "base": {"sha": "b" * 40}, "head": {"sha": "c" * 40}}}


@pytest.fixture
def host() -> Iterator[Comments]:
    with serving() as comments:
        yield comments


@pytest.fixture
def runner(tmp_path: Path, host: Comments) -> dict[str, str]:
    return a_runner(tmp_path, host, REQUEST)


def a_runner(folder: Path, host: Comments, event: Any) -> dict[str, str]:
    path = folder / "event.json"
    path.write_text(json.dumps(event))
    return {
        "GITHUB_API_URL": f"{host.url}/",
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_EVENT_PATH": str(path),
    }


def post(environment: dict[str, str], text: str = "all is well", mark: str = MARK, **changes: Any) -> Posted:
    waited: list[float] = changes.pop("waited", [])
    is_news = changes.pop("is_news", True)
    return post_comment(f"{text}\n{mark}\n", mark, environment, is_news=is_news, sleep=waited.append)


def test_the_next_check_writes_over_the_last_comment(host: Comments, runner: dict[str, str]) -> None:
    first, second = post(runner, "1 new graph break"), post(runner, "nothing is past its limit")
    assert (first.outcome, second.outcome) == (Outcome.CREATED, Outcome.UPDATED)
    assert first.url == second.url == f"https://github.com/{REPOSITORY}/pull/7#issuecomment-1"
    assert [one["body"] for one in host.of(7)] == [f"nothing is past its limit\n{MARK}\n"]


def test_it_is_found_behind_many_others(host: Comments, runner: dict[str, str]) -> None:
    for _ in range(PER_PAGE * 2):
        host.add(7, "looks good", user="User")
    post(runner, "one")
    for _ in range(PER_PAGE):
        host.add(7, "still good", user="User")
    assert post(runner, "two").outcome is Outcome.UPDATED
    assert sum(MARK in one["body"] for one in host.of(7)) == 1


def test_what_says_the_same_is_left_alone(host: Comments, runner: dict[str, str]) -> None:
    post(runner)
    host.kept[0]["body"] = host.kept[0]["body"].replace("\n", "\r\n")
    assert post(runner).outcome is Outcome.UNCHANGED
    assert host.kept[0]["edits"] == 0


def test_a_change_that_did_nothing_begins_no_comment_and_ends_an_older_one(
    host: Comments, runner: dict[str, str]
) -> None:
    assert post(runner, is_news=False).outcome is Outcome.NOT_NEEDED
    assert host.of(7) == []
    post(runner, "1 new graph break")
    assert post(runner, is_news=False).outcome is Outcome.UPDATED


def test_each_job_and_each_name_has_a_comment_of_its_own(host: Comments, runner: dict[str, str]) -> None:
    marks = [MARK, marker("h200", JOB), marker("", {**JOB, "GITHUB_JOB": "other"})]
    assert [post(runner, mark=mark).outcome for mark in marks] == [Outcome.CREATED] * 3
    assert [post(runner, "new", mark=mark).outcome for mark in marks] == [Outcome.UPDATED] * 3


def test_a_name_cannot_end_the_mark(runner: dict[str, str]) -> None:
    assert marker("--><script>", JOB).count("-->") == 1


def test_of_two_with_the_mark_the_one_of_a_program_is_written_over(host: Comments, runner: dict[str, str]) -> None:
    host.add(7, f"> quoted\n{MARK}", user="User")
    host.add(7, f"ours\n{MARK}")
    post(runner, "new")
    assert [one["edits"] for one in host.of(7)] == [0, 1]


def test_a_token_that_only_reads_is_one_sentence(host: Comments, runner: dict[str, str]) -> None:
    host.is_read_only = True
    waited: list[float] = []
    posted = post(runner, waited=waited)
    assert posted.outcome is Outcome.NOT_POSTED
    assert posted.reason is not None
    assert "pull-requests: write" in posted.reason
    assert "fork" in posted.reason
    assert waited == []
    host.add(7, f"ours\n{MARK}")
    assert post(runner, "new").outcome is Outcome.NOT_POSTED


def test_a_short_fault_of_the_host_is_waited_for(host: Comments, runner: dict[str, str]) -> None:
    host.faults += [502, 503]
    waited: list[float] = []
    assert post(runner, waited=waited).outcome is Outcome.CREATED
    assert waited == list(WAITS_S[:2])


def test_an_answer_that_was_lost_makes_no_second_comment(host: Comments, runner: dict[str, str]) -> None:
    host.lost = 1
    assert post(runner).outcome is Outcome.UNCHANGED
    assert len(host.of(7)) == 1


def test_a_long_fault_is_given_up(host: Comments, runner: dict[str, str]) -> None:
    host.faults += [500] * TRIES
    posted = post(runner)
    assert posted == Posted(Outcome.NOT_POSTED, "500 a fault")
    assert len(host.requests) == TRIES


def test_a_host_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with serving() as gone:
        runner = a_runner(tmp_path, gone, REQUEST)
    posted = post(runner)
    assert posted.outcome is Outcome.NOT_POSTED
    assert posted.reason is not None
    assert posted.reason.startswith("no answer from GitHub")


def test_no_answer_shows_the_token(host: Comments, runner: dict[str, str]) -> None:
    posted = post({**runner, "GITHUB_TOKEN": "another-secret"})
    assert "Bad credentials" in str(posted)
    assert "another-secret" not in f"{posted}{GithubApi(REPOSITORY, 'another-secret')!r}"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"GITHUB_TOKEN": ""}, "GITHUB_TOKEN"),
        ({"GITHUB_REPOSITORY": ""}, "GITHUB_REPOSITORY"),
        ({"GITHUB_API_URL": "file:///etc"}, "no web address"),
        ({"GITHUB_EVENT_PATH": "/nowhere"}, "no pull request"),
    ],
)
def test_what_is_missing_is_said(runner: dict[str, str], changes: dict[str, str], reason: str) -> None:
    posted = post({**runner, **changes})
    assert posted.outcome is Outcome.NOT_POSTED
    assert reason in (posted.reason or "")


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        (REQUEST, PullRequest(7, "b" * 40, "c" * 40)),
        ({"issue": {"number": 3, "pull_request": {"url": "x"}}}, PullRequest(3)),
        ({"issue": {"number": 3}}, None),
        ({"workflow_run": {"pull_requests": [{"number": 5, "head": {"sha": "d"}}]}}, PullRequest(5, None, "d")),
        ({"workflow_run": {"pull_requests": [{"number": 5}, {"number": 6}]}}, None),
        ({"pull_request": {"number": "7"}}, None),
        ({"ref": "refs/heads/main"}, None),
        ([], None),
    ],
)
def test_the_pull_request_is_that_of_the_event(tmp_path: Path, event: Any, wanted: PullRequest | None) -> None:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(event))
    assert pull_request({"GITHUB_EVENT_PATH": str(path)}) == wanted
    path.write_text("{")
    assert pull_request({"GITHUB_EVENT_PATH": str(path)}) is None
