"""Turns an exception of the user's program into one sentence that names their line. Never shows our traceback."""

from __future__ import annotations

import argparse
import re
import sysconfig
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from analyzer.core.errors import GraphboundError, UserProgramError
from analyzer.core.graphs import SourceLine
from collectors.model_file import display_path

_OWN_ROOT: Final = Path(__file__).resolve().parents[1]
_OWN_NAMES: Final = ("analyzer", "collectors", "optimizers", "dashboard")
_OWN_PACKAGES: Final = tuple(_OWN_ROOT / name for name in _OWN_NAMES)
_TORCH_ROOT: Final = Path(torch.__file__).resolve().parent
_INSTALLED: Final = tuple(
    Path(sysconfig.get_paths()[name]).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")
)

_MESSAGE_LIMIT: Final = 600
"""Characters of the exception's own text; torch's shape errors stay under 300, Dynamo's reach many pages."""

_DYNAMO_WRAPPED: Final = re.compile(
    r"Dynamo failed to run FX node with fake tensors: .*: got "
    r"(?P<kind>\w+)\((?P<quote>['\"])(?P<text>.*?)(?P=quote)\)$",
    re.M,
)
"""`TorchRuntimeError` wraps the error of the operation itself: `… got RuntimeError('shapes cannot be multiplied')`."""

_DYNAMO_WHERE: Final = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<function>\S+)')

_DYNAMO_TAIL: Final = re.compile(r"\n\s*(Hint: |from user code:|Set TORCHDYNAMO_VERBOSE=1|Set TORCH_LOGS=)")
"""Where the advice of a Dynamo error begins (torch._dynamo.exc)."""

_COMPILER_SAID: Final = re.compile(r"C\+\+ compile error\s+Command:.*?\s+Output:\s+(?P<output>.+)", re.S)
"""`CppCompileError` of torch/_inductor/exc.py: the command, which alone is longer than what is kept, comes first."""

_FAULT: Final = re.compile(r"^.*\b(?:error|cannot|not found)\b.*$", re.M | re.I)
"""What of a C++ compiler's output says why: what comes before it are warnings and where they are included from."""

_CPU_OUT_OF_MEMORY: Final = "DefaultCPUAllocator: "
"""torch raises a plain RuntimeError on the CPU (c10/core/impl/alloc_cpu.cpp)."""


_DEVICE_ERROR: Final = "CUDA error"
"""c10/cuda/CUDAException.cpp: raised at whatever call comes next after the kernel that failed."""

_NEEDS_GRADIENTS: Final = "does not require grad and does not have a grad_fn"
"""torch/csrc/autograd/python_engine.cpp, when something calls backward() without gradients."""

NO_GRADIENTS: Final = "a step that calls backward() is a training step: add --mode training"


@dataclass(frozen=True, slots=True)
class _Where:
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        place = f"{display_path(Path(self.file))}:{self.line}"
        return place if self.function == "<module>" else f"{place} in {self.function}"


_MODULE_FOR_PARAMETERS: Final = re.compile(
    r"^'\w+' object is not iterable$|optimizer can only optimize Tensors, but one of the params is"
)
"""What `torch.optim` raises that was given a model; one that can be iterated, an nn.Sequential, gives its layers."""

_MAKING_OPTIMIZER: Final = "calling get_optimizer(model)"

PARAMETERS_BY_NAME: Final = (
    "get_optimizer is given the model; call its argument params to be given model.parameters(), "
    "or take them of the model"
)

GONE_THROUGH: Final = "backward through the graph a second time"
"""torch/csrc/autograd/saved_variable.h, of a graph whose saved tensors are freed."""

DETACHED: Final = (
    "a step that calls backward() itself returns its loss detached (return loss.detach()), and a model that keeps a "
    "tensor from one step to the next keeps it detached"
)

_ONE_NUMBER: Final = "grad can be implicitly created only for scalar outputs"
"""torch/autograd/__init__.py, of a loss that is no single number."""

RUN_WITHOUT_ARGUMENTS: Final = (
    "the file is imported, without arguments: give defaults to those that it reads, and keep what ends the program "
    'under `if __name__ == "__main__":`'
)

