"""The dashboard's timeline at a million events a side, and at ten million: server part, sizes, memory, painted part.

    python -m benchmarks.dashboard [--events N] [--large N] [--browser PATH] [--out FILE]

The traces are made here, in a fresh process each: steps of nested host calls, launches and kernels on two streams, so
that every part of the way (attribution, budget, lanes) has its share of work. The painted part needs Playwright and a
Chromium (`--browser`, or the one on the path); the large one is left out where the memory is not there. Writes
benchmarks/results/dashboard.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.dashboard_trace import made_lanes, made_trace
from dashboard.app import app_of, make_server
from dashboard.run_folder import RunData, Side
from dashboard.timeline.level_of_detail import marks, shown
from dashboard.timeline.recording import recording_of

RESULTS: Final = Path(__file__).resolve().parent / "results" / "dashboard.md"
BINS: Final = 1_600
WINDOWS: Final = 60
"""Zooms and pans that are timed."""
TARGETS: Final = {
    "paint_s": 1.5, "zoom_ms": 150.0, "server_ms": 60.0, "bytes": 400_000, "large_ms": 250.0, "memory_mb": 1_200.0,
}  # fmt: skip
"""Issue 6."""

LARGE_BYTES: Final = 1_000
"""Of memory an event, that the large part may need at its most: three times what a million took (310, results of
November 2026), as Python's lists of a step of the way are as long as the trace."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`events` are a side's, `large` those of the one side of the large part."""

    events: int
    large: int
    browser: str | None
    out: Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="events a side")
    parser.add_argument("--large", type=int, default=10_000_000, help="events of the large part, on one side")
    parser.add_argument("--browser", default=shutil.which("chromium") or shutil.which("google-chrome"))
    parser.add_argument("--out", type=Path, default=RESULTS, help="the file to write")
    parser.add_argument("--part", choices=("page", "large", "marks"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    asked = Asked(arguments.events, arguments.large, arguments.browser, arguments.out)
    if arguments.part is not None:
        print(json.dumps(_part(arguments.part, asked)))
        return 0
    found = {part: _in_own_process(part, asked) for part in ("page", "large", "marks")}
    asked.out.write_text(_text(found, asked))
    print(asked.out.read_text())
    return 0


def _part(part: str, asked: Asked) -> dict[str, Any]:
    match part:
        case "page":
            return _page({"before": (asked.events, 12.0), "after": (asked.events, 8.0)}, asked)
        case "large":
            return _page({"recorded": (asked.large, 12.0)}, asked)
        case _:
            return _marks(asked.large)


def _in_own_process(part: str, asked: Asked) -> dict[str, Any]:
    available = _available_bytes()
    if part == "large" and available is not None and available < asked.large * LARGE_BYTES:
        return {"missing": f"{asked.large * LARGE_BYTES / 1e9:.0f} GB are wanted, {available / 1e9:.0f} are free"}
    words = ["--part", part, "--events", str(asked.events), "--large", str(asked.large)]
    words += ["--browser", asked.browser] if asked.browser else []
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.dashboard", *words], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        return {"missing": f"its process ended with {done.returncode}"}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _available_bytes() -> int | None:
    """What the system could still give; None where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _page(wanted: dict[str, tuple[int, float]], asked: Asked) -> dict[str, Any]:
    """`wanted` are the sides by name: their events, and the host's time a call in microseconds."""
    begun = time.perf_counter()
    sides = tuple(
        Side(name, recording_of(made_trace(events, host_us=us), None), None) for name, (events, us) in wanted.items()
    )
    read = time.perf_counter()
    app = app_of(RunData("benchmark", None, "made here", sides))
    ready = time.perf_counter()
    client = app.server.test_client()
    facts = client.get("/_timeline/facts").json
    rows = [_server(client, facts, start, end) for start, end in _windows(_whole(facts))]
    found = {
        "judge_s": read - begun,
        "lanes_s": ready - read,
        "server_ms": [row[0] for row in rows],
        "bytes": max(row[1] for row in rows),
        "search_ms": _search_ms(client, facts),
        "memory_mb": _most_mb(),
        "resident_mb": _resident_mb(),
    }
    found |= _painted(app, asked.browser) or {"painted": None}
    return found | _exported(client)


