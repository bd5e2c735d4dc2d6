"""Blocks of the models that the fifth set adds: small self-contained forms, none of them in `blocks` or
`blocks_fourth`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class StateSpaceBlock(nn.Module):
    """Mamba 2's: a causal filter along the sequence, then scores that decay with distance, within one chunk."""

    def __init__(self, width: int, heads: int, state: int) -> None:
        super().__init__()
        self.heads, self.state = heads, state
        self.norm = nn.Parameter(torch.ones(width))
        self.inner = nn.Linear(width, 2 * width + 2 * state + heads, bias=False)
        self.spread = nn.Conv1d(width, width, 4, padding=3, groups=width)
        self.rate = nn.Parameter(torch.zeros(heads))
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        y = self.inner(F.rms_norm(x, (width,), self.norm))
        gate, y, key, query, step = y.split((width, width, self.state, self.state, self.heads), -1)
        y = F.silu(self.spread(y.transpose(1, 2))[..., :length].transpose(1, 2))
        step = F.softplus(step.float())
        decay = (-step * torch.exp(self.rate.float())).cumsum(1).transpose(1, 2)
        apart = (decay[..., :, None] - decay[..., None, :]).tril().exp().tril()
        score = (query @ key.transpose(1, 2))[:, None].float() * apart * step.transpose(1, 2)[:, :, None]
        y = y.view(batch, length, self.heads, -1).transpose(1, 2)
        y = (score.to(x.dtype) @ y).transpose(1, 2).reshape(x.shape)
        return x + self.out(y * F.silu(gate))


class LinearAttentionBlock(nn.Module):
    """Queries and keys made positive, so that keys and values can be multiplied first."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        packed = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = packed.permute(2, 0, 3, 1, 4)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        total = q @ k.sum(2, keepdim=True).transpose(-1, -2)
        y = (q @ (k.transpose(-1, -2) @ v)) / (total + 1e-3)
        return x + self.out(y.transpose(1, 2).reshape(x.shape))


class ConformerBlock(nn.Module):
    """Half a step of products, then a gated filter along the sequence with a norm over the batch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gate, self.shrink = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 1)
        self.spread, self.norm = nn.Conv1d(width, width, 15, padding=7, groups=width), nn.BatchNorm1d(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + 0.5 * self.down(F.silu(self.up(self.norm1(x))))
        y = F.glu(self.gate(self.norm2(x).transpose(1, 2)), 1)
        return x + self.shrink(F.silu(self.norm(self.spread(y)))).transpose(1, 2)


class PerceiverBlock(nn.Module):
    """A few learnt rows that look at a long input, and then at each other."""

    def __init__(self, width: int, heads: int, latents: int) -> None:
        super().__init__()
        self.heads = heads
        self.latents = nn.Parameter(torch.randn(latents, width))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.kv, self.qkv = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, 3 * width)

    def forward(self, x: Tensor) -> Tensor:
        z = self.latents.expand(x.shape[0], -1, -1)
        k, v = map(self._split, self.kv(self.norm1(x)).chunk(2, -1))
        z = z + self._joined(F.scaled_dot_product_attention(self._split(self.q(z)), k, v))
        q, k, v = map(self._split, self.qkv(self.norm2(z)).chunk(3, -1))
        return z + self._joined(F.scaled_dot_product_attention(q, k, v))

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    @staticmethod
    def _joined(x: Tensor) -> Tensor:
        return x.transpose(1, 2).flatten(2)


