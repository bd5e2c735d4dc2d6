"""Reads thousands of damaged traces: no crash, no hang over ten times the clean time, no memory over three times.

    python -m benchmarks.trace_fuzzing TRACE [--files N] [--rows N]

TRACE is a real one (`.json.gz`). Writes benchmarks/results/trace_fuzzing.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from analyzer.core.errors import UnreadableFileError
from collectors.readers.kineto import read_trace
from tests.trace_damage import damaged

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "benchmarks" / "results" / "trace_fuzzing.json"
MOST_TIMES_CLEAN: Final = 10
MOST_MEMORY_TIMES_CLEAN: Final = 3
CLEAN_READS: Final = 20
TRIES: Final = 5
"""Of a file that took too long: beside the clean one in turn, the best of each, as others on the machine take its
caches and its clock for some milliseconds.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=600, help="of the trace's: what damage adds is up to 0.5 MB")
    arguments = parser.parse_args()
    file = json.loads(gzip.decompress(arguments.trace.read_bytes()))
    text = json.dumps(file | {"traceEvents": file["traceEvents"][: arguments.rows]}).encode()
    with tempfile.TemporaryDirectory() as folder:
        found = fuzz(text, arguments.files, Path(folder) / "trace.json")
    RESULTS.write_text(json.dumps({"trace": arguments.trace.name} | found, indent=1) + "\n")
    print(json.dumps(found, indent=1))
    return 1 if found["crashes"] or found["over_time"] or found["memory_times_clean"] > MOST_MEMORY_TIMES_CLEAN else 0


def fuzz(text: bytes, files: int, path: Path) -> dict[str, Any]:
    """Times are of this process's CPU: others on the machine stretch the clock's.

    A file is over time where its best of TRIES is; `first_over_time` counts those that were the first time.
    """
    path.write_bytes(text)
    path.with_name("clean.json").write_bytes(text)
    clean_s = min(_seconds(path) for _ in range(CLEAN_READS))
    clean_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    crashes: dict[str, str] = {}
    over_time: dict[str, float] = {}
    slowest, read, first_over = 0.0, 0, 0
    for seed in range(files):
        path.write_bytes(damaged(text, seed))
        begun = time.process_time()
        try:
            read_trace(path)
            read += 1
        except UnreadableFileError:
            pass
        except Exception as error:
            # What is looked for: anything but the one error that says where.
            crashes[str(seed)] = f"{type(error).__name__}: {error}"[:200]
        times = (time.process_time() - begun) / clean_s
        if times > MOST_TIMES_CLEAN:
            first_over += 1
            times = _times_clean(path, path.with_name("clean.json"))
        slowest = max(slowest, times)
        if times > MOST_TIMES_CLEAN:
            over_time[str(seed)] = round(times, 1)
    return {
        "files": files,
        "bytes": len(text),
        "read_in_part_or_whole": read,
        "refused": files - read - len(crashes),
        "crashes": crashes,
        "clean_ms": round(clean_s * 1000, 1),
        "slowest_times_clean": round(slowest, 1),
        "first_over_time": first_over,
        "over_time": over_time,
        "memory_times_clean": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / clean_kib, 2),
    }


def _times_clean(path: Path, clean: Path) -> float:
    """How many times as long as the clean file it takes, the best of TRIES of each in turn."""
    seconds = [(_seconds(path), _seconds(clean)) for _ in range(TRIES)]
    return min(own for own, _ in seconds) / min(other for _, other in seconds)


def _seconds(path: Path) -> float:
    begun = time.process_time()
    with suppress(UnreadableFileError):
        read_trace(path)
    return time.process_time() - begun


if __name__ == "__main__":
    sys.exit(main())
