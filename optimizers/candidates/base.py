"""What a candidate is: one configuration of the compiler for one graph."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.core.graphs import Direction


@dataclass(frozen=True, slots=True)
class Candidate:
    """`patches` are Inductor settings, complete: what they name is set, whatever the user's own configuration.

    `is_eager` runs the graph as it was captured, without Inductor. `devices` are those it can run on.
    `needs_same_forward`: its backward is right only where its forward is the same candidate.
    """

    id: str
    title: str
    patches: tuple[tuple[str, object], ...] = ()
    is_eager: bool = False
    uses_cuda_graphs: bool = False
    uses_cpp_wrapper: bool = False
    devices: tuple[str, ...] = ("cpu", "cuda")
    needs_same_forward: bool = False

    def refusal(self, device: str, direction: Direction) -> str | None:
        """Why it cannot be tried here, None where it can."""
        if device not in self.devices:
            return f"{self.title} needs a {' or '.join(self.devices).upper()} device, this is a {device.upper()}"
        if self.is_eager and direction is Direction.BACKWARD:
            return "the backward of an eager graph is eager with its forward"
        return None
