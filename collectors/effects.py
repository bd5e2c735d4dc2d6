"""What a step writes beside what it returns: into its inputs, and into what the model keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch.nn.parameter import is_lazy

from collectors.data import module_data
from collectors.kept_numbers import INPUT, as_tensor, input_values, is_number, kept_numbers
from collectors.outputs import tensors
from collectors.state import State
from collectors.tensor_parts import readable
from collectors.workload import Workload

Results = tuple[tuple[str, torch.Tensor], ...]


def written(workload: Workload, state: State) -> tuple[str, ...]:
    """The paths of what differs now from when `state` was made: run one step between. Gradients are not among it, and
    parameters only where the step is the user's own: else it is an optimizer that writes them, by their gradients.
    """
    tensors_written = (path for path, tensor in _kept(workload) if state.is_changed(tensor))
    return (*tensors_written, *state.changed_numbers())


def effects(workload: Workload, paths: Iterable[str]) -> Results:
    """Copies of what lies at these paths now, in their order. What is there no more is left out."""
    wanted = dict.fromkeys(paths)
    if not wanted:
        return ()
    found = {path: tensor for path, tensor in _kept(workload) if path in wanted}
    if any(is_number(path) for path in wanted):
        numbers = kept_numbers(workload)
        found |= {path: as_tensor(number) for path, number in numbers.items() if path in wanted}
    return tuple(copied for path in wanted if path in found for copied in readable(path, found[path]))


def models_own(paths: Iterable[str]) -> frozenset[str]:
    """Those of what the model itself keeps: a package writes into a copy of its own, which nobody can ask for."""
    return frozenset(path for path in paths if not path.startswith(INPUT))


def _kept(workload: Workload) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(workload.model, torch.nn.Module):
        yield from _of_model(workload.model, with_parameters=workload.step is not None)
    for path, value in input_values(workload):
        yield from tensors(value, path)


def _of_model(model: torch.nn.Module, *, with_parameters: bool) -> Iterator[tuple[str, torch.Tensor]]:
    yield from ((f"buffer {name}", buffer) for name, buffer in model.named_buffers() if not is_lazy(buffer))
    if with_parameters:
        yield from ((f"parameter {name}", one) for name, one in model.named_parameters() if not is_lazy(one))
    for where, value in module_data(model):
        # An LSTM keeps its parameters in a list as well.
        found = tensors(value, f"attribute {where}")
        yield from ((path, one) for path, one in found if not isinstance(one, torch.nn.Parameter))
