"""Linear layers of a Dynamo graph in eight bits, by torchao, where the graph has its weights as constants."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from typing import Any, Final

import torch
from torch import nn
from torch.fx import GraphModule, Node

from collectors import torch_compat
from optimizers.candidates.base import RefusedError

NO_TORCHAO: Final = "it needs torchao, which is not installed: pip install torchao"
NO_LINEARS: Final = "the graph has no linear layer with weights of its own"
NO_FLOAT8: Final = "float8 products need a device of compute capability 8.9 or more"
OLDEST_FLOAT8: Final = (8, 9)
"""Ada; `torch._scaled_mm` refuses what is older."""

_CONFIGURATIONS: Final = {
    "int8": "Int8DynamicActivationInt8WeightConfig",
    "fp8": "Float8DynamicActivationFloat8WeightConfig",
}
"""Both bring the activations to eight bits in each call, so that the products themselves run in eight bits."""


def quantize_linears(graph: GraphModule, change: str) -> GraphModule:
    """`graph`, whose linear layers have their weights in eight bits from here on. `graph` itself is changed.

    Raises RefusedError where torchao is not installed, or would not have a layer, or there is none.
    """
    if importlib.util.find_spec("torchao") is None:
        raise RefusedError(NO_TORCHAO)
    if change == "fp8" and torch.cuda.get_device_capability() < OLDEST_FLOAT8:
        raise RefusedError(NO_FLOAT8)
    layers = _as_modules(graph)
    if not layers:
        raise RefusedError(NO_LINEARS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torchao warns of its own old names
            quantization: Any = importlib.import_module("torchao.quantization")
            quantization.quantize_(graph, getattr(quantization, _CONFIGURATIONS[change])())
    except Exception as error:  # of a library of others, and for many reasons: the type, the device, the release
        raise RefusedError(f"torchao would not have it: {error}") from error
    graph.recompile()
    return graph


def _as_modules(graph: GraphModule) -> list[str]:
    """Each linear layer whose weight is a constant as a module, which is what torchao knows; their names."""
    sources = dict(getattr(graph, "_param_name_to_source", None) or {})
    names: list[str] = []
    for node in list(graph.graph.nodes):
        given = torch_compat.named_arguments(node, "input", "weight", "bias")
        weight, bias = _constant(graph, given.get("weight")), _constant(graph, given.get("bias"))
        if torch_compat.called_name(node) != "linear" or weight is None or weight.dim() != 2:
            continue
        if given.get("bias") is not None and bias is None:
            continue
        name = f"quantized_linear_{len(names)}"
        graph.add_submodule(name, _layer(weight, bias))
        for part, constant in (("weight", given["weight"]), ("bias", given.get("bias"))):
            if isinstance(constant, Node):
                sources[f"{name}.{part}"] = sources[str(constant.target)]
        with graph.graph.inserting_before(node):
            called = graph.graph.call_module(name, (given["input"],))
        called.meta = dict(node.meta)
        node.replace_all_uses_with(called)
        graph.graph.erase_node(node)
        names.append(name)
    graph._param_name_to_source = sources  # type: ignore[assignment]
    _drop_unused(graph, sources)
    return names


def _drop_unused(graph: GraphModule, sources: dict[str, Any]) -> None:
    """The constants that nothing reads any more: their memory is what eight bits were to save."""
    for node in graph.graph.find_nodes(op="get_attr"):
        if not node.users:
            graph.graph.erase_node(node)
    read = {str(node.target) for node in graph.graph.find_nodes(op="get_attr")}
    for name in [name for name in sources if "." not in name and name not in read]:
        if hasattr(graph, name):
            delattr(graph, name)
        del sources[name]


def _constant(graph: GraphModule, node: Any) -> torch.Tensor | None:
    if not isinstance(node, Node) or node.op != "get_attr":
        return None
    value = getattr(graph, str(node.target), None)
    return value if isinstance(value, torch.Tensor) else None


def _layer(weight: torch.Tensor, bias: torch.Tensor | None) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, device="meta")
    layer.weight = nn.Parameter(weight.detach(), requires_grad=False)
    if bias is not None:
        layer.bias = nn.Parameter(bias.detach(), requires_grad=False)
    return layer
