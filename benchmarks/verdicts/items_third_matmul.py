"""The third set's matrix products, convolutions and attention: other models' shapes, in neither of the other sets."""

from __future__ import annotations

from typing import Final

import torch.nn.functional as F

from benchmarks.verdicts.items_held_out_matmul import (
    cross_attention,
    grouped,
    other_conv,
    packed_attention,
    project,
    scores,
    weight_gradient,
)
from benchmarks.verdicts.items_matmul import (
    BF16,
    CUDNN,
    EFFICIENT,
    F16,
    F32,
    FLASH,
    MATH,
    attention,
    bmm,
    conv,
    linear,
    mm,
    mm_fp8,
    mm_int8,
    mv,
)

THIRD_MATMULS: Final = (
    # Qwen 2.5 of 7 and 1.5 billion, Phi-3, Gemma: prompts, then a few tokens, and the scores of a vocabulary.
    project(1024, 3584, 18944, BF16),
    project(1024, 18944, 3584, BF16),
    project(2560, 3584, 3584, BF16),
    project(4096, 3584, 512, BF16),
    project(768, 3072, 16384, BF16),
    project(1, 3584, 18944, BF16),
    project(8, 18944, 3584, F16),
    project(32, 3584, 18944, BF16),
    project(96, 2048, 8192, F16),
    project(64, 1536, 151_936, BF16),
    # GPT-2 XL with its odd vocabulary, Swin, DiT, Stable Diffusion XL, wav2vec.
    linear(2048, 1600, 6400, F16),
    linear(512, 1024, 50257, F16),
    linear(25088, 128, 512, F16),
    linear(6272, 512, 2048, F16),
    linear(4096, 1152, 4608, BF16),
    linear(8192, 640, 5120, F16),
    linear(1499, 768, 3072, F16),
    # Backward passes, and an adapter's two products.
    weight_gradient(8192, 2048, 2048, BF16),
    weight_gradient(12608, 768, 3072, F16),
    weight_gradient(4096, 4096, 1024, F32, tf32=True),
    weight_gradient(32768, 256, 256, F32, tf32=True),
    mm(2048, 2048, 8192, BF16),
    mm(12288, 64, 3072, BF16),
    mm(16384, 4096, 64, BF16),
    # TF32 and full precision: a GPT, a graph's features, a radiance field, a recommender.
    project(4096, 1024, 4096, F32, tf32=True),
    project(169_343, 128, 256, F32, tf32=True),
    project(32768, 256, 256, F32),
    linear(1024, 512, 1024, F32),
    project(256, 2048, 1000, F32),
    linear(16384, 13, 512, F32),
    mm_fp8(1024, 3584, 18944),
    mm_fp8(32, 4096, 12288),
    mm_fp8(4096, 2048, 8192),
    mm_int8(1024, 4096, 11008),
    mm_int8(64, 8192, 3584),
    scores(192, 512, 64, 512, BF16),
    scores(64, 1024, 128, 1024, F16),
    scores(3072, 49, 32, 49, F16),
    bmm(192, 512, 512, 64, BF16),
    bmm(8, 64, 4096, 7168, BF16),
    bmm(256, 197, 64, 197, F32, tf32=True),
    mv(50257, 1600, F16),
    mv(14336, 4096, BF16),
)

THIRD_CONVOLUTIONS: Final = (
    # Stems: ConvNeXt's and YOLO's.
    conv((32, 3, 224, 224), (96, 4), F16, stride=4, last=True),
    conv((8, 3, 640, 640), (32, 3), F16, stride=2, last=True),
    # ResNet-50 and -101, a ResNeXt.
    conv((64, 64, 56, 56), (256, 1), F16, last=True),
    conv((64, 256, 14, 14), (1024, 1), F16, last=True),
    conv((64, 256, 14, 14), (256, 3), BF16, last=True),
    conv((32, 512, 28, 28), (1024, 1), BF16, stride=2, last=True),
    conv((8, 256, 28, 28), (256, 3), F32),
    grouped((32, 512, 14, 14), 3, 32, F16, last=True),
    # MobileNetV2, ConvNeXt, EfficientNet.
    conv((32, 144, 56, 56), (144, 3), F32, depthwise=True),
    conv((32, 384, 28, 28), (384, 3), F16, depthwise=True, last=True),
    grouped((16, 96, 56, 56), 7, 96, F16, last=True),
    grouped((16, 672, 14, 14), 5, 672, F32, last=False),
    # Detection, segmentation, a VAE's decoder, diffusion, sound, video.
    conv((16, 64, 112, 112), (128, 3), F16, stride=2, last=True),
    conv((8, 128, 56, 56), (128, 3), F32),
    conv((4, 128, 80, 80), (256, 3), F16, stride=2, last=True),
    conv((1, 256, 256, 256), (128, 3), F16, last=True),
    conv((4, 320, 64, 64), (320, 3), BF16, last=True),
    conv((2, 1280, 32, 32), (640, 3), F16),
    other_conv(
        "conv_transposed",
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1),
        (4, 512, 16, 16),
        (512, 256, 4, 4),
        F16,
    ),
    other_conv("conv1d_s2", lambda x, w: F.conv1d(x, w, stride=2), (8, 512, 3199), (512, 512, 3), F16),
    other_conv("conv3d", lambda x, w: F.conv3d(x, w, padding=1), (1, 32, 16, 64, 64), (64, 32, 3, 3, 3), BF16),
)

THIRD_ATTENTIONS: Final = (
    attention((1, 28, 3072, 128), BF16, FLASH, causal=True),
    attention((8, 25, 1024, 64), F16, FLASH, causal=True),
    attention((2, 32, 1024, 96), BF16, FLASH, causal=True),
    attention((4, 8, 1024, 256), BF16, FLASH, causal=True),
    packed_attention((64, 6, 197, 64), F16, FLASH),
    packed_attention((2, 20, 1024, 64), F16, FLASH),
    cross_attention((8, 28, 1, 128), 2048, BF16, FLASH),
    cross_attention((2, 10, 4096, 64), 77, F16, FLASH),
    attention((8, 16, 512, 64), F32, EFFICIENT),
    cross_attention((16, 12, 256, 64), 256, F16, EFFICIENT, masked=True),
    packed_attention((4, 16, 2048, 128), BF16, CUDNN, causal=True),
    attention((16, 16, 512, 64), F16, CUDNN),
    attention((4, 12, 512, 64), F16, MATH),
)