def _exported(client: Any) -> dict[str, Any]:
    """The recording for Perfetto: its time and size, and by how much it raised the most that was ever held."""
    before, begun = _most_mb(), time.perf_counter()
    answer = client.get("/_timeline/perfetto.json.gz")
    assert answer.status_code == 200, answer.text
    size = sum(len(piece) for piece in answer.iter_encoded())
    return {"export_s": time.perf_counter() - begun, "export_bytes": size, "export_mb": _most_mb() - before}


def _most_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _marks(events: int) -> dict[str, Any]:
    lanes = list(made_lanes(events))
    times = []
    for start, end in _windows(max(int(lane.end_ns[-1]) for lane in lanes)):
        begun = time.perf_counter()
        for lane in lanes:
            marks(lane, shown(start, end, BINS))
        times.append((time.perf_counter() - begun) * 1e3)
    return {"server_ms": times, "lanes": len(lanes), "resident_mb": _resident_mb()}


def _whole(facts: dict[str, Any]) -> int:
    return min(int(side["end"]) for side in facts["sides"])


def _windows(whole: int) -> Iterator[tuple[int, int]]:
    """From everything to a few microseconds, about moments spread over the trace."""
    for number in range(WINDOWS):
        span = max(round(whole / 2 ** (number % 20)), 5_000)
        start = round((whole - span) * (number * 37 % WINDOWS) / WINDOWS)
        yield start, start + span


def _server(client: Any, facts: dict[str, Any], start: int, end: int, query: str = "") -> tuple[float, int]:
    lanes = sum(group["count"] for side in facts["sides"] for group in side["groups"])
    begun = time.perf_counter()
    address = f"/_timeline/marks?from={start}&to={end}&bins={BINS}&lanes=0-{lanes - 1}&q={query}"
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    return (time.perf_counter() - begun) * 1e3, len(answer.data)


def _search_ms(client: Any, facts: dict[str, Any]) -> list[float]:
    return [_server(client, facts, 0, _whole(facts), f"kernel_{number}")[0] for number in range(5)]


def _painted(app: Any, browser: str | None) -> dict[str, Any] | None:
    try:
        from playwright.sync_api import sync_playwright  # only here, and optional
    except ImportError:
        return None
    if browser is None:
        return None
    server = make_server(app, None)
    threading.Thread(target=_run_quietly, args=(server,), daemon=True).start()
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        try:
            paints = [_first_paint(opened, server.url) for _ in range(5)]
            page = opened.new_page(viewport={"width": BINS + 80, "height": 1_000})
            page.goto(f"{server.url}#page=timeline")
            page.wait_for_selector('.gb-stage[data-state="painted"]')
            page.wait_for_timeout(500)
            moves = [page.evaluate(_MOVE, [key]) for key in "swwawdsswwdawsdwwwasd" * 3]
        finally:
            opened.close()
            server.close()
    return {"painted": {"first_s": paints, "move_ms": moves}}


_MOVE: Final = """async ([key]) => {
  const canvas = document.querySelector('.gb-stage canvas');
  const begun = performance.now();
  canvas.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  for (;;) {
    await new Promise(requestAnimationFrame);
    const painted = graphbound.painted;
    const stage = document.querySelector('.gb-stage');
    if (stage.dataset.state === 'painted' && painted.at > begun) return painted.at - begun;
    if (performance.now() - begun > 5000) return 5000;
  }
}"""


def _first_paint(browser: Any, url: str) -> float:
    """From asking for the page to the painted canvas, in a browser with an empty cache."""
    context = browser.new_context(viewport={"width": BINS + 80, "height": 1_000})
    page = context.new_page()
    page.goto(f"{url}#page=timeline")
    page.wait_for_selector('.gb-stage[data-state="painted"]')
    found = float(page.evaluate("graphbound.firstPainted"))
    context.close()
    return found / 1e3


