"""Pairs the kernels of two processes that ran the same items: by item, name and order."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from benchmarks.verdicts.recorded import KernelCounters

_TEMPLATE: Final = re.compile(r"<[^<>]*>")
_ARGUMENTS: Final = re.compile(r"\([^()]*\)")


@dataclass(frozen=True, slots=True)
class Pair:
    """`traced` indexes the item's kernels in the profiled process."""

    item: str
    traced: int
    counted: KernelCounters


def base_name(kernel: str) -> str:
    """The function's own name: tools print template and call arguments, `void` and namespaces differently."""
    text = kernel.replace("(anonymous namespace)::", "")
    for pattern in (_TEMPLATE, _ARGUMENTS):
        while True:
            shorter = pattern.sub("", text)
            if shorter == text:
                break
            text = shorter
    words = text.split()
    return words[-1].rsplit("::", 1)[-1] if words else kernel


def match(kernels: Mapping[str, Sequence[str]], counted: Sequence[KernelCounters]) -> tuple[Pair, ...]:
    """`kernels` are the names of each item's kernels in order. An item counted twice keeps its first run.

    Counters without an item (their release prints no ranges) are laid along the items of their run in order.
    """
    pairs: list[Pair] = []
    for item, own in _by_item(kernels, counted).items():
        names = kernels.get(item, ())
        pairs += [Pair(item, i, own[j]) for i, j in _aligned(names, [c.kernel for c in own])]
    return tuple(pairs)


def _by_item(
    kernels: Mapping[str, Sequence[str]], counted: Sequence[KernelCounters]
) -> dict[str, list[KernelCounters]]:
    found: dict[str, dict[str, list[KernelCounters]]] = defaultdict(lambda: defaultdict(list))
    for one in counted:
        if one.item is not None:
            found[one.item][one.run].append(one)
    ranged = {item: runs[next(iter(runs))] for item, runs in found.items()}
    return ranged | _laid_along(kernels, [c for c in counted if c.item is None], set(ranged))


def _laid_along(
    kernels: Mapping[str, Sequence[str]], counted: Sequence[KernelCounters], known: set[str]
) -> dict[str, list[KernelCounters]]:
    """Unnamed launches: an item takes the next ones where their names are its own, in any order of the items."""
    found: dict[str, list[KernelCounters]] = {}
    wanted = {i: [base_name(n) for n in names] for i, names in kernels.items() if names and i not in known}
    at = 0
    while at < len(counted):
        ahead = [base_name(c.kernel) for c in counted[at:]]
        fitting = [i for i, names in wanted.items() if ahead[: len(names)] == names]
        if len(fitting) != 1:
            # None, or several that look alike: which one it was cannot be said.
            at += 1
            continue
        own = fitting[0]
        found[own] = list(counted[at : at + len(wanted[own])])
        at += len(wanted.pop(own))
    return found


def _aligned(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    a, b = [base_name(n) for n in left], [base_name(n) for n in right]
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return [(block.a + i, block.b + i) for block in blocks for i in range(block.size)]
