"""Pools, folds and pads: what a thread finds and what it visits, for as many threads and windows as there are."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs import windows as w
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.stages import stage_of
from analyzer.derive.costs.table import cost_of

FLOAT = "float"
LISTS = ("ScalarList",) * 3


def _step(op: str, detail: OpDetail, kernel: str, launch: Launch | None) -> Cost | None:
    whole = cost_of(op, detail, kernel, launch)
    assert whole is not None
    stage = stage_of(op, detail, kernel, whole, launch)
    assert stage is None or (stage.cost.bytes, stage.is_shared, stage.is_beside) == (whole.bytes, False, False)
    return None if stage is None else stage.cost


def _pool(window: str, *, of: str) -> OpDetail:
    values = {
        "avg": ("", window, "[]", "[0, 0, 0]", "False", "True", ""),
        "max": ("", window, "[]", "[0, 0, 0]", "[1, 1, 1]", "False"),
    }[of]
    shapes: tuple[tuple[int, ...], ...] = ((2, 3, 4, 8, 8), *((),) * (len(values) - 1))
    kinds = (FLOAT, *LISTS, *("Scalar",) * (len(values) - 4))
    return OpDetail(shapes=shapes, dtypes=kinds, values=values, strides=((768, 256, 64, 8, 1), *((),) * 6))


@pytest.mark.parametrize(
    ("window", "planes", "rows", "visits"), [("[2, 2, 2]", 2, 4, 8), ("[4, 1, 2]", 4, 4, 8), ("2", 2, 4, 8)]
)
def test_each_thread_of_a_pool_of_volumes_visits_its_window(window: str, planes: int, rows: int, visits: int) -> None:
    launch = Launch((1, 1, 12), 256)
    kernel = "avg_pool3d_cuda_update_output<2, float, float>(x)"
    found = _step("aten::avg_pool3d", _pool(window, of="avg"), kernel, launch)
    each = w.AVERAGE + (planes + rows) * w.AVERAGE_TURN + visits * w.AVERAGE_VISIT
    assert found is not None
    # Threads that hang over the edge of an image find its edge all the same.
    assert found.instructions == 12 * 256 * each
    assert not found.is_counted


def test_the_maximum_of_volumes_is_counted_as_the_mean_and_no_other_kernel_is() -> None:
    detail, launch = _pool("[2, 2, 2]", of="max"), Launch((1, 1, 12), 256)
    kernel = "max_pool3d_with_indices_single_out_frame<float>(x)"
    found = _step("aten::max_pool3d_with_indices", detail, kernel, launch)
    assert found is not None
    assert found.instructions == 12 * 256 * (w.MAXIMUM + 6 * w.MAXIMUM_TURN + 8 * w.MAXIMUM_VISIT)
    assert _step("aten::max_pool3d_with_indices", detail, kernel, None) is None
    assert _step("aten::max_pool3d_with_indices", detail, "another_kernel<float>(x)", launch) is None


@pytest.mark.parametrize(("steps", "windows"), [("[2, 2]", 1.0), ("[1, 1]", 4.0), ("[]", 1.0)])
def test_a_gradient_of_a_pool_looks_at_every_window_that_an_element_is_in(steps: str, windows: float) -> None:
    detail = OpDetail(
        shapes=((2, 3, 4, 4), (2, 3, 8, 8), (), (), (), (), (), (2, 3, 4, 4)),
        dtypes=(FLOAT, FLOAT, *("ScalarList",) * 4, "Scalar", "long int"),
        values=("", "", "[2, 2]", steps, "[0, 0]", "[1, 1]", "False", ""),
        strides=((48, 16, 4, 1), (192, 64, 8, 1), (), (), (), (), (), (48, 16, 4, 1)),
    )
    op, kernel = "aten::max_pool2d_with_indices_backward", "max_pool_backward_nchw<float, float, int>(x)"
    found = _step(op, detail, kernel, Launch((1, 2, 3), 64))
    assert found is not None
    assert found.instructions == 2 * 3 * 8 * 8 * (w.SPREAD + windows * w.SPREAD_VISIT)


def test_a_gradient_of_a_mean_is_shared_out_over_as_many_windows() -> None:
    detail = OpDetail(
        shapes=((2, 3, 7, 7), (2, 3, 8, 8), *((),) * 6),
        dtypes=(FLOAT, FLOAT, *LISTS, *("Scalar",) * 2, ""),
        values=("", "", "[2, 2]", "[1, 1]", "[0, 0]", "False", "True", ""),
        strides=((147, 49, 7, 1), (192, 64, 8, 1), *((),) * 6),
    )
    found = _step("aten::avg_pool2d_backward", detail, "avg_pool2d_backward_out_cuda_frame<float, float, int>(x)", None)
    assert found is not None
    assert (found.reads, found.writes) == ((2 * 3 * 7 * 7 * 4, 0), (2 * 3 * 8 * 8 * 4,))
    assert found.instructions == 2 * 3 * 8 * 8 * (w.SHARED_OUT + 4 * w.SHARED_OUT_VISIT)


def _folded(size: str, dilation: str, steps: str) -> OpDetail:
    return OpDetail(
        shapes=((2, 12, 16), (), (), (), (), ()),
        dtypes=("c10::Half", *("ScalarList",) * 5),
        values=("", size, "[2, 2]", dilation, "[0, 0]", steps),
        strides=((192, 16, 1), (), (), (), (), ()),
    )


@pytest.mark.parametrize(
    ("dilation", "steps", "windows"), [("[1, 1]", "[2, 2]", 1.0), ("[1, 1]", "[1, 2]", 2.0), ("[3, 1]", "[2, 2]", 2.0)]
)
def test_what_is_folded_is_added_up_over_the_windows_of_each_element(dilation: str, steps: str, windows: float) -> None:
    found = _step("aten::col2im", _folded("[8, 8]", dilation, steps), "col2im_batched_kernel<c10::Half>(x)", None)
    assert found is not None
    out = 2 * 3 * 8 * 8
    assert (found.reads, found.writes) == ((2 * 12 * 16 * 2,), (out * 2,))
    assert found.instructions == out * (w.FOLD + windows * w.FOLD_VISIT)


def test_a_fold_whose_size_is_not_told_is_not_counted() -> None:
    assert cost_of("aten::col2im", _folded("", "[1, 1]", "[2, 2]")) is None


def test_each_thread_of_a_mirrored_pad_finds_its_place_along_both_sides() -> None:
    detail = OpDetail(
        shapes=((2, 3, 8, 8), ()),
        dtypes=("c10::Half", "ScalarList"),
        values=("", "[1, 1, 1, 1]"),
        strides=((192, 64, 8, 1), ()),
    )
    kernel, launch = "reflection_pad2d_out_kernel<c10::Half>(x)", Launch((1, 3, 2), 128)
    found = _step("aten::reflection_pad2d", detail, kernel, launch)
    assert found is not None
    assert found.instructions == 6 * 128 * (w.MIRROR + 2 * w.MIRROR_SIDE)
    assert _step("aten::reflection_pad2d", detail, kernel, None) is None
