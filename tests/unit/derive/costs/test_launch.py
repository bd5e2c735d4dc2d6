"""A kernel's launch says how much it works on where the shapes of its operator do not."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from analyzer.core.budget import Part
from analyzer.core.device import Device, Source
from analyzer.core.trace import OpDetail
from analyzer.core.trace_facts import TracedDevice, TraceFacts
from analyzer.derive.attribution import attribute
from analyzer.derive.costs.launch import Launch, launch_of
from analyzer.derive.costs.layouts import NARROW_TILE_SLOTS, TILE_SLOTS
from analyzer.derive.costs.placing import (
    DIVISION_SLOTS,
    ELEMENT_SLOTS,
    FOUND_SLOTS,
    GATHER_SLOTS,
    PLACE_SLOTS,
    SOURCE_SLOTS,
    UNFOLD_SLOTS,
    VISIT_SLOTS,
    WIDE_DIVISION_SLOTS,
    WIDE_PRODUCT_SLOTS,
)
from analyzer.derive.costs.stages import JOIN_SLOTS, PLANE_SLOTS, PLANE_THREAD_SLOTS, stage_of
from analyzer.derive.costs.table import cost_of
from analyzer.derive.kernel_costs import kernel_costs
from analyzer.derive.region_kernels import region_kernels
from tests.traces import Recording
from tests.unit.derive.runs import A

ROWS = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long)"
ELEMENTS = "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<x>>(long, x)"
TABLE = OpDetail(shapes=((1_000, 128), ()), dtypes=("float", ""), strides=((128, 1), ()))


def _slots(op: str, detail: OpDetail, kernel: str, launch: Launch | None = None) -> int | None:
    whole = cost_of(op, detail, kernel, launch)
    assert whole is not None
    stage = stage_of(op, detail, kernel, whole, launch)
    assert stage is not None
    return stage.cost.instructions


@pytest.mark.parametrize(("grid", "block"), [(None, (32, 1, 1)), ((1, 1, 1), None), ((0, 0, 0), (0, 0, 0))])
def test_a_row_without_a_grid_or_a_block_tells_no_launch(
    grid: tuple[int, ...] | None, block: tuple[int, ...] | None
) -> None:
    assert launch_of(OpDetail(grid=grid, block=block)) is None
    assert launch_of(None) is None


def test_a_launch_counts_its_blocks_and_threads() -> None:
    found = launch_of(OpDetail(grid=(4, 2, 1), block=(32, 4, 1)))
    assert found == Launch((4, 2, 1), 128)
    assert (found.blocks, found.all_threads) == (8, 1024)


def test_indexing_by_rows_reads_as_many_as_it_has_blocks() -> None:
    found = cost_of("aten::index", TABLE, ROWS, Launch((2_000, 1, 1), 32))
    assert found is not None
    row = 128 * 4
    assert found.writes == (2_000 * row,)
    # 2000 draws in no order of 1000 rows leave e^-2 of them alone.
    once = 1_000 * (1 - math.exp(-2)) * row
    assert found.reads == (pytest.approx(once, abs=1), 2_000 * 8)
    assert found.rereads == 2_000 * row - found.reads[0]
    assert found.reread_span == 1_000 * row
    assert not found.is_floor


WIDE = OpDetail(shapes=((8_192, 3_072), ()), dtypes=("c10::BFloat16", ""), strides=((3_072, 1), ()))


def test_a_row_of_more_than_a_block_gathers_is_gathered_by_several() -> None:
    """Of 6144 bytes, sixteen a thread: a block of 256 threads and half of another."""
    found = cost_of("aten::index", WIDE, ROWS, Launch((16_384, 2, 1), 256))
    assert found is not None
    assert found.writes == (16_384 * 6_144,)
    assert cost_of("aten::index", WIDE, ROWS, Launch((16_384, 1, 1), 256)) is None
    assert cost_of("aten::index", WIDE, ROWS, Launch((16_384, 2, 1), 192)) is None


def test_indexing_by_elements_reads_four_for_each_thread() -> None:
    found = cost_of("aten::index", TABLE, ELEMENTS, Launch((10, 1, 1), 128))
    assert found is not None
    assert found.writes == (10 * 128 * 4 * 4,)
    assert found.is_floor
    assert _slots("aten::index", TABLE, ELEMENTS, Launch((10, 1, 1), 128)) == GATHER_SLOTS * 10 * 128 * 4


@pytest.mark.parametrize(
    ("detail", "kernel", "launch"),
    [
        (TABLE, ROWS, None),
        (TABLE, "some_other_kernel", Launch((10, 1, 1), 32)),
        # The rows that it copies are longer than this table's: it is indexed along another dimension.
        (TABLE, ROWS, Launch((10, 1, 1), 64)),
        (OpDetail(shapes=((0, 128),), dtypes=("float",)), ROWS, Launch((10, 1, 1), 32)),
        (OpDetail(), ROWS, Launch((10, 1, 1), 32)),
    ],
)
def test_indexing_stays_unknown_where_the_launch_does_not_fit(
    detail: OpDetail, kernel: str, launch: Launch | None
) -> None:
    assert cost_of("aten::index", detail, kernel, launch) is None


def test_rows_are_looked_up_by_a_thread_for_each_sixteen_bytes() -> None:
    detail = OpDetail(shapes=((50, 64), (10,)), dtypes=("float", "long int"), values=("", ""), strides=((64, 1), (1,)))
    assert _slots("aten::embedding", detail, ROWS, Launch((10, 1, 1), 32)) == GATHER_SLOTS * 320


IMAGE = OpDetail(
    shapes=((8, 3, 224, 224), (64, 3, 7, 7), *((),) * 7),
    dtypes=("float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"),
    values=("", "", "[3, 3]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"),
)


NARROW = replace(IMAGE, shapes=((8, 64, 56, 56), (64, 64, 3, 3), *IMAGE.shapes[2:]))
TURNED = replace(
    IMAGE,
    shapes=((8, 3, 224, 224), (3, 64, 7, 7), *IMAGE.shapes[2:]),
    dtypes=("float", "float", *("ScalarList",) * 4, *("Scalar",) * 4),
    values=("", "", "[3, 3]", "[0, 0]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"),
)


@pytest.mark.parametrize(
    ("op", "detail", "grid", "moved", "each"),
    [
        ("aten::cudnn_convolution", IMAGE, (1568, 1, 8), 8 * 3 * 224 * 224 * 4, TILE_SLOTS),
        ("aten::cudnn_convolution", IMAGE, (2, 1, 64), 64 * 3 * 7 * 7 * 4, TILE_SLOTS),
        ("aten::cudnn_convolution", NARROW, (1, 2, 64), 64 * 64 * 3 * 3 * 4, NARROW_TILE_SLOTS),
        ("aten::cudnn_convolution_transpose", TURNED, (1568, 1, 8), 8 * 3 * 224 * 224 * 4, TILE_SLOTS),
    ],
)
def test_the_launch_tells_which_tensor_changes_its_layout(
    op: str, detail: OpDetail, grid: tuple[int, ...], moved: int, each: int
) -> None:
    name, launch = "cudnn::nchwToNhwcKernel<float, float>", Launch(grid, 256)
    whole = cost_of(op, detail, name, launch)
    assert whole is not None
    stage = stage_of(op, detail, name, whole, launch)
    assert stage is not None
    assert not stage.is_shared
    assert stage.cost.bytes == 2 * moved
    assert stage.cost.instructions == each * 32 * 32 * math.prod(grid)


def test_without_a_launch_that_fits_both_tensors_share_what_the_change_costs() -> None:
    name = "cudnn::nchwToNhwcKernel<float, float>"
    whole = cost_of("aten::cudnn_convolution", IMAGE, name)
    assert whole is not None
    for launch in (None, Launch((5, 1, 8), 256)):
        stage = stage_of("aten::cudnn_convolution", IMAGE, name, whole, launch)
        assert stage is not None
        assert stage.is_shared
        assert stage.cost.instructions == 0


def test_a_pool_finds_its_place_and_visits_its_window() -> None:
    detail = OpDetail(
        shapes=((2, 4, 8, 8), *((),) * 5),
        dtypes=("float", *("ScalarList",) * 4, "Scalar"),
        values=("", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "False"),
    )
    found = _slots("aten::max_pool2d_with_indices", detail, "max_pool_forward_nchw<float>")
    assert found == 2 * 4 * 4 * 4 * (PLACE_SLOTS + 9 * VISIT_SLOTS)
    one = replace(detail, values=("", "[3]", *detail.values[2:]))
    assert _slots("aten::max_pool2d_with_indices", one, "max_pool_forward_nchw<float>") == found


def test_an_interpolation_finds_a_place_for_each_element_that_it_writes() -> None:
    detail = OpDetail(
        shapes=((2, 4, 8, 8), (), (), ()),
        dtypes=("float", "ScalarList", "Scalar", "Scalar"),
        values=("", "[16, 16]", "2.", "2."),
    )
    found = _slots("aten::upsample_nearest2d", detail, "upsample_nearest2d_out_frame<float>")
    assert found == 2 * 4 * 16 * 16 * (52 + ELEMENT_SLOTS)


@pytest.mark.parametrize("op", ["aten::upsample_nearest2d", "aten::_upsample_nearest_exact2d"])
def test_channels_last_an_element_is_divided_by_channels_width_and_height(op: str) -> None:
    detail = OpDetail(
        shapes=((2, 4, 8, 8), (), (), ()),
        dtypes=("float", "ScalarList", "Scalar", "Scalar"),
        values=("", "[16, 16]", "2.", "2."),
    )
    found = _slots(op, detail, "upsample_nearest2d_nhwc_out_frame<float, &f>(float const*)")
    slots = 3 * WIDE_DIVISION_SLOTS + 2 * SOURCE_SLOTS + 3 * WIDE_PRODUCT_SLOTS + ELEMENT_SLOTS
    assert found == 2 * 4 * 16 * 16 * slots


ADDED = OpDetail(
    shapes=((500, 64), (), (60,), (60, 64), ()),
    dtypes=("float", "Scalar", "long int", "float", "Scalar"),
    values=("", "0", "", "", "1"),
    strides=((64, 1), (), (1,), (64, 1), ()),
)


def _adds(template: str) -> str:
    return f"void at::native::indexFuncLargeIndex<float, long, {template}, at::native::ReduceAdd>(x)"


@pytest.mark.parametrize(
    ("template", "divisions"),
    [
        ("unsigned int, 1, 1, -2, true", 1 * DIVISION_SLOTS),
        ("unsigned int, 2, 2, -2, true", 3 * DIVISION_SLOTS),
        ("unsigned int, 3, 3, -2, false", 5 * DIVISION_SLOTS),
        ("unsigned long, 2, 2, -2, true", 3 * WIDE_DIVISION_SLOTS),
    ],
)
def test_adding_rows_divides_for_a_row_and_each_further_dimension(template: str, divisions: int) -> None:
    found = _slots("aten::index_add_", ADDED, _adds(template))
    assert found == 60 * 64 * (divisions + FOUND_SLOTS + ELEMENT_SLOTS)


@pytest.mark.parametrize("template", ["unsigned long, -1, -1, -1, true", "unsigned int, 2, 2, -2, true, 4"])
def test_adding_rows_in_a_way_that_the_name_does_not_tell_stays_uncounted(template: str) -> None:
    whole = cost_of("aten::index_add_", ADDED, _adds(template))
    assert whole is not None
    assert whole.is_floor
    assert stage_of("aten::index_add_", ADDED, _adds(template), whole) is None


@pytest.mark.parametrize(("width", "dim", "is_floor"), [(64, 0, False), (4, 0, True), (64, 1, True)])
def test_only_rows_that_fill_their_sectors_move_what_they_are(width: int, dim: int, is_floor: bool) -> None:
    detail = replace(
        ADDED, shapes=((500, width), (), (60,), (60, width), ()), values=("", str(dim), "", "", "1"), strides=()
    )
    name = _adds("unsigned int, 2, 2, -2, true")
    whole = cost_of("aten::index_add_", detail, name)
    assert whole is not None
    stage = stage_of("aten::index_add_", detail, name, whole)
    assert stage is not None
    assert stage.cost.is_floor is is_floor


def test_a_bag_finds_each_element_of_each_row() -> None:
    detail = OpDetail(shapes=((500, 64), (30,), (10,)), dtypes=("float", "long int", "long int"))
    name = "EmbeddingBag_updateOutputKernel_sum_mean<float, long>(long const*)"
    assert _slots("aten::_embedding_bag_forward_only", detail, name) == GATHER_SLOTS * 30 * 64
    found = cost_of("aten::_embedding_bag_forward_only", detail, name)
    assert found is not None
    assert found.reads[0] == pytest.approx(500 * (1 - math.exp(-30 / 500)) * 64 * 4, abs=1)


@pytest.mark.parametrize(("op", "slots"), [("aten::_softmax", 42), ("aten::_log_softmax", 28)])
def test_a_softmax_in_registers_fills_its_rows_up_to_a_power_of_two(op: str, slots: int) -> None:
    detail = OpDetail(shapes=((6, 197), (), ()), dtypes=("float", "Scalar", "Scalar"), values=("", "-1", "False"))
    name = "softmax_warp_forward<float, float, float, 8, false, false>"
    joined = 32 * 5 * JOIN_SLOTS
    assert _slots(op, detail, name) == 6 * (slots * 256 + joined), "and each lane joins the others' in five levels"
    short = OpDetail(shapes=((6, 5), (), ()), dtypes=("float", "Scalar", "Scalar"), values=("", "-1", "False"))
    assert _slots(op, short, name) == 6 * (slots * 8 + 8 * 3 * JOIN_SLOTS)


def test_a_reduced_loss_still_writes_that_of_each_element() -> None:
    detail = OpDetail(shapes=((100,), (100,), ()), dtypes=("float", "float", "Scalar"), values=("", "", "1"))
    name = "void at::native::vectorized_elementwise_kernel<4, mse_kernel_cuda>(int)"
    whole = cost_of("aten::mse_loss", detail, name)
    assert whole is not None
    assert whole.writes == (4,)
    stage = stage_of("aten::mse_loss", detail, name, whole)
    assert stage is not None
    assert (stage.cost.reads, stage.cost.writes, stage.cost.bytes) == ((400, 400), (400,), 1_200)


def test_a_kernel_with_blocks_for_few_multiprocessors_waits_whatever_it_does() -> None:
    """A kernel of unknown cost on 5 of 132 multiprocessors reaches 4 % of the arithmetic and of the L2's rate."""
    device = Device(
        "cuda", "Test Device", Source.MEASURED, memory_bytes_per_s=4e12, l2_bytes_per_s=8e12, empty_kernel_ns=1_000.0
    )

    def part(blocks: int) -> Part:
        run = Recording()
        with run.step():
            with run.graph(str(A)):
                run.launch("mine", us=100)
            run.synchronize()
        at = next(i for i, row in enumerate(run.rows) if row.name == "mine")
        run.rows[at] = replace(run.rows[at], detail=OpDetail(grid=(blocks, 1, 1), block=(128, 1, 1)))
        traced = TracedDevice(0, "Test Device", None, 132, None)
        attribution = attribute(replace(run.trace(), facts=TraceFacts(devices=(traced,))))
        (found,) = (r for r in region_kernels(attribution, kernel_costs(attribution), device, None) if r.points)
        return found.points[0].part

    assert part(5) is Part.LATENCY
    assert part(132) is Part.UNKNOWN_KERNELS


