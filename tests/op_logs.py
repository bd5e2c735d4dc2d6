"""Builds logs of operators by hand, and from real models. A log without a flaw is one bfloat16 layer on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from analyzer.core.graphs import SourceLine
from analyzer.core.ops import DenormalFacts, DenormalTensor, HostCall, OpCall, OpLog, OptimizerFacts, TensorFacts
from analyzer.core.settings import Mode
from tests.reports import at


def a_tensor(*shape: int, **changes: Any) -> TensorFacts:
    strides, product = [], 1
    for size in reversed(shape):
        strides.append(product)
        product *= size
    plain = TensorFacts(shape, "float32", "cuda", "contiguous", strides=tuple(reversed(strides)))
    return replace(plain, **changes)


def an_op(
    op: str, inputs: tuple[TensorFacts, ...] = (), outputs: tuple[TensorFacts, ...] = (), **changes: Any
) -> OpCall:
    where = at(changes.pop("place", "/home/ada/net.py:12"))
    return replace(OpCall(f"aten::{op}", where, inputs, outputs, count=1, first=0), **changes)


def an_op_log(*calls: OpCall, **changes: Any) -> OpLog:
    """The calls one after another, whatever their own `first` says."""
    numbered, position = [], 0
    for call in calls or _a_layer():
        numbered.append(replace(call, first=position))
        position += call.count
    return replace(OpLog(tuple(numbered), total=position, is_complete=True), **changes)


def _a_layer() -> tuple[OpCall, ...]:
    x, weight = a_tensor(8, 64, dtype="bfloat16"), a_tensor(64, 64, dtype="bfloat16", parameter="layer.weight")
    return an_op("addmm", (x, weight), (x,)), an_op("relu", (x,), (x,))


def a_flawed_log(text: str) -> OpLog:
    """Every pattern that a GPU can show, with `text` in every name and place."""
    where = SourceLine(text, 0, text)
    half, host = a_tensor(8, 8, dtype="bfloat16"), a_tensor(3, device="cpu", is_host_made=True)
    wide, narrow = a_tensor(128, 128, dtype="float64"), a_tensor(128, 128)
    scores, query = a_tensor(4, 128, 128), a_tensor(4, 128, 64)
    turned = replace(a_tensor(4, 32, 128, 64), strides=(262144, 1, 2048, 32))
    straight = a_tensor(4, 32, 128, 64)
    weights = [a_tensor(8, 8, parameter=f"{text}{n}") for n in range(8)]
    calls = [
        an_op("_to_copy", (host,), (a_tensor(3),)),
        an_op("_to_copy", (narrow,), (wide,)),
        an_op("_to_copy", (weights[0],), (half,)),
        an_op("clone", (straight,), (turned,)),
        an_op("clone", (turned,), (straight,)),
        an_op("bmm", (query, query), (scores,)),
        an_op("_softmax", (scores,), (scores,), values=("-1", "False")),
        an_op("bmm", (scores, query), (query,)),
        an_op("topk", (narrow,), (narrow,)),
        an_op("nonzero", (narrow,), (half,), count=8),
        *[an_op("mm", (narrow, weight), (narrow,)) for weight in weights],
        an_op("index_add_", (narrow,), (narrow,), count=8),
        *[an_op("add_", (weight, weight), (weight,)) for weight in weights],
        an_op(text, (), (), is_python=True, count=1_000_000),
    ]
    return an_op_log(
        *[replace(call, where=where, module=text) for call in calls],
        optimizers=(OptimizerFacts(text, "for-loop", tensors=10**9, operators=10**9, where=where, can_fuse=True),),
        host_calls=(
            HostCall("torch.cuda.empty_cache", where, 4),
            HostCall("gc.collect", where, 4, 10**9),
            HostCall(text, None, 1),
        ),
        denormals=DenormalFacts(1, 1, (DenormalTensor(text, where, 1.0),), slowdown=40.0),
    )


def logged(model: Callable[..., Any], *inputs: Any, mode: Mode = Mode.INFERENCE, **options: Any) -> OpLog:
    """The log of one real step on the CPU, of a model in a test file. `optimizer` takes the model."""
    # Only here: most tests of rules need no torch.
    from collectors.op_log import record_ops
    from tests.workloads import a_stepper, a_workload

    make = options.pop("optimizer", None)
    optimizer = make(model) if make is not None else None
    work = a_workload(model, inputs, mode, optimizer=optimizer, **options)
    return record_ops(a_stepper(work), Path(__file__).resolve().parent)
