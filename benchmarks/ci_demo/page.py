"""The page of benchmarks/results/ci_demo.md: a pure function of what was played."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from benchmarks.ci_demo.demonstration import ARGUMENTS, Played, Shown

MESSAGE_LIMIT: Final = 300
FENCE: Final = "~~~~"

INTRODUCTION: Final = f"""# The GitHub action on five pull requests

Written by `python -m benchmarks.ci_demo`. It makes a repository with a small model in training, opens a pull request
for each change, and plays the job of `examples/ci/github.yml` on it: the steps of `action.yml` in order, each `run` for
real in a checkout of one commit, the actions of others and the comments by stand-ins. The check is `analyze check
{ARGUMENTS}` against the base of the pull request, on a CPU.
"""


def page(shown: Shown) -> str:
    right = sum(not one.problems for one in shown.played)
    parts = [
        INTRODUCTION,
        f"{datetime.now(UTC).date().isoformat()}: {right} of {len(shown.played)} jobs say what they must, where they "
        "must, and nothing else.\n",
        _table(shown.played),
        "## What was said\n",
        *(_said(one) for one in shown.played),
    ]
    return "\n".join(parts)


def _table(played: Sequence[Played]) -> str:
    lines = [
        "| pull request | line that must be named | annotation there | check | comment | s |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {_name(one)} | {_wanted(one)} | {_found(one)} | {'failed' if one.job.has_failed else 'passed'} | "
        f"{_comment(one)} | {one.seconds:.0f} |"
        for one in played
    ]
    return "\n".join(lines) + "\n"


def _name(one: Played) -> str:
    return one.change.what if one.push == 1 else f"a second push that takes the `{one.change.branch}` back"


def _wanted(one: Played) -> str:
    return f"{one.change.file}:{one.change.line()}" if one.change.marked and one.push == 1 else "none"


def _found(one: Played) -> str:
    if one.push == 1 and one.at_line:
        return "; ".join(f"{each.level}: {each.title}" for each in one.at_line)
    return f"{len(one.job.annotations)}" if one.job.annotations else "none"


def _comment(one: Played) -> str:
    if one.comment is None:
        return "none"
    return "written" if one.push == 1 else "the same one, written over"


def comment_head(comment: str) -> str:
    """A comment up to what it folds away, without the table of models."""
    shown = comment.partition("<details>")[0].partition("\nReproduce:")[0]
    lines = [line for line in shown.splitlines() if not line.startswith("|")]
    return "\n".join(line for line, before in zip(lines, ["", *lines], strict=False) if line or before).strip()


def _said(one: Played) -> str:
    lines = [f"### {_name(one)}\n"]
    if one.comment is not None:
        lines.append(f"The comment begins:\n\n{FENCE}\n{comment_head(one.comment)}\n{FENCE}\n")
    for each in one.job.annotations:
        text = " ".join(each.message.split())
        text = text if len(text) <= MESSAGE_LIMIT else f"{text[:MESSAGE_LIMIT]}…"
        lines.append(f"- {each.level} at {each.file}:{each.line}, {each.title}: {text}")
    if one.comment is None and not one.job.annotations:
        lines.append("Nothing, but that the check passed.")
    lines += [f"- **wrong**: {problem}" for problem in one.problems]
    return "\n".join(lines) + "\n"
