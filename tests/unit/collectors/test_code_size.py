"""Generated code has one size wherever it was generated."""

from __future__ import annotations

from collectors.code_size import code_bytes

CODE = """
# AOT ID: ['0_inference']
import torch
# kernel path: /tmp/torchinductor_ada/ab/cabcdef.py
cpp_fused_add_0 = async_compile.cpp_pybinding(['const float*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
#include "/tmp/torchinductor_ada/2r/c2rnilspx43ivnzu4uieul65kx65dfhfbptbh5og4wk6rqebuxoo.h"
extern "C"  void kernel(const float* in_ptr0)
{
    // a comment
    auto tmp0 = in_ptr0[0];
}
''')
"""


def test_paths_hashes_comments_and_indentation_do_not_count() -> None:
    elsewhere = CODE.replace("torchinductor_ada", "torchinductor_somebody_else").replace("    auto", "        auto")
    hashed = elsewhere.replace(
        "c2rnilspx43ivnzu4uieul65kx65dfhfbptbh5og4wk6rqebuxoo", "cqqnilspx43ivnzu4uieul65kx65dfhfbptbh5og4wk6rqebuxoo"
    )
    commented = hashed.replace("// a comment", "// quite another comment\n\n")
    assert code_bytes(commented) == code_bytes(CODE)


def test_one_statement_more_counts() -> None:
    more = CODE.replace("auto tmp0 = in_ptr0[0];", "auto tmp0 = in_ptr0[0];\n    auto tmp1 = tmp0;")
    assert code_bytes(more) == code_bytes(CODE) + len("auto tmp1 = tmp0;")
    assert code_bytes(CODE.replace("#include <torch", "#include <torch/other")) > code_bytes(CODE)


def test_no_code_is_no_bytes() -> None:
    assert code_bytes("") == 0
    assert code_bytes("# only a comment\n\n") == 0
