"""Hears, while a step runs, what no operator shows: optimizers, data loaders, emptied caches, collected garbage, the
module running.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from analyzer.core.graphs import SourceLine
from analyzer.core.ops import HostCall, LoaderUse, OptimizerFacts
from collectors import torch_eager
from collectors.call_place import Places

_WATCHED: Final = (("torch.cuda", "empty_cache"), ("torch.accelerator", "empty_cache"), ("gc", "collect"))
"""Modules and the functions in them whose calls are counted."""


@dataclass(slots=True)
class _Stepping:
    """An optimizer's step while it runs."""

    facts: OptimizerFacts | None
    operators: int = 0


class HostEars:
    """What was heard. `is_loading` is whether a data loader makes a batch now."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._modules: list[str] = []
        self._stepping: list[_Stepping] = []
        self._optimizers: list[OptimizerFacts] = []
        self._calls: Counter[tuple[str, SourceLine | None]] = Counter()
        self._calls_ns: Counter[tuple[str, SourceLine | None]] = Counter()
        self._batches: Counter[tuple[SourceLine | None, int | None, bool | None]] = Counter()
        self._loading = 0
        self._updated: set[int] = set()

    @property
    def is_loading(self) -> bool:
        return self._loading > 0

    @property
    def module(self) -> str | None:
        """The class of the innermost module that runs now."""
        return self._modules[-1] if self._modules else None

    @property
    def optimizers(self) -> tuple[OptimizerFacts, ...]:
        return tuple(self._optimizers)

    @property
    def calls(self) -> tuple[HostCall, ...]:
        return tuple(
            HostCall(name, where, count, self._calls_ns[name, where]) for (name, where), count in self._calls.items()
        )

    @property
    def loaders(self) -> tuple[LoaderUse, ...]:
        return tuple(LoaderUse(where, count, workers, pins) for (where, workers, pins), count in self._batches.items())

    def count_operator(self) -> None:
        """One more operator ran: it belongs to the optimizer that steps now, if one does."""
        if self._stepping:
            self._stepping[-1].operators += 1

    def untaken_gradients(self, model: object) -> tuple[str, ...]:
        """The parameters of `model` that have a gradient now, and that no optimizer which stepped holds."""
        if not self._updated or not isinstance(model, torch.nn.Module):
            return ()
        return tuple(
            name for name, each in model.named_parameters() if each.grad is not None and id(each) not in self._updated
        )

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Hear while the block runs. Hooks and functions are put back."""
        with contextlib.ExitStack() as stack:
            for handle in (
                register_module_forward_pre_hook(self._enter_module),
                register_module_forward_hook(self._leave_module, always_call=True),
                register_optimizer_step_pre_hook(self._begin_step),
                register_optimizer_step_post_hook(self._end_step),
            ):
                stack.callback(handle.remove)
            stack.enter_context(torch_eager.loader_batches(self._batch))
            for module, name in _WATCHED:
                stack.enter_context(self._counting(module, name))
            yield

    def _enter_module(self, module: torch.nn.Module, args: Any) -> None:
        self._modules.append(type(module).__name__)

    def _leave_module(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        if self._modules:
            self._modules.pop()

    def _begin_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        where = self._places.here()
        self._updated.update(id(parameter) for group in optimizer.param_groups for parameter in group["params"])
        try:
            facts = optimizer_facts(optimizer, where)
        except Exception:  # a user's own optimizer may keep its groups in any form
            facts = None
        self._stepping.append(_Stepping(facts))

    def _end_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if self._stepping:
            ended = self._stepping.pop()
            if ended.facts is not None:
                self._optimizers.append(replace(ended.facts, operators=ended.operators))

    @contextlib.contextmanager
    def _batch(self, iterator: Any) -> Iterator[None]:
        where = self._places.here()
        self._loading += 1
        try:
            yield
        finally:
            self._loading -= 1
        self._batches[where, *torch_eager.loader_settings(iterator)] += 1

    @contextlib.contextmanager
    def _counting(self, module_name: str, name: str) -> Iterator[None]:
        """Count the calls of a function through whatever name a loaded module knows it by."""
        original = getattr(sys.modules.get(module_name), name, None)
        if original is None:
            yield
            return
        counted = self._counted(original, f"{module_name}.{name}")
        holders = [m for m in list(sys.modules.values()) if getattr(m, "__dict__", {}).get(name) is original]
        for holder in holders:
            setattr(holder, name, counted)
        try:
            yield
        finally:
            for holder in holders:
                setattr(holder, name, original)

    def _counted(self, original: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(original)
        def counted(*args: Any, **kwargs: Any) -> Any:
            call = name, self._places.here()
            self._calls[call] += 1
            start_ns = time.perf_counter_ns()
            try:
                return original(*args, **kwargs)
            finally:
                self._calls_ns[call] += time.perf_counter_ns() - start_ns

        return counted


def optimizer_facts(optimizer: torch.optim.Optimizer, where: SourceLine | None = None) -> OptimizerFacts:
    """How torch would step this optimizer now, from its groups and the parameters that have a gradient."""
    kinds, tensors, fusable = set(), 0, True
    for group in optimizer.param_groups:
        updated = [p for p in group["params"] if p.grad is not None]
        if not updated:
            continue
        tensors += len(updated)
        can_fuse, takes_foreach = torch_eager.default_optimizer_loop(
            updated, is_differentiable=bool(group.get("differentiable"))
        )
        fusable = fusable and can_fuse and "fused" in group
        kinds.add(_kind(group, takes_foreach))
    # In torch 2.11 Adagrad has a fused form on the CPU alone; claimed nowhere else.
    on_cpu = all(p.device.type == "cpu" for group in optimizer.param_groups for p in group["params"])
    name = type(optimizer).__name__
    return OptimizerFacts(
        name=name,
        implementation=next((kind for kind in ("for-loop", "foreach", "fused") if kind in kinds), None),
        tensors=tensors,
        where=where,
        is_capturable=any(bool(group.get("capturable")) for group in optimizer.param_groups),
        can_fuse=fusable and tensors > 0 and (name != "Adagrad" or on_cpu),
    )


def _kind(group: dict[str, Any], takes_foreach: bool) -> str | None:
    if "foreach" not in group and "fused" not in group:
        return None
    if group.get("fused"):
        return "fused"
    foreach = group.get("foreach")
    if foreach is None and group.get("fused") is None:
        # As in each of torch's optimizers: a learning rate in a tensor keeps them off foreach unless capturable.
        is_tensor_rate = isinstance(group.get("lr"), torch.Tensor)
        foreach = takes_foreach and (not is_tensor_rate or bool(group.get("capturable")))
    return "foreach" if foreach else "for-loop"
