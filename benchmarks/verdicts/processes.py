"""Processes of this package's modules, with a time limit that also ends what they started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
GRACE_S: Final = 15.0
"""After an interrupt: `ncu` writes what it has when it is asked to stop."""


_ANALYZE: Final = "import sys; from analyzer.cli import main; sys.exit(main())"


def own_path() -> str:
    """This checkout before whatever the caller's path already names."""
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


def analyze_command(*arguments: str) -> list[str]:
    """`analyze` of this checkout, wherever the installed one comes from: to be run in ROOT or with `own_path`."""
    return [sys.executable, "-c", _ANALYZE, *arguments]


def module_command(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", f"benchmarks.verdicts.{module}", *arguments]


def environment(**extra: str) -> dict[str, str]:
    # Kineto reads its level once, when it loads, and else writes two lines a recording.
    return {**os.environ, "PYTHONPATH": own_path(), "PYTHONUNBUFFERED": "1", "KINETO_LOG_LEVEL": "99", **extra}


def run(command: list[str], log: Path, limit_s: float, **extra: str) -> int | None:
    """The exit code; None where it had to be stopped. Its output is added to `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment(**extra),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(timeout=max(limit_s, 1.0))
        except subprocess.TimeoutExpired:
            return None
        finally:
            stop(process)


def stop(process: subprocess.Popen[bytes], grace_s: float = GRACE_S) -> None:
    """End a process that leads its own session, and what it started."""
    for sign in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=grace_s)
