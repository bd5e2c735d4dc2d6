"""Takes from our own modules the text that a file without them needs: some definitions, and all they refer to."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from analyzer.core.errors import InternalError

OWN: Final = ("analyzer", "collectors", "optimizers")


@dataclass(frozen=True, slots=True)
class Gathered:
    """`imports` are what `text` needs, as (module, name or None); `text` are the definitions, each after those that
    it refers to; `names` are theirs.
    """

    imports: frozenset[tuple[str, str | None]]
    text: str
    names: frozenset[str]


def gathered(
    roots: Sequence[tuple[str, str]], given: Collection[str] = (), instead: Mapping[str, str] | None = None
) -> Gathered:
    """The definitions `roots`, as (module, name), with everything of our modules that they refer to.

    Names in `given` are defined by whoever uses the text; for those in `instead` the text there stands in place of
    their own, as if it stood in their module. Raises InternalError where two different definitions have one name, or
    a definition hides an import of ours inside a function.
    """
    gathering = _Gathering(frozenset(given), dict(instead or {}))
    for module, name in roots:
        gathering.take(module, name)
    return Gathered(frozenset(gathering.imports), "\n\n\n".join(gathering.texts), frozenset(gathering.homes))


def import_block(imports: Collection[tuple[str, str | None]]) -> str:
    """The lines of these imports as ruff sorts them: the standard library before torch, whole modules before names."""
    names: dict[str, list[str]] = {}
    for origin, name in sorted(imports, key=str):
        if name is not None:
            names.setdefault(origin, []).append(name)
    lines = [f"import {origin}" for origin, name in imports if name is None]
    lines += [f"from {origin} import {', '.join(found)}" for origin, found in names.items()]
    groups = [[line for line in sorted(lines, key=_kind) if _is_torchs(line) is of_torch] for of_torch in (False, True)]
    return "\n\n".join("\n".join(group) for group in groups if group)


def _kind(line: str) -> tuple[bool, str]:
    return line.startswith("from "), line


def _is_torchs(line: str) -> bool:
    return line.split()[1].partition(".")[0] == "torch"


@dataclass(frozen=True, slots=True)
class _Module:
    """A module's source lines, its definitions by name and what it imports: a local name → (module, name or None)."""

    name: str
    lines: tuple[str, ...]
    definitions: dict[str, tuple[ast.stmt, ...]]
    imports: dict[str, tuple[str, str | None]]
    dotted: tuple[str, ...]
    """What it imports as `import a.b.c`."""


@dataclass(slots=True)
class _Gathering:
    given: frozenset[str]
    instead: dict[str, str]
    imports: set[tuple[str, str | None]] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    homes: dict[str, str] = field(default_factory=dict)

    def take(self, module_name: str, name: str) -> None:
        """Add the definition `name` of a module, what it refers to first."""
        module_name = _home(module_name, name)
        if name in self.given or self.homes.get(name) == module_name:
            return
        if name in self.homes:
            raise InternalError(f"{self.homes[name]} and {module_name} both define {name}: one has to be renamed")
        self.homes[name] = module_name
        module = _read(module_name)
        text = self.instead.get(name)
        statements = module.definitions[name] if text is None else tuple(ast.parse(text).body)
        aliases: set[str] = set()
        for used, attribute in _references(statements):
            aliases |= self._refer(module, used, attribute)
        self.texts.append(_without_aliases(_text(module, statements) if text is None else text, aliases))

    def _refer(self, module: _Module, used: str, dotted: str) -> set[str]:
        """Follow one name; returns it where it is one of our modules, whose name is then left out of the text."""
        if used in module.definitions:
            self.take(module.name, used)
            return set()
        if used not in module.imports:
            return set()
        origin, name = module.imports[used]
        if origin.partition(".")[0] not in OWN:
            self._import(module, used, origin, name, dotted)
            return set()
        if name is not None and _is_module(f"{origin}.{name}"):
            _, _, attribute = dotted.partition(".")
            self.take(f"{origin}.{name}", attribute.partition(".")[0])
            return {used}
        if name != used:
            raise InternalError(f"{module.name} imports {origin}.{name} under the name {used}")
        self.take(origin, used)
        return set()

    def _import(self, module: _Module, used: str, origin: str, name: str | None, dotted: str) -> None:
        if name is not None:
            self.imports.add((origin, name if name == used else f"{name} as {used}"))
            return
        wanted = [path for path in module.dotted if path == used or f"{dotted}.".startswith(f"{path}.")]
        self.imports |= {(path, None) for path in wanted or (origin,)}


def _home(module_name: str, name: str) -> str:
    """The module that defines what this one, a package perhaps, hands on under the same name."""
    module = _read(module_name)
    origin, original = module.imports.get(name, ("", None))
    is_handed_on = name not in module.definitions and original == name and origin.partition(".")[0] in OWN
    return _home(origin, name) if is_handed_on else module_name


@lru_cache(maxsize=64)
def _read(name: str) -> _Module:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise InternalError(f"the source of {name} is not there")
    source = Path(spec.origin).read_text(encoding="utf-8")
    definitions: dict[str, tuple[ast.stmt, ...]] = {}
    imports: dict[str, tuple[str, str | None]] = {}
    dotted: list[str] = []
    last: str | None = None
    for statement in ast.parse(source).body:
        match statement:
            case ast.Import(names):
                dotted += [alias.name for alias in names]
                imports |= {(a.asname or a.name.partition(".")[0]): (a.name.partition(".")[0], None) for a in names}
            case ast.ImportFrom(module=str(origin), names=names):
                imports |= {(alias.asname or alias.name): (origin, alias.name) for alias in names}
            case ast.FunctionDef(name=defined) | ast.ClassDef(name=defined):
                definitions[defined] = (statement,)
                last = None
            case ast.Assign(targets=[ast.Name(id=defined)]) | ast.AnnAssign(target=ast.Name(id=defined)):
                definitions[defined] = (statement,)
                last = defined
            case ast.Expr(value=ast.Constant()) if last is not None:
                definitions[last] += (statement,)  # what is said of a constant stands below it
                last = None
            case _:
                last = None
    return _Module(name, tuple(source.splitlines()), definitions, imports, tuple(dotted))


def _references(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Each name that is read, with the dotted path that it begins (`torch`, `torch._inductor.config.patch`)."""
    inner: set[int] = set()
    for statement in statements:
        for node in ast.walk(statement):
            if id(node) in inner:
                continue
            if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in OWN:
                raise InternalError(f"line {node.lineno} imports {node.module} inside a function")
            path = _path(node, inner)
            if path is not None and not hasattr(builtins, path.partition(".")[0]):
                yield path.partition(".")[0], path


def _path(node: ast.AST, inner: set[int]) -> str | None:
    """`a.b.c` of an attribute of a name; the parts are noted in `inner`, so that each path is met once."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            before = _path(value, inner)
            inner.add(id(value))
            return None if before is None else f"{before}.{attribute}"
        case _:
            return None


def _text(module: _Module, statements: Sequence[ast.stmt]) -> str:
    first = min([statements[0].lineno, *(d.lineno for d in getattr(statements[0], "decorator_list", ()))])
    while first > 1 and module.lines[first - 2].startswith("#"):
        first -= 1
    return "\n".join(module.lines[first - 1 : statements[-1].end_lineno])


def _without_aliases(text: str, aliases: Collection[str]) -> str:
    return re.sub(rf"\b(?:{'|'.join(map(re.escape, aliases))})\.(?=\w)", "", text) if aliases else text


@lru_cache(maxsize=256)
def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is a module, and no package
        return False
