"""A kernel that does one step of an operator has the cost of that step, and the others no more than what is left."""

from __future__ import annotations

import math

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.attribution import attribute
from analyzer.derive.costs.aten_kernels import is_strided, template_slots
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.fused_attention import PAIR_BYTES
from analyzer.derive.costs.placing import WIDE_DIVISION_SLOTS
from analyzer.derive.costs.stages import COUNTED_OUTPUT, DEPTHWISE_OUTPUT, Stage, stage_of
from analyzer.derive.costs.table import cost_of
from analyzer.derive.kernel_costs import kernel_costs
from tests.traces import Recording
from tests.unit.derive.runs import A

IMAGE = OpDetail(shapes=((8, 4, 2, 2),), dtypes=("float",), strides=((16, 4, 2, 1),))
IMAGE_BYTES = 8 * 4 * 2 * 2 * 4
KEYS = OpDetail(
    shapes=((1_000,), (), ()), dtypes=("float", "Scalar", "Scalar"), values=("", "-1", "False"), strides=((1,), (), ())
)


def _stage(op: str, detail: OpDetail, kernel: str) -> Stage | None:
    whole = cost_of(op, detail, kernel)
    assert whole is not None
    return stage_of(op, detail, kernel, whole)


def _cost(op: str, detail: OpDetail, kernel: str) -> Cost:
    stage = _stage(op, detail, kernel)
    assert stage is not None
    return stage.cost


@pytest.mark.parametrize(
    ("op", "detail", "kernel", "reads", "writes"),
    [
        ("aten::native_batch_norm", IMAGE, "batch_norm_collect_statistics_kernel<Var>", IMAGE_BYTES, 0),
        ("aten::native_batch_norm", IMAGE, "batch_norm_transform_input_kernel<float>", IMAGE_BYTES, IMAGE_BYTES),
        ("aten::native_group_norm", IMAGE, "RowwiseMomentsCUDAKernel<float>", IMAGE_BYTES, 0),
        ("aten::sort", KEYS, "radix_sort::DeviceRadixSortOnesweepKernel<x>", 12_000, 12_000),
        ("aten::sort", KEYS, "radix_sort::DeviceRadixSortHistogramKernel<x>", 4_000, 0),
        ("aten::sort", KEYS, "fill_reverse_indices_kernel(long*, int)", 0, 8_000),
    ],
)
def test_a_step_reads_and_writes_what_it_does(op: str, detail: OpDetail, kernel: str, reads: int, writes: int) -> None:
    found = _cost(op, detail, kernel)
    assert (sum(found.reads), sum(found.writes)) == (reads, writes)
    assert found.instructions


def test_what_prepares_the_numbers_of_each_channel_is_not_charged_for_the_image() -> None:
    image, channels = ((8, 4, 64, 64), (4,)), ("float", "float")
    run = Recording()
    with run.step(), run.graph(str(A)), run.op("aten::native_batch_norm", image, channels):
        run.launch("vectorized_elementwise_kernel<4, batch_norm_calc_invstd>", us=2)
        run.launch("batch_norm_transform_input_kernel<float>", us=50)
    costs = kernel_costs(attribute(run.trace()))
    prepares, transforms = costs.costs
    assert prepares is None
    assert transforms is not None
    assert (transforms.reads, transforms.writes) == ((8 * 4 * 64 * 64 * 4,), (8 * 4 * 64 * 64 * 4,))


def test_rows_are_sorted_in_another_way_and_stay_unknown_to_the_steps() -> None:
    rows = OpDetail(shapes=((10, 100),), dtypes=("float",))
    assert _stage("aten::sort", rows, "DeviceRadixSortOnesweepKernel<x>") is None


def test_other_kernels_of_the_operator_do_no_known_step() -> None:
    assert _stage("aten::native_batch_norm", IMAGE, "some_other_kernel") is None


def test_a_poor_recording_breaks_no_step() -> None:
    whole = Cost(0, 8)
    for op, kernel in (
        ("aten::sort", "DeviceRadixSortOnesweepKernel"),
        ("aten::gather", "_scatter_gather_elementwise_kernel"),
    ):
        assert stage_of(op, OpDetail(), kernel, whole) is None


