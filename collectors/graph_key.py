"""The digest that names a Dynamo graph: the same in every process and under every configuration.

Imports torch alone, and no private part of it: its text goes into the sources that are made of plans.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import torch
from torch.fx import GraphModule, Node

DIGEST_HEX_DIGITS: Final = 12
"""48 bits: among 10,000 graphs two share a digest with a chance of 2e-7."""

_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
"""Part of an object's default repr, and different in each process."""

_TORCH_OP_TYPES: Final = (type(torch.ops.aten.add), type(torch.ops.aten.add.Tensor))
"""Of the operators in torch's registry, with and without an overload: their text is their stable name."""

_NUMBERED_DEVICE: Final = re.compile(r"(?:cuda|xpu|mps|hpu):\d+")


def graph_digest(gm: GraphModule, inputs: Sequence[Any]) -> str:
    """The digest of a Dynamo graph and its inputs.

    Names of placeholders and modules are left out, so that equal layers of a model share a digest; so are values of
    weights and the index of the device. Symbolic sizes are named in order of appearance.
    """
    symbols: dict[str, str] = {}
    lines = [_value_text(value, symbols) for value in _as_traced(gm, inputs)]
    lines.extend(_graph_lines(gm))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:DIGEST_HEX_DIGITS]


def _as_traced(gm: GraphModule, inputs: Sequence[Any]) -> list[Any]:
    """The inputs as Dynamo saw them: `inputs` hold the sizes of the first call where the graph has symbols."""
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    if len(placeholders) != len(inputs):
        return list(inputs)
    return [node.meta.get("example_value", value) for node, value in zip(placeholders, inputs, strict=True)]


def _graph_lines(gm: GraphModule) -> Iterator[str]:
    numbers: dict[Node, int] = {}
    for number, node in enumerate(gm.graph.nodes):
        numbers[node] = number
        match node.op:
            case "placeholder":
                yield "placeholder"
            case "get_attr":
                yield f"get_attr {_attribute_text(gm, str(node.target))}"
            case _:
                target = _target_text(gm, node)
                kwargs = sorted(node.kwargs.items())
                yield f"{node.op} {target} {_argument_text(node.args, numbers)} {_argument_text(kwargs, numbers)}"


def _attribute_text(gm: GraphModule, target: str) -> str:
    value: Any = gm
    for part in target.split("."):
        value = getattr(value, part, None)
    if isinstance(value, GraphModule):
        return "{" + ";".join(_graph_lines(value)) + "}"
    return _value_text(value, {})


def _target_text(gm: GraphModule, node: Node) -> str:
    if node.op == "call_module":
        module = gm.get_submodule(str(node.target))
        return f"{type(module).__qualname__}({module.extra_repr()})"
    if isinstance(node.target, str):
        return node.target
    name = getattr(node.target, "__qualname__", None)
    if name is None or isinstance(node.target, _TORCH_OP_TYPES):
        return _ADDRESS.sub("", str(node.target))
    return f"{getattr(node.target, '__module__', '')}.{name}"


def _argument_text(value: object, numbers: dict[Node, int]) -> str:
    match value:
        case Node():
            return f"%{numbers[value]}"
        case tuple() | list():
            return f"[{_joined(value, numbers)}]"
        case dict():
            return f"{{{_joined(value.items(), numbers)}}}"
        case slice():
            return f"slice[{_joined((value.start, value.stop, value.step), numbers)}]"
        case _ if hasattr(type(value), "__members__"):  # an Enum, or one of pybind11's
            return str(value)
        case str():
            return repr(_device_free(value))
        case bool() | int() | float() | complex() | None:
            return repr(value)
        case torch.dtype() | torch.device() | torch.layout() | torch.memory_format():
            return _device_free(str(value))
        case _:
            # Its repr may hold its address, as that of a target may.
            return type(value).__qualname__


def _joined(values: Iterable[object], numbers: dict[Node, int]) -> str:
    return ",".join(_argument_text(value, numbers) for value in values)


def _device_free(text: str) -> str:
    return text.partition(":")[0] if _NUMBERED_DEVICE.fullmatch(text) else text


def _value_text(value: object, symbols: dict[str, str]) -> str:
    if isinstance(value, torch.Tensor):
        sizes = ",".join(_size_text(size, symbols) for size in value.shape)
        strides = ",".join(_size_text(s, symbols) for s in value.stride()) if value.layout == torch.strided else ""
        return f"{value.dtype}[{sizes}]({strides})@{value.device.type} grad={value.requires_grad}"
    if isinstance(value, torch.SymInt):
        return _size_text(value, symbols)
    if isinstance(value, bool | int | float | str | None):
        return repr(value)
    return type(value).__qualname__


def _size_text(size: object, symbols: dict[str, str]) -> str:
    if isinstance(size, int) and not isinstance(size, torch.SymInt):
        return str(size)
    return symbols.setdefault(str(size), f"s{len(symbols)}")
