"""How much arithmetic an element costs beside matrix products, in the time of one float32 instruction.

The unit is one of the 128 float32 results that a multiprocessor gives in a clock (CUDA C++ Programming Guide, table
"Throughput of Native Arithmetic Instructions", compute capability 9.0): comparisons, integers and conversions give 64,
reciprocals, roots, `exp2`, `log2`, `sin` and `cos` 16. Longer functions are estimates of CUDA's libdevice (`erf` is a
polynomial and an exponential). Rough: meant to be within a factor of two, and what is decided by it is marked doubtful.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from analyzer.core.graphs import OpCount
from analyzer.core.trace import OpDetail

ATTENTION_PAIR: Final = 10
"""A score of fused attention: its exponential (8), the scale and the running maximum and sum. Flash Attention 3 gives
the same ratio: 256 times less exponentials a second than 16-bit operations (Shah et al. 2024, section 3.2)."""

FFT_STEP: Final = 5
"""Operations of a complex FFT an element and power of two: 5 n log2 n (fftw.org/speed)."""


@dataclass(frozen=True, slots=True)
class Weight:
    """`plain` instructions go to the float32 pipes, `special` ones to the sixteen lanes beside them, at once."""

    plain: float
    special: float = 0.0


SPECIAL_SLOTS: Final = 8
"""128 / 16: how many plain results are given in the time of one special one."""

MEMORY: Final = Weight(2)
"""A load or a store with its address and mask."""

_OPS: Final[tuple[tuple[str, Weight], ...]] = (
    (r"load|store|load_seed|device_assert_async|check_bounds", MEMORY),
    (r"constant|output|identity|store_reduction", Weight(0)),
    (r"index_expr|to_dtype_bitcast|frexp", Weight(1)),
    (r"reduction|scan|sort|partial_accumulate|masked|indirect_indexing|bucketize|inline_asm_elementwise", Weight(3)),
    (r"add|sub|mul|fma|neg|abs|square|relu|copysign|signbit|sign", Weight(1)),
    (r"to_dtype|where|maximum|minimum|eq|ne|lt|le|gt|ge|isnan|isinf|logical_\w+|bitwise_\w+|and_|or_|xor|invert|lshift|rshift"
     r"|floor|ceil|trunc|round|round_to_int|floor_to_int|ceil_to_int|trunc_to_int|clamp", Weight(2)),
    (r"reciprocal|sqrt|rsqrt|exp|exp2|log|log2", Weight(3, 1)),
    (r"log1p", Weight(24)),
    (r"expm1", Weight(20, 1)),
    (r"truediv|div|div_rn|int_truediv|true_divide", Weight(8, 1)),
    (r"floordiv|truncdiv|mod|remainder|fmod|python_mod", Weight(20, 1)),
    (r"sigmoid|silu", Weight(12, 2)),
    (r"tanh", Weight(18, 2)),
    (r"erf|erfc|erfinv|erfcx|ndtri?|lgamma|digamma", Weight(24, 1)),
    (r"sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|asinh|acosh|atanh", Weight(24, 1)),
    (r"pow|libdevice_pow|float_pow", Weight(40, 2)),
    (r"rand|randn|randint64", Weight(100, 2)),
)  # fmt: skip
"""Inductor's operations on an element. An unknown one makes the kernel's arithmetic unknown.

