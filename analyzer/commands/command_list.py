"""The list of sub-commands. A new one is one file, one line here, one test."""

from __future__ import annotations

from typing import Final

from analyzer.commands import check, compare, dashboard, demo, doctor, explain, perfetto, show, trace
from analyzer.commands.command import Command

COMMANDS: Final[tuple[Command, ...]] = (
    dashboard.COMMAND,
    show.COMMAND,
    perfetto.COMMAND,
    explain.COMMAND,
    demo.COMMAND,
    doctor.COMMAND,
    trace.COMMAND,
    compare.COMMAND,
    check.COMMAND,
)
