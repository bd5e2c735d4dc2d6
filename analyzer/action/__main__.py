"""The steps of action.yml: `cache` says what to keep between jobs, `check` runs the check."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from analyzer import cli
from analyzer.action.base import base_of, base_of_change, require_the_change
from analyzer.action.caches import cache_outputs, gpu_names
from analyzer.action.inputs import RESULT, SARIF, Inputs, command_words, read_inputs
from analyzer.action.names import own_name
from analyzer.action.outputs import write_outputs
from analyzer.checking.settings import SHOWN_DIGITS
from analyzer.code_host.event import Change, event_name, pushed
from analyzer.code_host.pull_request import pull_request
from analyzer.commands.output import print_text
from analyzer.core.errors import ExitCode, GraphboundError, UsageError
from analyzer.reporting.github import data
from analyzer.reporting.plain_text import plain

HELD: Final = ("--against", "--baseline", "--init")
"""Words of the command that say themselves what it is held against: beside them a base would be refused."""

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
"""In the name of an artifact."""


def main(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """The exit code of the step. What goes wrong is said as the command says it."""
    try:
        match list(words):
            case ["cache"]:
                write_outputs(cache_outputs(environment, gpu_names()), environment)
                return ExitCode.OK
            case ["check"]:
                return _check(environment)
            case _:
                raise UsageError("a step is `cache` or `check`")
    except GraphboundError as error:
        return cli.report_error(error)


def _check(environment: Mapping[str, str]) -> int:
    inputs = read_inputs(environment)
    if pull_request(environment) is None:
        # A push and a schedule have nowhere to comment, and nobody wants to read so in each of them.
        inputs = replace(inputs, is_commented=False)
    inputs = replace(inputs, name=own_name(inputs.name, environment))
    folder = Path(mkdtemp(prefix="graphbound-", dir=environment.get("RUNNER_TEMP") or None))
    # Known before the check runs: what a run that fails has left is uploaded too.
    write_outputs({"folder": str(folder), "artifact": _artifact(inputs, environment)}, environment)
    code = cli.main(command_words(inputs, _against(inputs, environment), folder))
    write_outputs(_told(folder), environment)
    return code


def _against(inputs: Inputs, environment: Mapping[str, str]) -> str | None:
    """What was asked for; else the base of the event, unless a stored one is named. Of an event without one it is said
    that the stored values are all there is.
    """
    if inputs.against or inputs.baseline or any(word.partition("=")[0] in HELD for word in inputs.arguments):
        return inputs.against or None
    request, change = pull_request(environment), pushed(environment)
    if request is not None:
        base = base_of(request, Path.cwd())
    else:
        base = None if change is None else base_of_change(change, Path.cwd())
    if base is None:
        print_text(f"::notice title=Graphbound::{data(_without_base(change, environment))}\n")
        return None
    require_the_change(base, Path.cwd(), environment)
    return base[:SHOWN_DIGITS]


def _without_base(change: Change | None, environment: Mapping[str, str]) -> str:
    if change is not None and change.is_first:
        why = "this push begins a branch or a tag: there is no commit before it"
    else:
        why = f"the event {plain(event_name(environment)) or 'of this job'} names no base"
    return f"{why}. Each model is held against its stored values alone. Name a commit with against: to compare them."


def _told(folder: Path) -> dict[str, str]:
    """What the check found, for later steps; nothing of one that found nothing."""
    sarif = folder / SARIF
    try:
        result = json.loads((folder / RESULT).read_bytes())
    except (OSError, ValueError):
        return {}
    return {
        "passed": "true" if result["passed"] else "false",
        "headline": result["headline"],
        "sarif": str(sarif) if sarif.is_file() else "",
    }


def _artifact(inputs: Inputs, environment: Mapping[str, str]) -> str:
    """A name that no other job of the run has: a second artifact of one name is refused."""
    words = ("graphbound", environment.get("GITHUB_JOB", ""), inputs.name)
    return "-".join(_UNSAFE.sub("_", word) for word in words if word)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
