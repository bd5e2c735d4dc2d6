"""What of a model came compiled, the whole or parts: run as it is written where that can be, and then put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import torch

from collectors import torch_compat
from collectors.workload import Workload

COMPILED_NOTE: Final = "the model came compiled: it was unwrapped, so that its graphs could be told apart"

SHOWN: Final = 3
"""Names of parts in a note; a model whose layers are each compiled has dozens."""


class CompiledParts:
    """`workload` is the given one with the model as it is written, and a note on each compilation that it came with."""

    def __init__(self, given: Workload) -> None:
        model = torch_compat.as_written(given.model)
        modules = tuple(model.named_modules()) if isinstance(model, torch.nn.Module) else ()
        in_place = [name for name, one in modules if torch_compat.is_compiled_in_place(one)]
        wrapped = [name for name, one in modules if name and torch_compat.as_written(one) is not one]
        self._modules = tuple(one for _, one in modules if torch_compat.is_compiled_in_place(one))
        self._taken: list[Callable[[], None]] = []
        notes = [COMPILED_NOTE] if model is not given.model else []
        if in_place:
            parts = _named([name or "the model" for name in in_place])
            notes.append(f"{parts} came compiled in place, by compile(): here it runs as it is written")
        if wrapped:
            notes.append(f"parts of the model came compiled ({_named(wrapped)}): what is called eager runs them so")
        self.workload = replace(given, model=model, notes=(*given.notes, *notes)) if notes else given

    def run_as_written(self) -> None:
        """From now on what was compiled in place runs as it is written."""
        if not self._taken:
            self._taken = [torch_compat.take_compiled_call(one) for one in self._modules]

    def put_back(self) -> None:
        """Leave all as it was found."""
        while self._taken:
            self._taken.pop()()


def _named(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
