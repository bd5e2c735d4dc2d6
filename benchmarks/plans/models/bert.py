"""BERT base through transformers, random weights: 12 layers in bfloat16, 16 x 128 tokens."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import BertConfig, BertModel

ON_GPU = torch.cuda.is_available()
BATCH, TOKENS = (16, 128) if ON_GPU else (2, 32)


def get_model() -> BertModel:
    if ON_GPU:
        return BertModel(BertConfig()).to(torch.bfloat16)
    small = BertConfig(
        vocab_size=1024, hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=512
    )
    return BertModel(small)


def get_inputs(device: str) -> dict[str, Tensor]:
    shape = (BATCH, TOKENS)
    tokens = torch.randint(1024, shape, device=device)
    return {"input_ids": tokens, "attention_mask": torch.ones(shape, dtype=torch.long, device=device)}
