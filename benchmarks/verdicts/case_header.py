"""What a case file says of itself: its class, its tags, its device. And which of our rules stand for a tag."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.verdict import Bound

_FIELD: Final = re.compile(r"^# (?P<name>\w+): (?P<value>.*)$")
_BOUND: Final = re.compile(r"(cpu|compute|memory|latency)-bound")
_NOT_GRADIENT_TRAINING: Final = "grad-mode-on-inference"


@dataclass(frozen=True, slots=True)
class CaseHeader:
    """`expected` are the classes that the header allows on a device, None where it names none for it. `says` is its
    own sentence. `is_hardware_dependent` where the header says that the effect shows on some machines only.
    """

    id: str
    device: str
    says: str
    tags: tuple[str, ...]
    is_training: bool
    is_hardware_dependent: bool
    has_gradients: bool = False

    def runs_on(self, device: str) -> bool:
        """Whether the effect is expected to show on this kind of device (`cpu` or `cuda`)."""
        asked = self.device.split("(")[0].strip()
        return asked.startswith("both") or asked.startswith("gpu" if device == "cuda" else "cpu")

    @property
    def needs_ranks(self) -> bool:
        return "torchrun" in self.device

    def expected(self, device: str) -> tuple[Bound, ...]:
        """The classes that count as right on `device`, the first one named being the one meant most."""
        override = _CLASSES.get((self.id, device))
        if override is not None:
            return override
        return tuple(dict.fromkeys(Bound(name) for name in _BOUND.findall(self.says)))


_CLASSES: Final[dict[tuple[str, str], tuple[Bound, ...]]] = {
    # "on GPU latency of sequential steps": the library launches hundreds of small kernels one after another.
    ("12_graph_break_lstm", "cuda"): (Bound.LATENCY, Bound.CPU),
    ("12_graph_break_lstm", "cpu"): (Bound.COMPUTE,),
    # "cpu-bound/latency on GPU (kernel a few us)".
    ("38_outer_reduction_split", "cuda"): (Bound.CPU, Bound.LATENCY),
    # "memory-bound when cloned, otherwise cpu-bound": torch 2.13 and its like no longer clone.
    ("51_custom_op_mutates_view", "cpu"): (Bound.CPU,),
    ("51_custom_op_mutates_view", "cuda"): (Bound.CPU,),
}
"""Headers whose sentence names a class for each device, or one under a condition."""


def read_header(path: Path) -> CaseHeader:
    """The header of a case file. Raises ValueError where it names no class."""
    fields: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        found = _FIELD.match(line)
        if found is None:
            continue  # a sentence that goes on
        fields[found["name"]] = found["value"].strip()
    if "expected_class" not in fields:
        raise ValueError(f"{path}: no expected_class in its header")
    device, _, gradient = fields.get("device", "both").partition("| grad:")
    has_gradients = gradient.strip().startswith("on")
    tags = tuple(_tag(t) for t in fields.get("expected_tags", "").split(",") if t.strip())
    return CaseHeader(
        id=path.stem,
        device=device.strip(),
        says=fields["expected_class"],
        tags=tags,
        is_training=has_gradients and _NOT_GRADIENT_TRAINING not in tags,
        is_hardware_dependent="hardware-dependent" in fields.get("id", "") or "slow only when" in device,
        has_gradients=has_gradients,
    )


def _tag(text: str) -> str:
    return text.strip()


def causes(header: CaseHeader, device: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The tags of a case that name a cause which shows on `device`, each with the rules that may stand for it."""
    found = []
    for tag in header.tags:
        name, _, condition = tag.partition(" (")
        if condition.startswith("GPU") and device == "cpu":
            continue
        rules = RULES_OF_TAG.get(name.split(":")[0], ())
        if rules and not (device == "cpu" and name in _GPU_TAGS):
            found.append((name, rules))
    return tuple(found)


RULES_OF_TAG: Final[dict[str, tuple[str, ...]]] = {
    "recompile": ("recompilation", "recompile_limit"),
    "recompile-limit-hit": ("recompile_limit",),
    "eager-fallback": ("recompile_limit", "no_graph_captured"),
    "guard": ("recompilation", "recompile_limit"),
    "graph-break": ("graph_break",),
    "hook": ("graph_break",),
    "dynamo-disable": ("graph_break",),
    "print": ("graph_break",),
    "tensor-item": ("graph_break", "host_sync"),
    "data-dependent-branch": ("graph_break", "host_sync"),
    "host-sync": ("host_sync", "blocking_copy"),
    "h2d-copy": ("blocking_copy", "host_constant"),
    "pageable": ("blocking_copy", "host_constant"),
    "constant-in-forward": ("host_constant",),
    "rnn": ("graph_break", "no_graph_captured"),
    "library-call-dominates": ("eager_gap_heavy", "no_graph_captured", "graph_break"),
    "tiny-kernels": ("many_small_kernels",),
    "unrolled-graph": ("many_small_kernels",),
    "launch-bound": ("many_small_kernels",),
    "dispatch-bound": ("many_small_kernels", "unfused_chain"),
    "library-loop": ("many_small_kernels",),
    "grad-mode-on-inference": ("missing_no_grad",),
    "cudagraph-skip-or-partition": ("cudagraph_skip", "host_constant"),
    "cpu-tensor-input": ("cudagraph_skip",),
    "cudagraph-rerecord": ("cudagraph_rerecord",),
    "dynamic-shape": ("recompilation", "cudagraph_rerecord"),
    "input-pipeline": ("input_starved",),
    "optimizer": ("slow_optimizer",),
    "foreach-off": ("slow_optimizer",),
    "anomaly-mode": ("anomaly_mode",),
    "debug-flag": ("anomaly_mode", "deterministic_mode"),
    "allocator": ("allocator_churn", "empty_cache_in_loop"),
    "cudaMalloc": ("allocator_churn", "empty_cache_in_loop"),
    "cudaFree": ("allocator_churn", "empty_cache_in_loop"),
    "empty-cache": ("empty_cache_in_loop",),
    "unfused-pointwise": ("unfused_chain",),
    "materialised-intermediate": ("unfused_chain",),
    "attention": ("unfused_attention",),
    "mask-materialised": ("unfused_attention",),
    "sdpa-candidate": ("unfused_attention",),
    "denormal-values": ("denormals",),
    "dtype-without-hardware-support": ("half_precision_on_slow_path",),
    "custom-op": ("python_custom_op",),
    "python-fallback": ("python_custom_op",),
    "tf32-off": ("tf32_off",),
    "tensor-cores-unused": ("tf32_off",),
    "straggler": ("rank_straggler",),
    "collective-wait": ("rank_straggler",),
    "compiled-slower": ("compile_slower_than_eager",),
}
"""The tags are words of the reports. One that is not here describes the case (`reduction`, `kv-cache`) or something
that no rule is to find (`already-optimal`, `compile-time`). Any rule of a tag stands for it."""

_GPU_TAGS: Final = ("cudagraph-rerecord", "cudagraph-skip-or-partition", "cpu-tensor-input", "h2d-copy", "pageable")
