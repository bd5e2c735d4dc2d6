"""A process that runs the model does not outlive its parent, whatever the model does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

LIMIT_S = 120

HANGING = """
import ctypes, os, sys
from analyzer.child import _die_with_parent
_die_with_parent()
print(os.getpid(), flush=True)
ctypes.PyDLL(None).sleep(600)  # PyDLL keeps the GIL: no thread of this process can run
"""
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's signal at a parent's death is Linux's")
def test_a_model_that_hangs_and_keeps_the_gil_dies_with_a_killed_parent() -> None:
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    command = [sys.executable, "-c", PARENT, HANGING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
        deadline = time.monotonic() + LIMIT_S
        while _is_alive(child):
            assert time.monotonic() < deadline, "the child outlived its parent"
            time.sleep(0.05)


def _is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # nobody waits for it here
