"""What kind of work a kernel does, by its name, whoever made the device. One ordered table; the first match wins."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from analyzer.derive.collectives import is_collective

COLLECTIVE: Final = "collectives"

TABLE: Final[tuple[tuple[str, str], ...]] = (
    (r"mem(?:cpy|set)|copybuffer|fillbuffer", "copies"),
    (r"flash|fmha|attention|attn|sdpa", "attention"),
    (r"topk|moe|expert|grouped_gemm|matmul_ogs|bmm_.*_swiglu", "mixture of experts"),
    (r"gemm|gemv|cijk_|nvjet|cublas|cutlass|xmma|_mm_|(?:^|_)bmm|matmul|splitk|ck::kernel_batched", "matrix products"),
    (r"conv|winograd|implicit|cudnn.*(?:fprop|dgrad|wgrad)|miopen.*conv|im2col|col2im", "convolutions"),
    (r"batch_?norm|layer_?norm|rms_?norm|group_?norm|bn_(?:fw|bw)", "normalisations"),
    (r"softmax", "softmax"),
    (r"adam|sgd|adagrad|multi_tensor_apply|foreach|optimizer", "optimizers"),
    (r"embedding|gather|scatter|index|sort|cub::|radix|segment", "indexing"),
    (r"pool", "pooling"),
    (r"reduce|reduction|_red_|triton_(?:red|per)_", "reductions"),
    (r"elementwise|vectorized|unrolled|triton_poi|triton__|cat_?array|cat_?batched|fill|copy|transpose", "pointwise"),
)
"""A piece of the name, and the family. From the kernels of the public traces of A100s, B200s, B300s, H100s, V100s,
MI210s and MI300s that the tests name."""

OTHER: Final = "other kernels"

_COMPILED: Final = tuple((re.compile(pattern, re.IGNORECASE), family) for pattern, family in TABLE)


@lru_cache(maxsize=1 << 14)
def family(name: str) -> str:
    """The family of a kernel of this name; OTHER where no line of the table fits."""
    if is_collective(name):
        return COLLECTIVE
    return next((what for pattern, what in _COMPILED if pattern.search(name)), OTHER)