def _run_quietly(server: Any) -> None:
    with contextlib.suppress(OSError):
        server.run()


def _resident_mb() -> float:
    """What the process holds now, where the system says it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("nan")
    return pages * resource.getpagesize() / 2**20


def _p95(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


Row = tuple[str, str, str]
"""What, measured, target."""


def _text(found: dict[str, dict[str, Any]], asked: Asked) -> str:
    sides = f"{asked.events:,} events a side, two sides"
    moves = f"{BINS} pixels, {WINDOWS} windows from all of the trace to 5 µs"
    alone = found["marks"]
    rows = [
        (f"marks of {alone['lanes']} lanes, p95 (median)", _spread(alone["server_ms"]), f"{TARGETS['large_ms']:.0f} ms")
    ]
    return (
        "# The dashboard's timeline\n\n"
        f"Made by `python -m benchmarks.dashboard --events {asked.events} --large {asked.large}`: {moves}.\n\n"
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
        f"Python {platform.python_version()}, numpy {np.__version__}.\n\n"
        f"## {sides}\n\n{_table(_rows(found['page'], TARGETS['zoom_ms'], is_large=False))}\n"
        f"## {asked.large:,} events, one side\n\n{_table(_rows(found['large'], TARGETS['large_ms'], is_large=True))}\n"
        f"## {asked.large:,} events, the level of detail alone\n\n{_table(rows)}"
    )


def _table(rows: list[Row]) -> str:
    lines = "\n".join(f"| {what} | {measured} | {target} |" for what, measured, target in rows)
    return f"| | measured | target |\n|---|---|---|\n{lines}\n"


def _rows(told: dict[str, Any], move_ms: float, *, is_large: bool) -> list[Row]:
    if "missing" in told:
        return [("all of it", f"not measured: {told['missing']}", "–")]

    def target(name: str, unit: str, scale: float = 1.0) -> str:
        return "–" if is_large else f"{TARGETS[name] / scale:g} {unit}"

    return [
        *_painted_rows(told["painted"], f"{move_ms:.0f} ms", target("paint_s", "s")),
        ("server part of a zoom or pan, p95 (median)", _spread(told["server_ms"]), target("server_ms", "ms")),
        ("server part with a new search, worst", f"{max(told['search_ms']):.0f} ms", "–"),
        ("longest answer", f"{told['bytes'] / 1e3:.0f} kB", f"{TARGETS['bytes'] / 1e3:.0f} kB"),
        ("memory held", f"{told['resident_mb']:.0f} MB", target("memory_mb", "MB")),
        ("most memory while loading", f"{told['memory_mb']:.0f} MB", "–"),
        ("judging, once", f"{told['judge_s']:.1f} s", "–"),
        ("making the lanes, once", f"{told['lanes_s']:.1f} s", "–"),
        (
            "the recording for Perfetto, and the memory that it adds",
            f"{told['export_s']:.1f} s, {told['export_bytes'] / 1e6:.0f} MB, +{told['export_mb']:.0f} MB",
            "–",
        ),
    ]


def _painted_rows(painted: dict[str, Any] | None, move: str, paint: str) -> list[Row]:
    if painted is None:
        return [("painted part", "not measured: no Playwright or no Chromium here", "–")]
    first = painted["first_s"]
    return [
        (
            "first paint after asking for the page, worst (median)",
            f"{max(first):.2f} s ({statistics.median(first):.2f})",
            paint,
        ),
        ("zoom or pan to painted, p95 (median)", _spread(painted["move_ms"]), move),
    ]


def _spread(values: list[float]) -> str:
    return f"{_p95(values):.0f} ms ({statistics.median(values):.0f})"


if __name__ == "__main__":
    sys.exit(main())