@pytest.mark.parametrize(
    ("size", "window"), [((2, 3, 10, 12), (3, 1, 1, 1)), ((1, 4, 9, 9), (2, 1, 0, 2)), ((2, 3, 20, 20), (3, 2, 4, 3))]
)
def test_an_unfolded_image_is_as_large_as_torch_makes_it(size: tuple[int, ...], window: tuple[int, ...]) -> None:
    kernel, spread, edge, step = window
    made = torch.nn.functional.unfold(torch.empty(size), kernel, spread, edge, step)
    detail = OpDetail(
        shapes=(size, (), (), (), ()),
        dtypes=("float", *("ScalarList",) * 4),
        values=("", *(f"[{v}, {v}]" for v in (kernel, spread, edge, step))),
    )
    name = "void at::native::im2col_kernel<float>(long)"
    found = cost_of("aten::im2col", detail, name)
    assert found is not None
    assert found.writes == (made.nbytes,)
    slots = _slots("aten::im2col", detail, name)
    assert slots is not None
    assert slots > UNFOLD_SLOTS * made.numel()


def test_a_thread_of_a_batch_norm_first_loads_what_holds_for_its_channel() -> None:
    detail = OpDetail(shapes=((2, 3, 4, 4),), dtypes=("float",))
    name = "void at::native::batch_norm_transform_input_kernel<float, float, float, true, int>(x)"
    whole = cost_of("aten::native_batch_norm", detail, name)
    assert whole is not None
    for threads in (64, 512):
        stage = stage_of("aten::native_batch_norm", detail, name, whole, Launch((3, 2, 1), threads))
        assert stage is not None
        assert stage.cost.instructions == PLANE_SLOTS * 96 + PLANE_THREAD_SLOTS * 6 * threads


