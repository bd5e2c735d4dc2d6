"""AOTInductor: a model compiled ahead of time into one file, loaded again as whoever deploys it will."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.fx
from torch import nn

from collectors import torch_compat


@dataclass(frozen=True, slots=True)
class Package:
    """The model loaded from a package, called as the original is. `compile_ns` is what making the package took.

    `operators` are the user's own that it calls (`mylib::scale`).
    """

    call: Callable[..., Any]
    compile_ns: int
    operators: tuple[str, ...] = ()


def export_package(model: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], path: Path) -> Package:
    """Export `model` for inputs like these, compile it into `path` (`*.pt2`), and load it. The model is left as it is.

    Raises what torch.export and the compiler raise, a file at `path` then being none of a whole package's.
    """
    module = model if isinstance(model, nn.Module) else _AsModule(model)
    start_ns = time.perf_counter_ns()
    with torch.no_grad(), warnings.catch_warnings():
        # torch 2.13 itself uses what its pytree deprecates as it writes the package.
        warnings.simplefilter("ignore", FutureWarning)
        program = torch.export.export(module, args, dict(kwargs))
        torch_compat.package_program(program, path)
    compile_ns = time.perf_counter_ns() - start_ns
    return Package(torch_compat.load_package(path), compile_ns, called_operators(program))


def called_operators(program: torch.export.ExportedProgram) -> tuple[str, ...]:
    """The operators of the user's that an exported program calls (`mylib::scale`), each once."""
    targets = (node.target for module in _graphs(program) for node in module.graph.nodes)
    operators = (target for target in targets if torch_compat.is_torch_op(target))
    return tuple(dict.fromkeys(_name(one) for one in operators if not torch_compat.is_of_torch(one)))


def _graphs(program: torch.export.ExportedProgram) -> list[torch.fx.GraphModule]:
    """The program's own and those of its branches and loops."""
    return [one for one in program.graph_module.modules() if isinstance(one, torch.fx.GraphModule)]


def _name(operator: object) -> str:
    """`mylib::scale` of `mylib.scale.default`."""
    return "::".join(str(operator).split(".")[:2])


class _AsModule(nn.Module):
    """A function as torch.export wants it. Of what it closes over, modules are found and become part of the package."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)
