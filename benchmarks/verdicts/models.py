"""The models of the interventions: small, self-contained, host-bound and device-bound ones. MODELS is the list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import nn

from benchmarks.verdicts import blocks, blocks_fifth, blocks_fourth
from benchmarks.verdicts.items_compiled import heads
from benchmarks.verdicts.place import Place

F32, BF16 = torch.float32, torch.bfloat16
Built = tuple[nn.Module, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Model:
    """`build` gives a module on the place's device, and its inputs."""

    name: str
    build: Callable[[Place], Built]


def _stack(block: Callable[[], nn.Module], count: int) -> nn.Module:
    return nn.Sequential(*(block() for _ in range(count)))


def _mlp(width: int, layers: int, batch: int, dtype: torch.dtype = F32) -> Model:
    def build(p: Place) -> Built:
        return p.module(blocks.MLP(p.d(width), layers), dtype), (p.randn(batch, width, dtype=dtype),)

    return Model(f"mlp_{layers}x{width}_batch{batch}_{'bf16' if dtype is BF16 else 'fp32'}", build)


def _transformer(kind: str, width: int, layers: int, batch: int, length: int) -> Model:
    def block(p: Place) -> nn.Module:
        count = heads(p, width, 64)
        match kind:
            case "gpt":
                return blocks.GPTBlock(p.d(width), count)
            case "bert":
                return blocks.BertBlock(p.d(width), count)
            case _:
                return blocks.LlamaBlock(p.d(width), count, 1)

    def build(p: Place) -> Built:
        return p.module(_stack(lambda: block(p), layers), BF16), (p.randn(batch, length, width, dtype=BF16),)

    return Model(f"{kind}_{layers}x{width}_{batch}x{length}", build)


def _image(kind: str, channels: int, layers: int, image: tuple[int, int], dtype: torch.dtype = F32) -> Model:
    """`image` is the batch and the side."""

    def block(p: Place) -> nn.Module:
        match kind:
            case "mobilenet":
                return blocks.MobileBlock(p.d(channels))
            case "resnet":
                return blocks.ResNetBlock(p.d(channels))
            case _:
                return blocks.UNetBlock(p.d(channels), min(32, p.d(channels)))

    def build(p: Place) -> Built:
        batch, side = image
        x = p.randn(batch, channels, side, side, dtype=dtype)
        return p.module(_stack(lambda: block(p), layers), dtype), (x,)

    return Model(f"{kind}_{layers}x{channels}_{image[0]}x{image[1]}", build)


def _norms(width: int, layers: int, rows: int) -> Model:
    def build(p: Place) -> Built:
        return p.module(blocks.NormChain(p.d(width), layers)), (p.randn(rows, width),)

    return Model(f"norms_{layers}x{width}_{rows}", build)


def _lstm(width: int, steps: int, batch: int) -> Model:
    def build(p: Place) -> Built:
        return p.module(blocks.LSTMCell(p.d(width), steps)), tuple(p.randn(batch, width) for _ in range(3))

    return Model(f"lstm_{steps}x{width}_batch{batch}", build)


def _moe(width: int, experts: int, tokens: int) -> Model:
    def build(p: Place) -> Built:
        return p.module(blocks.MoEBlock(p.d(width), experts), BF16), (p.randn(tokens, width, dtype=BF16),)

    return Model(f"moe_{experts}x{width}_{tokens}", build)


def _dlrm(batch: int) -> Model:
    def build(p: Place) -> Built:
        return p.module(blocks.DLRM(p.d(100_000), 26, p.d(64))), (p.randn(batch, 16), p.rows(100_000, batch, 26))

    return Model(f"dlrm_batch{batch}", build)


def _broken(name: str, width: int, rows: int, make: Callable[[Place], tuple[nn.Module, ...]]) -> Model:
    """Different blocks with a graph break after each: a graph for every block."""

    def build(p: Place) -> Built:
        return p.module(blocks.Broken(*make(p))), (p.randn(rows, width),)

    return Model(f"broken_{name}", build)


def _mixed(width: int) -> Callable[[Place], tuple[nn.Module, ...]]:
    def make(p: Place) -> tuple[nn.Module, ...]:
        w = p.d(width)
        return (
            blocks.MLP(w, 3),
            blocks.NormChain(w, 4),
            nn.Sequential(nn.Linear(w, 2 * w), nn.GELU(), nn.Linear(2 * w, w)),
            blocks.NormChain(w, 1),
            blocks.MLP(w, 12),
        )

    return make


def _broken_sequences(width: int, batch: int, length: int) -> Model:
    """Layers of five language models, each a graph of its own."""

    def build(p: Place) -> Built:
        w, count = p.d(width), heads(p, width, 64)
        layers = (
            blocks.GPTBlock(w, count),
            blocks.BertBlock(w, count),
            blocks.LlamaBlock(w, count, 1),
            blocks_fourth.T5Block(w, count),
            blocks_fifth.ParallelBlock(w, count),
        )
        return p.module(blocks.Broken(*layers), BF16), (p.randn(batch, length, width, dtype=BF16),)

    return Model(f"broken_sequences_{width}_{batch}x{length}", build)


def _broken_images(channels: int, batch: int, side: int) -> Model:
    """Stages of five image models, each a graph of its own."""

    def build(p: Place) -> Built:
        c = p.d(channels)
        stages = (
            blocks.MobileBlock(c),
            blocks.ResNetBlock(c),
            blocks.UNetBlock(c, min(32, c)),
            blocks_fourth.SqueezeBlock(c),
            blocks_fifth.ShuffleBlock(c),
        )
        return p.module(blocks.Broken(*stages)), (p.randn(batch, channels, side, side),)

    return Model(f"broken_images_{channels}_{batch}x{side}", build)


MODELS: Final[tuple[Model, ...]] = (
    _broken("256", 256, 64, _mixed(256)),
    _broken("1024", 1024, 256, _mixed(1024)),
    _broken("2048_many_rows", 2048, 8192, _mixed(2048)),
    _broken("4096_few_rows", 4096, 16, _mixed(4096)),
    _broken_sequences(768, 2, 256),
    _broken_images(128, 4, 28),
    _mlp(256, 64, 64),
    _mlp(512, 24, 512),
    _mlp(1024, 12, 1024, BF16),
    _mlp(4096, 4, 4096, BF16),
    _mlp(8192, 3, 16, BF16),
    _transformer("gpt", 512, 6, 1, 128),
    _transformer("gpt", 1024, 2, 8, 1024),
    _transformer("bert", 768, 6, 4, 128),
    _transformer("llama", 1024, 6, 1, 1),
    _transformer("llama", 1024, 4, 1, 256),
    _transformer("llama", 2048, 2, 4, 1024),
    _image("mobilenet", 32, 6, (1, 56)),
    _image("mobilenet", 32, 3, (32, 112)),
    _image("resnet", 256, 6, (1, 28)),
    _image("resnet", 256, 3, (32, 56), BF16),
    _image("unet", 128, 3, (2, 64)),
    _norms(1024, 16, 64),
    _norms(4096, 4, 16384),
    _lstm(512, 12, 32),
    _moe(512, 8, 256),
    _moe(1024, 8, 4096),
    _dlrm(256),
    _dlrm(16384),
)
"""Those with several graphs first: a run that ends early has the most graphs."""


def model_by_name(name: str) -> Model:
    """The model of this name. Raises KeyError where there is none."""
    found = next((model for model in MODELS if model.name == name), None)
    if found is None:
        raise KeyError(name)
    return found
