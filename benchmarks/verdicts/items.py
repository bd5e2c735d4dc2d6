"""Every item, in the order in which they are run. ITEMS and those of HELD_OUT, THIRD, FOURTH and FIFTH are the lists.

The constants of our roofs were chosen on what was counted of ITEMS. The three sets after it showed which formulas were
missing; FIFTH_ITEMS say how well all of it holds for others.
"""

from __future__ import annotations

from typing import Final, assert_never

from benchmarks.verdicts.item import Item
from benchmarks.verdicts.items_compiled import COMPILED
from benchmarks.verdicts.items_fifth_compiled import FIFTH_COMPILED
from benchmarks.verdicts.items_fifth_matmul import FIFTH_ATTENTIONS, FIFTH_CONVOLUTIONS, FIFTH_MATMULS
from benchmarks.verdicts.items_fifth_memory import (
    FIFTH_COPIES,
    FIFTH_ELEMENTWISE,
    FIFTH_NORMS,
    FIFTH_REDUCTIONS,
    FIFTH_ROWS,
    FIFTH_SOFTMAXES,
)
from benchmarks.verdicts.items_fourth_compiled import FOURTH_COMPILED
from benchmarks.verdicts.items_fourth_matmul import FOURTH_ATTENTIONS, FOURTH_CONVOLUTIONS, FOURTH_MATMULS
from benchmarks.verdicts.items_fourth_memory import (
    FOURTH_COPIES,
    FOURTH_ELEMENTWISE,
    FOURTH_NORMS,
    FOURTH_REDUCTIONS,
    FOURTH_ROWS,
    FOURTH_SOFTMAXES,
)
from benchmarks.verdicts.items_held_out_compiled import HELD_OUT_COMPILED
from benchmarks.verdicts.items_held_out_matmul import HELD_OUT_ATTENTIONS, HELD_OUT_CONVOLUTIONS, HELD_OUT_MATMULS
from benchmarks.verdicts.items_held_out_memory import (
    HELD_OUT_COPIES,
    HELD_OUT_ELEMENTWISE,
    HELD_OUT_NORMS,
    HELD_OUT_REDUCTIONS,
    HELD_OUT_ROWS,
    HELD_OUT_SOFTMAXES,
)
from benchmarks.verdicts.items_matmul import ATTENTIONS, CONVOLUTIONS, MATMULS
from benchmarks.verdicts.items_memory import COPIES, ELEMENTWISE, NORMS, REDUCTIONS, ROWS, SOFTMAXES
from benchmarks.verdicts.items_third_compiled import THIRD_COMPILED
from benchmarks.verdicts.items_third_matmul import THIRD_ATTENTIONS, THIRD_CONVOLUTIONS, THIRD_MATMULS
from benchmarks.verdicts.items_third_memory import (
    THIRD_COPIES,
    THIRD_ELEMENTWISE,
    THIRD_NORMS,
    THIRD_REDUCTIONS,
    THIRD_ROWS,
    THIRD_SOFTMAXES,
)
from benchmarks.verdicts.recorded import ItemSet

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

HELD_OUT_ITEMS: Final[tuple[Item, ...]] = (
    *HELD_OUT_MATMULS,
    *HELD_OUT_CONVOLUTIONS,
    *HELD_OUT_ATTENTIONS,
    *HELD_OUT_NORMS,
    *HELD_OUT_SOFTMAXES,
    *HELD_OUT_ELEMENTWISE,
    *HELD_OUT_REDUCTIONS,
    *HELD_OUT_ROWS,
    *HELD_OUT_COPIES,
    *HELD_OUT_COMPILED,
)

THIRD_ITEMS: Final[tuple[Item, ...]] = (
    *THIRD_MATMULS,
    *THIRD_CONVOLUTIONS,
    *THIRD_ATTENTIONS,
    *THIRD_NORMS,
    *THIRD_SOFTMAXES,
    *THIRD_ELEMENTWISE,
    *THIRD_REDUCTIONS,
    *THIRD_ROWS,
    *THIRD_COPIES,
    *THIRD_COMPILED,
)

FOURTH_ITEMS: Final[tuple[Item, ...]] = (
    *FOURTH_MATMULS,
    *FOURTH_CONVOLUTIONS,
    *FOURTH_ATTENTIONS,
    *FOURTH_NORMS,
    *FOURTH_SOFTMAXES,
    *FOURTH_ELEMENTWISE,
    *FOURTH_REDUCTIONS,
    *FOURTH_ROWS,
    *FOURTH_COPIES,
    *FOURTH_COMPILED,
)
FIFTH_ITEMS: Final[tuple[Item, ...]] = (
    *FIFTH_MATMULS,
    *FIFTH_CONVOLUTIONS,
    *FIFTH_ATTENTIONS,
    *FIFTH_NORMS,
    *FIFTH_SOFTMAXES,
    *FIFTH_ELEMENTWISE,
    *FIFTH_REDUCTIONS,
    *FIFTH_ROWS,
    *FIFTH_COPIES,
    *FIFTH_COMPILED,
)


def items_of(which: ItemSet) -> tuple[Item, ...]:
    match which:
        case ItemSet.FIRST:
            return ITEMS
        case ItemSet.HELD_OUT:
            return HELD_OUT_ITEMS
        case ItemSet.THIRD:
            return THIRD_ITEMS
        case ItemSet.FOURTH:
            return FOURTH_ITEMS
        case ItemSet.FIFTH:
            return FIFTH_ITEMS
        case _:
            assert_never(which)


def by_name(name: str) -> Item:
    """The item of this name, of whichever set. Raises KeyError where there is none."""
    found = next((item for which in ItemSet for item in items_of(which) if item.name == name), None)
    if found is None:
        raise KeyError(name)
    return found