def test_single_channels_multiply_outside_the_tensor_cores() -> None:
    detail = OpDetail(
        shapes=((2, 3, 8, 8), (3, 1, 3, 3), (), (), (), (), ()),
        dtypes=("float", "float", "ScalarList", "", "ScalarList", "ScalarList", "ScalarList"),
        values=("", "", "[3, 3]", "", "[1, 1]", "[1, 1]", "[1, 1]"),
    )
    found = _cost("aten::_conv_depthwise2d", detail, "conv_depthwise2d_forward_kernel<3, float, int>(…)")
    assert found.instructions == 26 * 9 * 2 * 3 * 8 * 8


def test_float32_attention_crosses_from_the_cache_for_each_pair() -> None:
    sizes = (2, 128, 4, 64)
    detail = OpDetail(
        shapes=(sizes, sizes, sizes, *((),) * 11),
        dtypes=("float", "float", "float", *("",) * 6, "Scalar", *("",) * 4),
        values=("",) * 9 + ("0",) + ("",) * 4,
    )
    name = "fmha_cutlassF_f32_aligned_64x64_rf_sm80(…)"
    found = _cost("aten::_efficient_attention_forward", detail, name)
    assert found.crossings == found.bytes + PAIR_BYTES * 2 * 4 * 128 * 128


def _run(op: str, shapes: tuple[tuple[int, ...], ...], *kernels: tuple[str, int]) -> Recording:
    run = Recording()
    with run.step():
        with run.graph(str(A)), run.op(op, shapes, ("float",) * len(shapes)):
            for name, us in kernels:
                run.launch(name, us=us)
        run.synchronize()
    return run


def test_kernels_beside_the_known_steps_have_no_share_of_what_these_moved() -> None:
    run = _run(
        "aten::native_batch_norm",
        ((8, 4, 2, 2),),
        ("batch_norm_collect_statistics_kernel<Var>", 5),
        ("update_stats", 1),
        ("batch_norm_transform_input_kernel<float>", 5),
    )
    costs = kernel_costs(attribute(run.trace()))
    assert costs.bytes.tolist() == [IMAGE_BYTES, 0.0, 2 * IMAGE_BYTES]
    assert costs.costs[1] is None


def test_what_adds_up_the_parts_of_a_product_takes_nothing_from_the_product() -> None:
    run = _run("aten::mm", ((16, 64), (64, 32)), ("gemm", 5), ("cublasLt::splitKreduce_kernel<32>", 2))
    costs = kernel_costs(attribute(run.trace()))
    assert costs.flops.tolist() == [2 * 16 * 64 * 32, 0.0]
    assert costs.bytes.tolist() == [4 * (16 * 64 + 64 * 32 + 16 * 32), 16 * 32 * (2 * 4 + 4)]


@pytest.mark.parametrize(
    ("kernel", "slots", "strided"),
    [
        ("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<x>>(int)", 52, True),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)", 0, False),
        ("void at::native::unrolled_elementwise_kernel<x, at::native::memory::LoadWithCast<1>>(int)", 45, False),
        ("void at::native::unrolled_elementwise_kernel<x, at::native::memory::LoadWithCast<2>>(int)", 67, False),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, x>>(x)", 0, False),
        ("void at::native::index_elementwise_kernel<128, 4, at::native::flip_kernel_impl<x>(y)>(long)", 52, False),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::float8_copy_kernel_cuda(x)>(int)", 24, False),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, x>>(x)", 0, False),
        ("void at::native::unrolled_elementwise_kernel<x, at::native::memory::LoadWithoutCast>(int)", 0, False),
        ("void at::native::_scatter_gather_elementwise_kernel<128, 8, x>(int)", 0, False),
        ("triton_poi_fused_add_0", 0, False),
    ],
)
def test_templates_are_known_by_their_names(kernel: str, slots: int, strided: bool) -> None:
    assert template_slots(kernel) == slots
    assert is_strided(kernel) is strided


