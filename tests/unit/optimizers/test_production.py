"""`analyzer.optimize`: the plan carried out in production, or refused with the reason."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from analyzer.core.errors import ExitCode, UsageError
from analyzer.core.graphs import Direction, GraphKey
from analyzer.core.plan import Choice, Plan
from collectors.cpu_name import cpu_name
from collectors.graph_key import graph_digest
from collectors.model_digest import model_digest
from collectors.versions import versions
from optimizers import plan_backend
from optimizers.plan import write_plan
from optimizers.production import optimize
from tests.workloads import Mlp, captured, fresh_dynamo

X = torch.randn(4, 8)


def a_plan(*candidates: str, **changes: Any) -> Plan:
    """A plan for the graphs of a talking Mlp, whose two layers differ."""
    with torch.no_grad():
        digests = [graph_digest(gm, inputs) for gm, inputs in captured(Mlp(talks=True), X)]
    keys = [GraphKey(digest, Direction.INFERENCE) for digest in digests]
    choices = tuple(Choice(key, candidate) for key, candidate in zip(keys, candidates, strict=False))
    return replace(Plan(choices, cpu_name(), versions()), **changes)


@pytest.fixture
def carried_out(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(forward, backward) candidate of each graph in turn; nothing is compiled."""
    asked: list[tuple[str, str]] = []

    def compile_candidate(gm: Any, inputs: Any, forward: Any, backward: Any, _: Any) -> Callable[..., Any]:
        asked.append((forward.id, backward.id))
        return gm.forward  # type: ignore[no-any-return]

    monkeypatch.setattr(plan_backend, "compile_candidate", compile_candidate)
    return asked


def test_each_graph_gets_the_candidate_of_the_plan(carried_out: list[tuple[str, str]]) -> None:
    model = Mlp(talks=True)
    with fresh_dynamo(), torch.no_grad():
        optimized = optimize(model, a_plan("cpp_wrapper", "eager"))
        torch.testing.assert_close(optimized(X), model(X))
    assert [forward for forward, _ in carried_out] == ["cpp_wrapper", "eager"]


def test_a_graph_the_plan_does_not_know_takes_the_default(carried_out: list[tuple[str, str]]) -> None:
    with fresh_dynamo(), torch.no_grad(), pytest.warns(UserWarning, match="so far 1 of its graphs have occurred"):
        optimize(Mlp(talks=True), a_plan("cpp_wrapper"))(X)
    assert [forward for forward, _ in carried_out] == ["cpp_wrapper", "fused"]


def test_the_plan_of_another_model_is_warned_of_once_by_name(
    carried_out: list[tuple[str, str]], tmp_path: Path
) -> None:
    write_plan(a_plan("cpp_wrapper", "cpp_wrapper"), tmp_path / "other.json")
    optimized = optimize(Mlp(16, talks=True), tmp_path / "other.json")
    told = r"other\.json does not name .* none of its graphs has occurred"
    with fresh_dynamo(), torch.no_grad():
        with pytest.warns(UserWarning, match=told) as warned:
            optimized(torch.randn(4, 16))
        optimized(torch.randn(4, 16))  # a second warning would be an error
    assert len(warned) == 1
    assert [forward for forward, _ in carried_out] == ["fused", "fused"]


def test_a_plan_that_leaves_the_model_alone_gives_the_model_itself() -> None:
    model = Mlp()
    assert optimize(model, a_plan("fused", is_compiled=False)) is model


def test_the_users_model_is_left_untouched(carried_out: list[tuple[str, str]]) -> None:
    model = Mlp(talks=True)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    names = set(vars(model))
    with fresh_dynamo(), torch.no_grad():
        optimize(model, a_plan("fused", "fused"))(X)
    assert set(vars(model)) - {"_is_torch_compile"} == names  # torch.compile itself writes that one
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_the_plan_of_a_model_with_other_parameters_is_refused_unless_asked_for(
    carried_out: list[tuple[str, str]],
) -> None:
    plan = a_plan("fused", "fused", model=model_digest(Mlp(16)))
    with pytest.raises(UsageError, match="made for another model") as caught:
        optimize(Mlp(talks=True), plan)
    assert "\n" not in caught.value.message
    assert "strict=False" in str(caught.value.hint)
    assert callable(optimize(Mlp(talks=True), plan, strict=False))
    own = replace(plan, model=model_digest(Mlp(talks=True)))
    with fresh_dynamo(), torch.no_grad():
        optimize(Mlp(talks=True), own)(X)
    assert len(carried_out) == 2


