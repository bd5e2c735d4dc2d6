"""Splits whole nanoseconds so that the pieces add up exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def split(total_ns: int, weights: Sequence[float]) -> tuple[int, ...]:
    """`total_ns` in proportion to `weights`, rounded by largest remainder: the pieces add up to it exactly.

    Weights of nothing but 0 give everything to the first piece. Raises ValueError on a negative weight or total,
    and on no weight at all when there is something to split.
    """
    if total_ns < 0 or any(w < 0 for w in weights):
        raise ValueError("neither a total nor a weight may be negative")
    if not weights:
        if total_ns:
            raise ValueError("nothing to split over")
        return ()
    whole = sum(weights)
    if not whole:
        return (total_ns, *(0 for _ in weights[1:]))
    exact = [total_ns * (w / whole) for w in weights]
    pieces = [int(e) for e in exact]
    left = total_ns - sum(pieces)
    if abs(left) > len(pieces) or left < 0:
        # Past 2^53 a double misses by more than the rounding: the largest piece, which it came from, takes that.
        pieces[int(np.argmax(pieces))] += left
        return tuple(pieces)
    order = np.argsort([p - e for p, e in zip(pieces, exact, strict=True)], kind="stable").tolist()
    for i in order[:left]:
        pieces[i] += 1
    return tuple(pieces)
