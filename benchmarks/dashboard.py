"""The dashboard's timeline at a million events a side, and its marks at ten: server part, sizes, memory, painted part.

    python -m benchmarks.dashboard [--events N] [--large N] [--browser PATH]

The traces are made here, in a fresh process each: steps of nested host calls, launches and kernels on two streams, so
that every part of the way (attribution, budget, lanes) has its share of work. The painted part needs Playwright and a
Chromium (`--browser`, or the one on the path). Writes benchmarks/results/dashboard.md.
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
from pathlib import Path
from typing import Any, Final

import numpy as np

from analyzer.core.trace import EventKind, Trace
from dashboard.app import app_of, make_server
from dashboard.run_folder import RunData, Side
from dashboard.timeline.lane import Lane, lane_of
from dashboard.timeline.level_of_detail import marks, shown
from dashboard.timeline.recording import recording_of

RESULTS: Final = Path(__file__).resolve().parent / "results" / "dashboard.md"
STEPS: Final = 50
BINS: Final = 1_600
WINDOWS: Final = 60
"""Zooms and pans that are timed."""
TARGETS: Final = {
    "paint_s": 1.5, "zoom_ms": 150.0, "server_ms": 60.0, "bytes": 400_000, "large_ms": 250.0, "memory_mb": 1_200.0,
}  # fmt: skip
"""Issue 6."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="events a side")
    parser.add_argument("--large", type=int, default=10_000_000, help="events of the marks alone")
    parser.add_argument("--browser", default=shutil.which("chromium") or shutil.which("google-chrome"))
    parser.add_argument("--part", choices=("page", "marks"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part is not None:
        told = _page(arguments) if arguments.part == "page" else _large(arguments.large)
        print(json.dumps(told))
        return 0
    found = {part: _in_own_process(part, arguments) for part in ("page", "marks")}
    RESULTS.write_text(_text(found, arguments))
    print(RESULTS.read_text())
    return 0


def _in_own_process(part: str, arguments: argparse.Namespace) -> dict[str, Any]:
    words = ["--part", part, "--events", str(arguments.events), "--large", str(arguments.large)]
    words += ["--browser", arguments.browser] if arguments.browser else []
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.dashboard", *words], stdout=subprocess.PIPE, text=True, check=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def made_trace(events: int, *, host_us: float) -> Trace:
    """Steps of calls: an operator that holds another that launches a kernel, four rows a call, on two streams."""
    calls = max(events // 4 // STEPS, 1)
    kinds = [EventKind.CPU_OP, EventKind.CPU_OP, EventKind.LAUNCH, EventKind.KERNEL]
    number = np.arange(calls * STEPS, dtype=np.int64)
    every = round(host_us * 1000)
    host = number * every + (number // calls + 1) * 100_000
    kernel_ns = 800 + (number * 7919) % 4_000
    start = np.concatenate((host, host + every // 10, host + every // 4, host + every // 2))
    length = np.concatenate(
        (np.full_like(host, every * 9 // 10), np.full_like(host, every * 6 // 10), np.full_like(host, 400), kernel_ns)
    )
    kind = np.repeat(np.asarray(kinds, dtype=np.int64), number.size)
    ops, kernels = [f"aten::op_{i}" for i in range(64)], [f"void kernel_{i}<float, {i}>(int)" for i in range(256)]
    names = [*ops, "cudaLaunchKernel", *kernels, *(f"ProfilerStep#{i}" for i in range(STEPS))]
    name = np.concatenate(
        (number % 32, 32 + number % 32, np.full_like(host, 64), 65 + number % 256, 321 + np.arange(STEPS))
    )
    step_start = np.arange(STEPS) * (calls * every + 100_000) + 50_000
    start = np.concatenate((start, step_start))
    length = np.concatenate((length, np.full(STEPS, calls * every + 60_000)))
    kind = np.concatenate((kind, np.full(STEPS, EventKind.RANGE, dtype=np.int64)))
    order = np.lexsort((-length, start))
    is_kernel = (kind == EventKind.KERNEL)[order]
    linked = np.isin(kind, (EventKind.LAUNCH, EventKind.KERNEL))[order]
    of = np.concatenate((np.tile(number, 4), np.zeros(STEPS, dtype=np.int64)))[order]
    nothing = np.zeros(order.size, dtype=np.int64)
    return Trace(
        names=tuple(names), name_id=name[order], kind=kind[order], start_ns=start[order], duration_ns=length[order],
        thread=np.where(is_kernel, 0, 100), device=nothing, stream=np.where(is_kernel, 7 + of % 2, 0),
        has_stream=is_kernel, correlation=np.where(linked, of + 1, 0), has_correlation=linked, detail_id=nothing,
        has_detail=np.zeros(order.size, dtype=np.bool_), details=(), base_ns=0, device_name="NVIDIA H200",
    )  # fmt: skip


def _page(arguments: argparse.Namespace) -> dict[str, Any]:
    begun = time.perf_counter()
    sides = tuple(
        Side(name, recording_of(made_trace(arguments.events, host_us=us), None), None)
        for name, us in (("before", 12.0), ("after", 8.0))
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
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "resident_mb": _resident_mb(),
    }
    return found | (_painted(app, arguments.browser) or {"painted": None})


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


def _large(events: int) -> dict[str, Any]:
    lanes = list(_large_lanes(events))
    times = []
    for start, end in _windows(max(int(lane.end_ns[-1]) for lane in lanes)):
        begun = time.perf_counter()
        for lane in lanes:
            marks(lane, shown(start, end, BINS))
        times.append((time.perf_counter() - begun) * 1e3)
    return {"server_ms": times, "lanes": len(lanes), "resident_mb": _resident_mb()}


def _large_lanes(events: int) -> Iterator[Lane]:
    """Ten lanes that share the events."""
    each = events // 10
    for number in range(10):
        start = np.arange(each, dtype=np.int64) * 5_000 + number
        length = 500 + (np.arange(each, dtype=np.int64) * (7919 + number)) % 4_000
        codes = np.zeros(each, dtype=np.uint8)
        yield lane_of(start, start + length, np.arange(each), codes, codes)


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


def _text(found: dict[str, Any], arguments: argparse.Namespace) -> str:
    page, large = found["page"], found["marks"]
    painted = page["painted"]
    rows = [
        ("server part of a zoom or pan, p95 (median)", _spread(page["server_ms"]), f"{TARGETS['server_ms']:.0f} ms"),
        ("server part with a new search, worst", f"{max(page['search_ms']):.0f} ms", "–"),
        ("longest answer", f"{page['bytes'] / 1e3:.0f} kB", f"{TARGETS['bytes'] / 1e3:.0f} kB"),
        ("memory held, both sides", f"{page['resident_mb']:.0f} MB", f"{TARGETS['memory_mb']:.0f} MB"),
        ("most memory while loading", f"{page['memory_mb']:.0f} MB", "–"),
        ("judging both sides, once", f"{page['judge_s']:.1f} s", "–"),
        ("making their lanes, once", f"{page['lanes_s']:.1f} s", "–"),
        (f"marks of {large['lanes']} lanes at {arguments.large:,} events, p95 (median)", _spread(large["server_ms"]),
         f"{TARGETS['large_ms']:.0f} ms"),
    ]  # fmt: skip
    if painted is not None:
        rows[:0] = [
            ("first paint after asking for the page, worst (median)",
             f"{max(painted['first_s']):.2f} s ({statistics.median(painted['first_s']):.2f})",
             f"{TARGETS['paint_s']} s"),
            ("zoom or pan to painted, p95 (median)", _spread(painted["move_ms"]), f"{TARGETS['zoom_ms']:.0f} ms"),
        ]  # fmt: skip
    else:
        rows.append(("painted part", "not measured: no Playwright or no Chromium here", "–"))
    table = "\n".join(f"| {what} | {measured} | {target} |" for what, measured, target in rows)
    return (
        "# The dashboard's timeline\n\n"
        f"Made by `python -m benchmarks.dashboard --events {arguments.events} --large {arguments.large}`: "
        f"{arguments.events:,} events a side, two sides, {BINS} pixels, {WINDOWS} windows from all of the trace to "
        "5 µs.\n\n"
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
        f"Python {platform.python_version()}, numpy {np.__version__}.\n\n"
        f"| | measured | target |\n|---|---|---|\n{table}\n"
    )


def _spread(values: list[float]) -> str:
    return f"{_p95(values):.0f} ms ({statistics.median(values):.0f})"


if __name__ == "__main__":
    sys.exit(main())
