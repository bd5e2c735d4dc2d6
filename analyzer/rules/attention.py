"""Which call of torch's own attention does what a written-out one does, as far as its operators tell."""

from __future__ import annotations

import math
from typing import Final

from analyzer.core.ops import OpCall, OpLog, TensorFacts

_CALL: Final = "torch.nn.functional.scaled_dot_product_attention"
_FLEX: Final = "torch.nn.attention.flex_attention with a score_mod"

_NEUTRAL_NAMES: Final = (
    "view _unsafe_view reshape _reshape_alias expand transpose permute squeeze unsqueeze t alias slice select detach "
    "clone contiguous _to_copy to empty_like"
)
_NEUTRAL: Final = frozenset(_NEUTRAL_NAMES.split())
"""They leave the scores as they are, or give a part or a view of them."""

_SCALES: Final = ("mul", "div")
_MASKS: Final = ("add", "sub", "masked_fill", "where", "index_put")
_TRIANGLES: Final = ("aten::tril", "aten::triu")

_MAKER_NAMES: Final = (
    "tril triu full full_like ones ones_like zeros zeros_like scalar_tensor arange eq ne lt le gt ge logical_not "
    "logical_and logical_or bitwise_not bitwise_and bitwise_or rsub"
)
_MASK_MAKERS: Final = frozenset(_MAKER_NAMES.split())
"""Operators that make a mask, which has as many elements as the scores where there is one batch and one head."""

_SCALE_ERROR: Final = 1e-3
"""As a share: a factor may be written with few digits."""


def attention_call(ops: OpLog, product: OpCall, softmax: OpCall, scores: TensorFacts) -> str:
    """The call that replaces everything from `product`, which gives the scores, to the product behind `softmax`.

    Queries and keys are those of `product`. A causal mask is named only where a triangle of the scores' size was made
    in the step, and on its condition; a mask made before the step shows no form, and is passed on as it is.
    """
    steps = [call for call in ops.calls if product.first < call.first < softmax.first and _is_on(call, scores)]
    changes = [call for call in steps if _name(call) not in _NEUTRAL]
    masks = [call for call in changes if _name(call) in _MASKS and _has_second(call)]
    scales = [call for call in changes if _name(call) in _SCALES and not _has_second(call)]
    others = [call for call in changes if call not in masks and call not in scales]
    if others:
        return f"{_FLEX}, for what {others[0].op} does to the scores: a fused kernel that never writes them"
    factor = _factor(product, scales)
    options = [] if factor is None else _scale(factor, product)
    mask, remark = _mask(ops, product, masks, scores)
    text = f"{_CALL}({', '.join(['q', 'k', 'v', *mask, *options])})"
    if factor is None:
        remark.append("scale= is what the scores are multiplied by")
    return "; ".join([text, *remark])


def _mask(ops: OpLog, product: OpCall, masks: list[OpCall], scores: TensorFacts) -> tuple[list[str], list[str]]:
    """The option for the mask, and what has to be said of it."""
    is_added_first = product.op == "aten::baddbmm"
    if not masks and (is_added_first or _may_be_elsewhere(ops, product, scores)):
        return ["attn_mask=mask"], ["without attn_mask= where nothing masks these scores"]
    if not masks:
        return [], []
    if len(masks) == 1 and not is_added_first and _sees_triangle(ops, scores):
        return ["is_causal=True"], ["with attn_mask=mask instead if the mask hides more, or else, than later positions"]
    together = " for all that is added and hidden together" if len(masks) > 1 else ""
    return ["attn_mask=mask"], [f"its mask{together} is True where a position is seen, or the numbers to add"]


def _may_be_elsewhere(ops: OpLog, product: OpCall, scores: TensorFacts) -> bool:
    """Whether a call that masks such scores stands before the product: equal calls are one, where the first is."""
    before = [call for call in ops.calls if call.first < product.first and _is_on(call, scores)]
    return any(_name(call) in _MASKS and _has_second(call) for call in before)


def _sees_triangle(ops: OpLog, scores: TensorFacts) -> bool:
    """Whether the step makes one triangle of the scores' size, and no other: two of them leave a band."""
    size = scores.shape[-2:]
    made = [call for call in ops.named(*_TRIANGLES) if call.outputs and call.outputs[0].shape[-2:] == size]
    return len(made) == 1 and size[0] == size[1] and made[0].values in _CAUSAL[made[0].op]


_CAUSAL: Final = {"aten::tril": ((), ("0",)), "aten::triu": (("1",),)}
"""The diagonals with which what is kept, or what is left out, is causal."""


def _factor(product: OpCall, scales: list[OpCall]) -> float | None:
    """What the scores are multiplied by in all; None where a factor is a tensor, or is not told."""
    if product.op == "aten::baddbmm":
        return None
    factor = 1.0
    for call in scales:
        number = _number(call.values[0]) if len(call.inputs) == 1 and call.values else None
        if number is None or not number:
            return None
        factor = factor * number if _name(call) == "mul" else factor / number
    return factor


def _scale(factor: float, product: OpCall) -> list[str]:
    """`scale=` where the factor is not the one that torch takes by itself."""
    own = 1 / math.sqrt(max(product.inputs[-2].shape[-1], 1))
    return [] if math.isclose(factor, own, rel_tol=_SCALE_ERROR) else [f"scale={factor:.6g}"]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_on(call: OpCall, scores: TensorFacts) -> bool:
    """Whether it takes the scores: by their number of elements, for views change their shape."""
    takes = any(t.elements == scores.elements and t.dtype.startswith(("float", "bfloat")) for t in call.inputs)
    return takes and not call.is_backward and _name(call) not in _MASK_MAKERS


def _has_second(call: OpCall) -> bool:
    """Whether another tensor than a single number takes part."""
    return sum(tensor.elements > 1 for tensor in call.inputs) > 1


def _name(call: OpCall) -> str:
    return call.op.removeprefix("aten::").rstrip("_")
