"""What torch says of CUDA graphs, kept by graph and by candidate."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch._inductor import ir
from torch._inductor.scheduler import Scheduler

from analyzer.core.graphs import Direction, GraphKey, SourceLine
from collectors.capture import GraphLog
from collectors.cuda_graph_log import CudaGraphLog

KEY = GraphKey("0123456789ab", Direction.INFERENCE)
FIRST = SourceLine("/home/ada/net.py", 10, "forward")
CPU = "skipping cudagraphs due to cpu device (arg2)"

STACK = """\
  File "/home/ada/net.py", line 23, in forward
    x = x + torch.tanh(layer(x)) * t
  File "/usr/lib/python3/dist-packages/torch/_tensor.py", line 5, in mul
    return 1
"""


def _told(log: CudaGraphLog, *messages: str) -> None:
    for message in messages:
        log.hear(KEY, FIRST, message)


def _log() -> CudaGraphLog:
    return CudaGraphLog(Path("/home/ada"))


def test_a_refusal_is_of_the_candidate_that_was_compiled_alone() -> None:
    log = _log()
    log.compiling = "cuda_graphs_whole"
    _told(log, CPU)
    assert log.refusal(KEY.digest, "cuda_graphs_whole") == CPU
    assert log.refusal(KEY.digest, "cuda_graphs") is None
    assert [s.reason for s in log.skips_of({KEY.digest: "cuda_graphs_whole"})] == [CPU]
    assert log.skips_of({KEY.digest: "cuda_graphs"}) == log.skips_of({"another": "cuda_graphs_whole"}) == ()


def test_a_refusal_at_a_call_is_of_the_candidate_that_was_selected() -> None:
    log = _log()
    log.selected = {KEY.digest: "frozen+cuda_graphs"}
    _told(log, CPU, CPU)
    assert log.refusal(KEY.digest, "frozen+cuda_graphs") == CPU
    assert len(log.skips) == 1


def test_a_graph_that_was_recorded_too_often_runs_without_from_then_on() -> None:
    log = _log()
    log.selected = {KEY.digest: "cuda_graphs"}
    said = (
        "skipping cudagraph due to function 0 exceeding max re-recording limit (=128) on cudagraph node None due to x."
    )
    _told(log, said)
    assert log.refusal(KEY.digest, "cuda_graphs") == said


def test_a_part_that_the_user_has_torch_leave_out_for_its_size_is_no_refusal() -> None:
    log = _log()
    _told(log, "Partition 0 has 2 kernels, below minimum size 4, skipping cudagraph")
    assert log.skips == ()


def test_an_operation_that_is_left_out_is_a_part_with_its_line() -> None:
    log = _log()
    _told(
        log,
        "Created 2 graph partitions: 1 cudagraphable, 1 non-cudagraphable",
        "  Partition 0: 1 nodes, non-cudagraphable, inputs=1, outputs=1",
        "    buf0: reason=DeviceCopy ops, ir=DeviceCopy, fx=prims.device_put.default(arg1_1, cuda:0)",
        *(f"         {line}" for line in STACK.splitlines()),
        "  Partition 1: 47 nodes, cudagraphable, inputs=3, outputs=1",
        '         File "/home/ada/other.py", line 1, in f',
    )
    (skip,) = log.skips
    assert skip.is_partial
    assert (skip.key, skip.reason) == (KEY, "cudagraph partition due to DeviceCopy ops")
    assert str(skip.where) == "/home/ada/net.py:23", "a stack ends at the next message that is none of its lines"
    assert log.refusal(KEY.digest, None) is None


def test_without_a_stack_it_is_where_the_graph_begins() -> None:
    log = _log()
    _told(log, "    buf0: reason=cpu ops, ir=ComputedBuffer", "Created 1 graph partitions")
    assert [skip.where for skip in log.skips] == [FIRST]


def test_where_no_cuda_graph_was_asked_for_nothing_is_left_out() -> None:
    log = _log()
    reason = "partition includes all ops when cudagraphs is disabled"
    _told(log, f"    buf0: reason={reason}, ir=ComputedBuffer", *(f"         {line}" for line in STACK.splitlines()))
    assert log.skips == ()


@pytest.mark.skipif(
    not hasattr(Scheduler, "_log_non_cudagraphable_node"), reason="this torch says of it in another way"
)
def test_torchs_own_words_are_understood() -> None:
    origin = SimpleNamespace(target="prims.device_put.default", args=("t",), meta={"stack_trace": STACK})
    copy: Any = object.__new__(ir.DeviceCopy)
    node = SimpleNamespace(get_name=lambda: "buf0", node=copy)
    object.__setattr__(copy, "get_origin_node", lambda: origin)
    scheduler: Any = SimpleNamespace(should_partition=lambda _: "DeviceCopy ops")
    log = GraphLog(Path("/home/ada"), running=lambda: KEY)
    with log.listening():
        Scheduler._log_non_cudagraphable_node(scheduler, node)  # type: ignore[arg-type]
    (skip,) = log.cuda_graphs.skips
    assert (skip.reason, str(skip.where)) == ("cudagraph partition due to DeviceCopy ops", "/home/ada/net.py:23")