Those that Triton leaves to CUDA's libdevice are longer than an approximation by one special instruction, and estimates
that no disassembly was held against: `tanh` is a polynomial of x² for small x and 1 - 2 / (exp(2 |x|) + 1) for large,
of which a warp runs both and chooses by element; `log1p` takes the exponent off and goes through a polynomial; `expm1`
reduces its argument and multiplies a polynomial by a power of two. `exp` and `log` are such approximations.
`store_reduction` is told once for each element that is reduced, and is one store a row.
"""

JOINT: Final = Weight(16, 1)
"""A reduction of several results at once in a loop, beside the `reduction` that it is told as: mean and variance, where
each element is a difference, a division by how many there were and two multiply-adds (`welford_reduce`), or maximum and
sum of a softmax, with two exponentials (`online_softmax_combine`), both in torch/_inductor/runtime/triton_helpers.py,
and the choices that leave out what is behind the end of a row."""

OF_VARIANCE: Final = ("truediv", "add", "rsqrt")
"""What a normalisation does with the variance that it has reduced: one division, sum and root a row. They are told once
for each element, as they stand in the loop over them."""

_COMPILED_OPS: Final = tuple((re.compile(pattern), weight) for pattern, weight in _OPS)

_ATEN: Final[tuple[tuple[str, int], ...]] = (
    (r"_?softmax|_log_softmax|logsumexp|_masked_softmax", 40),
    (r"_?(?:log_)?softmax_backward_data", 24),
    (r"gelu|gelu_backward|erf|erfc|erfinv", 44),
    (r"tanh|mish|softplus|log_sigmoid\w*|silu|sigmoid|elu|celu|selu|(?:silu|elu|softplus)_backward|glu", 28),
    (r"exp|exp2|expm1|log|log2|log10|log1p|sqrt|rsqrt|reciprocal|div|true_divide|addcdiv", 16),
    (r"pow|fmod|remainder|floor_divide|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh", 44),
    (r"native_(?:layer|group|batch)_norm|_fused_rms_norm|(?:cudnn|miopen|_native)_batch_norm\w*|_batch_norm\w*", 16),
    (r"(?:native_(?:layer|group|batch)_norm|_fused_rms_norm|(?:cudnn|miopen)_batch_norm|batch_norm)_backward", 24),
    (r"native_dropout|_fused_dropout|bernoulli|normal|uniform|random|exponential|log_normal", 40),
    (r"_fused_adamw?", 40),
    (r"_foreach_(?:sqrt|div|exp|log|pow|reciprocal|rsqrt|tanh|sigmoid|norm|addcdiv)", 20),
    (r"_foreach_\w+|_fused_\w+|_amp_foreach\w*", 10),
    (r"copy|fill|zero|clone|add|sub|rsub|mul|relu\d?|threshold|threshold_backward|native_dropout_backward|tanh_backward"
     r"|sigmoid_backward|neg|abs|square|sum|mean|prod|amax|amin|any|all|cat|stack|lerp|addcmul|where|clamp\w*|maximum|minimum"
     r"|eq|ne|lt|le|gt|ge|bitwise_\w+|logical_\w+|masked_fill|triu|tril|flip|roll|hard\w+|leaky_relu\w*|isnan|is\w*inf"
     r"|linalg_vector_norm|norm|max|min|mse_loss\w*|embedding|index_select", 8),
)  # fmt: skip
"""ATen's operators: instructions an element of the largest tensor, loads and stores included."""

_ON_GPU: Final[tuple[tuple[str, int], ...]] = (
    (r"pow", 100),
    (r"gelu", 32),
    (r"gelu_backward", 45),
    (r"mish", 57),
    (r"elu|celu|selu", 32),
    (r"log_sigmoid_forward", 36),
    (r"erf|erfc|erfinv|native_layer_norm", 24),
    (r"digamma|polygamma", 200),
    (r"_log_softmax", 28),
    (r"cumsum|cumprod", 100),
    (r"argmax|argmin", 28),
    (r"amax|amin|max|min|any|all", 8),
    (r"sum|mean|prod|linalg_vector_norm|norm", 3),
    (r"var|std|var_mean|std_mean", 24),
    (r"softplus", 46),
)
"""The same for kernels of ATen on a GPU, where these differ: multiprocessor throughput as Nsight Compute counted it on
an H200 (torch 2.11), in issue slots an element. `amax` and its like look for NaN, `digamma` shifts its argument up in a
loop of divisions; `log_softmax` is a softmax (40) without its second exponential and product. A scan is an estimate: up
and down a tree of 1024 elements in shared memory (`tensor_kernel_scan_innermost_dim_impl` in ATen), ten instructions a
level and two elements. Of `gelu_backward` (the exponential and four products beside a `gelu`), `mish` (an exponential,
`log1p` and `tanh`), `elu` (`expm1`) and `log_sigmoid` (an exponential and `log1p`) the functions are estimates, as for
Inductor above. Reductions are counted without what each of their threads spends (`thread_slots` in
aten_kernels.py). `softplus` is an estimate too: an exponential, a `log1p` and a division, as for Inductor above.
"""

