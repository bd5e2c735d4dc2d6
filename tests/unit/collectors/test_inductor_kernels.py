"""What Inductor tells of each kernel: only what it touches, only what others read, and the same from a warm cache."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
import torch
import torch.nn.functional as F

from analyzer.core.graphs import KernelFacts
from collectors import torch_compat
from collectors.torch_compat.output_code import _NOTE
from tests.compiled_graphs import output_codes


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    torch_compat.reset()
    yield
    torch_compat.reset()


def facts(
    function: Callable[..., Any], *args: Any, dynamic: bool = False, caches: bool = False
) -> tuple[KernelFacts, ...]:
    codes = output_codes(function, *args, dynamic=dynamic, fx_graph_cache=caches)
    return tuple(told for code in codes for told in torch_compat.kernel_facts(code))


def ran(kernel: KernelFacts, op: str) -> int:
    return sum(told.count for told in kernel.ops or () if told.op == op)


def test_a_fused_kernel_touches_rows_of_a_table_and_a_cached_graph_tells_the_same() -> None:
    # A number of this run's own: no cache has this graph before. A cache folder of its own would take 20 s to fill.
    own = uuid.uuid4().int % 1_000_003 / 7
    table, weight = torch.randn(5000, 64), torch.randn(64)

    def run(ids: torch.Tensor, table: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(F.embedding(ids, table) * own, (64,), weight)

    ids = torch.randint(0, 5000, (4, 32))
    (kernel,) = facts(run, ids, table, weight, caches=True)
    assert sorted(kernel.reads) == sorted((128 * 8, 128 * 64 * 4, 64 * 4))
    assert kernel.writes == (128 * 64 * 4,)
    assert kernel.bytes == sum(kernel.reads) + sum(kernel.writes)
    assert (kernel.flops, kernel.dtype) == (0, None)
    assert ran(kernel, "rsqrt") in (128, 128 * 64)
    torch_compat.reset()
    before = torch._dynamo.utils.counters["inductor"]["fxgraph_cache_hit"]
    assert facts(run, ids, table, weight, caches=True) == (kernel,)
    assert torch._dynamo.utils.counters["inductor"]["fxgraph_cache_hit"] == before + 1
    assert not [name for name in torch._dynamo.utils.counters["inductor"] if "graphbound" in name]


def test_what_a_kernel_hands_to_itself_is_not_moved_and_what_it_changes_is_moved_twice() -> None:
    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(y)
        return x.exp()

    (kernel,) = facts(run, torch.randn(64, 32), torch.randn(64, 32))
    assert sorted(kernel.reads) == [64 * 32 * 4] * 2
    assert sorted(kernel.writes) == [64 * 32 * 4] * 2
    assert ran(kernel, "exp") == 64 * 32


def test_a_strided_input_costs_its_sectors_and_a_broadcast_one_a_single_reading() -> None:
    (strided,) = facts(lambda x: x[:, ::16] + 1, torch.randn(64, 256))
    assert strided.reads == (64 * 16 * 32,)
    (broadcast,) = facts(lambda x, row: x + row, torch.randn(64, 32), torch.randn(32))
    assert sorted(broadcast.reads) == [32 * 4, 64 * 32 * 4]


def test_sizes_that_are_not_known_give_no_facts() -> None:
    assert facts(lambda x: x.sin() + 1, torch.randn(17, 5), dynamic=True) == ()


def test_two_kernels_of_one_name_say_nothing() -> None:
    class Output:
        counter_deltas: ClassVar = {
            f'{_NOTE}{{"name": "a", "bytes": 1}}': 1,
            f'{_NOTE}{{"name": "a", "bytes": 2}}': 1,
            f'{_NOTE}{{"name": "b", "bytes": 3}}': 1,
            f"{_NOTE}of a later version": 1,
            "pattern_matcher_count": 4,
        }

    assert torch_compat.kernel_facts(Output()) == (KernelFacts("b", 3),)
    assert torch_compat.kernel_facts(object()) == ()


def test_what_is_reached_again_through_an_index_is_told_where_no_near_cache_holds_it() -> None:
    def gathered(rows: int) -> KernelFacts:
        table, ids = torch.randn(rows, 64), torch.randint(0, rows, (4000,))
        (kernel,) = facts(lambda table, ids: torch.relu(table[ids]), table, ids)
        return kernel

    large, small = gathered(1000), gathered(16)
    assert large.again_bytes == (4000 - 1000) * 64 * 4
    assert small.again_bytes == 0


def test_what_is_added_through_an_index_is_read_and_written_again() -> None:
    def scatter(source: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        return torch.zeros(1000, 64).index_add(0, ids, source * 2)

    kernels = facts(scatter, torch.randn(4000, 64), torch.randint(0, 1000, (4000,)))
    assert sum(kernel.again_bytes for kernel in kernels) == 2 * (4000 - 1000) * 64 * 4
