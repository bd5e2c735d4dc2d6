"""The rules on the log of operators find what the models with a known cause have, and nothing in the others."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
import torch

from analyzer.core.finding import Finding
from analyzer.core.settings import Mode
from analyzer.rules import (
    autocast_recast,
    denormals,
    empty_cache_in_loop,
    float64_leak,
    half_precision_on_slow_path,
    host_constant,
    layout_churn,
    moe_expert_loop,
    python_custom_op,
    slow_optimizer,
    unfused_attention,
    unused_gradients,
)
from analyzer.rules.runner import run_rules
from collectors.op_log import record_ops
from collectors.state import State
from collectors.step import Stepper
from collectors.workload import Workload
from tests.reports import MS
from tests.rule_facts import a_workload, an_environment, facts

RULES = (
    host_constant.RULE,
    float64_leak.RULE,
    half_precision_on_slow_path.RULE,
    autocast_recast.RULE,
    layout_churn.RULE,
    unfused_attention.RULE,
    slow_optimizer.RULE,
    unused_gradients.RULE,
    python_custom_op.RULE,
    moe_expert_loop.RULE,
    denormals.RULE,
    empty_cache_in_loop.RULE,
)

TRAINS = ("26_", "31_", "32_", "59_")
"""Cases that take a training step inside their forward."""

FOUND = {
    "26_clip_grad_norm_branch": "slow_optimizer",
    "31_adam_for_loop": "slow_optimizer",
    "41_explicit_mask_attention": "unfused_attention",
    "45_cpu_half_precision": "half_precision_on_slow_path",
    "50_cpp_wrapper_custom_op_callback": "python_custom_op",
    "51_custom_op_mutates_view": "python_custom_op",
}

CLEAN = (
    "01_recompile_module_int_counter",
    "02_recompile_float_scalar",
    "06_graph_break_item_per_block",
    "15_inference_without_no_grad",
    "18_cudagraph_rerecord_padding",
    "22_sync_item_in_denoise_loop",
    "29_dataloader_starved",
    "36_unfused_norm_gate_chain",
    "40_pairwise_broadcast",
    "47_cpu_scatter_add_gnn",
    "48_cpu_tiny_kernels_wrapper",
    "54_single_gemm_control",
    "59_ddp_rank_straggler",
)
"""Cases with another cause, or with none."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """No case needs two, and on a crowded machine each parallel loop waits for its last thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


WITH_A_FIX = ("31_adam_for_loop", "41_explicit_mask_attention", "45_cpu_half_precision")


@contextmanager
def imported(path: Path) -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location(f"op_log_case_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[spec.name]


def found(path: Path, make: str = "get_model") -> tuple[Finding, ...]:
    mode = Mode.TRAINING if path.stem.startswith(TRAINS) else Mode.INFERENCE
    with imported(path) as module:
        torch.manual_seed(0)
        work = Workload.of(getattr(module, make)(), module.get_inputs("cpu"), mode=mode, device="cpu")
        stepper = Stepper(work, work.model, State(work))
        stepper.run()  # the first step may make what later ones keep
        log = record_ops(stepper, path.parent)
    assert log.is_complete
    findings, failures = run_rules(
        facts(
            workload=a_workload(device="cpu", mode=mode.value),
            environment=an_environment(cpu_half_dtypes=()),
            device=None,
            step_ns=2 * MS,
            ops=log,
        ),
        RULES,
    )
    assert failures == ()
    return findings


@pytest.mark.parametrize(("case", "rule"), FOUND.items())
def test_a_known_cause_is_found_at_a_line_of_the_case(shared_cases: Path, case: str, rule: str) -> None:
    findings = found(shared_cases / f"{case}.py")
    assert [finding.rule for finding in findings] == [rule]
    assert findings[0].where is not None
    assert Path(findings[0].where.file).stem == case


@pytest.mark.parametrize("case", CLEAN)
def test_another_cause_is_not_taken_for_one_of_these(shared_cases: Path, case: str) -> None:
    assert found(shared_cases / f"{case}.py") == ()


@pytest.mark.parametrize("case", WITH_A_FIX)
def test_with_the_cause_removed_nothing_is_found(shared_cases: Path, case: str) -> None:
    assert found(shared_cases / f"{case}.py", "get_fixed_model") == ()


@pytest.mark.parametrize(
    ("example", "rules"), [("deep_mlp", []), ("gptlite", ["unfused_attention"]), ("mobilenet_v2", [])]
)
def test_in_the_examples_only_what_they_show_is_found(root: Path, example: str, rules: list[str]) -> None:
    assert [finding.rule for finding in found(root / "examples" / f"{example}.py")] == rules
