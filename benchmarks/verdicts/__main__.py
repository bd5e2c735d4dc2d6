"""Record facts on a machine, then judge them on any.

    python -m benchmarks.verdicts record {counters|interventions|cases} --out FOLDER
    python -m benchmarks.verdicts record counters --set fifth --out ANOTHER
    python -m benchmarks.verdicts record counters --set fifth --into ANOTHER
    python -m benchmarks.verdicts record {interventions|cases} --into FOLDER
    python -m benchmarks.verdicts evaluate FOLDER…

With --into what is in the folder stays, and only the rest is recorded.

A recording holds raw facts. Evaluating it again after a formula has changed needs no GPU, and writes
benchmarks/results/verdicts.md and .json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from analyzer.core.errors import ExitCode, GraphboundError
from benchmarks.verdicts.case_header import read_header
from benchmarks.verdicts.evaluate import evaluate, save
from benchmarks.verdicts.record_cases import record_cases
from benchmarks.verdicts.record_counters import Wanted, record_counters
from benchmarks.verdicts.record_interventions import record_interventions
from benchmarks.verdicts.recorded import ItemSet, Machine
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.store import read

ROOT: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = ROOT / "benchmarks" / "results" / "verdicts"
SHARED_CASES: Final = ROOT.parent / "shared" / "cases"
BUDGET_S: Final = {"counters": 460.0, "interventions": 480.0, "cases": 540.0}
JOBS: Final = {"counters": 1, "interventions": 14, "cases": 1}
"""Fourteen models of a wave compile side by side on the 16 cores beside an H200."""


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        if given.verb == "record":
            _record(given)
        else:
            cases = given.cases or (SHARED_CASES if SHARED_CASES.is_dir() else None)
            machine = read(given.machine, Machine) if given.machine is not None else None
            sections = evaluate(given.folders, cases, machine)
            save(sections, given.results)
            for section in sections:
                for check in section.checks:
                    print(f"{section.title}: {check.what}: {check.found} of {check.asked}, {check.meets.value}")
    except GraphboundError as error:
        print(f"error: {error.message}" + (f"\nhint: {error.hint}" if error.hint else ""), file=sys.stderr)
        return int(error.exit_code)
    return int(ExitCode.OK)


def _record(given: argparse.Namespace) -> None:
    # The processes that record are started in the root of the checkout.
    resumes = given.into is not None
    out, cases = (given.into or given.out).resolve(), given.cases.resolve() if given.cases is not None else None
    watch = Stopwatch(given.budget_s or BUDGET_S[given.part], given.part)
    jobs, only = given.jobs or JOBS[given.part], tuple(given.only)
    match given.part:
        case "counters":
            written = record_counters(out, given.device, watch, Wanted(given.set, only), resumes=resumes)
        case "interventions":
            # In here: only the models need torch, and importing it takes seconds of a budget.
            from benchmarks.verdicts.models import MODELS

            targets = [m.name for m in MODELS if not only or m.name in only]
            targets += _case_targets(cases, given.device) if cases is not None else []
            written = record_interventions(out, given.device, targets, jobs, watch, resumes=resumes)
        case _:
            found = sorted((cases or SHARED_CASES).glob("*.py"))
            wanted = [path for path in found if not only or path.stem.startswith(only)]
            written = record_cases(wanted, out, given.device, jobs, watch, resumes=resumes)
    watch.say(f"written: {written}")


def _case_targets(folder: Path, device: str) -> list[str]:
    """The cases whose step is an inference of one rank."""
    headers = [(path, read_header(path)) for path in sorted(folder.glob("*.py"))]
    wanted = [(p, h) for p, h in headers if h.runs_on(device) and not h.is_training and not h.needs_ranks]
    return [str(path.resolve()) for path, _ in wanted]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdicts", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    record = verbs.add_parser("record", help="record raw facts on this machine")
    record.add_argument("part", choices=tuple(BUDGET_S))
    where = record.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", type=Path, help="a folder to record into, in place of what is there")
    where.add_argument("--into", type=Path, help="a folder to add to: what was recorded there is not run again")
    record.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    record.add_argument("--budget-s", type=float, help=f"wall time at most (default: {BUDGET_S})")
    record.add_argument("--jobs", type=int, help=f"side by side (default: {JOBS})")
    record.add_argument("--cases", type=Path, help="the folder of cases (default: ../shared/cases)")
    record.add_argument(
        "--set", type=ItemSet, choices=tuple(ItemSet), default=ItemSet.FIRST, help="of counters: which items"
    )
    record.add_argument("--only", nargs="*", default=[], help="items, models, or how a case's name begins")
    judge = verbs.add_parser("evaluate", help="judge recordings with the product as it is now")
    judge.add_argument("folders", type=Path, nargs="+")
    judge.add_argument("--cases", type=Path, help="the folder of cases (default: ../shared/cases)")
    judge.add_argument("--machine", type=Path, help="judge with this measurement of the device (see measuring.py)")
    judge.add_argument("--results", type=Path, default=RESULTS, help="without its ending")
    return parser


if __name__ == "__main__":
    sys.exit(main())
