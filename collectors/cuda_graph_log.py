"""Torch's own words on the CUDA graphs that it refuses, or takes a graph apart for, by graph and by candidate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from analyzer.core.graphs import CudaGraphSkip, GraphKey, SourceLine
from collectors.sources import frames, user_line

_REFUSED: Final = "skipping cudagraph"
"""How torch begins when a graph is left without: when it compiles; for inputs that are written to, at the first call,
where it knows which of them are outputs of another CUDA graph; and once it has recorded a graph too often
(`CUDAGraphTreeManager._run` in torch/_inductor/cudagraph_trees.py, of one `cudagraph`)."""

_LEFT_OUT: Final = "cudagraph partition due to "
"""How a reason begins for which torch took a graph apart; torch itself names each operation, and below it its stack."""

UNNAMED_PARTITION: Final = f"{_LEFT_OUT}operations that torch did not name"
"""The reason that stands where torch is silent."""

_OPERATION: Final = re.compile(r"^\s+\S+: reason=(?P<reason>.+?), ir=\w+")
"""`Scheduler._log_non_cudagraphable_node` in torch/_inductor/scheduler.py, the same in 2.11 and 2.13."""
_OF_A_STACK: Final = " " * 9
_OF_THE_DEFAULT: Final = "partition includes all ops when cudagraphs is disabled"
"""What torch says of each operation where it was asked for no CUDA graph."""

_SKIPPED: Final = (_REFUSED, "disabling cudagraphs")


@dataclass(frozen=True, slots=True)
class _Heard:
    candidate: str | None
    skip: CudaGraphSkip


@dataclass(slots=True)
class CudaGraphLog:
    """`compiling` is the candidate that is being compiled, None while none is; `selected` is what runs then, by
    digest. Of what torch says of a graph outside of both the candidate is not known.
    """

    root: Path | None
    compiling: str | None = None
    selected: Mapping[str, str] = field(default_factory=dict)
    _heard: list[_Heard] = field(default_factory=list)
    _refused: dict[tuple[str, str | None], str] = field(default_factory=dict)
    _stack: str | None = None
    """What was heard of the stack of the operation that was named last; None where none is to come."""

    @property
    def skips(self) -> tuple[CudaGraphSkip, ...]:
        """All that was heard, each once."""
        return tuple(dict.fromkeys(heard.skip for heard in self._heard))

    def skips_of(self, choices: Mapping[str, str]) -> tuple[CudaGraphSkip, ...]:
        """What was heard of these graphs under these candidates, by digest, each once."""
        return tuple(
            dict.fromkeys(
                heard.skip
                for heard in self._heard
                if heard.skip.key is not None and choices.get(heard.skip.key.digest, "") == heard.candidate
            )
        )

    def refusal(self, digest: str, candidate: str | None) -> str | None:
        """Why torch refused a CUDA graph to the graphs of this digest under this candidate, None where it did not."""
        return self._refused.get((digest, candidate))

    def add_skip(self, key: GraphKey | None, where: SourceLine | None, reason: str) -> None:
        self._heard.append(_Heard(self._candidate(key), CudaGraphSkip(key, where, reason)))

    def add_refusal(self, key: GraphKey, where: SourceLine | None, reason: str) -> None:
        """Torch compiled or called `key` without the CUDA graph it was asked for."""
        self._refused.setdefault((key.digest, self._candidate(key)), reason)
        self.add_skip(key, where, reason)

    def hear(self, key: GraphKey | None, where: SourceLine | None, message: str) -> None:
        """One message of torch's log while `key`, which begins at `where`, is compiled or runs."""
        operation = _OPERATION.match(message)
        if operation is not None:
            is_left_out = operation["reason"] != _OF_THE_DEFAULT
            self._stack = "" if is_left_out else None
            if is_left_out:
                self.add_skip(key, where, f"{_LEFT_OUT}{operation['reason']}")
        elif self._stack is not None and message.startswith(_OF_A_STACK):
            self._place(f"{self._stack}{message}\n")
        else:
            self._stack = None
            self._hear_sentence(key, where, message)

    def _hear_sentence(self, key: GraphKey | None, where: SourceLine | None, message: str) -> None:
        text = re.sub(r"\s+", " ", message).strip()
        if key is not None and message.startswith(_REFUSED):
            self.add_refusal(key, where, text)
        elif message.startswith(_SKIPPED):
            self.add_skip(key, where, text)

    def _place(self, stack: str) -> None:
        """The user's line in the stack of the operation that was named last, of which torch logs line by line."""
        self._stack, last = stack, self._heard[-1]
        line = user_line(frames(stack), self.root)
        if line is not None:
            self._heard[-1] = _Heard(last.candidate, CudaGraphSkip(last.skip.key, line, last.skip.reason))

    def _candidate(self, key: GraphKey | None) -> str | None:
        if self.compiling is not None or key is None:
            return self.compiling
        return self.selected.get(key.digest)
