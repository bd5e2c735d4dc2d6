"""Scalar loops are seen in the generated code, oversubscription in the environment; unknown says nothing."""

from __future__ import annotations

import pytest

from analyzer.derive.cpu_causes import GraphLoops, graph_loops, loop_notes, thread_notes
from tests.rule_facts import an_environment
from tests.unit.derive.runs import A, B

CODE = """
cpp_fused_add_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0)
{
    #pragma omp parallel
    {
        int tid = omp_get_thread_num();
        #pragma omp for
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(640L); x0+=static_cast<int64_t>(1L))
        {
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(64L); x1+=static_cast<int64_t>(8L))
            {
                if(C10_LIKELY(x1 >= static_cast<int64_t>(0)))
                {
                    auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + x1, static_cast<int64_t>(8));
                    for (long x1_inner = 0; x1_inner < 8; x1_inner++) { out_ptr0[x1_inner] = tmp0; }
                }
            }
        }
        for (int tid = 0; tid < 4; tid++) { out_ptr0[0] += tid; }
    }
}
''')
cpp_fused_scatter_1 = async_compile.cpp_pybinding(['const int64_t*', 'float*'], r'''
extern "C"  void  kernel(const int64_t* in_ptr0, float* out_ptr0)
{
    for(long x0=static_cast<long>(0L); x0<static_cast<long>(640L); x0+=static_cast<long>(1L))
    {
        atomic_add(&out_ptr0[in_ptr0[x0]], static_cast<float>(1.0));
    }
}
''')
"""


def test_innermost_loops_are_counted_and_those_without_vectors_are_scalar() -> None:
    assert graph_loops(A, CODE) == GraphLoops(A, loops=2, scalar=1)


def test_code_without_loops_has_none() -> None:
    assert graph_loops(A, "def call(args):\n    for x in args: pass\n") == GraphLoops(A, 0, 0)
    assert graph_loops(A, "for(int64_t x0=0; x0<4; x0++) { cut off") == GraphLoops(A, 1, 1)


@pytest.mark.parametrize(
    ("loops", "said"),
    [
        ((), None),
        ((GraphLoops(B, 2, 2),), None),
        ((GraphLoops(A, 3, 0),), None),
        ((GraphLoops(A, 3, 1),), "1 of 3"),
        ((GraphLoops(A, 2, 2),), "all of"),
    ],
)
def test_scalar_loops_are_said_of_their_own_graph(loops: tuple[GraphLoops, ...], said: str | None) -> None:
    notes = loop_notes(A, loops)
    assert len(notes) == (said is not None)
    assert all(note.startswith(said or "") for note in notes)


def test_more_threads_than_cpus_are_said() -> None:
    crowded = an_environment(threads=16, affinity_cpus=8, quota_cpus=2.0)
    assert thread_notes(crowded)[0].startswith("torch uses 16 threads on 2 usable CPUs")
    assert thread_notes(an_environment(threads=8, affinity_cpus=8, quota_cpus=None)) == ()


def test_unknown_cpus_say_nothing() -> None:
    assert thread_notes(None) == thread_notes(an_environment(threads=99, affinity_cpus=None, quota_cpus=None)) == ()
