"""What a candidate is: one configuration of the compiler for one graph, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from analyzer.core.graphs import Direction


class Axis(Enum):
    """What a candidate changes. One of each of the three first can be combined; the value is the word for people."""

    KERNELS = "kernels"
    """How kernels are made: fused as torch does it, tuned, with the weights baked in, …"""
    LAUNCH = "launch"
    """How they are launched: from Python, by a CUDA graph, from compiled C++."""
    MEANING = "meaning"
    """What is computed: it may change results, and is tried only where the user allows it. Several go together."""
    ALONE = "alone"
    """It stands for itself and combines with nothing."""


Patches = tuple[tuple[str, object], ...]

PYTHON_LAUNCH: Final[Patches] = (("triton.cudagraphs", False), ("cpp_wrapper", False))
"""Launched one by one from Python: the default of the axis, and what a candidate for kernels has unless combined."""

EVERY_DIRECTION: Final = tuple(Direction)

QUANTIZING: Final = ("int8", "fp8")
"""The changes of meaning that are made in weights, which are baked in for them."""

JOIN: Final = "+"
"""Between the ids of the parts of a combination, as in `frozen+cuda_graphs`."""


class RefusedError(Exception):
    """A candidate's own conditions would not have a graph. The message is the reason, a sentence for people."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """`patches` are Inductor settings, complete for what the candidate changes: they are set whatever the user's own
    configuration says, and every setting they do not name is left as the user has it.

    `is_eager` runs the graph as it was captured, without Inductor; `backend` hands it to this registered backend of
    `torch.compile`; `is_packaged` compiles it ahead of time with AOTInductor. `freezes` bakes the weights in, `groups`
    merges linear layers of one input, `fuses_matvecs` makes matrix-vector products sums. `changes` are the
    changes of meaning that it makes (`settings.MEANING_CHANGES`). `tunes_products`: it times kernels for each shape of
    product, and is worth it where there are many.

    `devices` are those it can run on, `directions` the programs it can be had for. `since` is the first torch release
    (major, minor) that has it, and `lacking` what older ones do instead, for people. `needs_same_forward`: its backward
    is right only where its forward is the same candidate. `excludes` are ids that it cannot be combined with, each
    with the reason; `joins` those of its own axis that it can. `whole_of` is the candidate that torch may take apart
    where this one is all or nothing: where that was not taken apart, this is the same once more. `parts` are the ids
    that a combination is made of.

    `caveat` is what whoever uses it must know, shown wherever it was chosen. `is_dear`: it compiles several times as
    long as the default.
    """

    id: str
    title: str
    patches: Patches = ()
    axis: Axis = Axis.ALONE
    is_eager: bool = False
    uses_cuda_graphs: bool = False
    uses_cpp_wrapper: bool = False
    freezes: bool = False
    groups: bool = False
    fuses_matvecs: bool = False
    tunes_products: bool = False
    changes: tuple[str, ...] = ()
    is_packaged: bool = False
    backend: str | None = None
    devices: tuple[str, ...] = ("cpu", "cuda")
    directions: tuple[Direction, ...] = EVERY_DIRECTION
    since: tuple[int, int] | None = None
    lacking: str | None = None
    needs_same_forward: bool = False
    excludes: tuple[tuple[str, str], ...] = ()
    joins: tuple[str, ...] = ()
    whole_of: str | None = None
    caveat: str | None = None
    is_dear: bool = False
    parts: tuple[str, ...] = ()

    def refusal(self, device: str, direction: Direction, release: tuple[int, int] | None = None) -> str | None:
        """Why it cannot be tried here, None where it can. `release` None: not asked whether torch has it."""
        if device not in self.devices:
            return f"it needs a {' or '.join(self.devices).upper()} device, this is a {device.upper()}"
        if self.since is not None and release is not None and release < self.since:
            reason = f": {self.lacking}" if self.lacking else ""
            return f"it needs torch {release_text(self.since)}, this is {release_text(release)}{reason}"
        if direction in self.directions:
            return None
        if self.is_eager:
            return "the backward of an eager graph is eager with its forward"
        if self.directions == (Direction.INFERENCE,):
            return "it is for inference alone, and this graph is trained"
        return f"it is for {' and '.join(self.directions)} alone, this graph is a {direction} one"

    @property
    def is_inductors(self) -> bool:
        """Whether Inductor compiles it graph by graph, forward and backward apart."""
        return not (self.is_eager or self.is_packaged or self.backend is not None)

    @property
    def is_combination(self) -> bool:
        return bool(self.parts)


def release_text(release: tuple[int, int]) -> str:
    """As people write it: `2.13`."""
    return ".".join(str(number) for number in release)
