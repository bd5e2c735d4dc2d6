"""The models that plans are measured on: in full on a GPU, the same in small on a CPU. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_MODELS: Final = "benchmarks/plans/models"

TEN_GRAPHS: Final = "ten_graphs"


@dataclass(frozen=True, slots=True)
class Case:
    """`target` from the root of the checkout. `gpu` and `cpu` are its environment there: its file's own sizes where
    nothing is said. `is_broken` is whether it has several graphs, so that fullgraph cannot apply.
    """

    name: str
    target: str
    gpu: Mapping[str, str] = field(default_factory=dict)
    cpu: Mapping[str, str] = field(default_factory=dict)
    mode: str = "inference"
    is_broken: bool = False

    def environment(self, device: str) -> dict[str, str]:
        return dict(self.cpu if device == "cpu" else self.gpu)


SUITE: Final = (
    Case("gptlite", "examples/gptlite.py"),
    Case("gptlite_train", "examples/gptlite.py", mode="training"),
    Case("gptlite_128", "examples/gptlite.py", gpu={"GPTLITE_CONTEXT": "128"}, cpu={"GPTLITE_CONTEXT": "32"}),
    Case(
        "mlp_2048x256",
        "examples/deep_mlp.py",
        gpu={"DEEP_MLP_LAYERS": "2048", "DEEP_MLP_WIDTH": "256"},
        cpu={"DEEP_MLP_LAYERS": "48"},
    ),
    Case(
        "mlp_3x8192",
        "examples/deep_mlp.py",
        gpu={"DEEP_MLP_LAYERS": "3", "DEEP_MLP_WIDTH": "8192"},
        cpu={"DEEP_MLP_LAYERS": "3", "DEEP_MLP_WIDTH": "1024"},
    ),
    Case("mobilenet_v2_1", "examples/mobilenet_v2.py", gpu={"MOBILENET_BATCH": "1"}),
    Case("mobilenet_v2_32", "examples/mobilenet_v2.py", gpu={"MOBILENET_BATCH": "32"}, cpu={"MOBILENET_BATCH": "4"}),
    Case("resnet50", f"{_MODELS}/resnet50.py"),
    Case("bert", f"{_MODELS}/bert.py"),
    Case("granite", "examples/granite_like.py"),
    Case("granite_decode", f"{_MODELS}/granite_decode.py"),
    Case("vit", f"{_MODELS}/vit.py"),
    Case("lstm", f"{_MODELS}/lstm.py", is_broken=True),
    Case("mixed_graphs", "examples/mixed_graphs.py", is_broken=True),
    Case(TEN_GRAPHS, f"{_MODELS}/ten_graphs.py", is_broken=True),
)


def cases(names: str | None) -> tuple[Case, ...]:
    """Those named, with commas between, in that order; all without a name. Raises ValueError for an unknown one."""
    if not names:
        return SUITE
    known = {case.name: case for case in SUITE}
    unknown = [name for name in names.split(",") if name not in known]
    if unknown:
        raise ValueError(f"no such model: {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(known[name] for name in names.split(","))
