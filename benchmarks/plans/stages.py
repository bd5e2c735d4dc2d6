"""The processes that one model goes through: cold default, search, measuring; and the rivals compiled before all that.

What a stage found is kept in the work folder, and taken from there by a later run. Needs no torch.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from analyzer.core.errors import UnreadableFileError
from analyzer.derive.ledger import ledger
from analyzer.reporting.json import read_report
from benchmarks.plans.recorded import Chosen, Measurement, Outcome, Search, StageSeconds, Way
from benchmarks.plans.rivals import AS_IT_IS, DEFAULT, EAGER, NO_PLAN, PATIENCE_S, rivals_of
from benchmarks.plans.suite import Case
from benchmarks.verdicts.processes import analyze_command, run
from benchmarks.verdicts.stopwatch import Stopwatch

ANALYZE_LIMIT_S: Final = 600.0
"""For one `analyze`: GPTlite's cold default took 60 to 81 s on H200s, and four times that is allowed; its training,
with a backward beside the forward, may take twice as long."""

COLD_LIMIT_S: Final = 300.0
MEASURE_LIMIT_S: Final = 300.0
LEAST_S: Final = 45.0
"""Nothing is begun with less time left: importing torch, loading and compiling from a cache take most of it."""

_RIVALS_CACHE: Final = "cache.rivals"

_T = TypeVar("_T")


class OutOfTimeError(Exception):
    """The budget ended before a model was done; what it has is kept."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where a run works: `folder` holds caches, logs and what stages found."""

    folder: Path
    device: str
    watch: Stopwatch
    jobs: int
    patience_s: float = PATIENCE_S

    def of(self, case: Case) -> Path:
        folder = self.folder / f"{case.name}.{self.device}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def environment(self, case: Case, cache: str) -> dict[str, str]:
        """The case's own, and a compile cache of this name. A Triton kernel's binary lies in Inductor's folder."""
        where = self.of(case) / cache
        return case.environment(self.device) | {
            "TORCHINDUCTOR_CACHE_DIR": str(where),
            "TRITON_CACHE_DIR": str(where / "triton"),
        }

    def limit_s(self, most_s: float) -> float:
        """Raises OutOfTimeError where too little is left to begin anything."""
        if self.watch.left_s < LEAST_S:
            raise OutOfTimeError
        return min(most_s, self.watch.left_s)


def compile_rivals(cases: Sequence[Case], shop: Workshop) -> None:
    """Fill each model's cache with every rival, several processes side by side, a model's dear ones last."""
    wanted = [(case, rival.name) for case in cases for rival in rivals_of(case, shop.device) if rival.name != EAGER]
    wanted.sort(key=lambda one: one[1].startswith("max-autotune"))
    with ThreadPoolExecutor(shop.jobs) as pool:
        list(pool.map(lambda one: _compile(one[0], one[1], shop), wanted))


def _compile(case: Case, name: str, shop: Workshop) -> None:
    out = shop.of(case) / f"compiled.{name}.json"
    if _is_known(out, case, shop) or shop.watch.left_s < LEAST_S:
        return
    limit_s = min(shop.patience_s, shop.watch.left_s)
    command, warm = _module("compile_rival", case, name, shop.device, out), shop.environment(case, _RIVALS_CACHE)
    code = run(command, _log(case, shop), limit_s, **warm)
    if code is None and limit_s < shop.patience_s:
        return  # the budget's end, not the rival's
    if code is None:
        out.write_bytes(msgspec.json.encode(Way(name, Outcome.TOO_LONG, reason=_too_long(shop))))
    elif not out.exists():
        reason = f"its process ended with {code}"
        out.write_bytes(msgspec.json.encode(Way(name, Outcome.FAILED, reason=reason)))
    found = _read(out, Way)
    if found.outcome is Outcome.MEASURED:
        _mark(found, case, shop).parent.mkdir(exist_ok=True)
        _mark(found, case, shop).touch()
    shop.watch.say(f"{case.name}: {name}: {found.outcome.value}")


def _is_known(out: Path, case: Case, shop: Workshop) -> bool:
    """Whether what compiling it gave is on record, and where that is code, the code is there: a work folder may have
    been brought from another machine without its caches.
    """
    if not out.exists():
        return False
    found = _read(out, Way)
    return found.outcome is not Outcome.MEASURED or _mark(found, case, shop).exists()


def _mark(found: Way, case: Case, shop: Workshop) -> Path:
    return shop.of(case) / _RIVALS_CACHE / f"{found.name}.compiled"


def measure(case: Case, shop: Workshop, date: str) -> Measurement:
    """All that is measured of one model, alone on the machine. Raises OutOfTimeError, and UnreadableFileError where its
    measuring process left nothing, as one that took longer than MEASURE_LIMIT_S.
    """
    from benchmarks.plans.measure_case import Measured  # imports torch, which only running needs

    found = _search(case, shop)
    compiled = _compiled(case, shop)
    names = [EAGER, *(way.name for way in compiled if way.outcome is Outcome.MEASURED)]
    folder, out = shop.of(case) / "run", shop.of(case) / "measured.json"
    graphs = _graphs(folder)
    if not out.exists():
        arguments = (shop.device, _plan(folder, found, graphs), out, *names)
        doing = f"measuring {', '.join(names)} and the plan in turn"
        _run_alone(doing, _module("measure_case", case, *arguments), case, shop, _RIVALS_CACHE, MEASURE_LIMIT_S)
    measured = _read(out, Measured)
    seconds = {way.name: way.compile_s for way in compiled}
    ways = [replace(way, compile_s=seconds.get(way.name)) for way in measured.ways]
    ways += [way for way in compiled if way.outcome is not Outcome.MEASURED]
    return Measurement(
        case=case.name,
        device=measured.device,
        machine=f"{platform.machine()}, {os.cpu_count()} CPUs",
        torch=measured.torch,
        date=date,
        is_gpu=shop.device != "cpu",
        graphs=graphs,
        search=found,
        ways=tuple(ways),
        other_cores=measured.other_cores,
    )


