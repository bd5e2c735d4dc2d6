"""What `analyze --no-optimize` costs beside a plain compile and first run of the same model.

    python -m benchmarks.diagnosis_cost [FILE …]

Each side runs in a fresh process with an empty Inductor cache, in turn. Writes benchmarks/results/diagnosis_cost.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Final

from benchmarks.verdicts.processes import ROOT, analyze_command

RESULTS: Final = ROOT / "benchmarks" / "results" / "diagnosis_cost.json"
ROUNDS: Final = 3

PLAIN: Final = """
import sys, torch
from analyzer.core.settings import WorkloadSpec
from collectors.loading import load_workload
work = load_workload(WorkloadSpec(sys.argv[1]))
with torch.no_grad():
    torch.compile(work.model)(*work.args, **work.kwargs)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", default=["examples/gptlite.py", "examples/mixed_graphs.py"])
    arguments = parser.parse_args()
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for file in arguments.files:
        plain_s, analyze_s, busy = [], [], []
        for _ in range(ROUNDS):
            # Others on the machine stretch both sides, and not by the same factor: the load is kept beside the times.
            busy.append(round(os.getloadavg()[0], 1))
            plain_s.append(wall([sys.executable, "-c", PLAIN, file]))
            with tempfile.TemporaryDirectory() as out:
                analyze_s.append(wall(analyze_command(file, "--no-optimize", "-q", "--out", out)))
            print(file, f"plain {plain_s[-1]} s, analyze {analyze_s[-1]} s, load before {busy[-1]}", flush=True)
        results[file] = {
            "plain_s": plain_s,
            "analyze_s": analyze_s,
            "ratio_of_medians": round(statistics.median(analyze_s) / statistics.median(plain_s), 2),
            "ratios": [round(a / p, 2) for a, p in zip(analyze_s, plain_s, strict=True)],
            "load_before": busy,
            "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
            "date": time.strftime("%Y-%m-%d"),
        }
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        print(file, results[file], flush=True)
    return 0


def wall(command: list[str]) -> float:
    """Seconds of one run with an empty compile cache. Raises CalledProcessError where it fails."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}
        start = time.monotonic()
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
        return round(time.monotonic() - start, 1)


if __name__ == "__main__":
    sys.exit(main())
