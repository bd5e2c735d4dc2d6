"""The measurements that are still to be made on an H200, the most important first, within a budget of seconds.

    python -m benchmarks.h200 --out FOLDER [--from FOLDER] [--budget-s 560] [--only NAME …] [--cases FOLDER]

Each step runs in a process of its own, by the benchmark that it belongs to. What is done is passed over by the next
call, and what was begun is gone on with: out of the work folder, or where the machine is a new one out of what an
earlier call left in the folder of --from. FOLDER gets `h200.json`, `h200.log` and an archive for each kind of result.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import msgspec

from analyzer.core.errors import ExitCode, GraphboundError, UnreadableFileError, UsageError
from benchmarks.h200_steps import STEPS, Site, Step, python
from benchmarks.verdicts.processes import run
from benchmarks.verdicts.stopwatch import Stopwatch

BUDGET_S: Final = 560.0
"""Ten minutes a call, less what starting, ending a process and packing take."""

PACKING_S: Final = 5.0
"""A run folder of two traces is packed in a second or two."""

ENDING_S: Final = 10.0
"""Of a step's time, that its own process is not told of: to end in, with what it has."""

STATE: Final = "h200.json"
LOG: Final = "h200.log"
_LEFT_OUT: Final = ("cache.", "inductor", "__pycache__")
"""How folders begin that only save time."""


@dataclass(frozen=True, slots=True)
class Done:
    """One attempt at a step. `exit_code` None: it had to be stopped."""

    step: str
    is_done: bool
    exit_code: int | None
    seconds: float
    date: str


@dataclass(frozen=True, slots=True)
class State:
    """The last attempt at each step, in the order in which they were first begun."""

    attempts: tuple[Done, ...] = ()

    def having(self, new: Done) -> State:
        known = [new if one.step == new.step else one for one in self.attempts]
        return replace(self, attempts=tuple(known if new in known else [*known, new]))

    def is_done(self, step: Step) -> bool:
        return any(one.step == step.name and one.is_done for one in self.attempts)


@dataclass(frozen=True, slots=True)
class Here:
    """Where this call works, and what an earlier one left; None: nothing."""

    out: Path
    work: Path
    before: Path | None
    device: str
    cases: Path | None
    watch: Stopwatch = field(default_factory=lambda: Stopwatch(BUDGET_S, "h200"))


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    out, work = given.out.resolve(), given.work.resolve()
    before = given.before.resolve() if given.before is not None else None
    cases = given.cases.resolve() if given.cases is not None else None
    watch = Stopwatch(given.budget_s, "h200")
    try:
        left = measure(_wanted(given.only), Here(out, work, before, given.device, cases, watch))
    except GraphboundError as error:
        print(f"error: {error.message}" + (f"\nhint: {error.hint}" if error.hint else ""), file=sys.stderr)
        return int(error.exit_code)
    watch.say(f"left: {', '.join(left)}" if left else "all is done")
    return int(ExitCode.OK)


def measure(steps: Sequence[Step], here: Here) -> list[str]:
    """The names of the steps that are not done. A step that fails costs itself; it is tried again by the next call."""
    state = _unpacked(here)
    for step in steps:
        left_s = here.watch.left_s - PACKING_S
        if state.is_done(step) or left_s < step.least_s:
            continue
        attempt = _attempt(step, here, min(step.most_s, left_s))
        state = state.having(attempt)
        _pack(step.group, here)
        _save(state, here)
        said = "done" if attempt.is_done else f"not done, exit code {attempt.exit_code}"
        here.watch.say(f"{step.name}: {said} after {attempt.seconds:.0f} s")
    _save(state, here)
    return [step.name for step in steps if not state.is_done(step)]


def _attempt(step: Step, here: Here, seconds: float) -> Done:
    work = here.work / step.group
    work.mkdir(parents=True, exist_ok=True)
    here.watch.say(f"{step.name}: at most {seconds:.0f} s")
    told_s, start_s = seconds - ENDING_S, time.monotonic()
    code = run(python(step, Site(work, here.device, here.cases), told_s), here.out / LOG, seconds)
    took_s = time.monotonic() - start_s
    # What goes on later ends well when its time is over, too: only what ended of itself is done.
    is_whole = not step.resumes or took_s < told_s
    return Done(step.name, code == 0 and is_whole, code, round(took_s, 1), time.strftime("%Y-%m-%d"))


def _unpacked(here: Here) -> State:
    """What is known to be done. A group that is not in the work folder is taken from the earlier call's archive."""
    here.out.mkdir(parents=True, exist_ok=True)
    here.work.mkdir(parents=True, exist_ok=True)
    if (here.work / STATE).exists() or here.before is None:
        return _state(here.work / STATE)
    for archive in sorted(here.before.glob("*.tar.gz")):
        with tarfile.open(archive) as packed:
            packed.extractall(here.work, filter="data")
    return _state(here.before / STATE)


def _state(path: Path) -> State:
    if not path.exists():
        return State()
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except msgspec.MsgspecError as error:
        raise UnreadableFileError(f"{path} does not say what is done: {error}", hint="delete it") from error


def _save(state: State, here: Here) -> None:
    for folder in (here.work, here.out):
        (folder / STATE).write_bytes(msgspec.json.format(msgspec.json.encode(state), indent=1) + b"\n")
    # Groups that this call did not touch go on with it: the next one needs a single folder to go on from.
    for group in dict.fromkeys(step.group for step in STEPS):
        if (here.work / group).is_dir() and not (here.out / f"{group}.tar.gz").exists():
            _pack(group, here)


def _pack(group: str, here: Here) -> None:
    with tarfile.open(here.out / f"{group}.tar.gz", "w:gz") as archive:
        archive.add(here.work / group, arcname=group, filter=_kept)


def _kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if Path(member.name).name.startswith(_LEFT_OUT) else member


def _wanted(names: Sequence[str]) -> tuple[Step, ...]:
    known = [step.name for step in STEPS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"no such step: {', '.join(unknown)}", hint=f"there are {', '.join(known)}")
    return tuple(step for step in STEPS if not names or step.name in names)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.h200", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="where the results go, at most eight files")
    parser.add_argument("--from", dest="before", type=Path, help="what an earlier call left in its --out")
    default = Path(tempfile.gettempdir()) / "graphbound-h200"
    parser.add_argument("--work", type=Path, default=default, help="caches, logs and run folders")
    parser.add_argument("--budget-s", type=float, default=BUDGET_S, help="wall time at most")
    parser.add_argument("--only", nargs="*", default=[], help="these steps")
    parser.add_argument("--cases", type=Path, help="the folder of cases (default: ../shared/cases)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    return parser


if __name__ == "__main__":
    sys.exit(main())
