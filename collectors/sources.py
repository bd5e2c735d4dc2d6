"""Where in the user's code something happened, from the stacks that torch keeps as text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from torch.fx import GraphModule, Node

from analyzer.core.graphs import SourceLine

_FRAME: Final = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>[^\n]+))?')
_RESUMED: Final = re.compile(r"^torch_dynamo_resume_in_(?P<name>\w+)_at_\d+$")
"""What Dynamo calls the rest of a function behind a graph break; the number is a line, and changes with every edit."""
_INSTALLED: Final = ("/site-packages/", "/dist-packages/")
_STANDARD: Final = "/lib/python3"
_LIBRARY_PARTS: Final = ("/torch/", *_INSTALLED, _STANDARD)
_OURS: Final = tuple(f"{Path(__file__).resolve().parents[1] / name}/" for name in ("analyzer", "collectors"))
"""Torch's stacks begin above the compiled function, with our own frames that run the step."""


def frames(stack: str) -> tuple[SourceLine, ...]:
    """The frames of a formatted Python stack, outermost first."""
    return tuple(
        SourceLine(m["file"], int(m["line"]), function_name(m["function"]) if m["function"] else None)
        for m in _FRAME.finditer(stack)
    )


def function_name(name: str) -> str:
    """As the user wrote it, where Dynamo resumes the function behind a graph break."""
    return _RESUMED.sub(r"\g<name>", name)


def user_line(stack: Iterable[SourceLine], root: Path | None) -> SourceLine | None:
    """The innermost frame under `root`, what is installed there aside; failing that, the innermost one outside torch
    and installed packages; failing that, the innermost of all. None for a stack without a frame but ours.
    """
    inner_first = tuple(frame for frame in stack if not is_ours(frame.file))[::-1]
    if root is not None:
        under = next((f for f in inner_first if _is_under(f.file, root)), None)
        if under is not None:
            return under
    # `<string>` is the command line of a `python -c` that started the program: nobody can open it.
    named = (f for f in inner_first if not f.file.startswith("<"))
    outside = next((f for f in named if not any(part in f.file for part in _LIBRARY_PARTS)), None)
    return outside or (inner_first[0] if inner_first else None)


def is_ours(file: str) -> bool:
    """Whether it is a file of Graphbound that runs a step."""
    return file.startswith(_OURS)


def is_standard(file: str) -> bool:
    """Whether it is of Python's own library, installed packages aside."""
    return _STANDARD in file and not any(part in file for part in _INSTALLED)


def _is_under(file: str, root: Path) -> bool:
    if file.startswith("<") or any(part in file for part in _INSTALLED) or not Path(file).is_relative_to(root):
        return False
    # Python may lie in the checkout too.
    return _STANDARD not in f"/{Path(file).relative_to(root)}"


def graph_lines(gm: GraphModule, root: Path | None) -> tuple[SourceLine, ...]:
    """The user's lines a graph covers, each once, in order of execution."""
    seen: dict[SourceLine, None] = {}
    for node in gm.graph.nodes:
        line = node_line(node, root)
        if line is not None:
            seen.setdefault(line)
    return tuple(seen)


def node_line(node: Node, root: Path | None) -> SourceLine | None:
    """The user's line that a node of a graph comes from; None where torch noted none."""
    stack = node.meta.get("stack_trace") or node.stack_trace
    return user_line(frames(stack), root) if stack else None