def test_a_function_and_a_plan_that_names_no_model_are_not_held_against_each_other() -> None:
    assert callable(optimize(torch.relu, a_plan("fused", model=model_digest(Mlp()))))
    assert callable(optimize(Mlp(16), a_plan("fused")))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"device": "NVIDIA H200"}, "made on NVIDIA H200, this is"),
        ({"versions": replace(versions(), torch="1.9.1")}, "made with torch 1.9, this is"),
    ],
)
def test_a_plan_of_another_machine_is_refused_unless_asked_for(changes: dict[str, Any], says: str) -> None:
    plan = a_plan("fused", **changes)
    with pytest.raises(UsageError, match=says) as caught:
        optimize(Mlp(), plan)
    assert "strict=False" in str(caught.value.hint)
    assert caught.value.exit_code is ExitCode.USAGE
    assert callable(optimize(Mlp(), plan, strict=False))


def test_another_patch_release_and_build_are_the_same_torch() -> None:
    release = ".".join(torch.__version__.split("+")[0].split(".")[:2])
    plan = a_plan("fused", versions=replace(versions(), torch=f"{release}.99+cu130"))
    assert callable(optimize(Mlp(), plan))


@pytest.mark.parametrize("strict", [True, False])
def test_an_unknown_candidate_is_refused_either_way(strict: bool) -> None:
    with pytest.raises(UsageError, match="unknown candidate, warp_drive"):
        optimize(Mlp(), a_plan("warp_drive"), strict=strict)


@pytest.mark.parametrize("strict", [True, False])
def test_a_backend_that_is_not_registered_is_refused_before_the_first_call(strict: bool) -> None:
    with pytest.raises(UsageError, match="backend warp_drive, which is not registered"):
        optimize(Mlp(), a_plan("backend:warp_drive"), strict=strict)
    assert callable(optimize(Mlp(), a_plan("backend:aot_eager"), strict=strict))


