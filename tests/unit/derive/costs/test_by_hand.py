"""Costs that torch does not count, against arithmetic done by hand."""

from __future__ import annotations

import math

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.inductor import is_user_kernel
from analyzer.derive.costs.lists import item_bytes_of_kernel
from analyzer.derive.costs.matmul import UNEVEN, WAVE_SIDE
from analyzer.derive.costs.table import cost_of

F, H, I64 = "float", "c10::Half", "long int"
F8, BF16_NUMBER = "c10::Float8_e4m3fn", "15"
Input = tuple[tuple[int, ...], str, str]


def tensor(*shape: int, of: str = F) -> Input:
    return shape, of, ""


def scalar(value: object) -> Input:
    return (), "Scalar", str(value)


NONE: Input = ((), "", "")


def cost(name: str, *inputs: Input) -> Cost:
    shapes, dtypes, values = zip(*inputs, strict=True)
    found = cost_of(name, OpDetail(shapes=shapes, dtypes=dtypes, values=values))
    assert found is not None
    return found


def test_a_scaled_product_writes_the_type_that_it_is_asked_for() -> None:
    scales = (tensor(1), tensor(1), NONE, NONE)
    found = cost(
        "aten::_scaled_mm", tensor(32, 64, of=F8), tensor(64, 16, of=F8), *scales, scalar(BF16_NUMBER), scalar(True)
    )
    assert found.flops == 2 * 32 * 64 * 16
    assert found.bytes == 32 * 64 + 64 * 16 + 4 + 4 + 2 * 32 * 16
    assert found.dtype == "float8_e4m3fn"


def test_an_int8_product_writes_int32() -> None:
    found = cost("aten::_int_mm", tensor(32, 64, of="signed char"), tensor(64, 16, of="signed char"))
    assert (found.flops, found.bytes) == (2 * 32 * 64 * 16, 32 * 64 + 64 * 16 + 4 * 32 * 16)


@pytest.mark.parametrize(
    ("a", "b", "flops", "out"),
    [
        ((100, 8), (4, 8, 16), 2 * 100 * 8 * 16, 100 * 16),
        ((4, 100, 8), (8, 16), 2 * 100 * 8 * 16, 100 * 16),
        ((32, 100), (100, 16), 2 * 32 * 100 * 16, 4 * 32 * 16),
    ],
)
def test_a_grouped_product_does_the_work_of_its_pieces(
    a: tuple[int, ...], b: tuple[int, ...], flops: int, out: int
) -> None:
    found = cost("aten::_grouped_mm", tensor(*a, of=H), tensor(*b, of=H), tensor(4, of="int"), NONE, NONE)
    assert found.flops == flops
    assert found.writes == (2 * out,)


