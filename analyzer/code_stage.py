"""Keeps the code that Inductor has generated in the run folder, as soon as the session has it."""

from __future__ import annotations

from pathlib import Path

from analyzer.code_files import write_code
from analyzer.core.generated_code import GeneratedCode
from analyzer.core.plan import FUSED, Plan
from analyzer.driver import Driver
from analyzer.measured import Measured


def keep_code(driver: Driver, measured: Measured, folder: Path, plan: Plan | None = None) -> None:
    """That of the default's graphs, or of those of a plan that was just verified. Where the folder cannot be written to
    a note says so; nothing else depends on it.
    """
    codes: tuple[GeneratedCode, ...] = driver.call("generated_code")
    known = {(code.key, code.candidate) for code in measured.generated_code}
    try:
        for code in codes:
            candidate = FUSED if plan is None else plan.candidate(code.key)
            if (code.key, candidate) not in known:
                measured.generated_code.append(write_code(folder, code, candidate))
    except OSError as error:
        measured.notes.append(f"the generated code could not be kept: {error.strerror or error}")
