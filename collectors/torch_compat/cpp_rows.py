"""A row in a trace for each C++ kernel that Inductor generated, without what `cpp.enable_kernel_profile` costs.

Inductor's own setting is compiled into the kernels, so that what is timed with it is not what production runs: on two
cores it cost the default 2 % of a step, and the C++ wrapper all that it saves (torch 2.13).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any, Final

import torch
from torch._C._aoti import AOTIModelPackageLoader
from torch._C._profiler import _RecordFunctionFast
from torch._inductor.codecache import PyCodeCache

LIBRARY: Final = "inductor::library"
"""Kernels and what lies between them, unseen: work of which no roof is known, rather than none."""

ROW: Final = "torch::aot_inductor::RAIIAtenRecordFunctionHandle graphbound_row"


@contextlib.contextmanager
def kernel_rows() -> Iterator[None]:
    """While the block runs, C++ kernels of every graph compiled so far are rows of a trace, under their own names.

    What Python calls gets a range around it: a row is 0.2 to 0.3 µs longer than its kernel (torch 2.13). What a C++
    wrapper calls, kernels and operators, is in one library with it: that is compiled once more, from its source with
    the rows in it, in the first call in the block, and kept in torch's cache. Where that fails, and of a package of
    AOTInductor's, for which it would take as long as all of its compilation, the whole library is one row, `LIBRARY`.
    All is as before afterwards, and what is timed never has a row.
    """
    with contextlib.ExitStack() as stack:
        _put(stack, AOTIModelPackageLoader, "boxed_run", _in_a_row(LIBRARY, AOTIModelPackageLoader.boxed_run))
        for module in tuple(PyCodeCache.modules):
            for name, kernel in tuple(vars(module).items()):
                if name.startswith("cpp_") and isinstance(kernel, BuiltinFunctionType):
                    _put(stack, module, name, _in_a_row(name, kernel))
            entry = _wrapper_entry(module)
            if entry is not None:
                _put(stack, entry, "cell_contents", _built_when_called(module, entry, entry.cell_contents))
        yield


def _put(stack: contextlib.ExitStack, holder: object, name: str, value: Callable[..., Any]) -> None:
    """In place of what is there, until the stack is unwound."""
    stack.callback(setattr, holder, name, getattr(holder, name))
    setattr(holder, name, value)


def _in_a_row(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        with _RecordFunctionFast(name):
            return kernel(*args)

    return call


def _wrapper_entry(module: ModuleType) -> CellType | None:
    """Where the Python part of a C++ wrapper, as torch 2.11 and 2.13 write it, keeps the library's function."""
    call = getattr(module, "call", None)
    if not hasattr(module, "inductor_entry") or not isinstance(call, FunctionType):
        return None
    return dict(zip(call.__code__.co_freevars, call.__closure__ or (), strict=True)).get("f")


def _built_when_called(module: ModuleType, entry: CellType, built: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        try:
            source = Path(str(module.__file__)).read_text(encoding="utf-8")
            entry.cell_contents = PyCodeCache.load(with_rows(source)).inductor_entry
        except Exception:  # a missing file, or C++ that no compiler takes: it costs the rows, not the run
            entry.cell_contents = _in_a_row(LIBRARY, built)
        return entry.cell_contents(*args)

    return call


def with_rows(source: str) -> str:
    """The source of a C++ wrapper for a CPU with a row in each kernel's body, and one around each call of an operator:
    most of these go past the dispatcher, which would have made one.
    """
    return _OPERATOR_CALL.sub(_in_block, _KERNEL.sub(_with_row, source))


_KERNEL: Final = re.compile(r'^[ \t]*extern "C"[^(){};]*\b(?P<name>cpp_\w+)\([^{};]*\)\s*\{', re.MULTILINE)
"""Up to the brace that opens the body: a declaration ends with a semicolon before."""

_OPERATOR_CALL: Final = re.compile(
    r"^[ \t]*AOTI_TORCH_ERROR_CODE_CHECK\(aoti_torch_cpu_(?P<shim>\w+)\(.*?\)\);$", re.MULTILINE | re.DOTALL
)


def _with_row(kernel: re.Match[str]) -> str:
    header = "#include <torch/csrc/inductor/aoti_runtime/utils.h>"
    return f'{header}\n{kernel[0]}\n    {ROW}("{kernel["name"]}", nullptr);'


def _in_block(call: re.Match[str]) -> str:
    return f'    {{ {ROW}("{operator_of(call["shim"])}", nullptr);\n{call[0]}\n    }}'


def operator_of(shim: str) -> str:
    """The operator that a function of the stable ABI stands for: `aten::addmm` for `addmm_out`, as a row of the
    dispatcher's is called. Its name is the operator's, and that of an overload unless it is the default.
    """
    for namespace in ("aten", "mkldnn", "mkl", "onednn", "_quantized"):
        words = shim.removeprefix(f"{namespace}_").split("_")
        for end in range(len(words), 0, -1):
            packet = getattr(getattr(torch.ops, namespace), "_".join(words[:end]), None)
            if packet is not None and ("_".join(words[end:]) or "default") in packet.overloads():
                return str(packet._qualified_op_name)
    return f"aten::{shim}"
