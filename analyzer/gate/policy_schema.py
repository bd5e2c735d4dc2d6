"""The JSON schema of `[tool.graphbound]`, for editors: made from the list of gates, so that the two cannot differ."""

from __future__ import annotations

from typing import Any, Final

from analyzer.core.gate import GateLevel, GateUnit
from analyzer.core.policy import BASELINE_FILE, Preset
from analyzer.gate.gates import GATES
from analyzer.gate.reading import Gate

DIALECT: Final = "http://json-schema.org/draft-07/schema#"
"""What taplo and the schema store read of TOML."""

_LEVELS: Final = [level.value for level in GateLevel]
_PATTERNS: Final = {
    GateUnit.NS: r"^\s*(\d+(\.\d*)?|\.\d+)\s*(ns|us|µs|ms|s|min)\s*$",
    GateUnit.BYTES: r"^\s*(\d+(\.\d*)?|\.\d+)\s*(B|[kMGT]B|[KMGT]iB)\s*$",
    GateUnit.SHARE: r"^\s*(\d+(\.\d*)?|\.\d+)\s*%\s*$",
}


def policy_schema() -> dict[str, Any]:
    """Of the table itself; `graphbound.toml` is one such table."""
    gates = {"type": "object", "additionalProperties": False, "properties": {one.id: _gate(one) for one in GATES}}
    own = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"gates": gates, "plan": {"type": "string", "description": "the plan.json that it runs with"}},
    }
    return {
        "$schema": DIALECT,
        "title": "tool.graphbound: what `analyze check` lets pass",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "preset": {"enum": [preset.value for preset in Preset], "default": Preset.RECOMMENDED.value},
            "models": {"type": "array", "items": {"type": "string", "minLength": 1}},
            "baseline": {"type": "string", "minLength": 1, "default": BASELINE_FILE},
            "gates": gates,
            "model": {"type": "object", "additionalProperties": own},
        },
    }


def _gate(one: Gate) -> dict[str, Any]:
    bound = "min" if one.is_more_better else "max"
    limits = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            bound: _limit(one.unit),
            "margin": {"type": "number", "minimum": 0, "exclusiveMaximum": 10},
        },
    }
    pair = {"type": "array", "items": [{"enum": _LEVELS}, limits], "minItems": 1, "maxItems": 2}
    return {"description": one.doc, "anyOf": [{"enum": _LEVELS}, pair]}


def _limit(unit: GateUnit) -> dict[str, Any]:
    number = {"type": "number", "minimum": 0}
    pattern = _PATTERNS.get(unit)
    if pattern is None:
        return number
    text = {"type": "string", "pattern": pattern}
    return {"anyOf": [number, text]} if unit is GateUnit.SHARE else text
