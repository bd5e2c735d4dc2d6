"""What an operator's arguments are, as plain values. Reads no element of a tensor and keeps none alive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import torch
from torch.utils.weak import WeakIdKeyDictionary

from analyzer.core.ops import TensorFacts

_MOST_TENSORS: Final = 16
"""Of a list of tensors, how many are described: enough to know what a foreach call is about."""

_VALUE_CHARS: Final = 80
_MOST_DEPTH: Final = 4

_PLAIN: Final = (
    *(bool, int, float, complex, str, torch.SymInt, torch.SymFloat, torch.SymBool),
    *(torch.dtype, torch.layout, torch.device, torch.memory_format),
)
"""What is told as text. The text of anything else may be long in the making: that of a storage is its elements, which
on a GPU are copied one by one (the 17 million bytes of the weights of an LSTM took 208 s).
"""


class TensorReader:
    """Describes tensors, knowing the model's parameters and what the step itself made on the host."""

    def __init__(self, model: object) -> None:
        self._names: dict[int, str] = {}
        if isinstance(model, torch.nn.Module):
            for name, parameter in model.named_parameters():
                pointer = _storage_pointer(parameter)
                if pointer is not None:
                    self._names.setdefault(pointer, name)
        self._host_made: Any = WeakIdKeyDictionary()
        self._texts: dict[object, str] = {}

    def facts(self, tensor: torch.Tensor) -> TensorFacts:
        """Raises what torch raises for a tensor without a plain shape."""
        is_strided = tensor.layout == torch.strided
        strides = tuple(int(s) for s in tensor.stride()) if is_strided else ()
        parameter = self._parameter(tensor) if is_strided else None
        return TensorFacts(
            shape=tuple(int(size) for size in tensor.shape),
            dtype=self._text(tensor.dtype),
            device=tensor.device.type,
            layout=_layout(tensor) if is_strided else self._text(tensor.layout),
            strides=strides,
            parameter=parameter,
            is_host_made=tensor.device.type == "cpu" and tensor in self._host_made,
            is_borrowed=is_strided and _is_borrowed(tensor),
            offset=int(tensor.storage_offset()) if parameter is not None else 0,
        )

    def note_origin(self, inputs: list[torch.Tensor], outputs: list[torch.Tensor], *, is_data: bool) -> None:
        """Remember which outputs were made on the host out of nothing else. `is_data`: they are a loader's batch."""
        is_made = not is_data and all(t.device.type == "cpu" and t in self._host_made for t in inputs)
        for tensor in outputs:
            if tensor.device.type != "cpu":
                continue
            if is_made:
                self._host_made[tensor] = True
            else:
                self._host_made.pop(tensor, None)

    def _parameter(self, tensor: torch.Tensor) -> str | None:
        pointer = _storage_pointer(tensor)
        name = self._names.get(pointer) if pointer is not None else None
        if name is None and isinstance(tensor, torch.nn.Parameter):
            name = f"parameter {len(self._names)}"  # of a module that is no part of the model
            if pointer is not None:
                self._names[pointer] = name
        return name

    def _text(self, value: object) -> str:
        text = self._texts.get(value)
        if text is None:
            text = self._texts[value] = str(value).removeprefix("torch.")
        return text


def tensors_in(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """The tensors in an argument or a result, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple) and depth < _MOST_DEPTH:
        for child in value[:_MOST_TENSORS]:
            yield from tensors_in(child, depth + 1)
    elif isinstance(value, dict) and depth < _MOST_DEPTH:
        for child in value.values():
            yield from tensors_in(child, depth + 1)


def plain_values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    """The arguments that are no tensors, as text; of what is no plain value its type's name. None is left out."""
    named = [*(("", value) for value in args), *((f"{name}=", value) for name, value in kwargs.items())]
    return tuple(
        f"{name}{_plain_text(value)}"[:_VALUE_CHARS]
        for name, value in named
        if value is not None and not _holds_tensor(value)
    )


def _plain_text(value: Any, depth: int = 0) -> str:
    if value is None or isinstance(value, _PLAIN):
        return repr(value) if depth else str(value)
    if depth < _MOST_DEPTH and isinstance(value, list | tuple):
        opening, closing = "[]" if isinstance(value, list) else "()"
        return f"{opening}{', '.join(_plain_text(child, depth + 1) for child in value[:_VALUE_CHARS])}{closing}"
    return type(value).__name__


def _holds_tensor(value: Any) -> bool:
    return next(tensors_in(value), None) is not None


def _layout(tensor: torch.Tensor) -> str:
    if tensor.is_contiguous():
        return "contiguous"
    if tensor.ndim == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        return "channels_last"
    if tensor.ndim == 5 and tensor.is_contiguous(memory_format=torch.channels_last_3d):
        return "channels_last_3d"
    return "strided"


def _is_borrowed(tensor: torch.Tensor) -> bool:
    """Whether its memory is another library's, as that of torch.from_numpy is: torch cannot resize that."""
    try:
        return tensor.device.type == "cpu" and not tensor.untyped_storage().resizable()
    except (RuntimeError, NotImplementedError, ValueError):
        return False


def _storage_pointer(tensor: torch.Tensor) -> int | None:
    """The address of the memory behind a tensor; None where it has none (a meta tensor, a wrapper, a lazy one)."""
    try:
        return tensor.untyped_storage().data_ptr() or None
    except (RuntimeError, NotImplementedError, ValueError):
        return None
