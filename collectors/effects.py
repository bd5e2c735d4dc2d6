"""What a step writes beside what it returns: into its inputs, and into what the model keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import torch
from torch.nn.parameter import is_lazy

from collectors.outputs import tensors
from collectors.state import MODULE_INTERNALS, State, is_data
from collectors.tensor_parts import readable
from collectors.workload import Workload

Results = tuple[tuple[str, torch.Tensor], ...]

INPUT: Final = "input"
"""How the path of an input begins; all others are the model's."""


def written(workload: Workload, state: State) -> tuple[str, ...]:
    """The paths of what differs now from when `state` was made: run one step between. Gradients are not among it, and
    parameters only where the step is the user's own: else it is an optimizer that writes them, by their gradients.
    """
    return tuple(path for path, tensor in _kept(workload) if state.is_changed(tensor))


def effects(workload: Workload, paths: Iterable[str]) -> Results:
    """Copies of what lies at these paths now, in their order. What is there no more is left out."""
    wanted = dict.fromkeys(paths)
    if not wanted:
        return ()
    found = {path: tensor for path, tensor in _kept(workload) if path in wanted}
    return tuple(copied for path in wanted if path in found for copied in readable(path, found[path]))


def without_models_own(results: Results, paths: Iterable[str]) -> Results:
    """Without the values of what the model itself keeps at these paths: a package writes into a copy of its own, which
    nobody can ask for.
    """
    own = frozenset(path for path in paths if not path.startswith(INPUT))
    return tuple((path, torch.empty_like(tensor, device="meta") if path in own else tensor) for path, tensor in results)


def _kept(workload: Workload) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(workload.model, torch.nn.Module):
        yield from _of_model(workload.model, with_parameters=workload.step is not None)
    for number, one in enumerate(workload.every_set, start=1):
        which = f" of set {number}" if workload.sets else ""
        for name, value in (*enumerate(one.args), *one.kwargs.items()):
            if is_data(value):
                yield from tensors(value, f"{INPUT} {name}{which}")


def _of_model(model: torch.nn.Module, *, with_parameters: bool) -> Iterator[tuple[str, torch.Tensor]]:
    yield from ((f"buffer {name}", buffer) for name, buffer in model.named_buffers() if not is_lazy(buffer))
    if with_parameters:
        yield from ((f"parameter {name}", one) for name, one in model.named_parameters() if not is_lazy(one))
    for prefix, module in model.named_modules():
        for name, value in vars(module).items():
            if name not in MODULE_INTERNALS and is_data(value):
                found = tensors(value, f"attribute {prefix}.{name}" if prefix else f"attribute {name}")
                # An LSTM keeps its parameters in a list as well.
                yield from ((path, one) for path, one in found if not isinstance(one, torch.nn.Parameter))
