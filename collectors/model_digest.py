"""Which model a plan is for: a digest of its parameters, the same in every process. Imports torch alone."""

from __future__ import annotations

import hashlib
from typing import Final

from torch import nn
from torch.nn.parameter import is_lazy

DIGEST_HEX_DIGITS: Final = 12
"""As many as a graph's has (collectors/graph_key.py)."""


def model_digest(model: object) -> str | None:
    """The digest of the types and shapes of a model's parameters, each once.

    Names are left out, so that a wrapper (DDP, an OptimizedModule) has the digest of what it wraps; so are values,
    devices and buffers, whose sizes may differ between uses of one model. None where there are no parameters, or
    some have no shape yet.
    """
    parameters = list(model.parameters()) if isinstance(model, nn.Module) else []
    if not parameters or any(is_lazy(parameter) for parameter in parameters):
        return None
    lines = sorted(f"{parameter.dtype}{list(parameter.shape)}" for parameter in parameters)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:DIGEST_HEX_DIGITS]
