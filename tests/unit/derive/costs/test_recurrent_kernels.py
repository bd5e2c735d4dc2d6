"""Of cuDNN's recurrent layers only the kernels that multiply have the layer's products."""

from __future__ import annotations

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.stages import Stage, stage_of
from analyzer.derive.costs.table import cost_of

OP = "aten::_cudnn_rnn"
CELL = "void elemWiseRNNcell<__half, __half, float, (cudnnRNNMode_t)2, (cudnnRNNBiasMode_t)2>(int)"
TURN = "void internal::region_transform_ABC_val<int, 32, 32, false, internal::TransformParamsABC<float>>(x)"
PRODUCT = "nvjet_sm90_hsh_96x64_64x10_1x2_h_bz_TNN"
LAUNCH = Launch((768, 1, 1), 256)
STATE = 768 * 256 * 2


def _detail(mode: str) -> OpDetail:
    return OpDetail(
        shapes=((12, 256, 768), (), (), (4_724_736,), (1, 256, 768), (1, 256, 768), *((),) * 10),
        dtypes=("c10::Half", "TensorList", "Scalar", *("c10::Half",) * 3, *("Scalar",) * 8, "ScalarList", ""),
        values=("", "", "4", "", "", "", mode, "768", "0", "1", "False", "0.", "False", "False", "[]", ""),
    )


def _cell(mode: str, launch: Launch | None = LAUNCH) -> Stage | None:
    whole = cost_of(OP, _detail(mode), CELL, launch)
    assert whole is not None
    return stage_of(OP, _detail(mode), CELL, whole, launch)


def test_a_cell_moves_its_gates_and_states_and_multiplies_nothing() -> None:
    found = _cell("2")
    assert found is not None
    assert found.is_beside
    assert not found.is_shared
    assert found.cost.flops == 0
    assert (sum(found.cost.reads), sum(found.cost.writes)) == (8 * STATE + 2 * STATE, 2 * STATE)
    gru = _cell("3")
    assert gru is not None
    assert (sum(gru.cost.reads), sum(gru.cost.writes)) == (6 * STATE + STATE, STATE)


def test_what_lays_out_weights_has_no_part_of_the_products() -> None:
    assert cost_of(OP, _detail("3"), TURN, LAUNCH) is None


def test_a_product_has_what_is_the_layers() -> None:
    whole = cost_of(OP, _detail("2"), PRODUCT, LAUNCH)
    assert whole is not None
    assert whole.flops == 2 * 12 * 256 * 4 * 768 * (768 + 768)
    assert stage_of(OP, _detail("2"), PRODUCT, whole, LAUNCH) is None
