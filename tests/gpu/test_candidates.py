"""Candidates that only a GPU can run, each compiled for a small model and held against eager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import nn
from torch.fx import GraphModule

from optimizers.candidates.known import candidate_of
from optimizers.compiling import Unwatched, compile_candidate
from tests.workloads import fresh_dynamo

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    # What torch itself warns of on a GPU (an empty CUDA graph, TF32 left off) is no fault of ours.
    pytest.mark.filterwarnings("default::UserWarning:torch"),
]


class Decoding(nn.Module):
    """One token through gated layers, with a cache that it writes."""

    def __init__(self) -> None:
        super().__init__()
        self.gates = nn.ModuleList(nn.Linear(256, 512) for _ in range(4))
        self.downs = nn.ModuleList(nn.Linear(512, 256, bias=False) for _ in range(4))
        self.register_buffer("cache", torch.zeros(16, 256))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        for gate, down in zip(self.gates, self.downs, strict=True):
            x = x + down(torch.sigmoid(gate(x)))
        self.cache.index_copy_(0, position, x)
        return self.cache.sum(0, keepdim=True) + x


def kernels_of(call: Callable[[], Any]) -> list[str]:
    """The names of the kernels of one call."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        call()
        torch.cuda.synchronize()
    device = torch.autograd.DeviceType.CUDA
    return [event.name for event in profiler.events() if event.device_type == device and "Mem" not in event.name]


@pytest.mark.parametrize(
    "candidate",
    ["fused_matvec+cuda_graphs", "frozen+fused_matvec+cuda_graphs", "frozen+cuda_graphs", "triton_gemm+cuda_graphs"],
)
def test_a_decoder_runs_as_one_cuda_graph_with_the_results_of_eager(candidate: str) -> None:
    torch.manual_seed(0)
    model = Decoding().cuda().eval()
    reference = Decoding().cuda().eval()
    reference.load_state_dict(model.state_dict())
    x, position = torch.randn(1, 256, device="cuda"), torch.tensor([3], device="cuda")
    chosen, watch = candidate_of(candidate), Unwatched()

    def backend(gm: GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        return compile_candidate(gm, inputs, chosen, chosen, watch)

    with torch.no_grad(), fresh_dynamo():
        call = torch.compile(model, backend=backend)
        for _ in range(6):
            torch.compiler.cudagraph_mark_step_begin()
            found, expected = call(x, position).clone(), reference(x, position)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(model.cache, reference.cache, rtol=1e-4, atol=1e-4)
        names = kernels_of(lambda: call(x, position))
    assert names
    assert all(name.startswith("triton_") for name in names) is ("fused_matvec" in candidate or "triton" in candidate)
