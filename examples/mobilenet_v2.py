"""MobileNetV2 (Sandler et al., 2018, table 2), self-contained: 52 convolutions, most of them cheap and depthwise.

    analyze examples/mobilenet_v2.py
    MOBILENET_BATCH=32 analyze examples/mobilenet_v2.py --mode training

Sizes, from the environment (on a GPU; on a CPU):

    MOBILENET_BATCH  1; 1    MOBILENET_IMAGE  224; 96    MOBILENET_DROPOUT  20; 20 (per cent, in training)
"""

from __future__ import annotations

import os
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

STAGES = (  # expansion, channels, blocks, stride of the first
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)

FIRST_CHANNELS = 32
LAST_CHANNELS = 1280
CLASSES = 1000


def size(name: str, gpu: int, cpu: int) -> int:
    return int(os.environ.get(f"MOBILENET_{name}", gpu if torch.cuda.is_available() else cpu))


def convolution(inputs: int, outputs: int, kernel: int, *, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU6(),
    )


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.is_residual = stride == 1 and inputs == outputs
        self.layers = nn.Sequential(
            *([convolution(inputs, hidden, 1)] if expansion > 1 else []),
            convolution(hidden, hidden, 3, stride=stride, groups=hidden),
            nn.Conv2d(hidden, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.is_residual else self.layers(x)


class MobileNetV2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [convolution(3, FIRST_CHANNELS, 3, stride=2)]
        channels = FIRST_CHANNELS
        for expansion, outputs, blocks, first_stride in STAGES:
            for index in range(blocks):
                layers.append(InvertedResidual(channels, outputs, first_stride if index == 0 else 1, expansion))
                channels = outputs
        self.features = nn.Sequential(*layers, convolution(channels, LAST_CHANNELS, 1))
        self.classifier = nn.Sequential(
            nn.Dropout(size("DROPOUT", gpu=20, cpu=20) / 100), nn.Linear(LAST_CHANNELS, CLASSES)
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.features(images).mean((2, 3)))


def get_model() -> MobileNetV2:
    return MobileNetV2()


def get_inputs(device: str) -> tuple[Tensor]:
    pixels = size("IMAGE", gpu=224, cpu=96)
    return (torch.randn(size("BATCH", gpu=1, cpu=1), 3, pixels, pixels, device=device),)


def get_loss(device: str) -> Callable[[Tensor], Tensor]:
    labels = torch.randint(CLASSES, (size("BATCH", gpu=1, cpu=1),), device=device)
    return lambda logits: F.cross_entropy(logits, labels)


def get_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


if __name__ == "__main__":
    from step_time import print_step_times

    print_step_times(get_model, get_inputs)
