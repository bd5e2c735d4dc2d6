"""The expressions of a workflow, `${{ inputs.x == 'y' && always() }}`, as far as action.yml and the examples use them.

What is not known here raises: a run must not go on with an expression that was read wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_WHOLE: Final = re.compile(r"\$\{\{(.*?)\}\}", re.S)
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>\d+(?:\.\d+)?)|(?P<sign>==|!=|&&|\|\||[!().,])"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_-]*))"
)
CONTEXTS: Final = ("github", "inputs", "steps", "env", "runner", "job", "matrix", "strategy")
_WORDS: Final[Mapping[str, Any]] = {"true": True, "false": False, "null": None}


class ExpressionError(Exception):
    """An expression that this reader does not know."""


@dataclass(slots=True)
class Contexts:
    """What an expression may ask: `values` by the name of a context, and whether a step before has failed."""

    values: Mapping[str, Any]
    has_failed: bool = False


def filled(text: str, contexts: Contexts) -> str:
    """`text` with each expression in it replaced by its value."""
    return _WHOLE.sub(lambda found: as_text(value_of(found[1], contexts)), text)


def is_on(condition: str | None, contexts: Contexts) -> bool:
    """Whether a step runs: without a word about failures, only while none has failed."""
    if condition is None:
        return not contexts.has_failed
    whole = _WHOLE.fullmatch(condition.strip())
    text = whole[1] if whole else condition
    asks = any(f"{name}(" in text for name in ("always", "failure", "cancelled", "success"))
    return bool(value_of(text, contexts)) and (asks or not contexts.has_failed)


def value_of(text: str, contexts: Contexts) -> Any:
    reader = _Reader(_tokens(text), contexts)
    value = reader.either()
    if reader.left:
        raise ExpressionError(f"{text!r}: what is {reader.left[0]!r}?")
    return value


def as_text(value: Any) -> str:
    """As GitHub writes it: null is empty, a switch is a word."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise ExpressionError(f"{text!r}: cannot be read from {text[at:]!r}")
        found.append(match[0].strip())
        at = match.end()
    return found


@dataclass(slots=True)
class _Reader:
    left: list[str]
    contexts: Contexts
    _functions: Mapping[str, Callable[[], bool]] = field(init=False)

    def __post_init__(self) -> None:
        self._functions = {
            "always": lambda: True,
            "success": lambda: not self.contexts.has_failed,
            "failure": lambda: self.contexts.has_failed,
            "cancelled": lambda: False,
        }

    def either(self) -> Any:
        value = self._both()
        while self._take("||"):
            other = self._both()
            value = value or other
        return value

    def _both(self) -> Any:
        value = self._equal()
        while self._take("&&"):
            other = self._equal()
            value = value and other
        return value

    def _equal(self) -> Any:
        value = self._one()
        for sign in ("==", "!="):
            if self._take(sign):
                return (_folded(value) == _folded(self._one())) is (sign == "==")
        return value

    def _one(self) -> Any:
        if self._take("!"):
            return not self._one()
        if self._take("("):
            value = self.either()
            self._need(")")
            return value
        if not self.left:
            raise ExpressionError("an expression ends too early")
        token = self.left.pop(0)
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if token[0].isdigit():
            return float(token)
        if token in _WORDS:
            return _WORDS[token]
        return self._call(token) if self._take("(") else self._path(token)

    def _call(self, name: str) -> Any:
        if name == "toJSON":
            value = self.either()
            self._need(")")
            return json.dumps(value, indent=2)
        self._need(")")
        if name not in self._functions:
            raise ExpressionError(f"the function {name} is not known here")
        return self._functions[name]()

    def _path(self, name: str) -> Any:
        if name not in CONTEXTS:
            raise ExpressionError(f"there is no context {name}")
        # Outside of a matrix that context is null.
        value: Any = self.contexts.values.get(name, None if name == "matrix" else {})
        while self._take("."):
            # What is not there is null, as in `github.event.pull_request` of a push.
            part = self.left.pop(0)
            value = value.get(part) if isinstance(value, Mapping) else None
        return value

    def _take(self, token: str) -> bool:
        if not self.left or self.left[0] != token:
            return False
        self.left.pop(0)
        return True

    def _need(self, token: str) -> None:
        if not self._take(token):
            raise ExpressionError(f"{token!r} is missing")


def _folded(value: Any) -> Any:
    """Texts are compared without their case."""
    return value.lower() if isinstance(value, str) else "" if value is None else value
