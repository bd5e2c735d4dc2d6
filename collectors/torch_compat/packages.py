"""AOTInductor: a graph exported and compiled ahead of time, and a package of it."""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import torch._guards
import torch._inductor
import torch._inductor.config
import torch.export

from collectors.torch_compat.compiling import ConfigPatches


def exported(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> torch.export.ExportedProgram:
    """A Dynamo graph whose weights are its own as an exported program. Raises what torch.export raises."""
    # Not under the context of the frame that is being compiled: export makes one of its own. It warns of a class of
    # torch's own that torch has deprecated (2.13).
    with torch._guards.tracing(None), torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
        return torch.export.export(gm, tuple(inputs))


def written_constants(program: torch.export.ExportedProgram) -> tuple[str, ...]:
    """The names of the parameters and buffers that an exported program writes to, or returns as they are."""
    signature = program.graph_signature
    names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    written = [*signature.buffers_to_mutate.values(), *getattr(signature, "parameters_to_mutate", {}).values()]
    returned = [names[output] for output in signature.user_outputs if output in names]
    return tuple(dict.fromkeys((*written, *returned)))


def compile_package(program: torch.export.ExportedProgram, patches: ConfigPatches) -> Callable[..., Any]:
    """An exported program compiled ahead of time by AOTInductor, and loaded from its package.

    The package is deleted once it is loaded; what it was built of stays in Inductor's cache.
    """
    with (
        tempfile.TemporaryDirectory(prefix="graphbound-aoti-") as folder,
        torch._guards.tracing(None),
        _metadata_put_back(),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)  # as above
        path = torch._inductor.aoti_compile_and_package(
            program, package_path=str(Path(folder, "graph.pt2")), inductor_configs=dict(patches)
        )
        loaded: Callable[..., Any] = torch._inductor.aoti_load_package(path)
    return loaded


def package_program(program: Any, path: Path) -> None:
    """Compile what torch.export gave with AOTInductor into the package `path`, whose name ends in `.pt2`."""
    with _metadata_put_back():
        torch._inductor.aoti_compile_and_package(program, package_path=str(path))


def load_package(path: Path) -> Callable[..., Any]:
    """The model in a package of AOTInductor, called as it was before it was exported."""
    return torch._inductor.aoti_load_package(str(path))


@contextlib.contextmanager
def _metadata_put_back() -> Iterator[None]:
    """torch writes the device into this setting and leaves it there (2.13), in a process that may be a caller's own."""
    own = dict(torch._inductor.config.aot_inductor.metadata)
    with torch._inductor.config.patch({"aot_inductor.metadata": own}):
        yield
