"""What torch.compile did with a workload, in its own words and with the user's lines."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._inductor import cudagraph_utils
from torch.fx import GraphModule
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from analyzer.core.graphs import Capture, Direction, GraphKey, SourceLine
from collectors import capture
from collectors.capture import GraphLog
from collectors.graph_key import graph_digest
from collectors.sources import frames
from collectors.user_module import import_user_module
from tests.workloads import fresh_dynamo

HERE = Path(__file__).resolve()
X = torch.randn(4, 8)


def heard(
    function: Callable[..., Any],
    *args: Any,
    calls: int = 1,
    root: Path | None = HERE.parent,
    begins: SourceLine | None = None,
    **config: Any,
) -> Capture:
    """What the log makes of some calls, each graph run as it was captured."""
    log = GraphLog(root, begins=begins)

    def backend(gm: GraphModule, inputs: Sequence[Any]) -> Any:
        log.add_graph(GraphKey(graph_digest(gm, inputs), Direction.INFERENCE), gm, None)
        return gm.forward

    with fresh_dynamo(), torch.no_grad(), log.listening(), torch._dynamo.config.patch(**config):
        compiled = torch.compile(function, backend=backend)
        for _ in range(calls):
            compiled(*args)
    return log.capture(compile_ns=1, first_call_ns=2)


def line_of(function: Callable[..., Any], text: str) -> int:
    """The line of this file in which `function` says `text`."""
    first = function.__code__.co_firstlineno  # type: ignore[attr-defined]
    lines = HERE.read_text().splitlines()
    return next(n for n in range(first, len(lines) + 1) if text in lines[n - 1])


def talks(x: torch.Tensor) -> torch.Tensor:
    x = torch.relu(x)
    print(end="")
    return torch.sin(x) * 2


def test_a_break_has_its_line_its_reason_and_torchs_hint() -> None:
    (found,) = heard(talks, X).breaks
    assert found.where is not None
    assert (Path(found.where.file), found.where.line) == (HERE, line_of(talks, "print("))
    assert "print" in found.reason
    assert "\n" not in found.reason
    assert found.hint is not None
    assert found.hint.startswith("Avoid calling builtin `print`")
    assert found.count == 1
    assert found.compile_id == "0/0"


class Kept(nn.Module):
    @torch._dynamo.disable  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x)


@pytest.mark.parametrize("begins", [SourceLine("net.py", 12, "forward"), None])
def test_a_break_in_a_wrapper_of_torchs_own_is_where_the_model_begins(
    begins: SourceLine | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As where our own frames alone lie between the command and the model: those are left out, pytest's are not.
    monkeypatch.setattr(capture, "frames", lambda stack: [f for f in frames(stack) if "/torch/_dynamo/" in f.file])
    (found,) = heard(Kept(), X, begins=begins).breaks
    assert "Kept.forward" in found.reason
    assert found.where == begins


def test_a_graph_says_which_lines_it_covers_and_why_it_ended() -> None:
    capture = heard(talks, X)
    first, second = capture.graphs
    assert [line.line for line in first.source] == [line_of(talks, "relu")]
    assert [line.line for line in second.source] == [line_of(talks, "sin(x)")]
    assert first.ended_by == capture.breaks[0]
    assert second.ended_by is None
    assert (first.compile_ids, second.compile_ids) == (("0/0",), ("1/0",))
    assert (first.op_count, second.op_count) == (1, 2)
    assert first.where == first.source[0]


def test_a_function_without_a_break_has_none() -> None:
    capture = heard(torch.sin, X)
    assert (capture.breaks, capture.recompiles, capture.skips) == ((), (), ())
    assert len(capture.graphs) == 1


def breaks_once(x: torch.Tensor) -> torch.Tensor:
    x = x + 1
    print(end="")
    return x * 3


def test_equal_breaks_are_one_with_a_count() -> None:
    def each(x: torch.Tensor) -> None:
        for y in (x, x.double(), x.half()):
            breaks_once(y)

    capture = heard(each, X)
    (own,) = [b for b in capture.breaks if "builtin operator `print`" in b.reason and b.compile_id != "0/0"]
    assert own.count == 3
    assert own.where is not None
    assert own.where.function == "breaks_once"


def branches(x: torch.Tensor) -> torch.Tensor:
    if x.sum() / x.shape[0] > 0:
        return x + 1
    return x - 1


def test_a_branch_on_a_tensor_is_one_break_whatever_the_sizes_that_it_is_computed_with() -> None:
    def each(x: torch.Tensor) -> None:
        for y in (x, x[:3]):
            branches(y)

    (own,) = [b for b in heard(each, X).breaks if "Data-dependent branching" in b.reason and b.compile_id != "0/0"]
    assert own.where is not None
    assert (own.where.line, own.count) == (line_of(branches, "if x.sum()"), 2)


class Saying(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.say(x.sin()).cos()

    def say(self, x: torch.Tensor) -> torch.Tensor:
        x = x.relu()
        print(end="")
        return x * 2


class Outer(nn.Module):
    """Two frames of one name, `forward`, of which torch 2.12 to 2.14 would tell the inner one alone."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Talking()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.inner(x.sin())
        return x.cos()


