"""Ten graphs in one step, by turns one that allows CUDA graphs and one that refuses them; each of another length.

`Chain` is many small layers. `Remember` writes to `memories`, inputs of the step, which a CUDA graph must not. Both are
bound by the host on a GPU: the first gains most as a CUDA graph, the second with the C++ wrapper.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

ON_GPU = torch.cuda.is_available()
LENGTHS = (16, 18, 20, 22, 24) if ON_GPU else (2, 3, 4, 5, 6)
WIDTH, BATCH = (256, 64) if ON_GPU else (64, 16)


class Chain(nn.Module):
    def __init__(self, length: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(length))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return x


class Remember(nn.Module):
    def __init__(self, length: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(length))

    def forward(self, x: Tensor, memories: list[Tensor]) -> Tensor:
        for layer, memory in zip(self.layers, memories, strict=True):
            memory.lerp_(x.detach(), 0.1)
            x = x + torch.sin(layer(memory))
        return x


class TenGraphs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.chains = nn.ModuleList(Chain(length) for length in LENGTHS)
        self.remembers = nn.ModuleList(Remember(length) for length in LENGTHS)

    def forward(self, x: Tensor, memories: list[list[Tensor]]) -> Tensor:
        x = self.chains[0](x)
        torch._dynamo.graph_break()
        x = self.remembers[0](x, memories[0])
        torch._dynamo.graph_break()
        x = self.chains[1](x)
        torch._dynamo.graph_break()
        x = self.remembers[1](x, memories[1])
        torch._dynamo.graph_break()
        x = self.chains[2](x)
        torch._dynamo.graph_break()
        x = self.remembers[2](x, memories[2])
        torch._dynamo.graph_break()
        x = self.chains[3](x)
        torch._dynamo.graph_break()
        x = self.remembers[3](x, memories[3])
        torch._dynamo.graph_break()
        x = self.chains[4](x)
        torch._dynamo.graph_break()
        return self.remembers[4](x, memories[4])


def get_model() -> TenGraphs:
    return TenGraphs()


def get_inputs(device: str) -> tuple[Tensor, list[list[Tensor]]]:
    memories = [[torch.zeros(BATCH, WIDTH, device=device) for _ in range(length)] for length in LENGTHS]
    return torch.randn(BATCH, WIDTH, device=device), memories
