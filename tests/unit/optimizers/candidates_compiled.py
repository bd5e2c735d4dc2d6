"""One graph compiled under some candidates, for tests: what it computes, what was generated, what was refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule

from analyzer.core.graphs import CallOrder, GraphKey, KernelFacts
from collectors import torch_compat
from collectors.graph_key import graph_digest
from collectors.probe import Probe
from optimizers.backend import SwitchBackend, Watch
from optimizers.candidates.known import candidate_of
from optimizers.candidates.pair import AnyCandidate
from tests.workloads import captured, fresh_dynamo


@dataclass
class Codes:
    """Takes the place of a session's ears, and keeps what was generated."""

    codes: dict[str, str] = field(default_factory=dict)
    programs: dict[str, GraphModule | None] = field(default_factory=dict)

    def compiling(self, key: GraphKey, candidate: AnyCandidate) -> None: ...

    def compiled(self, key: GraphKey, candidate: AnyCandidate, dynamo: GraphModule, aot: GraphModule | None) -> None:
        self.programs[f"{candidate.id}.{key.direction}"] = aot

    def counted(
        self, key: GraphKey, candidate: AnyCandidate, traffic_bytes: int | None, kernels: tuple[KernelFacts, ...]
    ) -> None: ...

    def ordered(self, key: GraphKey, candidate: AnyCandidate, calls: CallOrder | None) -> None: ...

    def generated(self, key: GraphKey, candidate: AnyCandidate, code: str) -> None:
        self.codes[f"{candidate.id}.{key.direction}"] = code

    def refused(self, key: GraphKey, reasons: tuple[str, ...]) -> None: ...

    def finished(self, key: GraphKey, candidate: AnyCandidate) -> None: ...


@dataclass
class Compiled:
    """A function whose first graph can be run under several candidates."""

    call: Callable[..., Any]
    backend: SwitchBackend
    heard: Codes
    digest: str

    def under(self, candidate: str, *args: Any) -> Any:
        self.backend.select({self.digest: candidate})
        failure = self.backend.failure(self.digest, candidate)
        assert failure is None, failure
        return self.call(*args)

    def refusal(self, candidate: str) -> str | None:
        failure = self.backend.failure(self.digest, candidate)
        return None if failure is None else failure.reason


@contextmanager
def compiled(function: Callable[..., Any], args: Sequence[Any], ids: Sequence[str]) -> Iterator[Compiled]:
    """`function`, called once with `args`, its first graph under the default and these candidates."""
    gm, inputs = captured(function, *args)[0]
    digest, heard = graph_digest(gm, inputs), Codes()
    backend = SwitchBackend({digest: [candidate_of(one) for one in ids]}, Watch("cpu", Probe("cpu"), heard))
    with fresh_dynamo():
        call = torch_compat.compiled_model(function, backend)
        torch_compat.mark_step_begin()
        call(*args)
        yield Compiled(call, backend, heard, digest)


def assert_same(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
