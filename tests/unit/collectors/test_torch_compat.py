"""The private doors of torch: what goes through them is what plain torch.compile would have had."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch._dynamo.utils
import torch._functorch.config
from torch import nn
from torch._dynamo import symbolic_convert
from torch._inductor.compile_fx import compile_fx
from torch.fx import GraphModule

from collectors import torch_compat
from collectors.torch_compat import compile_graph, compiler_logs, dynamo_limit, logs
from tests.workloads import Mlp, captured, fresh_dynamo

Compile = Callable[..., Any]
X = torch.randn(4, 8)


class Enough(Exception):
    """What had to be seen was seen: no kernel needs to be compiled."""


def inner_arguments(compile_with: Callable[[GraphModule, Sequence[Any], Compile], Any], model: nn.Module) -> Any:
    """What Inductor's inner compilation is given for the first graph of `model`: (static inputs, mutated inputs)."""
    seen: list[Any] = []

    def inner(gm: GraphModule, inputs: Sequence[Any], **kwargs: Any) -> Any:
        seen.append((list(kwargs["static_input_idxs"]), len(inputs), kwargs.get("is_inference")))
        raise Enough

    # Without the cache, in which another test may have left the whole of such a graph.
    uncached = torch._functorch.config.patch(enable_autograd_cache=False)
    with uncached, fresh_dynamo(), pytest.raises(Exception, match="Enough"):
        torch.compile(model, backend=lambda gm, inputs: compile_with(gm, inputs, inner))(X)
    return seen[0]


@pytest.mark.parametrize("gradients", [True, False])
def test_a_graph_knows_which_inputs_are_weights_as_in_plain_torch_compile(gradients: bool) -> None:
    """Without them a CUDA graph copies every weight at each replay."""
    with torch.set_grad_enabled(gradients):
        plain = inner_arguments(lambda gm, inputs, inner: compile_fx(gm, inputs, inner_compile=inner), Mlp())
        ours = inner_arguments(lambda gm, inputs, inner: compile_graph(gm, inputs, patches={}, inner=inner), Mlp())
    assert len(plain[0]) == 4  # two weights and two biases
    assert ours == plain


def test_a_graph_can_be_compiled_more_than_once() -> None:
    ((gm, inputs),) = captured(Mlp(), X)
    before = [str(node) for node in gm.graph.nodes]
    marks = [getattr(node, "_dynamo_source", None) for node in gm.graph.nodes]
    expected = gm.forward(*inputs)

    def inner(gm: GraphModule, inputs: Sequence[Any], **kwargs: Any) -> Any:
        raise Enough

    for _ in range(2):
        with pytest.raises(Enough):
            compile_graph(gm, inputs, patches={}, inner=inner)
    assert [str(node) for node in gm.graph.nodes] == before
    assert [getattr(node, "_dynamo_source", None) for node in gm.graph.nodes] == marks
    torch.testing.assert_close(gm.forward(*inputs), expected)


def test_a_graphs_settings_hold_inside_its_compilation_and_nowhere_else() -> None:
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor

    ((gm, inputs),) = captured(Mlp(), X)
    before = inductor.cpp_wrapper, functorch.enable_autograd_cache
    seen: list[object] = []

    def inner(gm: GraphModule, inputs: Sequence[Any], **kwargs: Any) -> Any:
        seen.append((inductor.cpp_wrapper, functorch.enable_autograd_cache))
        raise Enough

    with pytest.raises(Enough):
        compile_graph(gm, inputs, patches={"cpp_wrapper": True}, inner=inner)
    assert seen == [(True, False)]
    assert (inductor.cpp_wrapper, functorch.enable_autograd_cache) == before


def test_the_recompile_limit_is_put_back() -> None:
    config = torch._dynamo.config
    before = config.recompile_limit, config.accumulated_recompile_limit
    with dynamo_limit(3):
        assert (config.recompile_limit, config.accumulated_recompile_limit) == (3 * before[0], 3 * before[1])
    assert (config.recompile_limit, config.accumulated_recompile_limit) == before


LOGGERS = (
    *logs._GRAPH_BREAK_LOGS,
    *logs._RECOMPILE_LOGS,
    *logs._RECOMPILE_LIMIT_LOGS,
    *logs._CUDA_GRAPH_LOGS,
)


def log_settings() -> object:
    artifacts = set(torch._logging._internal.log_state.artifact_names)
    loggers = [logging.getLogger(name) for name in LOGGERS]
    return artifacts, [(log.level, log.propagate, list(log.handlers)) for log in loggers]


def heard(breaks: list[str], recompiles: list[str] | None = None, limits: list[str] | None = None) -> Any:
    def ignore(_: str) -> None:
        pass

    return compiler_logs(
        on_break=breaks.append,
        on_recompile=ignore if recompiles is None else recompiles.append,
        on_limit=ignore if limits is None else limits.append,
        on_cuda_graph=ignore,
    )


