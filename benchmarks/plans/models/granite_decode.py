"""One token of a Granite-like decoder with a static KV cache, written out: 16 layers, 1024 wide, bfloat16.

The cache is a buffer of each layer, written at a position that is an input: all sizes are fixed, as in any server that
uses CUDA graphs. The four multipliers are those of granite-3.1-2b-base.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ON_GPU = torch.cuda.is_available()
LAYERS, WIDTH, VOCAB, POSITIONS = (16, 1024, 49152, 1024) if ON_GPU else (2, 128, 1024, 64)
HEAD = 64 if ON_GPU else 32
HEADS = WIDTH // HEAD
GROUPS = HEADS // 4
EMBEDDING, ATTENTION, RESIDUAL, LOGITS = 12.0, 0.015625, 0.22, 8.0
FIRST_FREE = 40
"""The position of the token; those before it are in the cache."""


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype)


def rotated(x: Tensor, angles: Tensor) -> Tensor:
    """Rotary positions: (tokens, heads, HEAD) turned by `angles` of one position."""
    one, other = x.chunk(2, dim=-1)
    turned = torch.cat((-other, one), dim=-1)
    return (x * angles.cos() + turned * angles.sin()).to(x.dtype)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, GROUPS * HEAD, bias=False)
        self.value = nn.Linear(WIDTH, GROUPS * HEAD, bias=False)
        self.join = nn.Linear(WIDTH, WIDTH, bias=False)
        self.register_buffer("keys", torch.randn(1, GROUPS, POSITIONS, HEAD))
        self.register_buffer("values", torch.randn(1, GROUPS, POSITIONS, HEAD))

    def forward(self, x: Tensor, position: Tensor, angles: Tensor) -> Tensor:
        query = rotated(self.query(x).view(1, HEADS, HEAD), angles).view(1, HEADS, 1, HEAD)
        key = rotated(self.key(x).view(1, GROUPS, HEAD), angles).view(1, GROUPS, 1, HEAD)
        self.keys.index_copy_(2, position, key)
        self.values.index_copy_(2, position, self.value(x).view(1, GROUPS, 1, HEAD))
        seen = torch.arange(POSITIONS, device=x.device) <= position
        mixed = F.scaled_dot_product_attention(
            query,
            self.keys.repeat_interleave(HEADS // GROUPS, dim=1),
            self.values.repeat_interleave(HEADS // GROUPS, dim=1),
            attn_mask=seen[None, None, None],
            scale=ATTENTION,
        )
        return self.join(mixed.reshape(1, 1, WIDTH))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = Norm(), Norm()
        self.attention = Attention()
        self.gate = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor, position: Tensor, angles: Tensor) -> Tensor:
        x = x + RESIDUAL * self.attention(self.norm_1(x), position, angles)
        normed = self.norm_2(x)
        return x + RESIDUAL * self.down(F.silu(self.gate(normed)) * self.up(normed))


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = Norm()
        self.logits = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, token: Tensor, position: Tensor) -> Tensor:
        powers = torch.arange(0, HEAD, 2, device=token.device) / HEAD
        angles = (position.float() / 10_000.0**powers).repeat(2)
        x = self.tokens(token) * EMBEDDING
        for layer in self.layers:
            x = layer(x, position, angles)
        return self.logits(self.norm(x)) / LOGITS


def get_model() -> Decoder:
    return Decoder().to(torch.bfloat16 if ON_GPU else torch.float32)


def get_inputs(device: str) -> tuple[Tensor, Tensor]:
    return torch.randint(VOCAB, (1, 1), device=device), torch.tensor([FIRST_FREE], device=device)