def test_a_product_with_four_bit_weights_reads_half_a_byte_each() -> None:
    packed = tensor(2, 4, 32, 4, of="int")
    found = cost("aten::_weight_int4pack_mm", tensor(1, 128, of=H), packed, scalar(32), tensor(4, 256, 2, of=H))
    assert found.flops == 2 * 128 * 256
    assert found.reads == (2 * 128, 128 * 256 // 2, 2 * 4 * 256 * 2)


def test_a_depthwise_convolution_multiplies_each_channel_with_its_own_filter() -> None:
    inputs = (tensor(2, 8, 10, 10), tensor(8, 1, 3, 3), ((), "ScalarList", "[3, 3]"), NONE)
    further = tuple(((), "ScalarList", text) for text in ("[1, 1]", "[1, 1]", "[1, 1]"))
    found = cost("aten::_conv_depthwise2d", *inputs, *further)
    assert found.flops == 2 * 9 * (2 * 8 * 10 * 10)
    assert found.bytes == 4 * (2 * 2 * 8 * 10 * 10 + 8 * 9)


def flash(q: Input, k: Input, *, cuts: Input = NONE, longest: tuple[int, int], causal: bool, window: int = -1) -> Cost:
    return cost(
        "aten::_flash_attention_forward",
        *(q, k, k, cuts, cuts, scalar(longest[0]), scalar(longest[1])),
        *(scalar(0.0), scalar(causal), scalar(False), NONE, scalar(window), scalar(window)),
    )


def test_flash_attention_has_its_length_before_its_heads() -> None:
    q, k = tensor(2, 64, 8, 16, of=H), tensor(2, 64, 2, 16, of=H)
    found = flash(q, k, longest=(64, 64), causal=False)
    assert found.flops == 4 * 2 * 8 * 64 * 64 * 16
    assert found.bytes == 2 * (2 * 64 * 16) * (8 + 2 + 2 + 8) + 4 * 2 * 64 * 8
    assert flash(q, k, longest=(64, 64), causal=True).flops == 4 * 2 * 8 * (64 * 65 // 2) * 16


def test_a_window_bounds_the_pairs_of_causal_attention() -> None:
    q = tensor(1, 64, 2, 16, of=H)
    found = flash(q, q, longest=(64, 64), causal=True, window=7)
    assert found.flops == 4 * 2 * (64 * 8) * 16


def test_packed_sequences_are_counted_where_all_are_as_long_as_the_longest() -> None:
    packed, cuts = tensor(3 * 20, 2, 16, of=H), tensor(4, of="int")
    assert flash(packed, packed, cuts=cuts, longest=(20, 20), causal=False).flops == 4 * 3 * 2 * 20 * 20 * 16
    ragged = flash(packed, packed, cuts=cuts, longest=(30, 30), causal=False)
    assert ragged.flops is None
    assert ragged.instructions is None
    assert ragged.bytes > 0


def test_efficient_attention_is_told_of_causality_by_a_number() -> None:
    q = tensor(1, 64, 2, 16, of=H)
    found = [
        cost(
            "aten::_efficient_attention_forward",
            *(q, q, q, NONE, NONE, NONE, NONE, NONE, scalar(0.0), scalar(mask), scalar(False)),
        ).flops
        for mask in (0, 1, 2)
    ]
    assert found == [4 * 2 * 64 * 64 * 16, 4 * 2 * (64 * 65 // 2) * 16, 4 * 2 * (64 * 65 // 2) * 16]


def test_an_embedding_reads_a_row_for_each_id_and_no_more_than_its_table() -> None:
    ids = (tensor(2, 7, of=I64), scalar(-1), scalar(False), scalar(False))
    assert cost("aten::embedding", tensor(1000, 16), *ids).bytes == 14 * 16 * 4 * 2 + 14 * 8
    assert cost("aten::embedding", tensor(3, 16), *ids).bytes == 3 * 16 * 4 + 14 * 8 + 14 * 16 * 4
    selected = cost("aten::index_select", tensor(1000, 16), scalar(0), tensor(14, of=I64))
    assert selected.bytes == 14 * 16 * 4 * 2 + 14 * 8


def test_gradients_of_rows_are_read_and_written() -> None:
    found = cost("aten::embedding_dense_backward", tensor(14, 16), tensor(14, of=I64), scalar(1000), scalar(-1))
    assert (found.bytes, found.is_floor) == (2 * 14 * 16 * 4 + 14 * 8, True)
    added = cost("aten::index_add_", tensor(100, 16), scalar(0), tensor(5, of=I64), tensor(5, 16), scalar(1))
    # Five draws in no order of 100 rows hit 4.88 of them, which are read and written.
    assert added.reads == (round(100 * (1 - math.exp(-0.05)) * 64), 5 * 8, 5 * 64)
    assert added.writes == added.reads[:1]
    assert added.is_floor
    columns = cost("aten::index_add_", tensor(100, 16), scalar(1), tensor(5, of=I64), tensor(100, 5), scalar(1))
    assert (columns.bytes, columns.is_floor) == (3 * 500 * 4 + 5 * 8, True)


def test_a_sort_moves_values_and_places_at_least_once() -> None:
    found = cost("aten::sort", tensor(100), scalar(0), scalar(False))
    assert (found.bytes, found.is_floor) == (100 * 4 + 100 * (4 + 8), True)
    top = cost("aten::topk", tensor(10, 100), scalar(3), scalar(-1), scalar(True), scalar(True))
    assert (top.bytes, top.is_floor) == (1000 * 4 + 30 * (4 + 8), True)


def test_a_loss_looks_at_one_sector_a_row() -> None:
    found = cost("aten::nll_loss_forward", tensor(64, 1000), tensor(64, of=I64), NONE, scalar(1), scalar(-100))
    assert found.bytes == 64 * 32 + 64 * 8 + 4


def test_an_lstm_multiplies_its_gates_at_every_step() -> None:
    x, h = tensor(5, 2, 8), tensor(1, 2, 16)
    middle = (scalar(2), scalar(16), scalar(0), scalar(1), scalar(False), scalar(0.0), scalar(True), scalar(False))
    found = cost("aten::_cudnn_rnn", x, ((), "TensorList", ""), scalar(4), NONE, h, h, *middle)
    weights = 4 * 16 * 8 + 4 * 16 * 16
    assert found.flops == 2 * 10 * weights
    assert found.bytes == 4 * (10 * 8 + weights + 2 * 2 * 16 + 10 * 16)


def test_a_second_layer_of_both_directions_reads_both_outputs() -> None:
    x, h = tensor(5, 2, 8), tensor(4, 2, 16)
    middle = (scalar(3), scalar(16), scalar(0), scalar(2), scalar(False), scalar(0.0), scalar(True), scalar(True))
    found = cost("aten::_cudnn_rnn", x, ((), "TensorList", ""), scalar(4), NONE, h, NONE, *middle)
    assert found.flops == 2 * 10 * 2 * 3 * 16 * ((8 + 16) + (32 + 16))


def test_a_real_transform_does_half_of_the_work_and_keeps_one_side() -> None:
    over = ((), "ScalarList", "[1]")
    real = cost("aten::_fft_r2c", tensor(4, 64), over, scalar(0), scalar(True))
    assert (real.bytes, real.instructions) == (4 * 64 * 4 + 4 * 33 * 8, 5 * 4 * 64 * 6 // 2)
    whole = cost("aten::_fft_c2c", tensor(4, 64, of="c10::complex<float>"), over, scalar(0), scalar(True))
    assert (whole.bytes, whole.instructions) == (2 * 4 * 64 * 8, 5 * 4 * 64 * 6)


LIST = ((5, 5), (7,))
ADAM = (
    "void multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4, (ADAM_MODE)1>>"
)
CAT = "void at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int, 4, 64, 64>(…)"
FOREACH = "void multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpListAlphaFunctor<c10::BFloat16, 2, 1, 1>, …>"


@pytest.mark.parametrize(
    ("name", "lists", "kernel", "expected"),
    [
        ("aten::cat", (LIST,), CAT, 2 * 32 * 2),
        ("aten::_foreach_add_", (LIST, LIST), FOREACH, 3 * 32 * 2),
        ("aten::_foreach_mul", (LIST,), FOREACH, 2 * 32 * 2),
        ("aten::_foreach_copy_", (LIST, LIST), FOREACH, 2 * 32 * 2),
        ("aten::_foreach_norm", (LIST,), FOREACH, 32 * 2),
        ("aten::_foreach_zero_", (LIST,), FOREACH, 32 * 2),
        ("aten::_fused_adamw_", (LIST, LIST, LIST, LIST, (), ((), ())), ADAM, 7 * 32 * 4),
        ("aten::_fused_adam_", (LIST, LIST, LIST, LIST, LIST, ((), ())), ADAM, 9 * 32 * 4),
        ("aten::_fused_sgd_", (LIST, LIST, ()), ADAM, 3 * 32 * 4),
        ("aten::_fused_sgd_", (LIST, LIST, LIST), ADAM, 5 * 32 * 4),
    ],
)
def test_lists_are_moved_in_the_type_of_the_kernel(
    name: str, lists: tuple[tuple[tuple[int, ...], ...], ...], kernel: str, expected: int
) -> None:
    detail = OpDetail(shapes=((),) * len(lists), dtypes=("TensorList",) * len(lists), lists=lists)
    found = cost_of(name, detail, kernel)
    assert found is not None
    assert found.bytes == expected
    assert cost_of(name, detail) is None
    assert cost_of(name, detail, "some_other_kernel") is None


def test_the_type_of_a_list_is_read_from_the_kernel() -> None:
    assert item_bytes_of_kernel(ADAM) == 4
    assert item_bytes_of_kernel(CAT) == 2
    assert item_bytes_of_kernel(FOREACH) == 2
    assert item_bytes_of_kernel("multi_tensor_apply_kernel<UnaryOpFunctor<double, 1, 1, 0>>") == 8
    assert item_bytes_of_kernel("CatArrayBatchedCopy<float, unsigned int, 3, 128, 1>(float*, x)") == 4
    assert item_bytes_of_kernel("ampere_sgemm") is None


def test_a_users_own_triton_kernel_moves_its_arguments_and_its_arithmetic_is_unknown() -> None:
    detail = OpDetail(
        shapes=((64, 64), (64,), ()),
        dtypes=("float", "c10::Half", "Scalar"),
        values=("", "", "64"),
        kernel_file="/k.py",
    )
    assert is_user_kernel("rotary_kernel", detail)
    assert cost_of("rotary_kernel", detail) == Cost(
        None, 64 * 64 * 4 + 64 * 2, is_floor=True, reads=(64 * 64 * 4, 64 * 2)
    )
    assert not is_user_kernel("triton_tem_fused_mm_0", detail)
    assert cost_of("triton_tem_fused_mm_0", detail) is None


@pytest.mark.parametrize(
    ("name", "inputs", "moved"),
    [
        ("aten::clamp", (tensor(100), scalar(0), scalar(6), tensor(100)), 2 * 400),
        ("aten::clamp", (tensor(100), tensor(100), NONE), 3 * 400),
        ("aten::abs", (tensor(100), tensor(100)), 2 * 400),
        ("aten::pow", (tensor(100), scalar(3), tensor(100)), 2 * 400),
        ("aten::add", (tensor(100), tensor(100), scalar(1), tensor(100)), 3 * 400),
        ("aten::gt", (tensor(100), scalar(3), tensor(100, of="bool")), 400 + 100),
    ],
)
def test_an_output_that_is_given_is_written_and_not_read(name: str, inputs: tuple[Input, ...], moved: int) -> None:
    assert cost(name, *inputs).bytes == moved


def test_a_strip_of_tiles_reads_its_rows_again_in_each_wave() -> None:
    """2048 rows and 4096 deep in bf16: a wave computes 2080² outputs, 2112 columns of them, and there are 5.2 waves."""
    half = "c10::BFloat16"
    found = cost("aten::mm", tensor(2048, 4096, of=half), tensor(4096, 11008, of=half))
    waves = 2048 * 11008 / WAVE_SIDE**2
    a, b = 2048 * 4096 * 2, 4096 * 11008 * 2
    assert found.rereads == pytest.approx(UNEVEN * (waves * a + b) - a - b, rel=1e-3)
    assert cost("aten::mm", tensor(11008, 4096, of=half), tensor(4096, 2048, of=half)).rereads == found.rereads
    assert cost("aten::mm", tensor(1024, 4096, of=half), tensor(4096, 4096, of=half)).rereads == 0
