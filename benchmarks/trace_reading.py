"""Reading a trace of a million events: ours with one and two processes and from the cache, json.load, and HTA.

    python -m benchmarks.trace_reading TRACE [--events N …] [--hta PYTHON] [--rounds N]

TRACE is a real one (`.json.gz`), which is tiled in time to N events. Each reader runs in a fresh process, in turn, on
one core unless it says two. Writes benchmarks/results/trace_reading.json. The files are made beside the others in the
temporary folder, and removed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "benchmarks" / "results" / "trace_reading.json"
TIME_LIMIT_S: Final = 1200
_TS: Final = re.compile(r'"ts": ?([0-9.]+)')
_CORRELATION: Final = re.compile(r'"correlation": ?([0-9]+)')

_MEASURE: Final = """
import json, resource, sys, time
begun, cpu = time.perf_counter(), time.process_time()
{setup}
ready = time.perf_counter()
rows = {read}
done = time.perf_counter()
own, children = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps(dict(rows=rows, import_s=ready - begun, read_s=done - ready, cpu_s=own.ru_utime + own.ru_stime
    + children.ru_utime + children.ru_stime, peak_mb=own.ru_maxrss / 1024, child_peak_mb=children.ru_maxrss / 1024)))
"""
_OURS: Final = (
    "from pathlib import Path\nfrom collectors.readers.kineto import read_trace\n"
    "from collectors.readers.settings import ReadSettings"
)
_OURS_READ: Final = "len(read_trace(sys.argv[1], ReadSettings({})))"
_GUARDED: Final = "if __name__ == '__main__':\n"
READERS: Final = {
    "ours, one process": (_OURS, _OURS_READ.format("")),
    "ours, two processes": (_OURS, _OURS_READ.format("workers=2")),
    "ours, into the cache": (_OURS, _OURS_READ.format("cache=Path(sys.argv[2])")),
    "ours, from the cache": (_OURS, _OURS_READ.format("cache=Path(sys.argv[2])")),
    "json.load": ("", "len(json.load(open(sys.argv[1]))['traceEvents'])"),
    "HTA": (
        "import os; os.environ['HTA_DISABLE_NS_ROUNDING'] = '1'\nfrom hta.common.trace import parse_trace_file",
        "len(parse_trace_file(sys.argv[1])[1])",
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--events", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--hta", help="a Python that has HolisticTraceAnalysis==0.5.0 and pandas<3")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    found = {"trace": arguments.trace.name, "machine": _machine(), "runs": []}
    for events in arguments.events:
        found["runs"].append(_run(arguments.trace, events, arguments.hta, arguments.rounds))
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))
    return 0


def _run(source: Path, events: int, hta: str | None, rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        tile(source, events, path)
        samples: dict[str, list[dict[str, Any]]] = {}
        for _ in range(rounds):
            for name in READERS:
                # A reader of ten million events is asked once more only where it is ours.
                python = hta if name == "HTA" else sys.executable
                if python is not None and (events <= 1_000_000 or name.startswith("ours")):
                    samples.setdefault(name, []).append(_once(name, python, path, Path(folder) / "cache"))
        megabytes = path.stat().st_size / 1e6
    return {
        "events": events,
        "megabytes": round(megabytes),
        "readers": {name: _summary(runs, megabytes) for name, runs in samples.items()},
        "times_as_fast_as_json_load": {name: _times(samples, name) for name in samples if "json.load" in samples},
    }


def _times(samples: dict[str, list[dict[str, Any]]], name: str) -> float:
    """By CPU time, round by round: others on the machine make a second of it worth half as much, of both readers."""
    return round(
        statistics.median(
            plain["cpu_s"] / own["cpu_s"] for plain, own in zip(samples["json.load"], samples[name], strict=True)
        ),
        1,
    )


def _once(name: str, python: str, path: Path, cache: Path) -> dict[str, Any]:
    setup, read = READERS[name]
    code = _MEASURE.format(setup=setup, read=read)
    script = path.with_name("reader.py")
    # Spawned processes import the script, which must then do nothing.
    script.write_text(_GUARDED + "".join(f"    {line}\n" for line in code.splitlines()))
    if name == "ours, into the cache":
        subprocess.run(["rm", "-rf", str(cache)], check=True)
    cores = {0, 1} if "two" in name else {0}
    done = subprocess.run(
        [python, str(script), str(path), str(cache)],
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
        check=True,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _summary(runs: list[dict[str, Any]], megabytes: float) -> dict[str, Any]:
    read, cpu = (sorted(r[key] for r in runs) for key in ("read_s", "cpu_s"))
    return {
        "rows": runs[0]["rows"],
        "read_s": [round(s, 2) for s in read],
        "median_read_s": round(statistics.median(read), 2),
        "median_cpu_s": round(statistics.median(cpu), 2),
        "import_s": round(min(r["import_s"] for r in runs), 2),
        "megabytes_a_cpu_second": round(megabytes / statistics.median(cpu)),
        "peak_mb": round(max(r["peak_mb"] for r in runs)),
        "child_peak_mb": round(max(r["child_peak_mb"] for r in runs)),
    }


def tile(source: Path, events: int, path: Path) -> None:
    """Writes `events` rows: the source's, again and again, each time later and with correlation ids of its own."""
    file = json.loads(gzip.decompress(source.read_bytes()))
    rows = [json.dumps(row) for row in file.pop("traceEvents")]
    with path.open("w") as out:
        out.write('{"schemaVersion": 1,\n  "traceEvents": [\n  ')
        for number, row in enumerate(_tiled(rows, events)):
            out.write((",\n  " if number else "") + row)
        out.write("\n  ],\n" + json.dumps(file)[1:])


def _tiled(rows: list[str], events: int) -> Iterator[str]:
    stamps = [float(m.group(1)) for row in rows for m in _TS.finditer(row)]
    last = max(stamps)
    span = int(last - min(s for s in stamps if s > last / 2)) + 1
    for number in range(events):
        tile_number, row = divmod(number, len(rows))
        text = _TS.sub(lambda m: f'"ts": {_later(m.group(1), tile_number * span)}', rows[row])  # noqa: B023
        yield _CORRELATION.sub(lambda m: f'"correlation": {int(m.group(1)) + tile_number * 10_000_000}', text)  # noqa: B023


def _later(stamp: str, by_us: int) -> str:
    whole, point, fraction = stamp.partition(".")
    return f"{int(whole) + by_us}{point}{fraction}"


def _machine() -> dict[str, Any]:
    return {
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": [round(x, 1) for x in os.getloadavg()],
    }


if __name__ == "__main__":
    sys.exit(main())
