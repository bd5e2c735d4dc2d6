"""What Inductor made of a function, compiled as a session compiles it: with its notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from collectors import torch_compat


def output_codes(function: Callable[..., Any], *args: Any, dynamic: bool | None = None, **patches: object) -> list[Any]:
    """Inductor's compiled graphs of one call without gradients, in order. `patches` are settings of Inductor's."""
    found: list[Any] = []

    def backend(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        def inner(aot: torch.fx.GraphModule, aot_inputs: Sequence[Any], **kwargs: Any) -> Any:
            # Headers compiled ahead pay off with the tenth kernel of a cache folder.
            own = {"fx_graph_cache": False, "cpp_cache_precompile_headers": False, **patches}
            found.append(torch_compat.compile_inner_noting(aot, aot_inputs, own, kwargs))
            return found[-1]

        return torch_compat.compile_graph(gm, inputs, patches={}, inner=inner)

    with torch.no_grad():
        torch.compile(function, backend=backend, dynamic=dynamic)(*args)
    return found
