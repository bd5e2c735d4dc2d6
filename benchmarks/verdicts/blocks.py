"""Small self-contained forms of the blocks that real models are made of."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Attention(nn.Module):
    """Heads of `width / heads`; `kv_heads` under `heads` shares keys and values; RoPE where `is_rotary`."""

    def __init__(self, width: int, heads: int, *, kv_heads: int | None = None, causal: bool, rotary: bool = False):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads or heads, width // heads
        self.causal, self.rotary = causal, rotary
        self.q = nn.Linear(width, self.heads * self.size)
        self.k = nn.Linear(width, self.kv_heads * self.size)
        self.v = nn.Linear(width, self.kv_heads * self.size)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q = self.q(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.k(x).view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        v = self.v(x).view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        if self.rotary:
            q, k = rotated(q), rotated(k)
        repeat = self.heads // self.kv_heads
        k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


def rotated(x: Tensor) -> Tensor:
    """Rotary position embedding, half split."""
    half = x.shape[-1] // 2
    steps = torch.arange(x.shape[-2], device=x.device, dtype=torch.float32)
    rates = torch.exp(torch.arange(half, device=x.device, dtype=torch.float32) * (-9.21 / max(half, 1)))
    angle = steps[:, None] * rates[None, :]
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half : 2 * half]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


class GPTBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal=True)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class BertBlock(nn.Module):
    """Norms after the sums, as in BERT."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * self.weight


class LlamaBlock(nn.Module):
    """RMSNorm, RoPE, grouped-query attention, SwiGLU: the block of Llama and of Granite."""

    def __init__(self, width: int, heads: int, kv_heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.attention = Attention(width, heads, kv_heads=kv_heads, causal=True, rotary=True)
        self.gate, self.up = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x + 0.22 * self.attention(self.norm1(x))
        y = self.norm2(x)
        return x + 0.22 * self.down(F.silu(self.gate(y)) * self.up(y))


class ViTBlock(nn.Module):
    """Patches of an image, then a block."""

    def __init__(self, width: int, heads: int, patch: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.block = GPTBlock(width, heads)
        self.block.attention.causal = False

    def forward(self, image: Tensor) -> Tensor:
        return self.block(self.patches(image).flatten(2).transpose(1, 2)).mean(1)


class MobileBlock(nn.Module):
    """MobileNetV2's inverted residual."""

    def __init__(self, channels: int, expand: int = 6) -> None:
        super().__init__()
        wide = channels * expand
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU6(),
            nn.Conv2d(wide, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)


class ResNetBlock(nn.Module):
    """ResNet's bottleneck."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        narrow = max(channels // 4, 1)
        self.body = nn.Sequential(
            nn.Conv2d(channels, narrow, 1, bias=False),
            nn.BatchNorm2d(narrow),
            nn.ReLU(),
            nn.Conv2d(narrow, narrow, 3, padding=1, bias=False),
            nn.BatchNorm2d(narrow),
            nn.ReLU(),
            nn.Conv2d(narrow, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x + self.body(x))


class UNetBlock(nn.Module):
    """Group norm, SiLU and convolution, down and up again with a skip connection."""

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(groups, channels), nn.GroupNorm(groups, channels)
        self.inner, self.outer = nn.Conv2d(channels, channels, 3, padding=1), nn.Conv2d(2 * channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        low = self.inner(F.silu(self.norm1(F.avg_pool2d(x, 2))))
        up = F.interpolate(low, scale_factor=2.0, mode="nearest")
        return self.outer(torch.cat((F.silu(self.norm2(up)), x), 1))


class LSTMCell(nn.Module):
    """`steps` steps of an LSTM in plain operators."""

    def __init__(self, width: int, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.input, self.hidden = nn.Linear(width, 4 * width), nn.Linear(width, 4 * width)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        for _ in range(self.steps):
            i, f, g, o = (self.input(x) + self.hidden(h)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h, c


class MoEBlock(nn.Module):
    """A mixture of experts as batched products: every expert sees every token, a top-2 router weighs them."""

    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.up = nn.Parameter(torch.randn(experts, width, 2 * width) * width**-0.5)
        self.down = nn.Parameter(torch.randn(experts, 2 * width, width) * width**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        score, chosen = self.router(x).softmax(-1).topk(2, -1)
        weight = torch.zeros(x.shape[0], self.up.shape[0], dtype=x.dtype, device=x.device).scatter(1, chosen, score)
        y = torch.bmm(F.gelu(torch.bmm(x.expand(self.up.shape[0], *x.shape), self.up)), self.down)
        return x + (y * weight.t()[:, :, None]).sum(0)


class DLRM(nn.Module):
    """Embedding rows and dense features, all pairs multiplied, and a small tower on top."""

    def __init__(self, rows: int, tables: int, width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(16, 2 * width), nn.ReLU(), nn.Linear(2 * width, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear((tables + 1) ** 2, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense: Tensor, rows: Tensor) -> Tensor:
        features = [self.bottom(dense), *(table(rows[:, i]) for i, table in enumerate(self.tables))]
        together = torch.stack(features, 1)
        return torch.sigmoid(self.top(torch.bmm(together, together.transpose(1, 2)).flatten(1)))


class MLP(nn.Module):
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = F.relu(layer(x))
        return x


class NormChain(nn.Module):
    """Norm, gate and product, again and again: memory traffic and nothing else."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        for norm in self.norms:
            x = norm(x) * torch.sigmoid(x) + x
        return x


class Broken(nn.Module):
    """Five blocks with a graph break between each two: as many graphs as there are different blocks.

    No loop: Dynamo skips a frame that breaks inside one.
    """

    def __init__(self, *blocks: nn.Module) -> None:
        super().__init__()
        self.first, self.second, self.third, self.fourth, self.fifth = blocks

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        torch._dynamo.graph_break()
        x = self.second(x)
        torch._dynamo.graph_break()
        x = self.third(x)
        torch._dynamo.graph_break()
        x = self.fourth(x)
        torch._dynamo.graph_break()
        return self.fifth(x)
