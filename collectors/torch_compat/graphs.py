"""Dynamo graphs: what a node does, which inputs are weights, and a copy that has them as constants."""

from __future__ import annotations

import contextlib
import copy
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, Final

import torch
import torch._guards
from torch._guards import detect_fake_mode
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
from torch._subclasses import FakeTensor


def is_torch_op(target: object) -> bool:
    """Whether an FX node's target is an operator of torch's registry, whose text is its stable name."""
    return isinstance(target, OpOverload | OpOverloadPacket)


def copied_graph(gm: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """A copy that shares the parameters, and keeps what Dynamo wrote on the graph and its placeholders.

    `copy.deepcopy` loses both: AOTAutograd then no longer knows which inputs are parameters, and a CUDA graph copies
    every one of them at each replay (0.5 ms of a 2.4 ms step for three 8192 x 8192 layers on an H200).
    """
    return with_nodes(gm, copied_nodes(gm))


def copied_nodes(gm: torch.fx.GraphModule) -> torch.fx.Graph:
    """A copy of the graph alone, to be changed: no code is generated for it, which takes most of a `copied_graph`."""
    graph = copy.deepcopy(gm.graph)
    for ours, theirs in zip(graph.nodes, gm.graph.nodes, strict=True):
        if hasattr(theirs, "_dynamo_source"):
            ours._dynamo_source = theirs._dynamo_source
    return graph


def with_nodes(gm: torch.fx.GraphModule, graph: torch.fx.Graph) -> torch.fx.GraphModule:
    """A module like `gm` that runs `graph`, which was copied from it and changed since."""
    copied = torch.fx.GraphModule(gm, graph, class_name=type(gm).__name__)
    copied.meta = dict(gm.meta)
    if hasattr(gm, "_param_name_to_source"):
        copied._param_name_to_source = gm._param_name_to_source
    return copied


def example_tensor(node: object) -> torch.Tensor | None:
    """An example of what a node of a Dynamo graph gives; None where it is no tensor, or this no node."""
    value = node.meta.get("example_value") if isinstance(node, torch.fx.Node) else None
    return value if isinstance(value, torch.Tensor) else None


def aten_example(gm: torch.fx.GraphModule, node: object) -> torch.Tensor | None:
    """As `example_tensor`, for a graph of AOTAutograd's; the tensor itself for a constant of such a graph."""
    if not isinstance(node, torch.fx.Node):
        return None
    value = node.meta.get("val")
    if value is None and node.op == "get_attr":
        value = getattr(gm, str(node.target), None)
    return value if isinstance(value, torch.Tensor) else None


def derive_aten_example(gm: torch.fx.GraphModule, node: torch.fx.Node) -> None:
    """Give a new node of AOTAutograd's graph its example, made of those of its arguments; none where they have none."""
    given = node.all_input_nodes
    examples = {one: value for one in given if (value := aten_example(gm, one)) is not None}
    mode = detect_fake_mode(list(examples.values()))
    if mode is None or len(examples) < len(given):
        return

    def example(argument: torch.fx.Node) -> Any:
        value = examples[argument]
        return value if isinstance(value, FakeTensor) else mode.from_tensor(value, static_shapes=True)

    with mode:
        node.meta["val"] = node.target(*torch.fx.map_arg(node.args, example))  # type: ignore[operator]


def plain_example(node: object) -> torch.Tensor | None:
    """As `example_tensor`; None for one of a subclass too, whose operators may do something else, or not be there.

    Torchao's weights know no `cat`, and to lay two DTensors side by side may take a collective.
    """
    value = example_tensor(node)
    return value if type(value) in _PLAIN else None


def subclasses(gm: torch.fx.GraphModule) -> tuple[str, ...]:
    """The names of the classes of tensors in a Dynamo graph that are no plain ones, in alphabetical order."""
    examples = (example_tensor(node) for node in gm.graph.nodes)
    return tuple(sorted({type(one).__name__ for one in examples if one is not None and type(one) not in _PLAIN}))


_PLAIN: Final = (FakeTensor, torch.Tensor, torch.nn.Parameter)


def storage_id(example: torch.Tensor) -> int | None:
    """Which storage an example of Dynamo's is in: the same for results that share memory. None where it has none.

    Examples hold no data, so that their storages have no address to tell them apart by.
    """
    return example.untyped_storage()._cdata if example.layout is torch.strided else None


def named_arguments(node: torch.fx.Node, *names: str) -> dict[str, Any]:
    """What a node is given, by name; `names` are those of its arguments by position."""
    return dict(zip(names, node.args, strict=False)) | dict(node.kwargs)


_WRITING_METHODS: Final = ("__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__")


def may_write(node: torch.fx.Node) -> bool:
    """Whether a node of a Dynamo graph may write into what it is given. When in doubt it may."""
    if node.op == "call_method":
        name = str(node.target)
        return name in _WRITING_METHODS or (name.endswith("_") and not name.endswith("__"))
    if node.op != "call_function":
        return node.op == "call_module"
    target = node.target
    if isinstance(target, OpOverload):
        return target._schema.is_mutable
    if isinstance(target, OpOverloadPacket):
        return any(getattr(target, name)._schema.is_mutable for name in target.overloads())  # type: ignore[no-untyped-call]
    if isinstance(target, HigherOrderOperator) or "out" in node.kwargs:
        return True
    name = str(getattr(target, "__name__", ""))
    if getattr(target, "__module__", None) == "_operator":
        return name in _WRITING_OPERATORS  # `and_` writes nothing
    if name in ("batch_norm", "instance_norm"):
        return True  # their running statistics, in training mode
    return (name.endswith("_") and not name.endswith("__")) or _is_in_place(target, node)


def _is_in_place(target: Any, node: torch.fx.Node) -> bool:
    """Whether `inplace=True` is among the arguments, as of `torch.nn.functional.relu`."""
    if "inplace" in node.kwargs:
        return bool(node.kwargs["inplace"])
    if not isinstance(target, FunctionType) or True not in node.args:
        return False
    names = list(inspect.signature(target).parameters)
    return dict(zip(names, node.args, strict=False)).get("inplace") is True


def called_name(node: torch.fx.Node) -> str | None:
    """What a node of a Dynamo graph calls, without its overload: `conv2d`, `masked_fill`. None: nothing."""
    if node.op == "call_method":
        return str(node.target)
    if node.op != "call_function":
        return None
    if isinstance(node.target, OpOverload | OpOverloadPacket):
        return str(node.target).split(".")[1]
    return str(getattr(node.target, "__name__", ""))


def is_of_torch(target: object) -> bool:
    """Whether an FX node calls a function of torch or Python itself, and no operator of the user's."""
    if isinstance(target, HigherOrderOperator):
        return False
    if isinstance(target, OpOverload):
        return target.namespace in _OWN_NAMESPACES
    if isinstance(target, OpOverloadPacket):
        return str(target).partition(".")[0] in _OWN_NAMESPACES
    module = str(getattr(target, "__module__", None) or "")
    return module.partition(".")[0] in ("torch", "_operator", "math", "builtins", "")


def is_python_operator(name: str, overload: str, device: str) -> bool:
    """Whether the kernel of an operator (`mylib::scale`) for this kind of device is a Python function.

    By where it was registered, in the dispatcher's own words (`CPU: registered at …/model.py:10 :: …`).
    """
    full = f"{name}.{overload}" if overload and overload != "default" else name
    try:
        registered = torch._C._dispatch_dump(full)
    except RuntimeError:  # it has no schema: no such operator
        return False
    kernels = dict(_KERNEL_PLACE.findall(registered))
    keys = (device.upper(), "CompositeExplicitAutograd[alias]", "CompositeImplicitAutograd[alias]")
    return next((kernels[key].endswith(".py") for key in keys if key in kernels), False)


_KERNEL_PLACE: Final = re.compile(r"^([\w\[\]]+): registered at (.+):\d+ ::", re.MULTILINE)

_OWN_NAMESPACES: Final = ("aten", "prims", "prim")

_WRITING_OPERATORS: Final = frozenset(
    {"setitem", "delitem", "iadd", "isub", "imul", "imatmul", "itruediv", "ifloordiv", "imod", "ipow"}
    | {"iand", "ior", "ixor", "ilshift", "irshift", "iconcat"}
)


def is_static_input(node: torch.fx.Node) -> bool:
    """Whether a placeholder of a Dynamo graph is a parameter or a buffer, which keeps its place between calls."""
    facts = node.meta.get("tensor_dict")
    return bool(facts and facts.get("_dynamo_static_input_type"))


def static_positions(gm: torch.fx.GraphModule, count: int) -> tuple[int, ...]:
    """Which inputs of a Dynamo graph are parameters and buffers, among the `count` that its ATen graph is called with;
    none where AOTAutograd took some together.
    """
    placeholders = gm.graph.find_nodes(op="placeholder")
    if len(placeholders) != count:
        return ()
    return tuple(position for position, node in enumerate(placeholders) if is_static_input(node))


def static_tensors(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> dict[int, torch.Tensor]:
    """The parameters and buffers among the inputs of a Dynamo graph that can be taken for constants, by position.

    Left out are those of a subclass, with symbolic sizes, or without a version to see a change by (inference mode).
    """
    placeholders = gm.graph.find_nodes(op="placeholder")
    if len(placeholders) != len(inputs):
        return {}
    return {
        position: value
        for position, (node, value) in enumerate(zip(placeholders, inputs, strict=True))
        if is_static_input(node) and _can_be_constant(node, value)
    }


def _can_be_constant(node: torch.fx.Node, value: object) -> bool:
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or not isinstance(value, torch.Tensor):
        return False
    if value.is_meta or value.layout != torch.strided or value.is_inference():
        return False
    example = example_tensor(node)
    return example is not None and all(isinstance(size, int) for size in example.shape)


def with_constants(
    gm: torch.fx.GraphModule, weights: Mapping[int, torch.Tensor]
) -> tuple[torch.fx.GraphModule, dict[str, int]]:
    """A copy of a Dynamo graph with these inputs, by position, as parameters and buffers of its own; and the position
    that each of their names stands for.
    """
    frozen = copied_graph(gm)
    placeholders = frozen.graph.find_nodes(op="placeholder")
    sources = dict(getattr(frozen, "_param_name_to_source", None) or {})
    names: dict[str, int] = {}
    for position, value in weights.items():
        node, name = placeholders[position], f"frozen_weight_{position}"
        if isinstance(value, torch.nn.Parameter):
            frozen.register_parameter(name, value)
        else:
            frozen.register_buffer(name, value)
        sources[name] = node._dynamo_source
        names[name] = position
        with frozen.graph.inserting_before(node):
            constant = frozen.graph.get_attr(name)
        constant.meta = dict(node.meta)
        node.replace_all_uses_with(constant)
        frozen.graph.erase_node(node)
    frozen._param_name_to_source = sources  # type: ignore[assignment]
    frozen.recompile()
    return frozen, names


def kept_parameters(frozen: torch.fx.GraphModule) -> tuple[str, ...]:
    """The names of the parameters and buffers that Inductor, freezing this graph, left among its inputs.

    To be asked inside `inner`: AOTAutograd has then read the graph, and Inductor has forgotten what it froze.
    """
    context = torch._guards.TracingContext.try_get()
    held = context.params_flat if context is not None else None
    if held is None:
        return ()
    # AOTAutograd's own order.
    named = (*frozen.named_parameters(remove_duplicate=False), *frozen.named_buffers(remove_duplicate=False))
    return tuple(name for (name, _), value in zip(named, held, strict=True) if value is not None)


@contextlib.contextmanager
def parameters_put_back() -> Iterator[None]:
    """Leave what the compilation of one graph writes on Dynamo's context about its parameters as it was.

    Several candidates are compiled under one context, and freezing empties these lists.
    """
    context = torch._guards.TracingContext.try_get()
    fields = ("params_flat", "params_flat_unwrap_subclasses", "params_unwrapped_to_flat_index", "fw_metadata")
    before = {name: getattr(context, name) for name in fields if hasattr(context, name)}
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)