def _search(case: Case, shop: Workshop) -> Search:
    """A cold default and a cold `analyze`, one after the other, each alone and in an empty cache."""
    out = shop.of(case) / "search.json"
    if out.exists():
        return _read(out, Search)
    cold_s = _cold_default_s(case, shop)
    folder = shop.of(case) / "run"
    command = analyze_command(case.target, "--out", str(folder), "--device", shop.device, "--mode", case.mode, "-q")
    shutil.rmtree(shop.of(case) / "cache.analyze", ignore_errors=True)
    start_s = time.monotonic()
    code = _run_alone("analyze", command, case, shop, "cache.analyze", ANALYZE_LIMIT_S)
    wall_s = time.monotonic() - start_s
    found = _searched(folder, round(wall_s, 1), cold_s, code)
    out.write_bytes(msgspec.json.encode(found))
    return found


def _cold_default_s(case: Case, shop: Workshop) -> float | None:
    """Wall time of a process that compiles the default and warms up; None where it did not end well.

    Kept, so that a run which the search outlasted has more time for it when it goes on.
    """
    kept = shop.of(case) / "cold_s.json"
    if kept.exists():
        return _read(kept, float)
    shutil.rmtree(shop.of(case) / "cache.cold", ignore_errors=True)
    out = shop.of(case) / "cold.json"
    out.unlink(missing_ok=True)
    start_s = time.monotonic()
    command = _module("compile_rival", case, DEFAULT, shop.device, out)
    code = _run_alone("a cold default", command, case, shop, "cache.cold", COLD_LIMIT_S)
    wall_s = time.monotonic() - start_s
    if code != 0 or not out.exists() or _read(out, Way).outcome is not Outcome.MEASURED:
        return None
    kept.write_bytes(msgspec.json.encode(round(wall_s, 1)))
    return round(wall_s, 1)


def _run_alone(doing: str, command: list[str], case: Case, shop: Workshop, cache: str, most_s: float) -> int | None:
    """The exit code; None where it took longer than `most_s`. Raises OutOfTimeError where the budget ended it."""
    limit_s = shop.limit_s(most_s)
    shop.watch.say(f"{case.name}: {doing}")
    code = run(command, _log(case, shop), limit_s, **shop.environment(case, cache))
    if code is None and limit_s < most_s:
        raise OutOfTimeError
    return code


def _searched(folder: Path, wall_s: float, cold_s: float | None, code: int | None) -> Search:
    report, plan = folder / "report.json", folder / "plan.json"
    if not report.exists():
        return Search(wall_s, cold_s, code)
    found = read_report(report)
    chosen: tuple[Chosen, ...] = ()
    if plan.exists() and not found.is_left_alone:
        chosen = tuple(Chosen(str(graph.key), graph.chosen) for graph in found.graphs if graph.chosen is not None)
    stages = tuple(StageSeconds(stage.name, round(stage.ns / 1e9, 1)) for stage in found.stages)
    return Search(wall_s, cold_s, code, stages, chosen, ledger(found), found.partial)


def _plan(folder: Path, found: Search, graphs: int) -> Path | str:
    """The plan's file, or what `measure_case` takes in place of one."""
    if (folder / "plan.json").exists():
        return folder / "plan.json"
    # What ended well and captured nothing has nothing to plan: the model is left as it is.
    has_nothing_to_plan = found.exit_code == 0 and found.partial is None and not graphs
    return AS_IT_IS if has_nothing_to_plan else NO_PLAN


def _graphs(folder: Path) -> int:
    report = folder / "report.json"
    return len({graph.key.digest for graph in read_report(report).graphs}) if report.exists() else 0


def _compiled(case: Case, shop: Workshop) -> list[Way]:
    """What compiling each rival gave. Raises OutOfTimeError where one was not reached: comparing would miss it."""
    names = [rival.name for rival in rivals_of(case, shop.device) if rival.name != EAGER]
    paths = {name: shop.of(case) / f"compiled.{name}.json" for name in names}
    missing = [name for name, path in paths.items() if not path.exists()]
    if missing:
        raise OutOfTimeError
    return [_read(path, Way) for path in paths.values()]


def _too_long(shop: Workshop) -> str:
    return f"it was not compiled after {shop.patience_s:.0f} s"


def _log(case: Case, shop: Workshop) -> Path:
    return shop.of(case) / "log.txt"


def _module(name: str, case: Case, *arguments: object) -> list[str]:
    return [sys.executable, "-m", f"benchmarks.plans.{name}", case.name, *map(str, arguments)]


def _read(path: Path, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError) as error:
        hint = f"the end of {path.parent / 'log.txt'} says why"
        raise UnreadableFileError(f"{path.name} of {path.parent.name} is not there: {error}", hint=hint) from error
