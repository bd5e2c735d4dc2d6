"""Where in the user's code something happened, from the stacks that torch keeps as text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from torch.fx import GraphModule

from analyzer.core.graphs import SourceLine

_FRAME: Final = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>[^\n]+))?')
_LIBRARY_PARTS: Final = ("/torch/", "/site-packages/", "/dist-packages/", "/lib/python3")


def frames(stack: str) -> tuple[SourceLine, ...]:
    """The frames of a formatted Python stack, outermost first."""
    return tuple(SourceLine(m["file"], int(m["line"]), m["function"]) for m in _FRAME.finditer(stack))


def user_line(stack: Iterable[SourceLine], root: Path | None) -> SourceLine | None:
    """The innermost frame under `root`; failing that, the innermost one outside torch and installed packages;
    failing that, the innermost of all. None for an empty stack.
    """
    inner_first = tuple(stack)[::-1]
    if root is not None:
        under = next((f for f in inner_first if _is_under(f.file, root)), None)
        if under is not None:
            return under
    outside = next((f for f in inner_first if not any(part in f.file for part in _LIBRARY_PARTS)), None)
    return outside or (inner_first[0] if inner_first else None)


def _is_under(file: str, root: Path) -> bool:
    return not file.startswith("<") and Path(file).is_relative_to(root) and "/site-packages/" not in file


def graph_lines(gm: GraphModule, root: Path | None) -> tuple[SourceLine, ...]:
    """The user's lines a graph covers, each once, in order of execution."""
    seen: dict[SourceLine, None] = {}
    for node in gm.graph.nodes:
        stack = node.meta.get("stack_trace") or node.stack_trace
        line = user_line(frames(stack), root) if stack else None
        if line is not None:
            seen.setdefault(line)
    return tuple(seen)
