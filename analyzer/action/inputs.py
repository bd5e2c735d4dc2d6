"""The inputs of action.yml as the words of an `analyze check`."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.errors import UsageError

PREFIX: Final = "GRAPHBOUND_"
"""Of the variables that action.yml puts its inputs into: in a line of shell they would be code."""

SARIF: Final = "graphbound.sarif"
RESULT: Final = "check.json"
LEG_DIGITS: Final = 8
LEG_WORDS: Final = 60
"""Characters of a leg's name before them."""
TRUE: Final = ("true", "yes", "on", "1")
FALSE: Final = ("false", "no", "off", "0", "")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Empty where nothing was given; `arguments` are further words of the command. `name` tells the jobs of a matrix
    apart: what was given, else made of the matrix.
    """

    models: tuple[str, ...] = ()
    baseline: str = ""
    against: str = ""
    budget_file: str = ""
    formats: tuple[str, ...] = ()
    is_commented: bool = False
    name: str = ""
    arguments: tuple[str, ...] = ()


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """Raises UsageError for words that no shell would take, and for a switch that is neither on nor off."""
    given = {
        name: environment.get(f"{PREFIX}{name.upper()}", "").strip()
        for name in ("models", "baseline", "against", "budget_file", "format", "comment", "name", "matrix", "arguments")
    }
    return Inputs(
        models=_words(given["models"], "models"),
        baseline=given["baseline"],
        against=given["against"],
        budget_file=given["budget_file"],
        formats=tuple(word for part in given["format"].split() for word in part.split(",") if word),
        is_commented=_switch(given["comment"], "comment"),
        name=given["name"] or leg_name(given["matrix"]),
        arguments=_words(given["arguments"], "arguments"),
    )


def leg_name(matrix: str) -> str:
    """`ubuntu-latest 3.12 1f2e3d4c`: one leg of a matrix, of its context as JSON; empty of a job without one.

    GitHub calls all legs by one GITHUB_JOB. The digits tell apart legs whose words are alike.
    """
    try:
        leg = json.loads(matrix or "null")
    except ValueError:
        leg = matrix  # of whatever it is, another leg's is another
    if not leg:
        return ""
    values = [leg[key] for key in sorted(leg)] if isinstance(leg, dict) else []
    plain = [str(each) for each in values if isinstance(each, str | int | float)]
    whole = json.dumps(leg, sort_keys=True)
    digits = hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()[:LEG_DIGITS]
    return " ".join([" ".join(plain)[:LEG_WORDS].strip(), digits]).strip()


def command_words(inputs: Inputs, against: str | None, folder: Path) -> list[str]:
    """What is run, its run folders and documents in `folder`. `against` is the commit that it is held against."""
    formats = (*(inputs.formats or ("terminal",)), f"sarif:{folder / SARIF}", f"json:{folder / RESULT}")
    words = ["check", *inputs.models, f"--out={folder}", *(f"--format={each}" for each in formats)]
    words += [f"--baseline={inputs.baseline}"] if inputs.baseline else []
    words += [f"--against={against}"] if against else []
    words += [f"--budget-file={inputs.budget_file}"] if inputs.budget_file else []
    words += ["--comment"] if inputs.is_commented else []
    words += [f"--comment-name={inputs.name}"] if inputs.is_commented and inputs.name else []
    return [*words, *inputs.arguments]


def _words(text: str, name: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"the input {name} cannot be taken apart: {error}", hint=f"it is {text!r}") from error


def _switch(text: str, name: str) -> bool:
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    raise UsageError(f"the input {name} is {text!r}", hint="give true or false")
