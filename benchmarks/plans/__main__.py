"""Measure plans against every global setting of torch.compile, and show what was promised and kept.

    python -m benchmarks.plans run [--models A,B] [--device cpu] [--budget-s 560] [--out FILE] [--work FOLDER]
    python -m benchmarks.plans show [FILE…]

`run` compiles the rivals of all models side by side, then measures model by model, alone. It can be ended and begun
again: a model is written when it is done, one that is in the file is passed over, and what a model had in the work
folder is taken from there. `show` writes benchmarks/results/plans.md and .json, and needs no torch.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from analyzer.core.errors import ExitCode, GraphboundError, UsageError
from benchmarks.plans.page import figures, page
from benchmarks.plans.recorded import Recording, read, write
from benchmarks.plans.rivals import PATIENCE_S
from benchmarks.plans.stages import OutOfTimeError, Workshop, compile_rivals, measure
from benchmarks.plans.suite import ROOT, Case, cases
from benchmarks.plans.summary import checks
from benchmarks.verdicts.stopwatch import Stopwatch

RESULTS: Final = ROOT / "benchmarks" / "results"
MEASURED: Final = RESULTS / "plans_measured.json"
BUDGET_S: Final = 560.0
"""Ten minutes a call, less what starting and writing take."""


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        if given.verb == "run":
            return _run(given)
        _show(given.files or [MEASURED], given.results)
    except GraphboundError as error:
        print(f"error: {error.message}" + (f"\nhint: {error.hint}" if error.hint else ""), file=sys.stderr)
        return int(error.exit_code)
    return int(ExitCode.OK)


def _run(given: argparse.Namespace) -> int:
    """Not OK where a model was left out, or its processes failed."""
    try:
        wanted = cases(given.models)
    except ValueError as error:
        raise UsageError(str(error)) from None
    work = (given.work or Path(tempfile.gettempdir()) / "graphbound-plans").resolve()
    shop = Workshop(work, given.device, Stopwatch(given.budget_s, "plans"), given.jobs, given.patience_s)
    done = {m.case for m in read(given.out).measurements if m.is_gpu == (given.device != "cpu")}
    todo = [case for case in wanted if given.again or case.name not in done]
    compile_rivals(todo, shop)
    failed = [case.name for case in todo if not _measured(case, shop, given.out)]
    if failed:
        shop.watch.say(f"not done: {', '.join(failed)}; the same command goes on with them")
    return int(ExitCode.USER_PROGRAM if failed else ExitCode.OK)


def _measured(case: Case, shop: Workshop, out: Path) -> bool:
    try:
        found = measure(case, shop, time.strftime("%Y-%m-%d"))
    except OutOfTimeError:
        return False
    except GraphboundError as error:  # its processes' fault, or ours: the other models go on
        shop.watch.say(f"{case.name}: {error.message}; {error.hint or ''}")
        return False
    write(read(out).with_one(found), out)
    shop.watch.say(f"{case.name}: written")
    return True


def _show(files: Sequence[Path], results: Path) -> None:
    whole = Recording()
    for file in files:
        for one in read(file).measurements:
            whole = whole.with_one(one)
    if not whole.measurements:
        raise UsageError(f"no measurement in {', '.join(map(str, files))}", hint="python -m benchmarks.plans run")
    results.parent.mkdir(parents=True, exist_ok=True)
    results.with_suffix(".md").write_text(page(whole))
    results.with_suffix(".json").write_text(json.dumps(figures(whole), indent=1) + "\n")
    for device in dict.fromkeys(m.device for m in whole.measurements):
        for check in checks([m for m in whole.measurements if m.device == device]):
            print(f"{device}: {check.what}: {check.found}, asked {check.asked}: {check.meets.value}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plans", description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", help="measure on this machine")
    run.add_argument("--models", help="names with commas between (default: the whole suite)")
    run.add_argument("--out", type=Path, default=MEASURED, help="the recording that grows")
    run.add_argument("--work", type=Path, help="caches, logs and what stages found (default: in the temporary folder)")
    run.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    run.add_argument("--budget-s", type=float, default=BUDGET_S, help="wall time at most")
    run.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="rivals compiled at once")
    run.add_argument("--patience-s", type=float, default=PATIENCE_S, help="for compiling one rival")
    run.add_argument("--again", action="store_true", help="models that were measured, too")
    show = verbs.add_parser("show", help="write the page and its figures")
    show.add_argument("files", nargs="*", type=Path)
    show.add_argument("--results", type=Path, default=RESULTS / "plans", help="without its ending")
    return parser


if __name__ == "__main__":
    sys.exit(main())
