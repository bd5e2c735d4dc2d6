"""Models that are TorchScript, which torch.compile leaves as they are: told apart before anything is made of them."""

from __future__ import annotations

from typing import Final

import torch

from analyzer.core.errors import UsageError

GIVE_PYTHON: Final = "give the Python model that it was scripted or traced from"


def require_python(model: object, what: str) -> None:
    """Raises UsageError for a scripted or traced model.

    Dynamo refuses the one and calls the other as it is, without a word: a plan for it would do nothing.
    """
    if isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        kind = type(model).__name__
        raise UsageError(f"{what} is TorchScript ({kind}), which torch.compile does not compile", hint=GIVE_PYTHON)
