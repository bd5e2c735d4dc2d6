"""The gradient of an embedding is read once, summed up in parts, and those written by the row of their id."""

from __future__ import annotations

from analyzer.core.trace import OpDetail
from analyzer.derive.costs import embedding_gradient as g
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.stages import stage_of
from analyzer.derive.costs.table import cost_of

OP = "aten::embedding_dense_backward"
LAUNCH = Launch((1_500,), 64)


def _step(kernel: str, ids: int, rows: int) -> Cost | None:
    detail = OpDetail(
        shapes=((ids, 64), (ids,), (), (), ()),
        dtypes=("c10::BFloat16", "long int", *("Scalar",) * 3),
        values=("", "", str(rows), "-1", "False"),
        strides=((64, 1), (1,), (), (), ()),
    )
    whole = cost_of(OP, detail, kernel, LAUNCH)
    assert whole is not None
    stage = stage_of(OP, detail, kernel, whole, LAUNCH)
    return None if stage is None else stage.cost


def test_each_place_is_added_to_a_part_of_its_id() -> None:
    # Of so many more rows than ids nearly each id has a row of its own.
    found = _step("compute_grad_weight<c10::BFloat16, long>(x)", 1_000, 10_000_000)
    assert found is not None
    assert (found.reads, found.writes) == ((1_000 * 64 * 2, 8_000), (1_000 * 64 * 4,))
    each = g.PART_SLOTS + g.PLACE_SLOTS
    assert found.instructions == 1_500 * 64 * g.THREAD_SLOTS + 1_000 * 64 * each
    assert not found.is_counted


def test_parts_of_one_row_are_one() -> None:
    found = _step("sum_and_scatter<c10::BFloat16, long>(x)", 1_000, 1)
    assert found is not None
    assert (found.reads, found.writes) == ((64 * 4,), (64 * 2,))
    assert found.instructions == 1_500 * 64 * g.THREAD_SLOTS + 64 * (g.PART_SLOTS + g.PLACE_SLOTS + g.TARGET_SLOTS)


def test_short_kernels_between_are_no_such_step() -> None:
    assert _step("krn_partials_per_segment<long>(x)", 1_000, 10) is None
