"""A Granite-like decoder through transformers: 16 layers, 1024 wide, random weights.

    analyze examples/granite_like.py
    GRANITE_TOKENS=1 analyze examples/granite_like.py

Nothing is downloaded. A prefill without a cache; one token is the host-bound extreme. Sizes, from the environment (on
a GPU, in bfloat16; on a CPU, in float32):

    GRANITE_LAYERS  16; 2      GRANITE_TOKENS  128; 64    GRANITE_BATCH  1; 1
    GRANITE_WIDTH   1024; 256  (2048 is that of Granite 3 2B: kernels then take 1.5 ms of a step on an H200)
"""

from __future__ import annotations

import os

import torch
from torch import Tensor
from transformers import GraniteConfig, GraniteForCausalLM


def size(name: str, gpu: int, cpu: int) -> int:
    return int(os.environ.get(f"GRANITE_{name}", gpu if torch.cuda.is_available() else cpu))


def configuration() -> GraniteConfig:
    on_gpu = torch.cuda.is_available()
    width = size("WIDTH", gpu=1024, cpu=256)
    return GraniteConfig(
        num_hidden_layers=size("LAYERS", gpu=16, cpu=2),
        vocab_size=49152 if on_gpu else 1024,
        hidden_size=width,
        intermediate_size=4 * width,
        num_attention_heads=width // 64,
        num_key_value_heads=max(width // 256, 2),
        max_position_embeddings=4096,
        # The four multipliers that set Granite apart from Llama, as in granite-3.1-2b-base.
        embedding_multiplier=12.0,
        attention_multiplier=0.015625,
        residual_multiplier=0.22,
        logits_scaling=8.0,
    )


def get_model() -> GraniteForCausalLM:
    dtype = torch.bfloat16 if torch.cuda.is_available() else torch.float32
    return GraniteForCausalLM(configuration()).to(dtype)


def get_inputs(device: str) -> dict[str, Tensor | bool]:
    shape = (size("BATCH", gpu=1, cpu=1), size("TOKENS", gpu=128, cpu=64))
    # A cache would grow with every step, and each step would have other shapes than the last.
    return {"input_ids": torch.randint(1024, shape, device=device), "use_cache": False}


if __name__ == "__main__":
    from step_time import print_step_times

    print_step_times(get_model, get_inputs)
