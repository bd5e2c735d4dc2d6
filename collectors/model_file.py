"""What can be said of the user's file by its path alone. Imports no torch: a typing error is told at once."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from analyzer.core.errors import UsageError

_NAMES_SHOWN: Final = 5


def is_path(target: str) -> bool:
    """Whether a target is a file, not a named model (`timm:NAME`)."""
    return target.endswith(".py") or ":" not in target


def require_model_file(path: Path) -> None:
    """Raises UsageError, with what may have been meant, unless there is a Python file."""
    shown = display_path(path)
    if path.is_dir():
        raise UsageError(f"{shown} is a folder", hint=_files_hint(path) or "name a Python file")
    if not path.exists():
        beside = [p.name for p in path.parent.glob("*.py")] if path.parent.is_dir() else []
        hint = close_matches(path.name, beside) or _files_hint(path.parent)
        raise UsageError(f"no such file: {path}", hint=hint or "the folder has no Python file")
    if path.suffix != ".py":
        raise UsageError(f"{shown} is no Python file", hint="a model file ends in .py, a trace in .json or .json.gz")


def close_matches(name: str, names: Sequence[str]) -> str | None:
    """A hint naming what the user may have meant, None when nothing is near."""
    near = difflib.get_close_matches(name, names, n=_NAMES_SHOWN, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else None


def display_path(path: Path) -> str:
    """`path` as a person would type it: relative where it lies under the working directory."""
    try:
        return str(path.resolve().relative_to(Path.cwd().resolve()))
    except (ValueError, OSError, RuntimeError):  # RuntimeError: links in a circle, before Python 3.13
        return str(path)


def _files_hint(folder: Path) -> str | None:
    names = sorted(p.name for p in folder.glob("*.py")) if folder.is_dir() else []
    more = ", …" if len(names) > _NAMES_SHOWN else ""
    return f"its Python files: {', '.join(names[:_NAMES_SHOWN])}{more}" if names else None
