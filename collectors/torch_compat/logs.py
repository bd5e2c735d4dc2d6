"""Torch's own logs of graph breaks, recompiles, its recompile limit and refused CUDA graphs, heard; and what its
autotuning writes, kept off the terminal.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from traceback import FrameSummary, StackSummary
from typing import Any, Final

import torch
from torch._dynamo import symbolic_convert
from torch._dynamo import utils as dynamo_utils
from torch._dynamo.exc import remove_resume_prefix

_GRAPH_BREAK_LOGS: Final = (
    "torch._dynamo.symbolic_convert.__graph_breaks",
    "torch._dynamo.convert_frame.__graph_breaks",
    "torch._dynamo.exc.__graph_breaks",
)

_RECOMPILE_LOGS: Final = ("torch._dynamo.guards.__recompiles",)

_RECOMPILE_LIMIT_LOGS: Final = ("torch._dynamo.convert_frame",)

_COLLAPSE: Final = "collapse_resume_frames"

_CUDA_GRAPH_LOGS: Final = (
    "torch._inductor.cudagraph_utils.__cudagraphs",
    "torch._inductor.scheduler.__cudagraphs",
    "torch._inductor.cudagraph_trees.__cudagraphs",
)


@contextlib.contextmanager
def compiler_logs(
    *,
    on_break: Callable[[str], None],
    on_recompile: Callable[[str], None],
    on_limit: Callable[[str], None],
    on_cuda_graph: Callable[[str], None],
) -> Iterator[None]:
    """Hear torch's own logs of graph breaks, recompiles, its recompile limit and refused CUDA graphs.

    The breaks come from the log because `torch._dynamo.utils.counters` misses many of them (torch 2.13 counts none
    for a break inside a loop). Each is told with its whole stack. Loggers and torch's log state are put back.
    """
    log_state = torch._logging._internal.log_state
    had_recompiles = "recompiles" in log_state.artifact_names
    silenced = logging.root.manager.disable
    with contextlib.ExitStack() as stack:
        stack.callback(logging.disable, silenced)
        logging.disable(logging.NOTSET)
        stack.enter_context(_own_frames_kept())
        for names, hear in (
            (_GRAPH_BREAK_LOGS, _with_its_stack(on_break)),
            (_RECOMPILE_LOGS, on_recompile),
            (_RECOMPILE_LIMIT_LOGS, on_limit),
            (_CUDA_GRAPH_LOGS, on_cuda_graph),
        ):
            for name in names:
                stack.enter_context(_listen(name, hear, is_artifact="__" in name))
        log_state.artifact_names.add("recompiles")
        try:
            yield
        finally:
            if not had_recompiles:
                log_state.artifact_names.discard("recompiles")


@contextlib.contextmanager
def autotuning_told_to(log: Path) -> Iterator[None]:
    """What Inductor writes to stderr of each choice of a kernel that it times (torch 2.11 to 2.14, by `sys.stderr` and
    no logger) is added to `log` while the block runs. Whatever else is written meanwhile goes where it went.
    """
    from torch._inductor import select_algorithm  # brings Inductor, for a second

    with log.open("a", buffering=1, encoding="utf-8") as file:
        select_algorithm.sys = _SysTellingTo(file)  # type: ignore[assignment, attr-defined]
        try:
            yield
        finally:
            select_algorithm.sys = sys  # type: ignore[attr-defined]


class _SysTellingTo:
    """The module `sys` with another stderr."""

    def __init__(self, stderr: Any) -> None:
        self.stderr = stderr

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


def _with_its_stack(hear: Callable[[str], None]) -> Callable[[str], None]:
    """`hear`, after which torch has forgotten the place: of one that it knows it would tell no stack."""

    def heard(message: str) -> None:
        hear(message)
        dynamo_utils.reset_graph_break_dup_checker()

    return heard


@contextlib.contextmanager
def _own_frames_kept() -> Iterator[None]:
    """Torch 2.12 to 2.14 take two frames of one name for one function that resumes: of a `forward` that calls another
    its stacks would name the inner one alone.
    """
    was = getattr(symbolic_convert, _COLLAPSE)
    setattr(symbolic_convert, _COLLAPSE, _without_resumed)
    try:
        yield
    finally:
        setattr(symbolic_convert, _COLLAPSE, was)


def _without_resumed(stack: Iterable[FrameSummary]) -> StackSummary:
    """As `torch._dynamo.exc.collapse_resume_frames` of 2.11: a frame that resumes another stands in its place."""
    kept = StackSummary()
    for frame in stack:
        name = remove_resume_prefix(frame.name) or frame.name
        if kept and name != frame.name and kept[-1].name == name:
            kept.pop()
        frame.name = name
        kept.append(frame)
    return kept


class _Listener(logging.Handler):
    def __init__(self, hear: Callable[[str], None]) -> None:
        super().__init__(logging.DEBUG)
        self._hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        self._hear(record.getMessage())


@contextlib.contextmanager
def _listen(name: str, hear: Callable[[str], None], *, is_artifact: bool) -> Iterator[None]:
    logger = logging.getLogger(name)
    level, propagate, is_disabled = logger.level, logger.propagate, logger.disabled
    handler = _Listener(hear)
    logger.addHandler(handler)
    logger.disabled = False  # as `logging.config.dictConfig` of a user's program leaves every logger it does not know
    if is_artifact:
        # Artifact loggers are silent unless asked for; heard here, they must not also reach the user's terminal.
        logger.setLevel(logging.DEBUG)
        logger.propagate = propagate and bool([h for h in logger.handlers if h is not handler])
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
        logger.disabled = is_disabled
