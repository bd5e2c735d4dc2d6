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
from analyzer.action.base import base_of
from analyzer.action.caches import cache_outputs, gpu_names
from analyzer.action.inputs import RESULT, SARIF, Inputs, command_words, read_inputs
from analyzer.action.outputs import write_outputs
from analyzer.code_host.pull_request import pull_request
from analyzer.core.errors import ExitCode, GraphboundError, UsageError

SHOWN: Final = 12
"""Digits of a commit: every message names it. git itself shows 7 to 12 of them, by the size of the repository."""

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
    folder = Path(mkdtemp(prefix="graphbound-", dir=environment.get("RUNNER_TEMP") or None))
    # Known before the check runs: what a run that fails has left is uploaded too.
    write_outputs({"folder": str(folder), "artifact": _artifact(inputs, environment)}, environment)
    code = cli.main(command_words(inputs, _against(inputs, environment), folder))
    write_outputs(_told(folder), environment)
    return code


def _against(inputs: Inputs, environment: Mapping[str, str]) -> str | None:
    """What was asked for; else the base of the pull request, unless a stored one is named."""
    if inputs.against or inputs.baseline:
        return inputs.against or None
    request = pull_request(environment)
    base = None if request is None else base_of(request, Path.cwd())
    return None if base is None else base[:SHOWN]


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
