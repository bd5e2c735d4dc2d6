"""Makes a golden of a run folder that `analyze` wrote on a GPU: the traces, the report and the plan, paths shortened.

    python -m tests.golden.record RUN tests/golden/NAME [--steps N]

Nothing else is changed: folders of the machine that recorded are cut from file names, and what still names one is
refused, so that no golden does; and what is indented is written without. With `--steps` only the first N recorded steps
are kept: their rows on the host and what these launched. A file of more than 100 KB is refused: record a smaller model.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from pathlib import Path
from typing import Any, Final

MAX_BYTES: Final = 100_000
TRACES: Final = ("before.trace.json.gz", "after.trace.json.gz")
TEXTS: Final = ("report.json", "plan.json")

_PREFIXES: Final = (
    (re.compile(r"/[^\" ]*?/(?=(?:inductor|benchmarks)/)"), ""),
    (re.compile(r"/[^\" ]*?/(?=site-packages/)"), ""),
    (re.compile(r"/[^\" ]*?/(?=torchinductor_)"), ""),
    (re.compile(r"/[^\" ]*?/(?=(?P<cache>[a-z0-9]{2})/c(?P=cache)[a-z0-9]+\.py)"), ""),
    (re.compile(r"/[^\" ]*?/(?=(?:collectors|analyzer|optimizers|examples)/)"), ""),
    (re.compile(r"/[^\" ]*?/(?=lib/python3)"), ""),
    (re.compile(r"analyze dashboard [^\" ]+"), "analyze dashboard RUN"),
)
FOLDER_OF_A_MACHINE: Final = re.compile(r"(?<![\w.)\]>*<-])/(?:[\w.@+-]+/)+[\w.@+-]*")
"""An absolute path of two names or more: not `a/b/c`, nor what kernels and URLs have slashes for."""
_DROPPED_KEYS: Final = ("traceName", "hostname", "trace_id")
"""What a trace says of where and when it ran, and nobody reads."""


def main(run: Path, golden: Path, steps: int | None = None) -> None:
    """Copy the run folder's files into `golden`, shortened.

    Raises ValueError where one is too large, or still names a folder.
    """
    golden.mkdir(parents=True, exist_ok=True)
    for name in TRACES:
        if (run / name).exists():
            trace = unplaced((run / name).read_bytes())
            if steps is not None:
                trace["traceEvents"] = first_steps(trace["traceEvents"], steps)
            write_packed(golden / name, json.dumps(trace, separators=(",", ":")))
    for name in TEXTS:
        if (run / name).exists():
            text = json.dumps(json.loads((run / name).read_text()), separators=(",", ":"), ensure_ascii=False)
            _write(golden / name, f"{shortened(text)}\n".encode())


def unplaced(packed: bytes) -> dict[str, Any]:
    """The trace in this `.json.gz`, without what says where it ran."""
    trace: dict[str, Any] = json.loads(gzip.decompress(packed))
    return {key: value for key, value in trace.items() if key not in _DROPPED_KEYS}


def first_steps(events: list[dict[str, Any]], steps: int) -> list[dict[str, Any]]:
    """The metadata, the rows of the host inside the first steps, and the rows and arrows of what was launched there."""
    marks = [e for e in events if e.get("cat") == "user_annotation" and str(e.get("name")).startswith("ProfilerStep#")]
    kept = sorted(marks, key=lambda mark: float(mark["ts"]))[:steps]
    start, end = float(kept[0]["ts"]), float(kept[-1]["ts"]) + float(kept[-1]["dur"])
    inside = [e for e in events if e.get("ph") == "X" and not _is_device(e) and start <= float(e["ts"]) <= end]
    ours = {id(event) for event in inside}
    launched = {e["args"]["correlation"] for e in inside if "correlation" in e.get("args", {})}
    names = {e["name"] for e in inside}
    return [
        event
        for event in events
        if event.get("ph") == "M"
        or id(event) in ours
        or (event.get("ph") in ("s", "f") and event.get("id") in launched)
        or (_is_device(event) and _is_of(event, launched, names, (start, end)))
    ]


def _is_device(event: dict[str, Any]) -> bool:
    return event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")


def _is_of(event: dict[str, Any], launched: set[Any], names: set[str], step: tuple[float, float]) -> bool:
    if event["cat"] == "gpu_user_annotation":
        return event["name"] in names and step[0] <= float(event["ts"]) <= step[1]
    return event.get("args", {}).get("correlation") in launched


def shortened(text: str) -> str:
    """The text without the folders of the machine that recorded it. Raises ValueError where one is left."""
    for pattern, replacement in _PREFIXES:
        text = pattern.sub(replacement, text)
    left = FOLDER_OF_A_MACHINE.search(text)
    if left is not None:
        raise ValueError(f"it still names a folder, {left[0]}: what it is known by goes into _PREFIXES")
    return text


def write_packed(path: Path, text: str) -> None:
    """The text, shortened and compressed. Raises ValueError where it is too large."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, gzip.compress(shortened(text).encode(), mtime=0))


def _write(path: Path, data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise ValueError(f"{path.name} has {len(data)} bytes, {MAX_BYTES} are allowed: record a smaller model")
    path.write_bytes(data)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("golden", type=Path)
    parser.add_argument("--steps", type=int)
    main(**vars(parser.parse_args()))
