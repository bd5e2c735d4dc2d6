"""Measures the device in a process of its own: `python -m benchmarks.verdicts.measuring --device cuda --out FILE`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.verdicts.recorded import Machine
from benchmarks.verdicts.store import today, write
from collectors.device import measure_device
from collectors.versions import versions


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    write(Machine(measure_device(arguments.device), versions(), today()), arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
