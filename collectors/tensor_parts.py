"""A tensor of any layout as the plain dense tensors that hold its value. Never raises and never changes a tensor."""

from __future__ import annotations

import torch

Parts = tuple[tuple[str, torch.Tensor], ...]


def parts(tensor: torch.Tensor) -> Parts | None:
    """Dense tensors that together are the value, each with a suffix for its path; "" where the tensor is dense itself.

    None where nothing can be read: a meta tensor, a layout or subclass that this torch cannot take apart.
    """
    if is_dense(tensor):
        return (("", tensor.detach()),)
    try:
        return None if tensor.is_meta else _taken_apart(tensor.detach())
    except Exception:  # a subclass may raise anything from any operation
        return None


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether every operation takes it: strided, and of no subclass that holds others."""
    is_plain = tensor.layout == torch.strided and not (tensor.is_nested or tensor.is_quantized or tensor.is_meta)
    return is_plain and not hasattr(tensor, "__tensor_flatten__")


def computable(tensor: torch.Tensor) -> torch.Tensor:
    """The same values in a type that torch compares: of float8 it can tell neither infinities nor equality."""
    is_float8 = tensor.is_floating_point() and tensor.dtype.itemsize == 1
    return tensor.float() if is_float8 and not tensor.is_meta else tensor


def readable(path: str, tensor: torch.Tensor) -> Parts:
    """Copies of the parts under the path of the tensor. What cannot be read leaves one meta tensor of its dtype."""
    found = parts(tensor)
    if found is None:
        return ((path, torch.empty((), dtype=tensor.dtype, device="meta")),)
    return tuple((path + suffix, part.clone()) for suffix, part in found)


def _taken_apart(tensor: torch.Tensor) -> Parts | None:
    if tensor.is_nested:
        return _nested(tensor)
    if tensor.is_quantized:
        return ((".dequantize()", tensor.dequantize()),)
    match tensor.layout:
        case torch.sparse_coo:
            one = tensor.coalesce()
            return (".indices()", one.indices()), (".values()", one.values())
        case torch.sparse_csr | torch.sparse_bsr:
            rows, columns = tensor.crow_indices(), tensor.col_indices()
            return (".crow_indices()", rows), (".col_indices()", columns), (".values()", tensor.values())
        case torch.sparse_csc | torch.sparse_bsc:
            columns, rows = tensor.ccol_indices(), tensor.row_indices()
            return (".ccol_indices()", columns), (".row_indices()", rows), (".values()", tensor.values())
        case torch.strided:
            return _flattened(tensor)
        case _:  # mkldnn, and what may come
            return ((".to_dense()", tensor.to_dense()),)


def _nested(tensor: torch.Tensor) -> Parts:
    if tensor.layout != torch.jagged:
        return tuple((f"[{index}]", part) for index, part in enumerate(tensor.unbind()))
    # Of a tensor with holes the values between its rows belong to nobody: only the rows are compared.
    lengths = tensor.lengths()  # type: ignore[attr-defined]
    if lengths is not None:
        return tuple((f"[{index}]", part) for index, part in enumerate(tensor.unbind()))
    return (".values()", tensor.values()), (".offsets()", tensor.offsets())  # type: ignore[attr-defined]


def _flattened(tensor: torch.Tensor) -> Parts | None:
    """A wrapper subclass by torch's own protocol, however deep it holds plain tensors."""
    names, _ = tensor.__tensor_flatten__()  # type: ignore[attr-defined]
    found: list[tuple[str, torch.Tensor]] = []
    for name in names:
        inner = getattr(tensor, name)
        if not isinstance(inner, torch.Tensor):
            continue  # the device mesh of a DTensor, which torch 2.13 names with its tensor
        held = parts(inner)
        if held is None:
            return None
        found += ((f".{name}{suffix}", part) for suffix, part in held)
    return tuple(found)
