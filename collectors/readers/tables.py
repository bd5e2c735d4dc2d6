"""The words that the columns of a file point to by number. They grow while it is read; nothing is taken out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from collectors.readers.details import NO_KERNEL_DETAIL, NO_OP_DETAIL, NO_WAIT_DETAIL, DetailText
from collectors.readers.dialects import Vocabulary, vocabulary_of
from collectors.readers.events import Scalar

ThreadKey = tuple[Scalar, Scalar]
"""A row's `pid` and `tid`, as the file has them."""
_Key = TypeVar("_Key", bound=Hashable)

NO_ID: Final = -1
"""Marks a missing value in the 32-bit columns that point into a table."""
_UNASKED: Final = -1
_MOST_CATEGORIES: Final = 1 << 12
"""Spellings that are remembered; a profiler has some twenty, and to ask again what one can say costs 20 µs."""


class Numbered(dict[_Key, int]):
    """Gives each key a number of its own, in the order in which they are first asked for."""

    __slots__ = ()

    def __missing__(self, key: _Key) -> int:
        self[key] = number = len(self)
        return number

    def of(self, keys: Sequence[_Key]) -> NDArray[np.int32]:
        """The number of each key: 0.06 to 0.1 µs, most of it the hash of a text that was just made."""
        return np.fromiter(map(self.__getitem__, keys), dtype=np.int32, count=len(keys))


class Details(Numbered[DetailText]):
    """Rows that say nothing of themselves get NO_ID, and are in no table."""

    __slots__ = ()
    _NOTHING: Final = (NO_OP_DETAIL, NO_KERNEL_DETAIL, NO_WAIT_DETAIL)

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(self._NOTHING, NO_ID))

    def __missing__(self, key: DetailText) -> int:
        self[key] = number = len(self) - len(self._NOTHING)
        return number

    def told(self) -> tuple[DetailText, ...]:
        """The texts that have a number, in its order."""
        return tuple(islice(self, len(self._NOTHING), None))


class Categories(dict[str, int]):
    """The number of the vocabulary of each category: there are some ten, however many spellings a file has."""

    __slots__ = ("vocabularies",)

    def __init__(self) -> None:
        super().__init__()
        self.vocabularies: Numbered[Vocabulary] = Numbered()

    def __missing__(self, category: str) -> int:
        if len(self) >= _MOST_CATEGORIES:
            self.clear()
        self[category] = number = self.vocabularies[vocabulary_of(category)]
        return number

    def of(self, categories: Sequence[str]) -> NDArray[np.int32]:
        return np.fromiter(map(self.__getitem__, categories), dtype=np.int32, count=len(categories))


@dataclass(slots=True)
class Tables:
    """Of one file, or of one stretch of it that a process of its own decodes."""

    categories: Categories = field(default_factory=Categories)
    names: Numbered[str] = field(default_factory=Numbered)
    threads: Numbered[ThreadKey] = field(default_factory=Numbered)
    details: Details = field(default_factory=Details)
    _kinds: NDArray[np.int8] = field(default_factory=lambda: np.full((1, 1), _UNASKED, dtype=np.int8))

    def kinds(self, vocabulary: NDArray[np.int32], name: NDArray[np.int32]) -> NDArray[np.int8]:
        """The kind of rows by the numbers of their vocabulary and name; the dialects are asked once a pair."""
        self._make_room()
        kinds = self._kinds[vocabulary, name]
        unasked = np.flatnonzero(kinds == _UNASKED)
        if unasked.size:
            names, vocabularies = tuple(self.names), tuple(self.categories.vocabularies)
            for v, n in set(zip(vocabulary[unasked].tolist(), name[unasked].tolist(), strict=True)):
                self._kinds[v, n] = vocabularies[v].kind_of(names[n])
            kinds = self._kinds[vocabulary, name]
        return kinds

    def _make_room(self) -> None:
        rows, width = self._kinds.shape
        wanted, names = len(self.categories.vocabularies), len(self.names)
        if wanted <= rows and names <= width:
            return
        # Doubled, so that a file of a million names copies each a few times, not with every stretch.
        larger = np.full((max(wanted, rows), width if names <= width else 2 * names), _UNASKED, dtype=np.int8)
        larger[:rows, :width] = self._kinds
        self._kinds = larger
