"""The user's line that is running now, read from the interpreter's own frames. Formats no traceback."""

from __future__ import annotations

import sys
from enum import IntEnum
from pathlib import Path
from types import CodeType
from typing import Final

import torch

from analyzer.core.graphs import SourceLine

_OURS: Final = str(Path(__file__).resolve().parent) + "/"
_TORCH: Final = str(Path(torch.__file__).resolve().parent) + "/"
_INSTALLED: Final = ("/site-packages/", "/dist-packages/")
_STANDARD: Final = "/lib/python3"


class _Home(IntEnum):
    """Whose a file is; the smaller is the better answer to where something happened."""

    ROOT = 0
    """Under the folder of the user's model."""
    OUTSIDE = 1
    """Neither installed nor part of Python: the user's, elsewhere."""
    PACKAGE = 2
    """An installed package, such as the one that holds a named model."""
    NOBODY = 3
    """Torch, Python or this package: never an answer."""


class Places:
    """Finds lines below the frame of `edge`, the function that runs the step; knows each code object after once."""

    def __init__(self, root: Path | None, edge: CodeType) -> None:
        self._root = root
        self._edge = edge
        self._homes: dict[CodeType, _Home] = {}
        self._lines: dict[tuple[CodeType, int], SourceLine] = {}

    def here(self) -> SourceLine | None:
        """The innermost frame of the user's; failing that, of an installed package other than torch; else None."""
        frame = sys._getframe(1)
        best, found = _Home.NOBODY, None
        while frame is not None and frame.f_code is not self._edge:
            code = frame.f_code
            home = self._homes.get(code)
            if home is None:
                home = self._homes[code] = self._home(code.co_filename)
            if home < best:
                best, found = home, frame
                if home is _Home.ROOT:
                    break
            frame = frame.f_back  # type: ignore[assignment]
        return None if found is None else self._line(found.f_code, found.f_lineno)

    def _line(self, code: CodeType, number: int) -> SourceLine:
        line = self._lines.get((code, number))
        if line is None:
            line = self._lines[code, number] = SourceLine(code.co_filename, number, code.co_name)
        return line

    def _home(self, file: str) -> _Home:
        if file.startswith("<") or file.startswith((_OURS, _TORCH)):
            return _Home.NOBODY
        is_installed = any(part in file for part in _INSTALLED)
        if self._root is not None and not is_installed and Path(file).is_relative_to(self._root):
            # Python may lie in the checkout too; the checkout may lie in a folder named like Python's.
            is_standard = _STANDARD in f"/{Path(file).relative_to(self._root)}"
            return _Home.NOBODY if is_standard else _Home.ROOT
        if is_installed:
            return _Home.NOBODY if "-packages/torch/" in file else _Home.PACKAGE
        return _Home.NOBODY if _STANDARD in file else _Home.OUTSIDE