class InceptionBlock(nn.Module):
    """Four branches of different filters over one image, side by side in the result."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        part = max(channels // 4, 1)
        self.one = self._filter(channels, part, 1)
        self.three = nn.Sequential(self._filter(channels, part, 1), self._filter(part, part, 3))
        self.five = nn.Sequential(self._filter(channels, part, 1), self._filter(part, part, 5))
        self.pooled = self._filter(channels, part, 1)

    @staticmethod
    def _filter(before: int, after: int, side: int) -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(before, after, side, padding=side // 2, bias=False), nn.BatchNorm2d(after), nn.ReLU()
        )

    def forward(self, x: Tensor) -> Tensor:
        pooled = self.pooled(F.avg_pool2d(x, 3, 1, 1))
        return torch.cat((self.one(x), self.three(x), self.five(x), pooled), 1)


class ShuffleBlock(nn.Module):
    """Half of the channels go by, the other half are filtered, and the two are interleaved."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        half = channels // 2
        self.first, self.last = (
            nn.Sequential(nn.Conv2d(half, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU()) for _ in range(2)
        )
        self.spread = nn.Sequential(nn.Conv2d(half, half, 3, padding=1, groups=half, bias=False), nn.BatchNorm2d(half))

    def forward(self, x: Tensor) -> Tensor:
        by, through = x.chunk(2, 1)
        through = self.last(self.spread(self.first(through)))
        return torch.stack((by, through), 2).flatten(1, 2)


class PyramidPooling(nn.Module):
    """PSPNet's: an image pooled to a few places, spread again, beside itself."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        part = max(channels // 4, 1)
        self.parts = nn.ModuleList(nn.Conv2d(channels, part, 1) for _ in range(3))
        self.joined = nn.Conv2d(channels + 3 * part, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        found = [x]
        for places, one in zip((1, 2, 4), self.parts, strict=True):
            y = F.relu(one(F.adaptive_avg_pool2d(x, places)))
            found.append(F.interpolate(y, x.shape[2:], mode="bilinear", align_corners=False))
        return F.relu(self.joined(torch.cat(found, 1)))


class RadianceField(nn.Module):
    """NeRF's: points turned into waves, products, and the colours of a ray added up by what is before them."""

    def __init__(self, width: int, waves: int) -> None:
        super().__init__()
        self.waves = waves
        self.layers = nn.Sequential(
            nn.Linear(6 * waves, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4)
        )

    def forward(self, points: Tensor) -> Tensor:
        scaled = points[..., :3, None] * (2.0 ** torch.arange(self.waves, device=points.device)).to(points.dtype)
        out = self.layers(torch.cat((scaled.sin(), scaled.cos()), -1).flatten(-2))
        density = F.softplus(out[..., 3].float())
        seen = torch.exp(-(density.cumsum(-1) - density))
        weight = seen * (1 - torch.exp(-density))
        return (weight[..., None] * torch.sigmoid(out[..., :3].float())).sum(-2)


class CrossNetwork(nn.Module):
    """DCN v2's crosses and a factorisation machine's pairs, over features that were looked up."""

    def __init__(self, rows: int, fields: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, width)
        self.crosses = nn.ModuleList(nn.Linear(fields * width, fields * width) for _ in range(2))
        self.score = nn.Linear(fields * width, 1)

    def forward(self, rows: Tensor) -> Tensor:
        found = self.table(rows)
        first = x = found.flatten(1)
        for cross in self.crosses:
            x = first * cross(x) + x
        pairs = 0.5 * (found.sum(1).square() - found.square().sum(1)).sum(-1, keepdim=True)
        return torch.sigmoid(self.score(x) + pairs)


class GraphAttention(nn.Module):
    """Messages along edges, weighed by a softmax over the edges that end at a node."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width, bias=False)
        self.source, self.target = nn.Linear(width, 1, bias=False), nn.Linear(width, 1, bias=False)

    def forward(self, x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        y = self.inner(x)
        score = F.leaky_relu(self.source(y)[source] + self.target(y)[target], 0.2)
        top = torch.full((x.shape[0], 1), float("-inf"), device=x.device, dtype=x.dtype)
        top = top.scatter_reduce(0, target[:, None], score, "amax")
        weight = torch.exp(score - top[target])
        total = torch.zeros_like(top).index_add(0, target, weight)
        return F.elu(torch.zeros_like(y).index_add(0, target, y[source] * (weight / total[target])))


class RadialFilter(nn.Module):
    """SchNet's: distances between atoms, spread over Gaussians, filter what each atom hears of the others."""

    def __init__(self, width: int, centres: int) -> None:
        super().__init__()
        self.register_buffer("centres", torch.linspace(0.0, 4.0, centres))
        self.first, self.second = nn.Linear(centres, width), nn.Linear(width, width)

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        apart = (places[:, :, None, :3] - places[:, None, :, :3]).square().sum(-1).add(1e-6).sqrt()
        spread = torch.exp(-10.0 * (apart[..., None] - self.centres).square())
        weight = self.second(F.softplus(self.first(spread)))
        return x + (weight * x[:, None]).sum(2)


class ContrastiveHead(nn.Module):
    """CLIP's: two towers' rows made of length one, each scored against all of the other, and the loss both ways."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        score = F.normalize(self.left(x), dim=-1) @ F.normalize(self.right(y), dim=-1).t() * 14.0
        labels = torch.arange(x.shape[0], device=x.device)
        return F.cross_entropy(score.float(), labels) + F.cross_entropy(score.t().float(), labels)


class Codebook(nn.Module):
    """A quantised autoencoder's: the nearest of many rows, and how far from it."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, width)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        table = self.table.weight
        apart = x.square().sum(-1, keepdim=True) - 2.0 * (x @ table.t()) + table.square().sum(-1)
        found = self.table(apart.argmin(-1))
        return x + (found - x).detach(), F.mse_loss(found, x)


class LatentAttention(nn.Module):
    """DeepSeek's: keys and values kept as a few numbers a token, with a part for positions that all heads share."""

    def __init__(self, width: int, heads: int, latent: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.norm, self.inner = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(latent))
        self.q = nn.Linear(width, heads * 2 * self.size, bias=False)
        self.small, self.place = nn.Linear(width, latent, bias=False), nn.Linear(width, self.size, bias=False)
        self.k, self.v = (nn.Linear(latent, heads * self.size, bias=False) for _ in range(2))
        self.out = nn.Linear(heads * self.size, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, width = x.shape
        y = F.rms_norm(x, (width,), self.norm)
        q, turned = self.q(y).view(batch, length, self.heads, -1).transpose(1, 2).chunk(2, -1)
        small = F.rms_norm(self.small(y), self.inner.shape, self.inner)
        k, v = (p(small).view(batch, length, self.heads, -1).transpose(1, 2) for p in (self.k, self.v))
        place = self._turned(self.place(y)[:, None], cos, sin).expand(-1, self.heads, -1, -1)
        q, k = torch.cat((q, self._turned(turned, cos, sin)), -1), torch.cat((k, place), -1)
        score = (q @ k.transpose(-1, -2)).float() * q.shape[-1] ** -0.5
        hidden = torch.ones(length, length, device=x.device, dtype=torch.bool).triu(1)
        y = score.masked_fill(hidden, float("-inf")).softmax(-1).to(x.dtype) @ v
        return x + self.out(y.transpose(1, 2).reshape(batch, length, -1))

    @staticmethod
    def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat((-second, first), -1) * sin


class ParallelBlock(nn.Module):
    """Attention and products beside each other after one norm; scores that fall with distance (MPT, GPT-J)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        y = self.norm(x)
        q, k, v = self.qkv(y).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        steps = torch.arange(length, device=x.device)
        slopes = 2.0 ** (-8.0 * torch.arange(1, self.heads + 1, device=x.device) / self.heads)
        bias = (steps[None, :] - steps[:, None]).clamp(max=0) * slopes[:, None, None]
        hidden = steps[None, :] > steps[:, None]
        bias = bias.masked_fill(hidden, float("-inf")).to(x.dtype)
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=bias[None].expand(batch, -1, -1, -1))
        return x + self.out(seen.transpose(1, 2).reshape(x.shape)) + self.down(F.gelu(self.up(y)))