_HINTS: Final = (
    (_ONE_NUMBER, "a loss is one number: return its mean or sum"),
    (GONE_THROUGH, DETACHED),
    (_NEEDS_GRADIENTS, NO_GRADIENTS),
    ("Workload.__init__()", "make it with analyzer.Workload.of(model, inputs, step=STEP, mode=MODE)"),
)
"""What to do about an error, by what it says of itself."""


def user_error(exc: BaseException, *, root: Path, doing: str, given: str | None = None) -> UserProgramError:
    """What to tell the user about `exc`, raised while `doing` (as in "calling get_model()").

    Names the innermost line under `root` (the user's file, or a folder), else the innermost line that is neither
    torch's nor ours; where there is none the file, and as a hint what the step was `given`. Out of memory is recognised
    on any device. A UserProgramError is returned as it is.
    """
    if isinstance(exc, UserProgramError):
        return exc
    if is_out_of_memory(exc):
        return UserProgramError(
            f"out of memory while {doing}{_at(exc, root)}: {_first_sentence(str(exc))}",
            hint="use a smaller batch or a smaller model, or free the memory that other processes hold",
            where=_source_line(exc, root),
        )
    if isinstance(exc, GraphboundError):
        return UserProgramError(exc.message, hint=exc.hint, where=exc.where)
    where = _source_line(exc, root)
    hint = _hint(exc) or (given if where is None else None)
    if isinstance(exc, SystemExit) and (doing.startswith("importing ") or _said_of_arguments(exc) is not None):
        hint = RUN_WITHOUT_ARGUMENTS
    if doing == _MAKING_OPTIMIZER and isinstance(exc, TypeError) and _MODULE_FOR_PARAMETERS.match(str(exc)):
        hint = PARAMETERS_BY_NAME
    return UserProgramError(f"{doing} failed{_at(exc, root)}: {describe(exc)}", hint=hint, where=where)


def _hint(exc: BaseException) -> str | None:
    said = "\n".join(str(e) for e in _chain(exc))
    return next((hint for sign, hint in _HINTS if sign in said), None)


def is_out_of_memory(exc: BaseException) -> bool:
    """True when `exc`, or what caused it, says that the memory of a device or of the host ran out."""
    return any(
        isinstance(e, torch.OutOfMemoryError | MemoryError)
        or (isinstance(e, RuntimeError) and _CPU_OUT_OF_MEMORY in str(e))
        for e in _chain(exc)
    )


def own_fault(exc: BaseException) -> str | None:
    """Our line at which `exc` began, where the traceback shows none of the user's code below it; else None.

    Out of memory, what a device reports late and sys.exit are the program's. The caller has to know that no step of
    the user's was under way: one that was given something of torch's or of C leaves no frame of its own.
    """
    if isinstance(exc, SystemExit) or is_out_of_memory(exc) or _DEVICE_ERROR in str(exc):
        return None
    lines = list(traceback.extract_tb(exc.__traceback__))
    ours = [index for index, line in enumerate(lines) if _is_under(line.filename, _OWN_PACKAGES)]
    if not ours:
        return None
    below = lines[ours[-1] + 1 :]
    if any(not _is_under(line.filename, (_TORCH_ROOT, *_INSTALLED)) for line in below):
        return None
    last = lines[ours[-1]]
    return f"{Path(last.filename).name}:{last.lineno} in {last.name}"


def hook_fault(exc: BaseException) -> str | None:
    """Our line at which `exc` began inside the user's step, where our own code runs too: as the compiler's backend, or
    around an operator. None where it began in anyone else's.

    What the step calls directly may be C, which leaves no frame, so that some of torch's or the user's has to lie
    between our first line and the last.
    """
    cause = _chain(exc)[0]
    if isinstance(cause, SystemExit) or is_out_of_memory(exc) or _DEVICE_ERROR in str(exc):
        return None
    if type(cause).__module__.partition(".")[0] in _OWN_NAMES:
        return None  # raised on purpose, to say something of the model
    lines = list(traceback.extract_tb(cause.__traceback__))
    is_ours = [_is_under(line.filename, _OWN_PACKAGES) for line in lines]
    if not lines or not is_ours[-1] or all(is_ours):
        return None
    last = lines[-1]
    return f"{Path(last.filename).name}:{last.lineno} in {last.name}"


