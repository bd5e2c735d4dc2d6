"""A policy as TOML, for `analyze check --init`: every gate with its level, and what it holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from analyzer.core.policy import Policy
from analyzer.gate.gates import GATES, level_of

_HEAD: Final = """\
# What `analyze check` lets pass. Each gate is "off", "warn" or "error", or ["error", {max = …}] with a limit of its own
# (min for plan_coverage), or {margin = 0.05} for what may lie beyond the stored value. The stored values are in
# the file named by `baseline`.
"""


def policy_text(policy: Policy, models: Sequence[str]) -> str:
    """A file that `read_policy` reads as `policy` with these models. Levels are written out, so that they are seen."""
    runnable = [model for model in dict.fromkeys(models) if not model.endswith(")")]
    lines = [
        _HEAD,
        "[tool.graphbound]",
        f"preset = {_text(policy.preset.value)}",
        f"baseline = {_text(policy.baseline)}",
        f"models = [{', '.join(_text(model) for model in runnable)}]",
        "",
        "[tool.graphbound.gates]",
    ]
    width = max(len(gate.id) for gate in GATES)
    for gate in GATES:
        lines.append(f"# {gate.id:<{width}} = {_text(level_of(gate, policy.preset).value):<7}  # {gate.doc}")
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    # A basic string of TOML escapes as JSON does, and takes no DEL.
    return json.dumps(value).replace("\x7f", "\\u007f")