@pytest.mark.parametrize(("exponent", "slots"), [("2", 8), ("2.0", 8), ("-0.5", 16), ("2.5", 100), ("", 100)])
def test_a_square_is_a_product_and_no_power(exponent: str, slots: int) -> None:
    detail = OpDetail(shapes=((64,), ()), dtypes=("float", "Scalar"), values=("", exponent))
    found = cost_of("aten::pow", detail, "vectorized_elementwise_kernel<4, pow_tensor_scalar_kernel_impl>")
    assert found is not None
    assert found.instructions == 64 * slots


@pytest.mark.parametrize(("op", "counted"), [("aten::add", True), ("aten::tanh", False), ("aten::add_", True)])
def test_only_what_was_held_against_counters_is_said_to_be_counted(op: str, counted: bool) -> None:
    detail = OpDetail(shapes=((64,), (64,)), dtypes=("float", "float"))
    on_gpu, on_cpu = cost_of(op, detail, "vectorized_elementwise_kernel<4, x>"), cost_of(op, detail)
    assert on_gpu is not None
    assert on_cpu is not None
    assert on_gpu.is_counted is counted
    assert not on_cpu.is_counted


@pytest.mark.parametrize(
    ("size", "counted"), [((3, 3), True), ((1, 4), False), ((5, 5), False), ((1, 1), False)], ids=str
)
def test_an_output_of_a_convolution_of_single_channels_costs_something_whatever_its_filter(
    size: tuple[int, int], counted: bool
) -> None:
    detail = OpDetail(
        shapes=((2, 8, 16, 16), (8, 1, *size), (), (), (), (), ()),
        dtypes=("float", "float", "ScalarList", "", "ScalarList", "ScalarList", "ScalarList"),
        values=("", "", f"[{size[0]}, {size[1]}]", "", "[1, 1]", "[0, 0]", "[1, 1]"),
        strides=((2_048, 256, 16, 1), (size[0] * size[1], size[0] * size[1], size[1], 1), (), (), (), (), ()),
    )
    found = _cost("aten::_conv_depthwise2d", detail, "conv_depthwise2d_forward_kernel_generic<float, int>(x)")
    places = size[0] * size[1]
    assert found.flops
    assert found.instructions is not None
    outputs = found.flops / 2 / places
    assert found.instructions / outputs == pytest.approx(
        DEPTHWISE_OUTPUT + (COUNTED_OUTPUT - DEPTHWISE_OUTPUT) * places / 9
    )
    assert found.is_counted is counted


def _triangle(op: str, shape: tuple[int, ...], above: int, *, upper: bool) -> Cost:
    strides = (*(math.prod(shape[-2:]),) * (len(shape) - 2), shape[-1], 1)
    detail = OpDetail(shapes=(shape, ()), dtypes=("float", "Scalar"), values=("", str(above)), strides=(strides, ()))
    return _cost(op, detail, f"void at::native::triu_tril_kernel<float, int, {str(upper).lower()}, 2, false>(x)")


@pytest.mark.parametrize(("rows", "columns"), [(5, 5), (4, 7), (7, 4)])
@pytest.mark.parametrize("above", [-9, -2, 0, 1, 9])
def test_of_a_triangle_only_what_stays_is_read(rows: int, columns: int, above: int) -> None:
    cells = [(r, c) for r in range(rows) for c in range(columns)]
    upper = sum(c - r >= above for r, c in cells)
    lower = sum(c - r <= above for r, c in cells)
    whole = 3 * rows * columns * 4
    for op, is_upper, kept in (("aten::triu", True, upper), ("aten::tril", False, lower)):
        found = _triangle(op, (3, rows, columns), above, upper=is_upper)
        assert (sum(found.reads), sum(found.writes)) == (3 * kept * 4, whole)


def test_a_thread_of_a_triangle_divides_by_every_size() -> None:
    flat, batched = (_triangle("aten::triu", shape, 0, upper=True) for shape in ((64, 64), (1, 64, 64)))
    assert flat.instructions is not None
    assert batched.instructions is not None
    assert batched.instructions - flat.instructions == WIDE_DIVISION_SLOTS * 64 * 64 // 2
