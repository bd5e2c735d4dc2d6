"""Builds the steps that a page draws."""

from __future__ import annotations

from typing import Any

from analyzer.reporting.shown_step import ShownLane, ShownMark, ShownShade, ShownStep

SHADES = (ShownShade("operators", "#8FA3BF", "none"), ShownShade("memory-bound kernels", "#56B4E9", "dots"))


def a_mark(left: float, right: float, text: str | None = "gemm 5.00 µs", **changes: Any) -> ShownMark:
    return ShownMark(left, right, changes.pop("shade", 1), changes.pop("cover", 1.0), text)


def a_step(name: str = "before", ns: int = 2_000_000, **changes: Any) -> ShownStep:
    lanes = (ShownLane("host thread 1", (a_mark(0.0, 1.0, "aten::mm 2.00 ms", shade=0),), 1),)
    lanes += (ShownLane("stream 7", (a_mark(0.25, 0.5), a_mark(0.5, 0.5, None, cover=0.3)), 12),)
    fields: dict[str, Any] = {"lanes": lanes, "shades": SHADES, **changes}
    return ShownStep(name, "step 2 of 3, of median length", ns, **fields)
