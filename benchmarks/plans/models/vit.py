"""ViT-B/16 (Dosovitskiy et al., 2021, table 1), written out: 12 layers, 768 wide, batch 8 of 224 x 224."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ON_GPU = torch.cuda.is_available()
BATCH, PIXELS, LAYERS, WIDTH, HEADS = (8, 224, 12, 768, 12) if ON_GPU else (1, 64, 2, 128, 4)
PATCH = 16


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.enter, self.leave = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed_forward = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        heads = self.enter(self.norm_1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        query, key, value = heads.unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, value)
        x = x + self.leave(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.feed_forward(self.norm_2(x))


class ViT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.first = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.positions = nn.Parameter(torch.randn(1, (PIXELS // PATCH) ** 2 + 1, WIDTH) * 0.02)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.classes = nn.Linear(WIDTH, 1000)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.first.expand(len(patches), -1, -1), patches), dim=1) + self.positions
        return self.classes(self.norm(self.layers(x))[:, 0])


def get_model() -> ViT:
    if ON_GPU:
        torch.set_float32_matmul_precision("high")
    return ViT()


def get_inputs(device: str) -> tuple[Tensor]:
    return (torch.randn(BATCH, 3, PIXELS, PIXELS, device=device),)
