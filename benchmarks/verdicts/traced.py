"""The items under torch.profiler, in a process of their own: `python -m benchmarks.verdicts.traced`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import torch

from benchmarks.verdicts.compiling import WatchedCompiler
from benchmarks.verdicts.item import Item
from benchmarks.verdicts.items import items_of
from benchmarks.verdicts.place import SMALL_SIDE, Place
from benchmarks.verdicts.recorded import TRACED_FILE, ItemSet, Traced, TracedBatch, TracedItem
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.store import write
from benchmarks.verdicts.tracing import Ready, make_ready, record

BATCH: Final = 24
"""Items held at once: the largest batch takes some 12 GB."""

ERROR_CHARACTERS: Final = 200
SPENT: Final = "the budget was spent before it"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--budget-s", type=float, required=True)
    parser.add_argument("--set", type=ItemSet, default=ItemSet.FIRST)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--without", type=Path, help="a file with the name of an item that is done a line")
    parser.add_argument("--first-batch", type=int, default=0)
    arguments = parser.parse_args()
    done = frozenset(arguments.without.read_text().split()) if arguments.without is not None else frozenset()
    items = [i for i in items_of(arguments.set) if not arguments.only or i.name.startswith(tuple(arguments.only))]
    items = [i for i in items if i.name not in done]
    watch = Stopwatch(arguments.budget_s, "traced")
    with torch.no_grad():
        trace_items(items, arguments.device, arguments.out, watch, arguments.first_batch)
    return 0


def trace_items(items: Sequence[Item], device: str, out: Path, watch: Stopwatch, first: int = 0) -> Traced:
    """Record the items into `out`, batch by batch, of which the first has the number `first`; what was recorded is
    written after each batch. An item that was not reached says so.
    """
    compiler = WatchedCompiler(device)
    place = Place(device, None if device == "cuda" else SMALL_SIDE, compiler)
    found: list[TracedItem] = []
    batches: list[TracedBatch] = []
    if not items:
        write(Traced((), ()), out / TRACED_FILE)
        return Traced((), ())
    _discard_first(device, compiler, out, place)
    for start in range(0, len(items), BATCH):
        if watch.is_over:
            watch.say(f"the budget is spent: {len(items) - start} items left out")
            number = first + len(batches)
            found += [TracedItem(i.name, i.family, i.tf32, number, None, error=SPENT) for i in items[start:]]
            write(Traced(tuple(found), tuple(batches)), out / TRACED_FILE)
            break
        _batch(items[start : start + BATCH], place, compiler, (out, first), (found, batches), watch)
        write(Traced(tuple(found), tuple(batches)), out / TRACED_FILE)
        if device == "cuda":
            torch.cuda.empty_cache()
        failed = sum(item.error is not None for item in found)
        watch.say(f"{len(found)} of {len(items)} items recorded, {failed} of them did not run")
    return Traced(tuple(found), tuple(batches))


def _batch(
    items: Sequence[Item],
    place: Place,
    compiler: WatchedCompiler,
    where: tuple[Path, int],
    into: tuple[list[TracedItem], list[TracedBatch]],
    watch: Stopwatch,
) -> None:
    found, batches = into
    out, first = where
    number, ready, before = first + len(batches), list[Ready](), len(compiler.graphs())
    for item in items:
        try:
            if watch.is_over:
                raise TimeoutError(SPENT)
            one = make_ready(lambda item=item: item.build(place), place.device, item.tf32)  # type: ignore[misc]
        except Exception as error:  # an item that this device or this torch does not have costs itself only
            reason = f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS]
            found.append(TracedItem(item.name, item.family, item.tf32, number, None, error=reason))
            continue
        size = one.call.input_bytes + one.output_bytes
        found.append(TracedItem(item.name, item.family, item.tf32, number, len(ready), size))
        ready.append(one)
    name = f"traces/batch_{number:02}.trace.json.gz"
    record(ready, place.device, compiler, out / name)
    batches.append(TracedBatch(name, compiler.graphs()[before:]))


def _discard_first(device: str, compiler: WatchedCompiler, out: Path, place: Place) -> None:
    """The first recording of a process pays for the profiler's own start, so it is thrown away."""
    path = out / "traces" / "first.trace.json.gz"
    record([make_ready(lambda: place.call(torch.relu, place.randn(16)), device, tf32=False)], device, compiler, path)
    path.unlink()


if __name__ == "__main__":
    sys.exit(main())
