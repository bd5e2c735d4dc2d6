"""A launch over lists that are not told moves as many chunks as it has blocks, less half of one for each tensor."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.stages import stage_of
from analyzer.derive.costs.table import cost_of

CHUNK = 65_536
NOT_TOLD = OpDetail(shapes=((), ()), dtypes=("TensorList", "Scalar"), values=("", "0.99"))


def _kernel(metadata: str, functor: str) -> str:
    space = "at::native::(anonymous namespace)::"
    return f"void {space}multi_tensor_apply_kernel<{space}{metadata}, {space}{functor}, x>({space}{metadata})"


SCALED = _kernel("TensorListMetadata<1>", "BinaryOpScalarFunctor<float, 1, 1, 0>")
MOVED = _kernel("TensorListMetadata<3>", "PointwiseOpScalarFunctor<c10::Half, 3, 3, 0>")
ADAM = _kernel("FusedOptimizerTensorListMetadata<4>", "FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>")
ZERO = _kernel("TensorListMetadata<1>", "ZeroFunctor<float, 1, 1, 0>")
NORM = _kernel("TensorListMetadata<1>", "LpNormFunctor<float, (at::native::NormType)2, float, 1, 1, 0>")


def _cost(op: str, kernel: str, blocks: int, detail: OpDetail = NOT_TOLD) -> Cost | None:
    launch = Launch((blocks, 1, 1), 512)
    whole = cost_of(op, detail, kernel, launch)
    if whole is None:
        return None
    stage = stage_of(op, detail, kernel, whole, launch)
    assert stage is not None, "each launch has a cost of its own"
    assert not stage.is_shared
    return stage.cost


@pytest.mark.parametrize(
    ("op", "kernel", "blocks", "tensors", "item", "lists"),
    [
        ("aten::_foreach_mul_", SCALED, 320, 110, 4, (1, 1)),
        ("aten::_foreach_addcdiv_", MOVED, 320, 48, 2, (3, 1)),
        ("aten::_fused_adamw_", ADAM, 320, 36, 4, (4, 3)),
        ("aten::_foreach_zero_", ZERO, 320, 110, 4, (0, 1)),
        ("aten::_foreach_norm", NORM, 320, 110, 4, (1, 0)),
        # More blocks than a launch had before CUDA 13: more tensors too.
        ("aten::_foreach_mul_", SCALED, 2240, 770, 4, (1, 1)),
    ],
)
def test_a_full_launch_is_known_to_half_a_chunk_a_tensor(
    op: str, kernel: str, blocks: int, tensors: int, item: int, lists: tuple[int, int]
) -> None:
    found = _cost(op, kernel, blocks)
    assert found is not None
    elements = (blocks - tensors / 2) * CHUNK
    read, written = lists
    assert sum(found.reads) == read * elements * item
    assert sum(found.writes) == written * elements * item
    assert found.bytes == sum(found.reads) + sum(found.writes)
    assert found.instructions


@pytest.mark.parametrize("blocks", [1, 64, 319, 321, 1_000])
def test_a_launch_that_may_hold_as_many_small_tensors_as_blocks_says_nothing(blocks: int) -> None:
    assert _cost("aten::_foreach_mul_", SCALED, blocks) is None


def test_lists_that_are_told_are_counted_as_they_are() -> None:
    told = OpDetail(
        shapes=((), ()), dtypes=("TensorList", "Scalar"), values=("", "0.99"), lists=(((1000,), (2000,)), ())
    )
    launch = Launch((320, 1, 1), 512)
    whole = cost_of("aten::_foreach_mul_", told, SCALED, launch)
    assert whole is not None
    assert whole.bytes == 2 * 3000 * 4
    assert stage_of("aten::_foreach_mul_", told, SCALED, whole, launch) is None


def test_a_kernel_of_another_shape_says_nothing() -> None:
    assert _cost("aten::_foreach_mul_", SCALED.replace("Metadata<1>", "Metadata<7>"), 320) is None
    assert _cost("aten::_foreach_mul_", "void other_kernel<BinaryOpScalarFunctor<float, 1, 1, 0>>(x)", 320) is None
