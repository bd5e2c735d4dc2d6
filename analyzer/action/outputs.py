"""What a step of a runner leaves for the steps after it (GitHub Actions, workflow commands, environment files)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from analyzer.core.errors import UsageError


def write_outputs(values: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Add to the outputs of this step. Raises UsageError where the runner's file cannot be written."""
    name = environment.get("GITHUB_OUTPUT")
    if not name:
        raise UsageError("GITHUB_OUTPUT is not set", hint="this is a step of action.yml, for a GitHub runner")
    # The word that ends a value is not to be guessed by whoever named a file.
    end = f"end-{os.urandom(16).hex()}"
    text = "".join(f"{key}<<{end}\n{value}\n{end}\n" for key, value in values.items())
    try:
        with Path(name).open("a", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"cannot write the outputs of the step: {error.strerror or error}") from error
