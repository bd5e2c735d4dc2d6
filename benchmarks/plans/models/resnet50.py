"""ResNet-50 (He et al., 2016, table 1), written out: 53 convolutions with BatchNorm, batch 32 of 224 x 224."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ON_GPU = torch.cuda.is_available()
BATCH, PIXELS = (32, 224) if ON_GPU else (2, 64)
BLOCKS = (3, 4, 6, 3) if ON_GPU else (1, 1, 1, 1)
EXPANSION = 4


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False), nn.BatchNorm2d(outputs)
    )


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * EXPANSION
        self.layers = nn.Sequential(
            *(convolution(inputs, width, 1), nn.ReLU()),
            *(convolution(width, width, 3, stride), nn.ReLU()),
            convolution(width, outputs, 1),
        )
        is_same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if is_same else convolution(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.layers(x) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        channels = 64
        for stage, count in enumerate(BLOCKS):
            for number in range(count):
                width = 64 * 2**stage
                layers.append(Bottleneck(channels, width, 2 if stage and not number else 1))
                channels = width * EXPANSION
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels, 1000)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.features(images).mean((2, 3)))


def get_model() -> ResNet:
    return ResNet()


def get_inputs(device: str) -> tuple[Tensor]:
    return (torch.randn(BATCH, 3, PIXELS, PIXELS, device=device),)
