"""GPTlite: GPT-3 small (Brown et al., 2020, table 2.1) written naively, with every attention head a module of its own.

    analyze examples/gptlite.py
    GPTLITE_BLOCKS=4 GPTLITE_CONTEXT=512 analyze examples/gptlite.py --mode training

A block runs its heads one after the other, each with its own query, key and value projections and an explicit causal
mask, so that a step is thousands of small kernels. Sizes, from the environment (on a GPU; on a CPU):

    GPTLITE_BLOCKS   12; 2      GPTLITE_HEADS    12; 4       GPTLITE_WIDTH   768; 128
    GPTLITE_CONTEXT  2048; 128  GPTLITE_VOCAB    50304; 512  GPTLITE_BATCH   1; 1
    GPTLITE_SIZE     full or small: the GPU's or the CPU's sizes, wherever it runs
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Sizes:
    blocks: int
    heads: int
    width: int
    context: int
    vocab: int
    batch: int


FULL = Sizes(blocks=12, heads=12, width=768, context=2048, vocab=50304, batch=1)
"""The vocabulary is GPT-2's 50257 rounded up to a multiple of 64, which keeps the rows of the logits aligned."""

SMALL = Sizes(blocks=2, heads=4, width=128, context=128, vocab=512, batch=1)


def sizes() -> Sizes:
    size = os.environ.get("GPTLITE_SIZE", "full" if torch.cuda.is_available() else "small")
    base = {"full": FULL, "small": SMALL}[size]
    return Sizes(**{name: int(os.environ.get(f"GPTLITE_{name.upper()}", value)) for name, value in vars(base).items()})


class Head(nn.Module):
    """One causal attention head."""

    def __init__(self, width: int, head_width: int, context: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, head_width, bias=False)
        self.key = nn.Linear(width, head_width, bias=False)
        self.value = nn.Linear(width, head_width, bias=False)
        self.register_buffer("visible", torch.ones(context, context, dtype=torch.bool).tril(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.query(x), self.key(x), self.value(x)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        length = x.shape[1]
        scores = scores.masked_fill(~self.visible[:length, :length], float("-inf"))
        return scores.softmax(dim=-1) @ value


class Block(nn.Module):
    def __init__(self, width: int, heads: int, context: int) -> None:
        super().__init__()
        self.norm_1 = nn.LayerNorm(width)
        self.heads = nn.ModuleList(Head(width, width // heads, context) for _ in range(heads))
        self.join = nn.Linear(width, width)
        self.norm_2 = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        normed = self.norm_1(x)
        x = x + self.join(torch.cat([head(normed) for head in self.heads], dim=-1))
        return x + self.feed_forward(self.norm_2(x))


class GPTlite(nn.Module):
    def __init__(self, size: Sizes) -> None:
        super().__init__()
        self.tokens = nn.Embedding(size.vocab, size.width)
        self.positions = nn.Embedding(size.context, size.width)
        self.blocks = nn.Sequential(*(Block(size.width, size.heads, size.context) for _ in range(size.blocks)))
        self.norm = nn.LayerNorm(size.width)
        self.logits = nn.Linear(size.width, size.vocab, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.logits(self.norm(self.blocks(self.tokens(tokens) + self.positions(positions))))


def get_model() -> GPTlite:
    if torch.cuda.is_available():
        torch.set_float32_matmul_precision("high")  # TF32: what anyone who trains in float32 on such a GPU uses
    return GPTlite(sizes())


def get_inputs(device: str) -> tuple[Tensor]:
    size = sizes()
    return (torch.randint(size.vocab, (size.batch, size.context), device=device),)


def get_loss(device: str) -> Callable[[Tensor], Tensor]:
    size = sizes()
    targets = torch.randint(size.vocab, (size.batch * size.context,), device=device)
    return lambda logits: F.cross_entropy(logits.flatten(0, 1), targets)


def get_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=3e-4)


if __name__ == "__main__":
    from step_time import print_step_times

    print_step_times(get_model, get_inputs)
