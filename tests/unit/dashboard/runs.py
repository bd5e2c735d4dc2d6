"""Run folders for the dashboard's tests: two steps of two graphs, a wait, a copy, a collective, a hostile name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from analyzer.core.trace import EventKind
from analyzer.reporting.json import write_report
from dashboard.run_folder import AFTER_FILE, BEFORE_FILE
from tests.reports import a_key, a_report
from tests.traces import Recording

HOSTILE: Final = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
FIRST, SECOND = str(a_key(1)), str(a_key(2))


def a_recording(*, kernels: int = 3, host_us: float = 5) -> Recording:
    run = Recording()
    for _ in range(2):
        with run.step():
            with run.graph(FIRST), run.op("aten::mm", shapes=((64, 64), (64, 64)), dtypes=("float", "float")):
                for _ in range(kernels):
                    run.launch("gemm", us=5)
                    run.host(host_us)
            run.copy("Memcpy HtoD", us=8, size=4096)
            run.launch(HOSTILE, us=3)
            with run.graph(SECOND):
                run.replay([("relu", 2), ("softmax", 4)], stream=9)
            run.launch("ncclDevKernel_AllReduce_Sum_f32", us=30, stream=20)
            with run.on_thread(200), run.op("aten::add"):
                run.launch("add", us=1, kind=EventKind.KERNEL)
            run.synchronize()
    return run


def a_run_folder(folder: Path) -> Path:
    a_recording().save(folder / BEFORE_FILE)
    a_recording(kernels=1, host_us=1).save(folder / AFTER_FILE)
    write_report(a_report(), folder / "report.json")
    return folder
