"""Blocks of the models that the fourth set adds: small self-contained forms, none of them in `blocks`."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ConvNeXtBlock(nn.Module):
    """A depthwise filter of 7 × 7, then two products over channels that lie last."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.spread = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 1e-2))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.spread(x).permute(0, 2, 3, 1))
        return x + (self.down(F.gelu(self.up(y))) * self.scale).permute(0, 3, 1, 2)


class SqueezeBlock(nn.Module):
    """EfficientNet's: a depthwise filter whose channels are weighed by what the whole image holds."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = 4 * channels
        self.grow = nn.Sequential(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.SiLU())
        self.spread = nn.Sequential(
            nn.Conv2d(wide, wide, 5, padding=2, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.SiLU()
        )
        self.squeeze, self.excite = nn.Conv2d(wide, max(channels // 4, 1), 1), nn.Conv2d(max(channels // 4, 1), wide, 1)
        self.shrink = nn.Sequential(nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        y = self.spread(self.grow(x))
        weight = torch.sigmoid(self.excite(F.silu(self.squeeze(y.mean((2, 3), keepdim=True)))))
        return x + self.shrink(y * weight)


class SwinBlock(nn.Module):
    """Attention inside shifted windows, with a bias for each pair of places."""

    def __init__(self, width: int, heads: int, window: int) -> None:
        super().__init__()
        self.heads, self.window = heads, window
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Parameter(torch.zeros(heads, window**2, window**2))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, height, width, channels = x.shape
        w, across, down = self.window, width // self.window, height // self.window
        y = self.norm1(x).roll((-(w // 2), -(w // 2)), (1, 2))
        y = y.view(batch, down, w, across, w, channels).permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, channels)
        q, k, v = self.qkv(y).view(-1, w * w, 3, self.heads, channels // self.heads).permute(2, 0, 3, 1, 4)
        score = (q @ k.transpose(-1, -2)) * (channels // self.heads) ** -0.5 + self.bias
        y = self.out((score.softmax(-1) @ v).transpose(1, 2).reshape(-1, w * w, channels))
        y = y.view(batch, down, across, w, w, channels).permute(0, 1, 3, 2, 4, 5).reshape(x.shape)
        x = x + y.roll((w // 2, w // 2), (1, 2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class T5Block(nn.Module):
    """Scores with a bias by distance, norms without a mean, a gate of GELU."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.distance = nn.Embedding(32, heads)
        self.gate, self.up = (nn.Linear(width, 5 * width // 2, bias=False) for _ in range(2))
        self.down = nn.Linear(5 * width // 2, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        y = F.rms_norm(x, (width,), self.norm1)
        q, k, v = (p(y).view(batch, length, self.heads, -1).transpose(1, 2) for p in (self.q, self.k, self.v))
        steps = torch.arange(length, device=x.device)
        bias = self.distance((steps[:, None] - steps[None, :]).abs().clamp(max=31)).permute(2, 0, 1)
        score = (q @ k.transpose(-1, -2)).float() + bias
        y = score.softmax(-1).to(x.dtype) @ v
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        y = F.rms_norm(x, (width,), self.norm2)
        return x + self.down(F.gelu(self.gate(y), approximate="tanh") * self.up(y))


class GemmaBlock(nn.Module):
    """Keys that heads share inside the kernel, norms before and after, rotary positions from a table."""

    def __init__(self, width: int, heads: int, kv_heads: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        self.norms = nn.ParameterList(nn.Parameter(torch.zeros(width)) for _ in range(4))
        self.q = nn.Linear(width, self.heads * self.size, bias=False)
        self.k, self.v = (nn.Linear(width, self.kv_heads * self.size, bias=False) for _ in range(2))
        self.out = nn.Linear(self.heads * self.size, width, bias=False)
        self.gate, self.up = (nn.Linear(width, 4 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, _ = x.shape
        y = self._norm(x, 0)
        q = self._turned(self.q(y).view(batch, length, self.heads, self.size).transpose(1, 2), cos, sin)
        k = self._turned(self.k(y).view(batch, length, self.kv_heads, self.size).transpose(1, 2), cos, sin)
        v = self.v(y).view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self._norm(self.out(y.transpose(1, 2).reshape(batch, length, -1)), 1)
        y = self._norm(x, 2)
        return x + self._norm(self.down(F.gelu(self.gate(y), approximate="tanh") * self.up(y)), 3)

    def _norm(self, x: Tensor, place: int) -> Tensor:
        wide = x.float()
        scale = 1.0 + self.norms[place].float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * scale).to(x.dtype)

    @staticmethod
    def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat((-second, first), -1) * sin


class DiTBlock(nn.Module):
    """A transformer's block whose norms are shifted, scaled and gated by a condition."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.condition = nn.Linear(width, 6 * width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        batch, length, width = x.shape
        shift1, scale1, gate1, shift2, scale2, gate2 = self.condition(F.silu(c))[:, None].chunk(6, -1)
        y = F.layer_norm(x, (width,)) * (1 + scale1) + shift1
        q, k, v = self.qkv(y).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        x = x + gate1 * self.out(y)
        y = F.layer_norm(x, (width,)) * (1 + scale2) + shift2
        return x + gate2 * self.down(F.gelu(self.up(y), approximate="tanh"))


class MixerBlock(nn.Module):
    """Products over places, then over channels: the tokens are transposed twice."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.along = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.across = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.along(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.across(self.norm2(x))


class GraphConvolution(nn.Module):
    """Messages along edges, summed at their ends, and a product."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own, self.others = nn.Linear(width, width), nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        summed = torch.zeros_like(x).index_add(0, target, x[source])
        count = torch.zeros(x.shape[0], 1, device=x.device).index_add(
            0, target, torch.ones(target.shape[0], 1, device=x.device)
        )
        return F.relu(self.own(x) + self.others(summed / count.clamp(min=1.0)))


class GRUCell(nn.Module):
    """`steps` steps of a GRU in plain operators."""

    def __init__(self, width: int, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.input, self.hidden = nn.Linear(width, 3 * width), nn.Linear(width, 3 * width)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        for _ in range(self.steps):
            reset_in, update_in, new_in = self.input(x).chunk(3, -1)
            reset_h, update_h, new_h = self.hidden(h).chunk(3, -1)
            reset, update = torch.sigmoid(reset_in + reset_h), torch.sigmoid(update_in + update_h)
            h = (1 - update) * torch.tanh(new_in + reset * new_h) + update * h
        return h


class ScoredHead(nn.Module):
    """A last norm, the scores of a vocabulary, and their loss."""

    def __init__(self, width: int, words: int) -> None:
        super().__init__()
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(self.head(self.norm(x)).float(), labels)


class DecoderBlock(nn.Module):
    """An image decoder's: norms over groups of channels, two filters, and an upsampling of twice the side."""

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(groups, channels), nn.GroupNorm(groups, channels)
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.after = nn.Conv2d(channels, max(channels // 2, 1), 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(F.silu(self.norm1(x)))
        x = x + self.second(F.silu(self.norm2(y)))
        return self.after(F.interpolate(x, scale_factor=2.0, mode="nearest"))


class Embedded(nn.Module):
    """BERT's first layer: rows of three tables, a norm."""

    def __init__(self, words: int, length: int, width: int) -> None:
        super().__init__()
        self.words, self.places, self.kinds = (
            nn.Embedding(words, width),
            nn.Embedding(length, width),
            nn.Embedding(2, width),
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, rows: Tensor, kinds: Tensor) -> Tensor:
        places = self.places(torch.arange(rows.shape[1], device=rows.device))
        return self.norm(self.words(rows) + places + self.kinds(kinds))
