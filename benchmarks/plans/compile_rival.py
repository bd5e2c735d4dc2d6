"""One process: loads a model, compiles it one way and takes some steps, so that torch's caches hold it afterwards.

python -m benchmarks.plans.compile_rival MODEL RIVAL DEVICE OUT
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.plans.in_process import compiled, failure, loaded, stepper
from benchmarks.plans.recorded import Outcome, Way
from benchmarks.plans.rivals import rival
from benchmarks.plans.suite import cases

STEPS: Final = 4
"""A CUDA graph is recorded in the second and replayed from the third on."""


def main() -> int:
    name, way, device, out = sys.argv[1:]
    (case,) = cases(name)
    loading = loaded(case, device)
    try:
        steps = stepper(loading, compiled(loading.workload.model, rival(way)))
        first_ns = steps.timed()
        for _ in range(STEPS - 1):
            steps.timed()
        found = Way(way, Outcome.MEASURED, compile_s=round(first_ns / 1e9, 2))
    except Exception as error:  # whatever a compiler raises is this rival's result
        found = failure(way, error)
    Path(out).write_bytes(msgspec.json.encode(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
