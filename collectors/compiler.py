"""Finds the C++ compiler that Inductor would take. Compiles nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from typing import Final

import torch
import torch._inductor.config

from analyzer.core.environment import Compiler

_VERSION_S: Final = 20.0
"""A compiler that has not printed its version by then hangs."""


def find_compiler(commands: Iterable[str | None]) -> Compiler | None:
    """The first of `commands` that runs, as Inductor looks for it; None where none does.

    None among the commands stands for a compiler that Inductor would install with conda: it is passed over.
    """
    for command in commands:
        if command is None:
            continue
        try:
            shown = subprocess.run(
                [command, "--version"],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_VERSION_S,
                check=True,
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            continue
        lines = shown.stdout.strip().splitlines()
        return Compiler(command, lines[0].strip() if lines else None)
    return None


def inductor_compilers() -> tuple[str | None, ...]:
    """The commands that Inductor would try on this machine, in its order."""
    # A documented option, set from the environment variable CXX; (None, "g++") without it.
    chosen = torch._inductor.config.cpp.cxx
    return tuple(chosen) if isinstance(chosen, list | tuple) else (chosen,)
