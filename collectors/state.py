"""The state a step may change, kept so that every trial starts from the same one."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

import torch

from collectors.outputs import tensors
from collectors.workload import Workload

_PLAIN: Final = (bool, int, float, complex, str, type(None))
_CONTAINERS: Final = (list, dict, tuple)


class State:
    """A copy of everything of a workload that a step may change: parameters, buffers, plain attributes and tensors
    kept on modules (a KV cache, a counter), the inputs, the optimizer, the random state.

    Tensors are put back in place, so that compiled code which knows their address stays right.
    """

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._tensors = [(t, t.detach().clone()) for t in _state_tensors(workload)]
        self._attributes = [
            (module, {name: _kept(value) for name, value in vars(module).items() if _is_plain(name, value)})
            for module in _modules(workload)
        ]
        self._inputs = [(t, t.detach().clone()) for _, t in tensors((workload.args, dict(workload.kwargs)))]
        self._optimizer = copy.deepcopy(workload.optimizer.state_dict()) if workload.optimizer else None
        self._random = torch.get_rng_state()
        self._cuda_random = torch.cuda.get_rng_state() if workload.device == "cuda" else None
        self.mutates_inputs = False

    def restore(self) -> None:
        """Put everything back as it was when this was made."""
        with torch.no_grad():
            for tensor, kept in self._tensors:
                _put_back(tensor, kept)
                tensor.grad = None
        for module, attributes in self._attributes:
            for name, value in attributes.items():
                if vars(module).get(name) is not value or isinstance(value, _CONTAINERS):
                    vars(module)[name] = _kept(value)
        if self._workload.optimizer is not None and self._optimizer is not None:
            self._workload.optimizer.load_state_dict(copy.deepcopy(self._optimizer))
        self.restore_inputs()
        self.reseed()

    def restore_inputs(self) -> None:
        """Put the inputs alone back, for a step that writes into them."""
        with torch.no_grad():
            for tensor, kept in self._inputs:
                _put_back(tensor, kept)

    def reseed(self, seed: int | None = None) -> None:
        """Put the random state back, or set another one to see whether the step depends on it."""
        if seed is not None:
            torch.manual_seed(seed)
            return
        torch.set_rng_state(self._random)
        if self._cuda_random is not None:
            torch.cuda.set_rng_state(self._cuda_random)

    def changed_inputs(self) -> bool:
        """Whether any input tensor now differs from when this was made."""
        return any(_differs(tensor, kept) for tensor, kept in self._inputs)

    def changed_model(self) -> bool:
        """Whether any parameter, buffer or tensor attribute now differs."""
        return any(_differs(tensor, kept) for tensor, kept in self._tensors)


def _modules(workload: Workload) -> Iterator[torch.nn.Module]:
    if isinstance(workload.model, torch.nn.Module):
        yield from workload.model.modules()


def _state_tensors(workload: Workload) -> Iterator[torch.Tensor]:
    """Each distinct tensor that a module holds, however it holds it."""
    seen: set[int] = set()
    for module in _modules(workload):
        held = (*module._parameters.values(), *module._buffers.values())
        loose = [t for name, v in vars(module).items() if not name.startswith("_") for _, t in tensors(v)]
        for tensor in (*held, *loose):
            if tensor is not None and id(tensor) not in seen:
                seen.add(id(tensor))
                yield tensor


def _is_plain(name: str, value: object) -> bool:
    if name.startswith("_") or name == "training":
        return False
    return isinstance(value, _PLAIN) or (isinstance(value, _CONTAINERS) and _holds_only_data(value))


def _holds_only_data(value: object, depth: int = 0) -> bool:
    if depth > 4:
        return False
    if isinstance(value, dict):
        return all(isinstance(k, _PLAIN) and _holds_only_data(v, depth + 1) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(_holds_only_data(v, depth + 1) for v in value)
    return isinstance(value, (*_PLAIN, torch.Tensor))


def _kept(value: Any) -> Any:
    """A container is copied, its tensors are shared: they are restored in place."""
    if isinstance(value, dict):
        return {name: _kept(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_kept(child) for child in value]
    return value


def _put_back(tensor: torch.Tensor, kept: torch.Tensor) -> None:
    # Written only where it differs: copy_ bumps a tensor's version, which invalidates what CUDA graphs and
    # autograd assume of unchanged weights.
    if not _differs(tensor, kept):
        return
    if tensor.shape != kept.shape:
        tensor.data = kept.clone()
    else:
        tensor.copy_(kept)


def _differs(tensor: torch.Tensor, kept: torch.Tensor) -> bool:
    if tensor.shape != kept.shape or tensor.dtype != kept.dtype:
        return True
    if tensor.is_floating_point() or tensor.is_complex():
        return not torch.allclose(tensor.detach(), kept, rtol=0.0, atol=0.0, equal_nan=True)
    return not torch.equal(tensor.detach(), kept)