def describe(exc: BaseException) -> str:
    """`Type: message`, with the wrapping and the advice that Dynamo puts around an error of the user's removed."""
    if isinstance(exc, SystemExit) and (said := _said_of_arguments(exc)) is not None:
        return f"SystemExit: {_shorten(said)}"
    if (compiled := _COMPILER_SAID.search(str(exc))) is not None:
        fault = _FAULT.search(compiled["output"])
        return f"C++ compile error: {_shorten(fault[0] if fault else compiled['output'])}"
    text = _DYNAMO_TAIL.split(str(exc), maxsplit=1)[0].strip()
    if (wrapped := _DYNAMO_WRAPPED.search(text)) is not None:
        return f"{wrapped['kind']}: {_shorten(wrapped['text'])}"
    name = type(exc).__name__
    return f"{name}: {_shorten(text)}" if text else name


def _said_of_arguments(exc: SystemExit) -> str | None:
    """What argparse printed before it left; None where it is not what left."""
    for frame, _ in traceback.walk_tb(exc.__traceback__):
        if frame.f_code is argparse.ArgumentParser.error.__code__:
            return str(frame.f_locals.get("message"))
    return None


def _at(exc: BaseException, root: Path) -> str:
    where = _user_line(exc, root)
    if where is not None:
        return f" at {where}"
    return f" in {display_path(root)}" if root.is_file() else ""


def _source_line(exc: BaseException, root: Path) -> SourceLine | None:
    where = _user_line(exc, root)
    return None if where is None else SourceLine(where.file, where.line, where.function)


def _user_line(exc: BaseException, root: Path) -> _Where | None:
    """The innermost line of the user's in the traceback of `exc`, or of what caused it."""
    folder = (root if root.is_dir() else root.parent).resolve()
    lines = [line for e in _chain(exc) for line in _lines(e)]
    theirs = [line for line in lines if _is_under(line.file, (folder,)) and not _is_foreign(line.file, folder)]
    if theirs:
        return theirs[-1]
    beside = [line for line in lines if not _is_under(line.file, (_TORCH_ROOT, *_OWN_PACKAGES)) and line.file[0] != "<"]
    return beside[-1] if beside else None


def _lines(exc: BaseException) -> Iterator[_Where]:
    for frame in traceback.extract_tb(exc.__traceback__):
        yield _Where(frame.filename, frame.lineno or 0, frame.name)
    # Dynamo traces the user's code instead of running it, so their line is in its text and in no frame.
    _, mark, traced = str(exc).partition("from user code:")
    if mark:
        for match in _DYNAMO_WHERE.finditer(traced):
            yield _Where(match["file"], int(match["line"]), match["function"])


def _chain(exc: BaseException) -> tuple[BaseException, ...]:
    """Causes first, `exc` last; a cycle ends it."""
    found: list[BaseException] = []
    current: BaseException | None = exc
    while current is not None and all(current is not e for e in found):
        found.append(current)
        current = current.__cause__ or getattr(current, "inner_exception", None)
    return tuple(reversed(found))


def _is_foreign(file: str, folder: Path) -> bool:
    """Installed or our own, although it lies under the user's folder (a venv in the project, the project itself)."""
    roots = [r for r in (*_INSTALLED, *_OWN_PACKAGES, _TORCH_ROOT) if r != folder and not folder.is_relative_to(r)]
    return _is_under(file, tuple(roots))


def _is_under(file: str, roots: tuple[Path, ...]) -> bool:
    if file.startswith("<"):
        return False
    path = Path(file).resolve()
    return any(path.is_relative_to(root) for root in roots)


def _first_sentence(text: str) -> str:
    told = text.rpartition(_CPU_OUT_OF_MEMORY)[2].strip()
    return _shorten(told.splitlines()[0].split(". ")[0]) if told else "no more is known"


def _shorten(text: str) -> str:
    flat = re.sub(r"\s*\n\s*", " ", text)
    return flat if len(flat) <= _MESSAGE_LIMIT else flat[: _MESSAGE_LIMIT - 1] + "…"
