"""What can be called and compiled, told apart from what cannot before anything is made of it."""

from __future__ import annotations

from typing import Final

import torch

from analyzer.core.errors import UsageError

GIVE_PYTHON: Final = "give the Python model that it was scripted or traced from"
GIVE_CALLABLE: Final = "the model must be an nn.Module or a function"


def require_callable(model: object, what: str) -> None:
    """Raises UsageError unless `model` can be called and is Python that torch.compile can read.

    A class can be called, but is not what was meant, and torch.compile would change the class itself. TorchScript is
    what Dynamo refuses, or calls as it is without a word: a plan for it would do nothing.
    """
    kind = type(model).__name__
    if isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        raise UsageError(f"{what} is TorchScript ({kind}), which torch.compile does not compile", hint=GIVE_PYTHON)
    if isinstance(model, type):
        raise UsageError(f"{what} is the class {model.__name__}, and no instance of it", hint=GIVE_CALLABLE)
    if not callable(model):
        raise UsageError(f"{what} is a {kind}, which cannot be called", hint=GIVE_CALLABLE)
