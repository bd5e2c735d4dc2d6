"""Whether a container still holds what it held: by identity, and plain values by value. Reads no tensor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from collectors.data import PLAIN


def are_same_keys(left: Mapping[Any, object], right: Mapping[Any, object]) -> bool:
    """In one order too. Never by `==` of two keys that are not alike: of tensors that gives a tensor, or raises."""
    return left.keys() == right.keys() and [hash(key) for key in left] == [hash(key) for key in right]


def are_same(left: Iterable[object], right: Iterable[object]) -> bool:
    """Whether they hold the same objects, or plain values of one type that are equal, in one order."""
    pairs = list(left), list(right)
    return len(pairs[0]) == len(pairs[1]) and all(_is_same(a, b) for a, b in zip(*pairs, strict=True))


def _is_same(left: object, right: object) -> bool:
    return left is right or (isinstance(left, PLAIN) and type(left) is type(right) and left == right)
