"""The countable points of how the code reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SHIPPED = ("analyzer", "collectors", "optimizers", "dashboard")

MODULE_LINES = 400
FUNCTION_LINES = 60
"""About 40 is the aim; this catches what has run away."""
PARAMETERS = 7
"""Six is the aim. Workload.of has seven, for it is the one call that a notebook makes with everything it has."""

PRINTERS = (
    "analyzer/cli.py",
    "analyzer/commands/",
    "analyzer/doctor.py",
    "analyzer/progress.py",
    "analyzer/child.py",
    "dashboard/app.py",
)
"""Where something may be printed: analysis never prints."""


def modules() -> Iterator[Path]:
    root = Path(__file__).resolve().parents[2]
    for package in SHIPPED:
        yield from (path.relative_to(root) for path in sorted((root / package).rglob("*.py")))


@pytest.fixture(params=[str(p) for p in modules()])
def module(request: pytest.FixtureRequest, root: Path) -> tuple[str, str, ast.Module]:
    source = (root / request.param).read_text()
    return request.param, source, ast.parse(source)


def test_a_module_is_short_and_says_what_it_is_for(module: tuple[str, str, ast.Module]) -> None:
    _, source, tree = module
    assert source.count("\n") <= MODULE_LINES
    assert ast.get_docstring(tree)


def test_functions_are_short_and_take_few_parameters(module: tuple[str, str, ast.Module]) -> None:
    for node in ast.walk(module[2]):
        if isinstance(node, ast.FunctionDef):
            taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            own = [a for a in taken if a.arg not in ("self", "cls")]
            assert (node.end_lineno or 0) - node.lineno < FUNCTION_LINES, node.name
            assert len(own) <= PARAMETERS, node.name


def test_analysis_does_not_print(module: tuple[str, str, ast.Module]) -> None:
    name, _, tree = module
    if name.startswith(PRINTERS):
        return
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    assert not [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]


def test_imports_are_absolute(module: tuple[str, str, ast.Module]) -> None:
    assert not [n.lineno for n in ast.walk(module[2]) if isinstance(n, ast.ImportFrom) and n.level]
