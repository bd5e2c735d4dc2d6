"""A tagger on two LSTM layers: Dynamo leaves `nn.LSTM` to cuDNN, and compiles what stands around it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ON_GPU = torch.cuda.is_available()
BATCH, TOKENS, WIDTH, VOCAB, TAGS = (32, 128, 512, 20_000, 64) if ON_GPU else (4, 32, 64, 500, 16)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCAB, WIDTH)
        self.scale = nn.LayerNorm(WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=2, batch_first=True)
        self.hidden = nn.Linear(WIDTH, WIDTH)
        self.tags = nn.Linear(WIDTH, TAGS)

    def forward(self, words: Tensor) -> Tensor:
        states, _ = self.lstm(self.scale(self.words(words)))
        return self.tags(F.gelu(self.hidden(states))).log_softmax(-1)


def get_model() -> Tagger:
    return Tagger()


def get_inputs(device: str) -> tuple[Tensor]:
    return (torch.randint(VOCAB, (BATCH, TOKENS), device=device),)
