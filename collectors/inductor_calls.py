"""What a compiled graph calls, in order: Inductor's own kernels by name, operators of libraries with their inputs.

The nodes are the scheduler's own, of a private module that only `torch_compat` imports; what is read of them is the
same from torch 2.11 to 2.13.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from analyzer.core.graphs import CallOrder, LibraryCall

_STARTS_NOTHING: Final = ("MultiOutput", "AssertScalar", "DynamicScalar")
"""Nodes that only name a part of a result, or are the host's."""

_BRANCHES: Final = ("Conditional", "WhileLoop", "InvokeSubgraph", "SubgraphBuffer")
"""Nodes with programs of their own, of which it is not known which are run, and how often."""

_OTHER_NAMES: Final = {"bias_addmm": "addmm"}
"""Functions of Inductor's (`torch/_inductor/select_algorithm.py`) that call an operator of another name."""

_SCALARS: Final = (bool, int, float, torch.dtype)

_Detail = tuple[tuple[int, ...], tuple[int, ...], str, str]
_ABSENT: Final[_Detail] = ((), (), "", "")


@dataclass(slots=True)
class Calls:
    """The calls of one program, as they are generated."""

    found: list[str | LibraryCall] = field(default_factory=list)
    is_whole: bool = True
    """Whether these are all: False once a node with a program of its own was among them."""

    def generated(self, kernel: str) -> None:
        self.found.append(kernel)

    def library(self, node: Any) -> None:
        kind = type(node).__name__
        if kind in _BRANCHES:
            self.is_whole = False
        elif kind not in _STARTS_NOTHING:
            self.found.append(call_of(node))

    def order(self) -> CallOrder | None:
        """None where a library's call is of no use: there is none, or not all are known."""
        if not self.is_whole or not any(isinstance(call, LibraryCall) for call in self.found):
            return None
        return CallOrder.of(self.found)


def call_of(node: Any) -> LibraryCall:
    """The operator that an external kernel of Inductor's IR calls, with its inputs as its FX node tells them."""
    origin = _origin(node)
    if origin is None:
        own = _overload(getattr(node, "op_overload", None))
        name = getattr(node, "python_kernel_name", None) or type(node).__name__
        return LibraryCall(str(name if own is None else own.overloadpacket._qualified_op_name))
    overload = _overload(origin.target)
    op = str(overload.overloadpacket._qualified_op_name)
    try:
        details = list(_details(origin, overload._schema.arguments))
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError):  # a symbolic size, a node without a value
        return LibraryCall(op)
    shapes, strides, dtypes, values = zip(*details, strict=True) if details else ((), (), (), ())
    return LibraryCall(op, shapes, strides, dtypes, values)


def _origin(node: Any) -> torch.fx.Node | None:
    """The one node of FX whose operator an external kernel calls; None where that is not certain: an operator can be
    lowered to a call of another one, whose inputs are not these.

    Inductor tells the origin of a node that has one result, and of any other those that became it.
    """
    overload = getattr(node, "op_overload", None)
    words = str(getattr(node, "python_kernel_name", None) or "").replace("::", ".").split(".")
    names = {_OTHER_NAMES.get(word, word) for word in words}
    told = [node.get_origin_node()] if node.get_origin_node() is not None else list(node.get_origins())
    found = [
        origin
        for origin in told
        if (called := _overload(origin.target)) is not None and (called is overload or called._opname in names)
    ]
    return found[0] if len(found) == 1 else None


def _overload(target: Any) -> Any:
    """The operator that a node of FX calls; None for any other function. A pass of freezing writes them without the
    overload, which is known where there is one alone.
    """
    if isinstance(target, torch._ops.OpOverloadPacket):
        overloads = target.overloads()  # type: ignore[no-untyped-call]
        return getattr(target, overloads[0]) if len(overloads) == 1 else None
    return target if isinstance(target, torch._ops.OpOverload) else None


def _details(origin: torch.fx.Node, arguments: Sequence[Any]) -> Iterator[_Detail]:
    """Of each input in the schema's order, those left out with their defaults, as a row of the profiler tells them."""
    given = dict(zip((argument.name for argument in arguments), origin.args, strict=False)) | origin.kwargs
    for argument in arguments:
        yield _detail(_value(given.get(argument.name, argument.default_value)))


def _value(argument: Any) -> Any:
    """What a node of FX stands for; a constant where there is one."""
    if not isinstance(argument, torch.fx.Node):
        return argument
    if argument.op == "get_attr" and "val" not in argument.meta:
        return getattr(argument.graph.owning_module, str(argument.target))
    return argument.meta["val"]


def _detail(value: Any) -> _Detail:
    match value:
        case None:
            return _ABSENT
        case torch.Tensor():
            dims = _known(value.shape)
            strides = () if value.layout is not torch.strided else _known(value.stride())
            return dims, strides, str(value.dtype).removeprefix("torch."), ""
        case list() | tuple() if not any(isinstance(item, torch.Tensor | torch.fx.Node) for item in value):
            return (), (), "ScalarList", str(list(_known(value)))
        case _ if isinstance(value, _SCALARS):
            return (), (), "Scalar", "" if isinstance(value, torch.dtype) else str(value)
        case _:
            return _ABSENT


def _known(sizes: Iterable[Any]) -> tuple[int, ...]:
    """Raises TypeError for a symbolic size: `int` of one would have torch compile the graph for its value alone."""
    known = tuple(sizes)
    if any(isinstance(size, torch.SymInt) for size in known):
        raise TypeError("a symbolic size")
    return tuple(int(size) for size in known)
