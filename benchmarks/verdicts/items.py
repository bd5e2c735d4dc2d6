"""Every item, in the order in which they are run. ITEMS is the explicit list."""

from __future__ import annotations

from typing import Final

from benchmarks.verdicts.item import Item
from benchmarks.verdicts.items_compiled import COMPILED
from benchmarks.verdicts.items_matmul import ATTENTIONS, CONVOLUTIONS, MATMULS
from benchmarks.verdicts.items_memory import COPIES, ELEMENTWISE, NORMS, REDUCTIONS, ROWS, SOFTMAXES

ITEMS: Final[tuple[Item, ...]] = (
    *MATMULS,
    *CONVOLUTIONS,
    *ATTENTIONS,
    *NORMS,
    *SOFTMAXES,
    *ELEMENTWISE,
    *REDUCTIONS,
    *ROWS,
    *COPIES,
    *COMPILED,
)
"""The compiled ones stand last: a run that ends early has the library's kernels."""


def by_name(name: str) -> Item:
    """The item of this name. Raises KeyError where there is none."""
    found = next((item for item in ITEMS if item.name == name), None)
    if found is None:
        raise KeyError(name)
    return found
