"""One model in a process of its own: compiles, says `ready`, waits for its turn, and measures what a replay takes away.

    python -m benchmarks.verdicts.intervening NAME|FILE.py --device cuda --out FOLDER

Clean times and replays come first: after the profiler has run, a process launches more slowly.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path
from typing import Final

import torch

from analyzer.core.graphs import Capture, Direction
from analyzer.core.settings import Mode, WorkloadSpec
from analyzer.core.trial import Trial, TrialOutcome
from analyzer.session import Session
from benchmarks.verdicts.models import model_by_name
from benchmarks.verdicts.place import SMALL_SIDE, Place
from benchmarks.verdicts.recorded import Ahead, ModelRun, Replay, recorded_timing, run_name
from benchmarks.verdicts.store import write
from collectors.loading import load_workload
from collectors.workload import Workload

REPLAYED: Final = "cuda_graphs"
READY: Final = "ready"
ERROR_CHARACTERS: Final = 400


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--device", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    name = run_name(arguments.target)
    try:
        run = measure(arguments.target, arguments.device, arguments.out)
    except Exception as error:  # a model that fails costs itself only
        traceback.print_exc()
        run = ModelRun(name, error=f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS])
    write(run, arguments.out / f"{name}.json.gz")
    return 0


def measure(target: str, device: str, out: Path) -> ModelRun:
    """Raises what the model raises."""
    session = Session(workload(target, device), lambda event: None)
    session.start()
    captured = session.capture()
    digests = tuple(dict.fromkeys(g.key.digest for g in captured.graphs if g.key.direction is not Direction.BACKWARD))
    wanted = dict.fromkeys(digests, (REPLAYED,)) if device == "cuda" else {}
    session.build(wanted)
    print(READY, flush=True)
    sys.stdin.readline()  # the one that measures has the device for itself
    timing = session.time()
    replays = _replays(session, captured, digests) if wanted else ()
    ahead = session.host_ahead() or () if wanted else ()
    trace = f"traces/{run_name(target)}.trace.json.gz"
    (out / trace).parent.mkdir(parents=True, exist_ok=True)
    session.profile(out / trace)
    return ModelRun(
        name=run_name(target),
        trace=trace,
        capture=captured,
        timing=recorded_timing(timing),
        environment=session.environment(),
        replays=replays,
        ahead=tuple(Ahead(str(one.region), one.launched_ns, one.ahead_ns) for one in ahead),
    )


def workload(target: str, device: str) -> Workload:
    if target.endswith(".py"):
        return load_workload(WorkloadSpec(target, mode=Mode.INFERENCE, device=device))
    torch.manual_seed(0)
    model, inputs = model_by_name(target).build(Place(device, None if device == "cuda" else SMALL_SIDE))
    return Workload.of(model, inputs, device=device)


def _replays(session: Session, captured: Capture, digests: tuple[str, ...]) -> tuple[Replay, ...]:
    """A trial for each graph alone, and one for all of them where there are several."""
    found = []
    for digest in digests:
        key = next(str(g.key) for g in captured.graphs if g.key.digest == digest)
        found.append(_replay(key, session.trial({digest: REPLAYED})))
    if len(digests) > 1:
        found.append(_replay(None, session.trial(dict.fromkeys(digests, REPLAYED))))
    return tuple(found)


def _replay(key: str | None, trial: Trial) -> Replay:
    measured = trial.outcome is TrialOutcome.MEASURED
    return Replay(
        key=key,
        outcome=trial.outcome.value,
        reason=trial.reason,
        step_ns=trial.step_ns if measured else None,
        against_ns=trial.against if measured else None,
        region_ns=trial.region_ns,
        region_against_ns=trial.region_against_ns,
    )


if __name__ == "__main__":
    sys.exit(main())
