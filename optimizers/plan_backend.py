"""The `torch.compile` backend that carries out a plan: each graph under its candidate, and nothing around a call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.fx import GraphModule

from analyzer.core.graphs import Direction
from collectors import torch_compat
from collectors.graph_key import graph_digest
from optimizers.candidates.base import Candidate, RefusedError
from optimizers.compiling import Unwatched, compile_candidate

Choices = Mapping[tuple[str, Direction], Candidate]
"""The candidate of each graph, by its digest and direction."""


class PlanBackend:
    """Compiles each graph under its candidate, an unknown one under `default`.

    `unknown` are the digests of the graphs met that `choices` does not name, `has_met_any` is whether there was any.
    """

    def __init__(self, choices: Choices, default: Candidate) -> None:
        self._choices = dict(choices)
        self._default = default
        self.unknown: list[str] = []
        self.has_met_any = False

    def __call__(self, gm: GraphModule, inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
        self.has_met_any = True
        digest = graph_digest(gm, inputs)
        forward, backward = self.candidates(digest, direction_of(inputs))
        try:
            return self.compile(gm, inputs, forward, backward)
        except RefusedError as refused:
            # It is not as it was when the plan was made: without weights of its own to bake in, say.
            self.refused(digest, forward, str(refused))
            return self.compile(gm, inputs, self._default, self._default)

    def compile(
        self, gm: GraphModule, inputs: Sequence[Any], forward: Candidate, backward: Candidate
    ) -> Callable[..., Any]:
        """One graph, compiled, and called as it is. Raises RefusedError."""
        return compile_candidate(gm, inputs, forward, backward, Unwatched())

    def reset(self) -> None:
        """`torch._dynamo.reset` asks for it: what was recorded goes with what was compiled."""
        if any(candidate.uses_cuda_graphs for candidate in self._choices.values()):
            torch_compat.forget_cuda_graphs()

    def candidates(self, digest: str, direction: Direction) -> tuple[Candidate, Candidate]:
        """What compiles a graph's forward, or inference, and its backward."""
        # A graph with inputs that want gradients and outputs that have none is an inference one to AOTAutograd.
        forward = self._choices.get((digest, direction)) or self._choices.get((digest, Direction.INFERENCE))
        if forward is None or direction not in forward.directions:
            # Measured in inference and called with gradients on: baked-in weights would stop learning.
            self.unknown.append(digest)
            forward = self._default
        backward = self._choices.get((digest, Direction.BACKWARD), forward)
        if backward.needs_same_forward and backward is not forward:
            backward = self._default
        return forward, backward

    def refused(self, digest: str, candidate: Candidate, reason: str) -> None:
        """`candidate` would not have a graph that the plan gives it."""


class ReportingBackend(PlanBackend):
    """Warns of the first graph that the plan does not name, as it is compiled: no call after that pays for it.

    `named` is what the plan is called in the warning; `cut` is why torch may cut this model into other graphs.
    """

    def __init__(self, choices: Choices, default: Candidate, named: str, cut: str | None = None) -> None:
        super().__init__(choices, default)
        self._named = named
        self._cut = cut
        self._met = 0

    def candidates(self, digest: str, direction: Direction) -> tuple[Candidate, Candidate]:
        known = len(self.unknown)
        found = super().candidates(digest, direction)
        self._met += len(self.unknown) == known
        if known == 0 and self.unknown:
            warnings.warn(self._unknown_graph(digest), UserWarning, stacklevel=2)
        return found

    def refused(self, digest: str, candidate: Candidate, reason: str) -> None:
        text = f"{self._named} wants {candidate.id} for graph {digest}, which takes torch.compile's default: {reason}"
        warnings.warn(text, UserWarning, stacklevel=2)

    def _unknown_graph(self, digest: str) -> str:
        so_far = f"{self._met} of its graphs have occurred" if self._met else "none of its graphs has occurred"
        other = "" if self._met else f"; {self._cut or 'is it the plan of another model, or of other input shapes?'}"
        return (
            f"{self._named} does not name the graph {digest}, which takes torch.compile's default, as every other will "
            f"that it does not name; so far {so_far}{other}"
        )


def direction_of(inputs: Sequence[Any]) -> Direction:
    """What AOTAutograd will make of a graph: it needs a backward where gradients are on and any input wants one."""
    wants = any(isinstance(value, torch.Tensor) and value.requires_grad for value in inputs)
    return Direction.FORWARD if wants and torch.is_grad_enabled() else Direction.INFERENCE
