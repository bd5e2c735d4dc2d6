"""Every command that is printed for the user to paste has its paths quoted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SHIPPED = ("analyzer", "collectors", "optimizers", "dashboard")
BEFORE_A_VALUE = re.compile(
    r"(?:(?:^|`)analyze|\banalyze (?:show|dashboard|compare|check|explain))(?: [a-z]+| [a-z_]+\.py| --[a-z-]+)*[ =]$"
)
"""The text before a value that is an argument of the command: `analyze dashboard `, `analyze model.py --out `."""
QUOTING = {"shell_word", "shell_path", "shell_command"}


def unquoted(source: str) -> Iterator[tuple[int, str]]:
    """The arguments of printed commands that nothing quotes, with their lines."""
    tree = ast.parse(source)
    quoted = set(_quoted_names(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        for text, value in zip(node.values, node.values[1:], strict=False):
            if not isinstance(text, ast.Constant) or not isinstance(value, ast.FormattedValue):
                continue
            call = value.value
            name = _called(call)
            is_quoted = name in QUOTING or (isinstance(call, ast.Name) and call.id in quoted)
            if BEFORE_A_VALUE.search(str(text.value)) and not is_quoted:
                yield value.lineno, ast.unparse(call)


def _quoted_names(tree: ast.Module) -> Iterator[str]:
    """The names that hold what was quoted: `folder = shell_path(target)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _called(node.value) in QUOTING:
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _called(value: ast.expr) -> str | None:
    return value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else None


@pytest.mark.parametrize("package", SHIPPED)
def test_no_argument_of_a_printed_command_is_bare(package: str, root: Path) -> None:
    found = [
        f"{path.relative_to(root)}:{line}: {value}"
        for path in sorted((root / package).rglob("*.py"))
        for line, value in unquoted(path.read_text())
    ]
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        'f"analyze dashboard {folder}"',
        'f"see `analyze show {run.path}`"',
        'f"Run `analyze model.py --out {folder}`."',
        'f"`analyze show {shell_path(a)}`, or `analyze dashboard {b}`"',
    ],
)
def test_a_bare_argument_is_found(source: str) -> None:
    assert len(list(unquoted(source))) == 1


@pytest.mark.parametrize(
    "source", ['f"analyze dashboard {shell_path(folder)}"', 'f"to analyze {name} is slow"', 'f"{count} runs"']
)
def test_what_is_quoted_or_no_command_is_not(source: str) -> None:
    assert not list(unquoted(source))
