"""The items for `ncu`, in a process of their own: warmed, then one call of each inside the profiled region.

Started by `ncu --profile-from-start off`; without it nothing is counted, and it only runs them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.verdicts.compiling import WatchedCompiler
from benchmarks.verdicts.items import by_name
from benchmarks.verdicts.ncu_csv import RANGE_PREFIX
from benchmarks.verdicts.place import SMALL_SIDE, Place
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.tracing import allowing, make_ready, wait


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--names", type=Path, required=True, help="a file with an item's name a line")
    parser.add_argument("--budget-s", type=float, required=True)
    arguments = parser.parse_args()
    watch = Stopwatch(arguments.budget_s, "counted")
    with torch.no_grad():
        done = count_items(arguments.names.read_text().split(), arguments.device, watch)
    watch.say(f"{done} items run")
    return 0


def count_items(names: Sequence[str], device: str, watch: Stopwatch) -> int:
    """Run the items; how many ran. One that fails is left out: the profiled process has said why."""
    compiler = WatchedCompiler(device)
    place = Place(device, None if device == "cuda" else SMALL_SIDE, compiler)
    done = 0
    for name in names:
        if watch.is_over:
            break
        item = by_name(name)
        try:
            ready = make_ready(lambda item=item: item.build(place), device, item.tf32)  # type: ignore[misc]
        except Exception as error:
            watch.say(f"{name}: {type(error).__name__}: {error}"[:200])
            continue
        with allowing(device, item.tf32):
            _profiled(ready.call.run, name, device)
        del ready
        if device == "cuda":
            torch.cuda.empty_cache()
        done += 1
        watch.say(name)
    return done


def _profiled(run: Callable[[], Any], name: str, device: str) -> None:
    if device != "cuda":
        run()
        return
    torch.cuda.profiler.start()  # type: ignore[no-untyped-call]
    torch.cuda.nvtx.range_push(f"{RANGE_PREFIX}{name}")  # type: ignore[no-untyped-call]
    try:
        run()
        wait(device)
    finally:
        torch.cuda.nvtx.range_pop()  # type: ignore[no-untyped-call]
        torch.cuda.profiler.stop()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    sys.exit(main())
