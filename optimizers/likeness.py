"""Results of two runs, tensor by tensor: where they are alike, and how far apart. Judges nothing."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Final

import torch

from collectors.effects import Results
from collectors.kept_numbers import is_number
from collectors.tensor_parts import computable

UNSTEADY: Final = 0.1
"""Relative difference of two equal runs of eager beyond which a result is none that could be repeated. Atomic additions
of a GPU stay far within it, but for sums whose terms cancel."""


def are_equal(left: Results, right: Results) -> bool:
    """Whether two runs gave the same bits."""
    if mismatch(left, right) is not None:
        return False
    return all(is_alike(a, b) for (_, a), (_, b) in zip(left, right, strict=True))


def unlike(left: Results, right: Results) -> frozenset[str]:
    """The paths at which two runs gave other bits, or only one of them anything."""
    differing = (path for path, pair in pairs(left, right) if not is_alike(*pair))
    return unlike_in_kind(left, right).union(differing)


def unlike_in_kind(left: Results, right: Results) -> frozenset[str]:
    """The paths that only one of them has, or has in another shape or dtype."""
    both = {path for path, _ in pairs(left, right)}
    return frozenset(path for path, _ in (*left, *right) if path not in both)


def unsteady(left: Results, right: Results) -> frozenset[str]:
    """The paths at which two equal runs differ by more than rounding, or in kind."""
    far = (path for path, pair in pairs(left, right) if not is_alike(*pair) and _is_far(path, *pair))
    return unlike_in_kind(left, right).union(far)


def mismatch(eager: Results, results: Results) -> str | None:
    """How the results differ in kind, None where every tensor has its twin."""
    if [path for path, _ in eager] != [path for path, _ in results]:
        return _other_names(dict(eager), dict(results))
    for (path, left), (_, right) in zip(eager, results, strict=True):
        if not is_of_one_kind(left, right):
            return f"{path} is {right.dtype}{list(right.shape)}, eager's is {left.dtype}{list(left.shape)}"
    return None


def pairs(left: Results, right: Results) -> Iterator[tuple[str, tuple[torch.Tensor, torch.Tensor]]]:
    """What both gave in one kind, by path."""
    others = dict(right)
    for path, tensor in left:
        other = others.get(path)
        if other is not None and is_of_one_kind(tensor, other):
            yield path, (tensor, other)


def without(results: Results, paths: Collection[str]) -> Results:
    """What lies at other paths."""
    return tuple((path, tensor) for path, tensor in results if path not in paths) if paths else results


def is_alike(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two tensors of one kind hold the same bits; of one that cannot be read nothing else is said."""
    if left.is_meta:
        return True
    left, right = _side_by_side(left, right)
    return torch.equal(left, right) or _same_bits(left, right)


def is_of_one_kind(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether shape and dtype are the same."""
    return left.shape == right.shape and left.dtype == right.dtype


def is_whole(tensor: torch.Tensor) -> bool:
    """Whether it holds whole numbers or truth values, which are compared exactly."""
    return not tensor.is_floating_point() and not tensor.is_complex()


def same_specials(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether NaN and infinities stand in the same places, these with the same signs."""
    left, right = _side_by_side(left, right)
    if not torch.equal(torch.isnan(left), torch.isnan(right)):
        return False
    left_inf, right_inf = torch.isinf(left), torch.isinf(right)
    return torch.equal(left_inf, right_inf) and torch.equal(left[left_inf], right[right_inf])


def distance(left: torch.Tensor, right: torch.Tensor) -> float:
    """Of two tensors of one kind: relative; of whole numbers the share that differs; infinite where one is special."""
    if left.is_meta or right.is_meta:
        return 0.0
    if is_whole(left):
        return share_of_others(left, right)
    return relative_error(right, left) if same_specials(left, right) else math.inf


def relative_error(tensor: torch.Tensor, truth: torch.Tensor) -> float:
    """‖tensor - truth‖₂ / ‖truth‖₂ over the finite elements, in float64; against 1 where the truth is all zero."""
    wide = torch.complex128 if truth.is_complex() else torch.float64
    left, right = tensor.detach().to(truth.device, wide), truth.detach().to(wide)
    is_finite = torch.isfinite(left) & torch.isfinite(right)
    difference = torch.where(is_finite, left - right, 0).norm().item()
    size = torch.where(is_finite, right, 0).norm().item()
    return float(difference / size) if size > 0 else float(difference)


def share_of_others(left: torch.Tensor, right: torch.Tensor) -> float:
    """The share of the elements that are not the same."""
    left, right = _side_by_side(left, right)
    return float((left != right).double().mean().item()) if left.numel() else 0.0


def _side_by_side(left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both where the first lies, in a type that can be compared: compiled, an optimizer keeps its count of steps on the
    GPU, and else on the CPU.
    """
    return computable(left), computable(right).to(left.device)


def _is_far(path: str, left: torch.Tensor, right: torch.Tensor) -> bool:
    return is_whole(left) or is_number(path) or distance(left, right) > UNSTEADY


def _same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    return left.is_floating_point() and torch.allclose(left, right, rtol=0.0, atol=0.0, equal_nan=True)


def _other_names(eager: Mapping[str, object], results: Mapping[str, object]) -> str:
    missing = [path for path in eager if path not in results]
    added = [path for path in results if path not in eager]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        return f"eager gives {missing[0]}{more}, this does not"
    return f"this gives {added[0]}, eager does not" if added else "the same tensors in another order"


def size(tensor: torch.Tensor) -> float:
    """The root mean square of the finite elements."""
    wide = tensor.detach().to(torch.complex128 if tensor.is_complex() else torch.float64)
    finite = torch.where(torch.isfinite(wide), wide, 0)
    return float(finite.norm().item()) / math.sqrt(max(tensor.numel(), 1))


class Sizes:
    """The sizes of one run's results, each asked of the device once: a judgement of n results may ask n times for each,
    and a GPU takes 0.1 ms to answer.
    """

    def __init__(self) -> None:
        self._known: dict[str, float] = {}
        self._typical: float | None = None

    def typical_error(self, eager: Results, wide: Results) -> float:
        """The median distance of this run, which is eager's, from a wider one, without what that has as good as nothing
        of; 0 where they have nothing in common.
        """
        if self._typical is None:
            found = (relative_error(own, truth) for path, (own, truth) in _floats(eager, wide) if not is_number(path))
            errors = sorted(error for error in found if error < 1)
            self._typical = errors[len(errors) // 2] if errors else 0.0
        return self._typical

    def of(self, result: tuple[str, torch.Tensor]) -> float:
        """`size` of the result at this path."""
        path, tensor = result
        if path not in self._known:
            self._known[path] = size(tensor)
        return self._known[path]


def _floats(left: Results, right: Results) -> Iterator[tuple[str, tuple[torch.Tensor, torch.Tensor]]]:
    """What both have in one shape, with digits behind the point, and not all zero on the right."""
    others = dict(right)
    for path, own in left:
        other = others.get(path)
        if other is None or own.is_meta or other.is_meta or is_whole(own) or own.shape != other.shape:
            continue
        if bool(other.any()):
            yield path, (own, other)


def all_finite(tensor: torch.Tensor) -> bool:
    """Whether no element is NaN or infinite."""
    return bool(torch.isfinite(computable(tensor)).all())