_COMPILED_ATEN: Final = tuple((re.compile(rf"aten::(?:{pattern})_?"), slots) for pattern, slots in _ATEN)
_COMPILED_ON_GPU: Final = tuple((re.compile(rf"aten::(?:{pattern})_?"), slots) for pattern, slots in _ON_GPU)


def instructions_of_ops(ops: Iterable[OpCount], *, is_looped: bool = False) -> int | None:
    """The arithmetic of a generated kernel, from how often it runs each of Inductor's operations.

    The two pipes run side by side, and the slower one counts. `is_looped` where the kernel goes through its rows in a
    loop, and so reduces several results at once by an element. None where an operation is unknown.
    """
    counts = Counter[str]()
    for told in ops:
        counts[told.op] += told.count
    # Of a reduction each result is stored: what is stored more often has several.
    joint = max(0, min(counts["reduction"], counts["store_reduction"] - counts["reduction"]))
    of_rows = min(joint, *(counts[op] for op in OF_VARIANCE))
    plain, special = (JOINT.plain * joint, JOINT.special * joint) if is_looped else (0.0, 0.0)
    for op, count in counts.items():
        weight = next((w for pattern, w in _COMPILED_OPS if pattern.fullmatch(op)), None)
        if weight is None:
            return None
        each = count - of_rows if op in OF_VARIANCE else count
        plain, special = plain + weight.plain * each, special + weight.special * each
    return round(max(plain + special, SPECIAL_SLOTS * special))


_COUNTED: Final = re.compile(
    r"aten::(?:pow|gelu|erfinv|native_layer_norm|digamma|argmax|argmin|amax|amin|max|min|any|all|sum|mean"
    r"|linalg_vector_norm|norm|_softmax|_log_softmax|add|mul|clamp\w*|copy|fill|where|isneginf)_?"
)
"""Operators of which some kernel was held against counters."""


def is_counted(name: str) -> bool:
    """Whether the instructions of an ATen operator were counted by hardware, on a GPU, rather than estimated."""
    return _COUNTED.fullmatch(name) is not None


_EASY_POWERS: Final = {2.0: 8, 3.0: 8, 0.5: 16, -0.5: 16, -1.0: 16, -2.0: 16}
"""Exponents for which ATen multiplies, or takes a root or a reciprocal (`pow_tensor_scalar` in ATen's PowKernel.cu and
Pow.cpp), as slots an element."""


def power_slots(name: str, detail: OpDetail) -> int | None:
    """Instructions an element of `pow(x, number)` where the number is an easy one; None for anything else."""
    if name not in ("aten::pow", "aten::pow_") or detail.dtypes[1:2] != ("Scalar",):
        return None
    try:
        return _EASY_POWERS.get(float(detail.values[1]))
    except (IndexError, ValueError):
        return None


def aten_slots(name: str, *, is_gpu: bool = False) -> int | None:
    """Instructions an element of an ATen operator; None for one that is not in the tables."""
    counted = next((count for pattern, count in _COMPILED_ON_GPU if pattern.fullmatch(name)), None) if is_gpu else None
    if counted is not None:
        return counted
    return next((count for pattern, count in _COMPILED_ATEN if pattern.fullmatch(name)), None)
