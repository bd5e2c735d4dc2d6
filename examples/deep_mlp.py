"""A deep perceptron: L layers of width W with a ReLU after each.

    analyze examples/deep_mlp.py
    DEEP_MLP_LAYERS=3 DEEP_MLP_WIDTH=8192 analyze examples/deep_mlp.py

Many narrow layers leave a GPU waiting for launches; a few wide ones fill it, and nothing can be gained. Sizes, from
the environment (on a GPU; on a CPU):

    DEEP_MLP_LAYERS  256; 24    DEEP_MLP_WIDTH  256; 128    DEEP_MLP_BATCH  2048; 64
"""

from __future__ import annotations

import os

import torch
from torch import Tensor, nn


def size(name: str, gpu: int, cpu: int) -> int:
    return int(os.environ.get(f"DEEP_MLP_{name}", gpu if torch.cuda.is_available() else cpu))


def width() -> int:
    return size("WIDTH", gpu=256, cpu=128)


def get_model() -> nn.Sequential:
    if torch.cuda.is_available():
        torch.set_float32_matmul_precision("high")
    layers: list[nn.Module] = []
    for _ in range(size("LAYERS", gpu=256, cpu=24)):
        linear = nn.Linear(width(), width())
        # He initialisation: with torch's own, the signal of 256 layers fades to denormals, which are slow on a CPU.
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers)


def get_inputs(device: str) -> tuple[Tensor]:
    return (torch.randn(size("BATCH", gpu=2048, cpu=64), width(), device=device),)


if __name__ == "__main__":
    from step_time import print_step_times

    print_step_times(get_model, get_inputs)
