"""The traces that others published, which lie beside the checkout on some machines only. Each is read once a run."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from analyzer.core.trace import Trace
from collectors.readers.kineto import read_trace

FOLDER = Path(__file__).parents[2] / "shared" / "traces"


@cache
def public_trace(name: str) -> Trace:
    """The trace of this path in the collection; the test is skipped where it is absent."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip("the collection of public traces is not here")
    return read_trace(path)