class Talking(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return talks(x)


class Twice(Outer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.inner(x.sin())
        return self.inner(x.cos())


def says_in_another_function(x: torch.Tensor) -> torch.Tensor:
    return breaks_once(x.sin()).cos()


def says_two_calls_down(x: torch.Tensor) -> torch.Tensor:
    return says_in_another_function(x.exp()).sin()


def says_by_two_ways(x: torch.Tensor) -> torch.Tensor:
    x = says_two_calls_down(x)
    return breaks_once(x).exp()


def says_in_a_loop(x: torch.Tensor) -> torch.Tensor:
    for _ in range(3):
        x = breaks_once(x)
    return x


def says_of_two_types(x: torch.Tensor) -> torch.Tensor:
    for y in (x, x.double()):
        breaks_once(y)
    return x


@pytest.mark.parametrize(
    ("function", "ways"),
    [
        (talks, 1),
        (Saying(), 1),
        (says_in_another_function, 1),
        (says_two_calls_down, 1),
        (says_in_a_loop, 1),
        (says_of_two_types, 1),
        (Outer(), 1),
        (Twice(), 2),
        (says_by_two_ways, 2),
    ],
)
def test_a_break_counts_once_for_each_chain_of_calls_however_many_frames_torch_tells_it_of(
    function: Callable[..., Any], ways: int
) -> None:
    stops = heard(function, X, calls=2).breaks
    assert {way for stop in stops for way in stop.ways} == set(range(ways))
    assert len({stop.where for stop in stops}) == 1


@pytest.mark.parametrize(("function", "ways"), [(Saying(), 1), (Twice(), 2)])
def test_it_counts_the_same_where_torch_resumes_in_the_called_function(function: Callable[..., Any], ways: int) -> None:
    stops = heard(function, X, nested_graph_breaks=True).breaks
    assert {way for stop in stops for way in stop.ways} == set(range(ways))


def test_breaks_at_two_lines_are_two() -> None:
    def talks_twice(x: torch.Tensor) -> torch.Tensor:
        print(end="")
        x = x.sin()
        print(end="")
        return x.cos()

    assert [stop.ways for stop in heard(talks_twice, X).breaks] == [(0,), (0,)]


def test_equal_graphs_are_one_row_with_all_its_compile_ids() -> None:
    layers = [nn.Linear(8, 8) for _ in range(3)]

    def tower(x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(layers[0](x))
        torch._dynamo.graph_break()
        x = torch.relu(layers[1](x))
        torch._dynamo.graph_break()
        return torch.relu(layers[2](x))

    capture = heard(tower, X)
    assert [graph.compile_ids for graph in capture.graphs] == [("0/0", "1/0", "2/0")]


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * 2


def test_recompiles_have_their_guard_and_are_counted() -> None:
    capture = heard(Counting(), X, calls=3)
    (found,) = capture.recompiles
    assert found.where is not None
    assert (Path(found.where.file), found.where.function) == (HERE, "forward")
    assert "calls" in found.guard
    assert found.count == 2
    assert not found.is_limit


def test_what_is_compiled_again_of_a_module_of_torchs_own_is_at_no_line_of_the_users() -> None:
    log = GraphLog(HERE.parent)
    with fresh_dynamo(), torch.no_grad(), log.listening():
        model = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), backend="eager")
        for rows in (4, 5):
            model(torch.randn(rows, 8))
    (found,) = log.recompiles
    assert "size mismatch" in found.guard
    assert found.where is None


def test_the_limit_is_told_from_a_recompile() -> None:
    capture = heard(Counting(), X, calls=6, recompile_limit=3)
    (limit,) = [r for r in capture.recompiles if r.is_limit]
    assert limit.where is not None
    assert (Path(limit.where.file), limit.where.line) == (HERE, line_of(Counting.forward, "def forward"))
    assert "calls" in limit.guard


def test_a_break_without_words_is_still_a_break() -> None:
    log = GraphLog(None)
    with log.listening():
        logger = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")
        logger.debug("Graph break in user code at /home/ada/net.py:7 \nGraph Break Reason: ")
        logger.debug("another line of the log")
    (found,) = log.capture(compile_ns=0, first_call_ns=0).breaks
    assert (str(found.where), found.reason, found.hint) == ("/home/ada/net.py:7", "", None)


def test_a_cuda_graph_refused_at_its_first_call_is_heard_once_with_the_graph_that_ran() -> None:
    # Torch's own function, since the name of the log it speaks through is torch's to choose.
    key = GraphKey("0123456789ab", Direction.INFERENCE)
    log = GraphLog(None, running=lambda: key)
    with log.listening():
        for _ in range(2):
            cudagraph_utils.log_cudagraph_skip_and_bump_counter("skipping cudagraphs due to\n  mutated inputs")
        cudagraph_utils.log_cudagraph_skip_and_bump_counter("something else")
    assert [(s.key, s.reason) for s in log.capture(compile_ns=0, first_call_ns=0).skips] == [
        (key, "skipping cudagraphs due to mutated inputs"),
    ]
    assert log.cuda_graphs.refusal(key.digest, None) == "skipping cudagraphs due to mutated inputs"
    assert log.cuda_graphs.refusal("ba9876543210", None) is None


def test_a_part_of_a_graph_left_out_of_its_cuda_graph_is_no_refusal_of_the_whole() -> None:
    key = GraphKey("0123456789ab", Direction.INFERENCE)
    log = GraphLog(None, running=lambda: key)
    with log.listening():
        logging.getLogger("torch._inductor.scheduler.__cudagraphs").debug("    buf0: reason=cpu ops, ir=X")
    assert [s.reason for s in log.capture(compile_ns=0, first_call_ns=0).skips] == [
        "cudagraph partition due to cpu ops"
    ]
    assert log.cuda_graphs.refusal(key.digest, None) is None


def test_the_reason_of_the_compiler_stands_for_the_direction_it_refused() -> None:
    key = GraphKey("0123456789ab", Direction.BACKWARD)
    log = GraphLog(None)
    log.add_refusal(key, "cpu device (arg2)")
    assert [(s.key, s.reason) for s in log.capture(compile_ns=0, first_call_ns=0).skips] == [(key, "cpu device (arg2)")]
    assert log.cuda_graphs.refusal(key.digest, None) == "cpu device (arg2)"


# -- flops ------------------------------------------------------------------------------------------------------------


def programs(function: Callable[..., Any], *args: Any, training: bool = False) -> list[Any]:
    """The graphs of one call, forward and backward, each logged with its AOT program."""
    log = GraphLog(HERE.parent)

    def backend(gm: GraphModule, inputs: Sequence[Any]) -> Any:
        digest = graph_digest(gm, inputs)

        def compiler(direction: Direction) -> Callable[[GraphModule, Sequence[Any]], Any]:
            def inner(aot: GraphModule, _: Sequence[Any]) -> Any:
                log.add_graph(GraphKey(digest, direction), gm, aot)
                return make_boxed_func(aot.forward)

            return inner

        forward = Direction.FORWARD if training else Direction.INFERENCE
        compiled = aot_autograd(fw_compiler=compiler(forward), bw_compiler=compiler(Direction.BACKWARD))
        return compiled(gm, inputs)

    with fresh_dynamo(), torch.set_grad_enabled(training):
        result = torch.compile(function, backend=backend)(*args)
        if training:
            result.sum().backward()
    return list(log.capture(compile_ns=0, first_call_ns=0).graphs)


def counted(function: Callable[..., Any], *args: Any) -> int:
    # Torch counts the attention of a CPU only where it is written out.
    with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        function(*args)
    return counter.get_total_flops()


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (torch.mm, (torch.randn(3, 5), torch.randn(5, 7))),
        (torch.bmm, (torch.randn(2, 3, 5), torch.randn(2, 5, 7))),
        (nn.Linear(8, 16), (X,)),
        (nn.Conv2d(3, 6, 3, stride=2, padding=1), (torch.randn(2, 3, 9, 11),)),
        (nn.Conv1d(4, 8, 3, groups=2), (torch.randn(2, 4, 16),)),
        (nn.ConvTranspose2d(3, 6, 3, stride=2), (torch.randn(2, 3, 5, 5),)),
        (lambda x: torch.relu(x @ x.T) @ x, (X,)),
        (F.scaled_dot_product_attention, tuple(torch.randn(2, 4, 16, 8) for _ in range(3))),
    ],
    ids=["mm", "bmm", "linear", "conv2d", "grouped", "transposed", "two products", "attention"],
)
def test_flops_are_those_that_torch_counts(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    (graph,) = programs(function, *args)
    assert graph.flops == counted(function, *args)
    assert graph.flops > 0
    assert graph.dtype == "float32"


def test_a_graph_without_matrices_has_no_flops_and_no_dtype() -> None:
    (graph,) = programs(torch.sin, X)
    assert (graph.flops, graph.dtype) == (None, None)


def test_the_dtype_is_that_of_most_of_the_work() -> None:
    def mixed(x: torch.Tensor) -> torch.Tensor:
        small = x[:, :2].T @ x[:, :2]
        return (x.bfloat16() @ x.bfloat16().T).float().sum() + small

    (graph,) = programs(mixed, torch.randn(16, 32))
    assert graph.dtype == "bfloat16"


def test_forward_and_backward_are_rows_of_their_own() -> None:
    linear = nn.Linear(8, 16)
    forward, backward = programs(linear, X.clone().requires_grad_(), training=True)
    assert (forward.key.direction, backward.key.direction) == (Direction.FORWARD, Direction.BACKWARD)
    assert forward.key.digest == backward.key.digest
    assert forward.flops == 2 * 4 * 8 * 16
    assert backward.flops == 2 * forward.flops  # to the weight and to the input
    assert backward.ended_by is None


def test_the_backward_of_attention_counts_its_five_products() -> None:
    q, k, v = (torch.randn(2, 4, 16, 8, requires_grad=True) for _ in range(3))
    forward, backward = programs(F.scaled_dot_product_attention, q, k, v, training=True)
    one_product = 2 * 2 * 4 * 16 * 16 * 8
    assert forward.flops == 2 * one_product
    assert backward.flops == 5 * one_product  # the scores once more, and four gradients


# -- real cases -------------------------------------------------------------------------------------------------------


def case(shared_cases: Path, number: str, calls: int = 2) -> Capture:
    (path,) = shared_cases.glob(f"{number}_*.py")
    module = import_user_module(path)
    torch.manual_seed(0)
    return heard(module.get_model(), *module.get_inputs("cpu"), calls=calls, root=path.parent)


@pytest.mark.parametrize(
    ("number", "says", "text"),
    [
        ("06", "item", ".item()"),
        ("07", "print", 'print("prepared"'),
        ("08", "branching", "if self.pad > 0"),
        ("12", "LSTM", "self.rnn("),
    ],
)
def test_a_known_break_is_found_at_its_line(shared_cases: Path, number: str, says: str, text: str) -> None:
    capture = case(shared_cases, number)
    (path,) = shared_cases.glob(f"{number}_*.py")
    lines = path.read_text().splitlines()
    found = [b for b in capture.breaks if b.where and Path(b.where.file) == path and says in b.reason]
    assert found, capture.breaks
    assert all(text in lines[b.where.line - 1] for b in found if b.where)


def test_a_counter_on_the_module_hits_the_limit(shared_cases: Path) -> None:
    capture = case(shared_cases, "01", calls=12)
    assert sum(r.count for r in capture.recompiles if not r.is_limit) >= 7
    (limit,) = [r for r in capture.recompiles if r.is_limit]
    assert "calls" in limit.guard


def test_an_operator_without_a_fake_is_named_with_the_line_that_registers_one() -> None:
    library = torch.library.Library("graphbound_capture", "DEF")
    library.define("bare(Tensor x) -> Tensor")
    library.impl("bare", lambda x: x * 2, "CPU")

    def calls(x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.ops.graphbound_capture.bare(x.sin())
        return y.cos()

    (found,) = heard(calls, X).breaks
    assert "graphbound_capture::bare has no fake implementation" in found.reason
    assert '@torch.library.register_fake("graphbound_capture::bare")' in str(found.hint)
    assert found.where is not None
    assert found.where.line == line_of(calls, "graphbound_capture.bare")