def test_loggers_and_torchs_log_state_are_put_back_even_after_an_error() -> None:
    before = log_settings()
    inside: list[object] = []

    def fails_while_listening() -> None:
        with heard([]):
            inside.append(log_settings())
            raise Enough

    with pytest.raises(Enough):
        fails_while_listening()
    assert inside[0] != before
    assert log_settings() == before


def test_torchs_own_stacks_are_put_back_even_after_an_error() -> None:
    before = symbolic_convert.collapse_resume_frames

    def fails_while_listening() -> None:
        with heard([]):
            assert symbolic_convert.collapse_resume_frames is not before
            raise Enough

    with pytest.raises(Enough):
        fails_while_listening()
    assert symbolic_convert.collapse_resume_frames is before


def test_a_program_that_silenced_its_logs_is_heard_all_the_same() -> None:
    """`logging.config.dictConfig` disables every logger that it does not name, torch's among them."""
    logger = logging.getLogger(logs._GRAPH_BREAK_LOGS[0])
    breaks: list[str] = []
    was_disabled, was_silenced = logger.disabled, logging.root.manager.disable
    logger.disabled = True
    logging.disable(logging.CRITICAL)
    try:
        with heard(breaks):
            logger.debug("Graph break in user code")
        assert breaks == ["Graph break in user code"]
        assert logger.disabled
        assert logging.root.manager.disable == logging.CRITICAL
    finally:
        logger.disabled = was_disabled
        logging.disable(was_silenced)


def test_what_the_user_asked_torch_to_log_stays_asked_for() -> None:
    names = torch._logging._internal.log_state.artifact_names
    names.add("recompiles")
    try:
        with heard([]):
            pass
        assert "recompiles" in names
    finally:
        names.discard("recompiles")


def test_what_is_heard_does_not_reach_the_terminal(caplog: pytest.LogCaptureFixture) -> None:
    def talks(x: torch.Tensor) -> torch.Tensor:
        print(end="")
        return x + 1

    breaks: list[str] = []
    with fresh_dynamo(), heard(breaks), torch.no_grad():
        torch.compile(talks, backend="eager")(X)
    assert len(breaks) == 1
    assert [r for r in caplog.records if r.name in logs._GRAPH_BREAK_LOGS] == []


def test_breaks_are_heard_that_torchs_counters_miss() -> None:
    def loops(x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            x = x + 1
            print(end="")
        return x

    breaks: list[str] = []
    counters = torch._dynamo.utils.counters
    with fresh_dynamo(), heard(breaks), torch.no_grad():
        counters.clear()
        torch.compile(loops, backend="eager")(X)
        counted = sum(counters["graph_break"].values())
    assert len(breaks) > counted
    assert all("print" in text for text in breaks)


def test_recompiles_are_heard_and_so_is_the_limit() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x * 2

    recompiles: list[str] = []
    limits: list[str] = []
    with (
        fresh_dynamo(),
        heard([], recompiles, limits),
        torch.no_grad(),
        torch._dynamo.config.patch(recompile_limit=3),
    ):
        model = torch.compile(Counting(), backend="eager")
        for _ in range(6):
            model(X)
    assert len(recompiles) >= 2
    assert all("calls" in text for text in recompiles)
    assert [text for text in limits if "recompile_limit" in text]


def test_no_compile_id_outside_a_compilation() -> None:
    assert torch_compat.current_compile_id() is None
    found: list[str | None] = []

    def backend(gm: GraphModule, inputs: Sequence[Any]) -> Any:
        found.append(torch_compat.current_compile_id())
        return gm.forward

    with fresh_dynamo():
        torch.compile(torch.relu, backend=backend)(X)
    assert found == ["0/0"]


def test_this_torch_is_supported() -> None:
    assert torch_compat.torch_version() >= torch_compat.OLDEST_TORCH
    assert torch_compat.is_supported()


def test_what_is_compiled_beside_is_none_of_what_ddps_optimizer_counts() -> None:
    context: Any = torch._guards.TracingContext(None)
    with torch._guards.tracing(context), torch_compat.compiling_beside():
        assert torch._guards.TracingContext.get() is context, "without DDP nothing is put aside"
    context.ddp_optimizer_ctx, context.fakify_first_call = object(), True
    with torch._guards.tracing(context):
        with torch_compat.compiling_beside():
            own: Any = torch._guards.TracingContext.get()
            assert (own.ddp_optimizer_ctx, own.fakify_first_call) == (None, False)
            assert own.guards_context is context.guards_context
        assert torch._guards.TracingContext.get() is context
    assert context.fakify_first_call
    with torch_compat.compiling_beside():
        assert torch._guards.TracingContext.try_get() is None
