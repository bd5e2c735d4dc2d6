"""Reads from a C++ wrapper which operators it must call back into Python for."""

from __future__ import annotations

import re
from typing import Final

from collectors import torch_compat

_BY_PYTHON: Final = re.compile(
    # The operator is the first item of what `custom_op_wrapper` is called with (torch 2.11 to 2.14).
    r'PyTuple_SetItem\(\s*\w+,\s*0,\s*PyUnicode_FromString\(\s*"torch\.ops\.(?P<op>[^"]+)"\s*\)\s*\)'
)

_BY_DISPATCHER: Final = re.compile(
    # From C++ through torch's dispatcher: in Python where its kernel is. The second form is that of 2.13 for lists.
    r'(?:aoti_torch_call_dispatcher|findSchemaOrThrow)\(\s*"(?P<op>[^"]+)",\s*"(?P<overload>[^"]*)"'
)


def python_fallbacks(code: str, device: str) -> tuple[str, ...]:
    """The operators (`mylib::scale`) that this generated C++ runs in Python on a device of this kind, each once."""
    called = [(match.start(), _name(match["op"])) for match in _BY_PYTHON.finditer(code)]
    for match in _BY_DISPATCHER.finditer(code):
        if torch_compat.is_python_operator(match["op"], match["overload"], device):
            called.append((match.start(), match["op"]))
    return tuple(dict.fromkeys(name for _, name in sorted(called)))


def _name(dotted: str) -> str:
    """`mylib.scale.default` as `mylib::scale`."""
    namespace, _, rest = dotted.partition(".")
    return f"{namespace}::{rest.removesuffix('.default')}"
