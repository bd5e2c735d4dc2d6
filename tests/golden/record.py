"""Makes a golden of a run folder that `analyze` wrote on a GPU: the traces, the report and the plan, paths shortened.

    python -m tests.golden.record RUN tests/golden/NAME

Nothing else is changed: folders of the machine that recorded are cut from file names, so that no golden names one.
A file of more than 100 KB is refused: record a smaller model.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 100_000
TRACES: Final = ("before.trace.json.gz", "after.trace.json.gz")
TEXTS: Final = ("report.json", "plan.json")

_PREFIXES: Final = (
    (re.compile(r"/[^\" ]*?/(?=site-packages/)"), ""),
    (re.compile(r"/[^\" ]*?/(?=torchinductor_)"), ""),
    (re.compile(r"/[^\" ]*?/(?=(?:collectors|analyzer|optimizers|examples)/)"), ""),
    (re.compile(r"/[^\" ]*?/(?=lib/python3)"), ""),
    (re.compile(r"analyze dashboard [^\" ]+"), "analyze dashboard RUN"),
)
# The rows of one recording repeat the same few names; these say where it ran, and nobody reads them.
_DROPPED_KEYS: Final = ("traceName", "hostname")


def main(run: Path, golden: Path) -> None:
    """Copy the run folder's files into `golden`, shortened. Raises ValueError where one is too large."""
    golden.mkdir(parents=True, exist_ok=True)
    for name in TRACES:
        if (run / name).exists():
            trace = json.loads(gzip.decompress((run / name).read_bytes()))
            for key in _DROPPED_KEYS:
                trace.pop(key, None)
            text = shortened(json.dumps(trace, separators=(",", ":")))
            _write(golden / name, gzip.compress(text.encode(), mtime=0))
    for name in TEXTS:
        if (run / name).exists():
            _write(golden / name, shortened((run / name).read_text()).encode())


def shortened(text: str) -> str:
    """The text without the folders of the machine that recorded it."""
    for pattern, replacement in _PREFIXES:
        text = pattern.sub(replacement, text)
    return text


def _write(path: Path, data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise ValueError(f"{path.name} has {len(data)} bytes, {MAX_BYTES} are allowed: record a smaller model")
    path.write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
