"""Reads the CSV that Nsight Compute prints: the raw page (a launch a row) or the details page (a metric a row)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Final

from benchmarks.verdicts.recorded import KernelCounters

RANGE_PREFIX: Final = "verdicts:item:"
"""What the NVTX range around an item is called, before the item's name."""

_RANGE: Final = re.compile(rf"{RANGE_PREFIX}(?P<item>[\w.]+)")

TIME: Final = "gpu__time_duration.sum"
SM: Final = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY: Final = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
DRAM: Final = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
DRAM_READ: Final = "dram__bytes_read.sum"
DRAM_WRITE: Final = "dram__bytes_write.sum"
L2: Final = "lts__t_bytes.sum"
GRID: Final = "launch__grid_size"
WAVES: Final = "launch__waves_per_multiprocessor"
TENSOR: Final = (
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed",
)
"""Its name differs by generation; the first that the chip has is taken."""

METRICS: Final = (TIME, SM, MEMORY, DRAM, DRAM_READ, DRAM_WRITE, L2, GRID, WAVES)

_SCALE: Final[dict[str, float]] = {
    "": 1.0,
    "%": 1.0,
    "ns": 1.0,
    "nsecond": 1.0,
    "us": 1e3,
    "usecond": 1e3,
    "ms": 1e6,
    "msecond": 1e6,
    "s": 1e9,
    "second": 1e9,
    "byte": 1.0,
    "kbyte": 1e3,
    "mbyte": 1e6,
    "gbyte": 1e9,
    "tbyte": 1e12,
}
"""To ns, bytes and percent. ncu's K, M and G are powers of ten."""

_COLUMN: Final[dict[str, str]] = {
    TIME: "ns",
    SM: "sm_percent",
    MEMORY: "memory_percent",
    DRAM: "dram_percent",
    DRAM_READ: "dram_read_bytes",
    DRAM_WRITE: "dram_write_bytes",
    L2: "l2_bytes",
    GRID: "grid",
    WAVES: "waves",
    **dict.fromkeys(TENSOR, "tensor_percent"),
}


def read_counters(text: str, *, run: str, is_cold: bool) -> tuple[KernelCounters, ...]:
    """The launches in `ncu`'s output, in order; lines of its own (`==PROF==`) and of the program are passed over.

    A rate of an unknown unit is None: a number of an unknown size is worse than none.
    """
    rows = _rows(text)
    header = next(rows, None)
    if header is None:
        return ()
    if "Metric Name" in header:
        return _by_metric(header, rows, run, is_cold)
    return _by_launch(header, rows, run, is_cold)


def _rows(text: str) -> Iterator[list[str]]:
    """From the header on; ncu's own messages may stand between the rows."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith(('"ID",', "ID,"))), len(lines))
    wanted = (line for line in lines[start:] if line and not line.startswith("=="))
    return csv.reader(wanted)


def number(text: str) -> float | None:
    """`1,234.5` → 1234.5; None for `n/a`, `nan`, an empty cell and whatever else is no finite number."""
    try:
        value = float(text.replace(",", "").strip())
    except ValueError:
        return None
    return value if value == value and abs(value) != float("inf") else None


def _by_launch(header: list[str], rows: Iterator[list[str]], run: str, is_cold: bool) -> tuple[KernelCounters, ...]:
    """The row under the header holds the units: it alone has no number in its first cell."""
    units = [""] * len(header)
    found: list[KernelCounters] = []
    for row in rows:
        if len(row) != len(header):
            continue  # cut by an early end
        if not row[0].strip().isdecimal():
            units = row
            continue
        values = {
            _COLUMN[name]: scaled
            for name, unit, cell in zip(header, units, row, strict=True)
            if name in _COLUMN and (scaled := _scaled(cell, unit)) is not None
        }
        place = (run, len(found), row[header.index("Kernel Name")], _item(row), is_cold)
        found.append(KernelCounters(*place, **values))
    return tuple(found)


def _by_metric(header: list[str], rows: Iterator[list[str]], run: str, is_cold: bool) -> tuple[KernelCounters, ...]:
    at = {name: i for i, name in enumerate(header)}
    kernels: dict[str, tuple[str, str | None]] = {}
    values: dict[str, dict[str, float]] = {}
    for row in rows:
        if len(row) != len(header) or not row[0].strip().isdecimal():
            continue
        kernels.setdefault(row[0], (row[at["Kernel Name"]], _item(row)))
        own = values.setdefault(row[0], {})
        column = _COLUMN.get(row[at["Metric Name"]])
        scaled = _scaled(row[at["Metric Value"]], row[at["Metric Unit"]])
        if column is not None and scaled is not None:
            own[column] = scaled
    return tuple(
        KernelCounters(run, order, kernel, item, is_cold, **values[launch])
        for order, (launch, (kernel, item)) in enumerate(kernels.items())
    )


def _scaled(cell: str, unit: str) -> float | None:
    value, scale = number(cell), _SCALE.get(unit.strip().lower())
    # Counts have units of their own (`block`), which need no scale.
    return None if value is None else value * scale if scale is not None else (value if "/" not in unit else None)


def _item(row: list[str]) -> str | None:
    """The NVTX range, in whichever column this release puts it."""
    found = next((match for cell in row if (match := _RANGE.search(cell)) is not None), None)
    return found["item"] if found is not None else None
