"""The two passes of a layer norm's gradient each read it all, and write what is theirs."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.normalisation import GRADIENT_OF_COLUMNS, GRADIENT_OF_ROWS, GRADIENT_THREAD
from analyzer.derive.costs.stages import stage_of
from analyzer.derive.costs.table import cost_of

OP = "aten::native_layer_norm_backward"
ROWS = "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<T, float, false>(x)"
COLUMNS = "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<T, float, 32u>(x)"
MAPPED = 64 * 512
LAUNCH = Launch((64, 1, 1), 128)


def _step(kernel: str, dtype: str, *, weighted: bool = True) -> tuple[Cost, bool]:
    weight = (512,) if weighted else ()
    detail = OpDetail(
        shapes=((64, 512), (64, 512), (), (64, 1), (64, 1), weight, weight, ()),
        dtypes=(dtype, dtype, "ScalarList", "float", "float", *(2 * (dtype if weighted else "",)), "ScalarList"),
        strides=((512, 1), (512, 1), (), (1, 1), (1, 1), (1,), (1,), ()),
    )
    whole = cost_of(OP, detail, kernel, LAUNCH)
    assert whole is not None
    stage = stage_of(OP, detail, kernel, whole, LAUNCH)
    assert stage is not None
    return stage.cost, stage.is_shared


@pytest.mark.parametrize(("dtype", "item"), [("float", 4), ("c10::BFloat16", 2)])
def test_the_rows_gradient_is_written_as_large_as_the_input(dtype: str, item: int) -> None:
    found, is_shared = _step(ROWS, dtype)
    assert sum(found.reads) == 2 * MAPPED * item + 2 * 64 * 4 + 512 * item
    assert found.writes == (MAPPED * item,)
    assert not is_shared


@pytest.mark.parametrize(("dtype", "item"), [("float", 4), ("c10::BFloat16", 2)])
def test_the_columns_gradients_are_two_rows_and_several_kernels_may_share_them(dtype: str, item: int) -> None:
    found, is_shared = _step(COLUMNS, dtype)
    assert sum(found.reads) == 2 * MAPPED * item + 2 * 64 * 4 + 512 * item
    assert found.writes == (512 * item, 512 * item)
    assert is_shared


def test_only_numbers_of_sixteen_bits_are_converted() -> None:
    threads = LAUNCH.all_threads * GRADIENT_THREAD
    assert _step(ROWS, "float")[0].instructions == MAPPED * GRADIENT_OF_ROWS + threads
    assert _step(ROWS, "c10::Half")[0].instructions == MAPPED * (GRADIENT_OF_ROWS + 14) + threads
    assert _step(COLUMNS, "float")[0].instructions == MAPPED * GRADIENT_OF_COLUMNS


def test_without_a_weight_none_is_read() -> None:
    found, _ = _step(ROWS, "float", weighted=False)
    assert sum(found.reads) == 2 * MAPPED * 4 + 2 * 64 * 4