@pytest.mark.parametrize("candidate", ["cuda_graphs", "cpp_wrapper_eager"])
def test_a_candidate_that_cannot_be_had_here_is_warned_of_once_and_becomes_the_default(
    candidate: str, carried_out: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    model = Mlp(talks=True)
    with fresh_dynamo(), torch.no_grad():
        with pytest.warns(UserWarning, match=f"wants {candidate}, in place of which .* needs a CUDA device") as said:
            optimized = optimize(model, a_plan(candidate, candidate), strict=False)
        optimized(X)
    assert [warning.filename for warning in said] == [__file__], "the line that asked for the plan"
    assert [forward for forward, _ in carried_out] == ["fused", "fused"]


def test_what_is_no_name_in_a_plan_is_shown_as_text_that_no_terminal_obeys() -> None:
    for changes in ({"device": "\x1b[31m"}, {"versions": replace(versions(), torch="\x1b[31m")}):
        with pytest.raises(UsageError) as caught:
            optimize(Mlp(), a_plan("fused", **changes))
        assert caught.value.message.isprintable()


_IN_THE_NEXT_PROCESS = """
import sys
import torch, analyzer
from optimizers import plan_backend
from tests.workloads import Mlp
asked = []
def compile_candidate(gm, inputs, forward, backward, watch):
    asked.append(forward.id)
    return gm.forward
plan_backend.compile_candidate = compile_candidate
with torch.no_grad():
    analyzer.optimize(Mlp(talks=True), plan=sys.argv[1])(torch.randn(4, 8))
print(*asked)
"""


@pytest.mark.slow
def test_a_plan_works_in_the_next_process(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(a_plan("cpp_wrapper", "eager"), path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _IN_THE_NEXT_PROCESS, str(path)],
        cwd=root,
        env={**os.environ, "PYTHONHASHSEED": "5", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["cpp_wrapper", "eager"]


_IMPORTED = """
import sys
import torch, torch._dynamo, torch._inductor.compile_fx
import torch._inductor.codegen.cpp, torch._inductor.codegen.triton
before = set(sys.modules)
import analyzer
analyzer.optimize
from optimizers.plan import read_plan
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)))
print(*sorted(name for name in sys.modules if name.startswith(("analyzer.", "collectors."))))
"""


def test_production_imports_torch_what_compiles_a_graph_and_no_package_beside(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _IMPORTED], cwd=root, capture_output=True, text=True, check=True
    )
    packages, modules = (line.split() for line in done.stdout.splitlines())
    assert packages == ["analyzer", "collectors", "optimizers"]
    core = [f"analyzer.core.{name}" for name in ("device", "errors", "graphs", "plan")]
    compiling = [
        f"collectors.{name}" for name in ("callables", "cpu_name", "graph_key", "model_digest", "torch_compat")
    ]
    outside = [name for name in modules if not name.startswith("collectors.torch_compat.")]
    assert set(outside) <= {"analyzer.core", *core, *compiling, "collectors.torch_compile"}


# -- models that come wrapped or compiled -----------------------------------------------------------------------------


def compiled_in_place(model: torch.nn.Module) -> torch.nn.Module:
    model.compile()
    return model


@pytest.mark.parametrize("made", [torch.compile, compiled_in_place], ids=["torch.compile", "compile()"])
def test_a_model_that_came_compiled_runs_as_the_plan_says(
    made: Callable[[Any], Any], carried_out: list[tuple[str, str]]
) -> None:
    model = Mlp(talks=True)
    given = made(model)
    before = model._compiled_call_impl
    with fresh_dynamo(), torch.no_grad():
        optimized = optimize(given, a_plan("cpp_wrapper", "eager"))
        assert isinstance(optimized, torch.nn.Module)
        assert [name for name, _ in optimized.named_parameters()]
        torch.testing.assert_close(optimized(X), model.forward(X))
    assert [forward for forward, _ in carried_out] == ["cpp_wrapper", "eager"]
    assert model._compiled_call_impl is before


@pytest.mark.parametrize("strict", [True, False])
def test_torchscript_is_refused_since_no_plan_is_in_effect_for_it(strict: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.jit.trace(torch.nn.Linear(8, 8), X)
    with pytest.raises(UsageError, match="TorchScript") as caught:
        optimize(model, a_plan("fused", "fused"), strict=strict)
    assert "traced from" in str(caught.value.hint)
    assert optimize(model, a_plan("fused", is_compiled=False)) is model


class Unread(torch.nn.Module):
    """What Dynamo passes by."""

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin()


def test_a_plan_that_is_not_in_effect_says_so_once(carried_out: list[tuple[str, str]]) -> None:
    optimized = optimize(Unread(), a_plan("fused", "fused"))
    with fresh_dynamo(), pytest.warns(UserWarning, match="the plan of 2 graphs is not in effect") as warned:
        optimized(X)
    with fresh_dynamo():
        optimized(X)  # a second warning would be an error
    assert len(warned) == 1
    assert carried_out == []


def _generated(x: torch.Tensor) -> Iterator[torch.Tensor]:
    yield x.sin()


def _counted(x: torch.Tensor) -> int:
    return x.dim()


@pytest.mark.parametrize("function", [_generated, _counted, partial(_counted)])
def test_a_plan_for_a_function_that_is_not_in_effect_says_so_once(function: Callable[..., Any]) -> None:
    optimized = optimize(function, a_plan("fused", "fused"))
    with fresh_dynamo(), pytest.warns(UserWarning, match="the plan of 2 graphs is not in effect") as warned:
        optimized(X)
    with fresh_dynamo():
        optimized(X)  # a second warning would be an error
    assert [Path(one.filename).name for one in warned] == [Path(__file__).name], "it is told at the caller's line"


class Caller:
    """What is called, and is no module."""

    def __init__(self) -> None:
        self.model = Mlp(talks=True)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.model(x)
        return y

    def run(self, x: torch.Tensor, times: int = 1) -> torch.Tensor:
        return self(x) if times == 1 else self.run(self(x), times - 1)


CALLER = Caller()


@pytest.mark.parametrize(
    "function",
    [Caller(), Caller().run, Mlp(talks=True).forward, partial(Caller().run, times=1), lambda x: CALLER(x)],
    ids=["a callable", "its method", "a module's method", "a partial", "a lambda"],
)
def test_a_function_is_carried_out_as_a_model_is(
    function: Callable[..., Any], carried_out: list[tuple[str, str]]
) -> None:
    optimized = optimize(function, a_plan("cpp_wrapper", "eager"))
    with fresh_dynamo(), torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(optimized(X), function(X))
    assert [forward for forward, _ in carried_out[:2]] == ["cpp_wrapper", "eager"]


def test_a_graph_of_a_function_that_the_plan_does_not_know_is_warned_of_once(
    carried_out: list[tuple[str, str]],
) -> None:
    optimized = optimize(lambda x: x.sin(), a_plan("cpp_wrapper", "eager"))
    with fresh_dynamo(), torch.no_grad():
        with pytest.warns(UserWarning, match="does not name the graph") as warned:
            optimized(torch.ones(2))
        optimized(torch.ones(3, 3))  # a second warning would be an error
    assert len(warned) == 1
    assert len(carried_out) == 2
    assert {forward for forward, _ in carried_out} == {"fused"}


def test_a_function_within_a_compilation_of_somebody_elses_breaks_no_graph(carried_out: list[tuple[str, str]]) -> None:
    inner = optimize(torch.nn.functional.silu, a_plan("fused", "fused"))
    with fresh_dynamo(), torch.no_grad():
        torch.compile(lambda x: inner(x) * 2, backend="eager", fullgraph=True)(X)
    assert carried_out == []


@pytest.mark.parametrize(
    ("given", "says"), [(3, "a int, which cannot be called"), ("net", "cannot be called"), (Mlp, "the class Mlp")]
)
def test_what_is_no_model_is_refused_and_left_alone(given: Any, says: str) -> None:
    before = dict(vars(Mlp))
    with pytest.raises(UsageError, match=says):
        optimize(given, a_plan("fused", "fused"))
    assert dict(vars(Mlp)) == before


def test_what_looks_whether_it_is_in_effect_is_gone_after_the_first_call(carried_out: list[tuple[str, str]]) -> None:
    model = Mlp(talks=True)
    optimized: Any = optimize(model, a_plan("fused", "fused"))
    with fresh_dynamo(), torch.no_grad():
        optimized(X)
        assert not optimized._forward_hooks
        assert not model._forward_hooks
        optimized(X)
    assert len(carried_out) == 2, "taking it away had nothing compiled again"


def test_within_a_compilation_of_somebody_elses_it_breaks_no_graph(carried_out: list[tuple[str, str]]) -> None:
    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = optimize(Mlp(), a_plan("fused", "fused"))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.inner(x)
            return y * 2

    outer = Outer()
    with fresh_dynamo(), torch.no_grad():
        torch.compile(outer, backend="eager", fullgraph=True)(X)
    assert carried_out == []


def test_under_ddp_an_unknown_graph_is_laid_to_its_buckets(carried_out: list[tuple[str, str]]) -> None:
    if not (dist.is_available() and dist.is_gloo_available()):
        pytest.skip("this torch has no gloo")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        wrapped = torch.nn.parallel.DistributedDataParallel(Mlp(16))
        optimized = optimize(wrapped, a_plan("fused", "fused"))
        with fresh_dynamo(), torch.no_grad(), pytest.warns(UserWarning, match="optimize_ddp = False") as warned:
            optimized(torch.randn(4, 16))
    finally:
        dist.destroy_process_group()
    (told,) = [str(one.message) for one in warned if "does not name the graph" in str(one.message)]
    assert "gradient buckets" in told
    assert "of other input shapes" not in told
