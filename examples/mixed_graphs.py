"""Four graphs in one step, each with a bottleneck of its own, and graph breaks between them.

    analyze examples/mixed_graphs.py

1. `Chain`: many small layers. The host cannot launch them as fast as a GPU runs them.
2. `Wide`: large matrix products. The arithmetic is the limit; no configuration changes that.
3. `Remember`: writes to `memories`, inputs of the step, as a decoder does that is handed its cache. CUDA graphs refuse
   a graph that writes to an input which is neither a parameter, a buffer nor the output of another CUDA graph.
4. `Clip`: calls an operator written in Python, which the C++ wrapper can only reach by calling back.

No single setting of torch.compile suits all four. Sizes, from the environment (on a GPU; on a CPU):

    MIXED_LAYERS  48; 12    MIXED_WIDTH  256; 64      MIXED_BATCH  64; 16
    MIXED_WIDE    2; 2      MIXED_WIDE_WIDTH  4096; 512
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor, nn


def size(name: str, gpu: int, cpu: int) -> int:
    return int(os.environ.get(f"MIXED_{name}", gpu if torch.cuda.is_available() else cpu))


def layers() -> int:
    return size("LAYERS", gpu=48, cpu=12)


def width() -> int:
    return size("WIDTH", gpu=256, cpu=64)


@torch.library.custom_op("graphbound_examples::clip_to_norm", mutates_args=())
def clip_to_norm(x: Tensor, limit: float) -> Tensor:
    """Scale each row down to a norm of at most `limit`."""
    return x * (limit / x.norm(dim=-1, keepdim=True).clamp(min=limit))


@clip_to_norm.register_fake
def _(x: Tensor, limit: float) -> Tensor:
    return torch.empty_like(x)


def keep_for_backward(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.limit = inputs[1]


def clip_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
    """A row within the limit passes its gradient on; of a clipped one the part along the row is lost."""
    (x,) = ctx.saved_tensors
    norm = x.norm(dim=-1, keepdim=True)
    along = (x * gradient).sum(-1, keepdim=True) * x / norm.square()
    return torch.where(norm > ctx.limit, (gradient - along) * (ctx.limit / norm), gradient), None


clip_to_norm.register_autograd(clip_backward, setup_context=keep_for_backward)


class Chain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width(), width()) for _ in range(layers()))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return x


class Wide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        wide = size("WIDE_WIDTH", gpu=4096, cpu=512)
        self.rows = wide
        self.enter = nn.Linear(width(), wide)
        self.layers = nn.ModuleList(nn.Linear(wide, wide) for _ in range(size("WIDE", gpu=2, cpu=2)))
        self.leave = nn.Linear(wide, width())

    def forward(self, x: Tensor) -> Tensor:
        repeats = -(-self.rows // x.shape[0])
        y = self.enter(x.repeat(repeats, 1))
        for layer in self.layers:
            y = torch.relu(layer(y))
        return x + self.leave(y).view(repeats, *x.shape).mean(0)


class Remember(nn.Module):
    """Blends what each layer saw in earlier steps, which its memory holds, with what it sees now."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width(), width()) for _ in range(layers()))

    def forward(self, x: Tensor, memories: list[Tensor]) -> Tensor:
        for layer, memory in zip(self.layers, memories, strict=True):
            memory.lerp_(x.detach(), 0.1)
            x = x + torch.sin(layer(memory))
        return x


class Clip(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width(), width()) for _ in range(layers() // 4))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = clip_to_norm(x + torch.relu(layer(x)), 8.0)
        return x


class MixedGraphs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.chain = Chain()
        self.wide = Wide()
        self.remember = Remember()
        self.clip = Clip()

    def forward(self, x: Tensor, memories: list[Tensor]) -> Tensor:
        x = self.chain(x)
        torch._dynamo.graph_break()
        x = self.wide(x)
        torch._dynamo.graph_break()
        x = self.remember(x, memories)
        torch._dynamo.graph_break()
        return self.clip(x)


def get_model() -> MixedGraphs:
    if torch.cuda.is_available():
        torch.set_float32_matmul_precision("high")
    return MixedGraphs()


def get_inputs(device: str) -> tuple[Tensor, list[Tensor]]:
    shape = (size("BATCH", gpu=64, cpu=16), width())
    return torch.randn(shape, device=device), [torch.zeros(shape, device=device) for _ in range(layers())]


if __name__ == "__main__":
    from step_time import print_step_times

    print_step_times(get_model, get_inputs)