def test_padding_of_channels_is_written_element_by_element_and_so_read_again_where_the_cache_is_small() -> None:
    detail = OpDetail(
        shapes=((2, 3, 16, 16), (8, 3, 4, 4), *((),) * 7),
        dtypes=("c10::Half",) * 2 + ("ScalarList",) * 3 + ("Scalar",) * 4,
        values=("", "", "[0, 0]", "[4, 4]", "[1, 1]", "1", "False", "False", "True"),
    )
    padding, turning = "void nhwcAddPaddingKernel<__half, __half, float, true>(x)", "cudnn::nchwToNhwcKernel<__half>(x)"
    whole = cost_of("aten::cudnn_convolution", detail, padding)
    assert whole is not None
    padded, turned = (stage_of("aten::cudnn_convolution", detail, name, whole) for name in (padding, turning))
    assert padded is not None
    assert turned is not None
    read = 2 * (2 * 3 * 16 * 16 + 8 * 3 * 4 * 4)
    assert (padded.cost.reads, padded.cost.writes) == ((read,), (read * 8 // 3,))
    assert (padded.cost.rereads, padded.cost.reread_span) == (read * 8 // 3, read + read * 8 // 3)
    assert (turned.cost.writes, turned.cost.rereads) == ((read,), 0)


@pytest.mark.parametrize(("side", "is_counted", "counted"), [(3, True, 32), (5, False, 68), (7, False, 102)])
def test_an_output_of_a_depthwise_convolution_takes_what_an_h200_counted(
    side: int, is_counted: bool, counted: int
) -> None:
    detail = OpDetail(
        shapes=((2, 8, 16, 16), (8, 1, side, side), *((),) * 7),
        dtypes=("c10::Half",) * 2 + ("ScalarList",) * 3 + ("Scalar",) * 4,
        values=("", "", f"[{side // 2}, {side // 2}]", "[1, 1]", "[1, 1]", "8", "False", "False", "True"),
    )
    name = "conv2d_c1_k1_nhwc_specialized"
    whole = cost_of("aten::cudnn_convolution", detail, name)
    assert whole is not None
    stage = stage_of("aten::cudnn_convolution", detail, name, whole)
    assert stage is not None
    assert stage.cost.is_counted is is_counted
    assert (stage.cost.instructions or 0) / (2 * 8 * 16 * 16) == pytest.approx(counted, rel=0.12)
