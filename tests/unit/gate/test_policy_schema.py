"""The schema for editors says what the reader of the policy says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.errors import UsageError
from analyzer.gate.gates import GATES
from analyzer.gate.policy_file import KEYS, MODEL_KEYS, policy_of
from analyzer.gate.policy_schema import policy_schema


def test_the_shipped_file_is_what_the_gates_make(root: Path) -> None:
    shipped = json.loads((root / "analyzer" / "gate" / "graphbound.schema.json").read_text(encoding="utf-8"))
    assert shipped == policy_schema(), "write it anew from policy_schema()"


def test_its_keys_are_those_that_are_read() -> None:
    properties = policy_schema()["properties"]
    assert tuple(properties) == KEYS
    assert set(properties["model"]["additionalProperties"]["properties"]) == set(MODEL_KEYS)
    assert list(properties["gates"]["properties"]) == [one.id for one in GATES]


VALUES: tuple[Any, ...] = ("12.5 ms", "4 GiB", "4GB", "30 %", "3", 3, 0.3, -1, True, "12 parsecs", "1e3 ms", "", None)


@pytest.mark.parametrize("one", GATES, ids=[one.id for one in GATES])
def test_a_limit_passes_the_schema_where_the_reader_takes_it(one: Any) -> None:
    bound = "min" if one.is_more_better else "max"
    pair = policy_schema()["properties"]["gates"]["properties"][one.id]["anyOf"][1]
    limit = pair["items"][1]["properties"][bound]
    for value in VALUES:
        try:
            policy_of({"gates": {one.id: ["error", {bound: value}]}}, "f", "/")
            is_read = True
        except UsageError:
            is_read = False
        assert is_read == fits(value, limit), value


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """As much of JSON schema as the limits use."""
    if "anyOf" in schema:
        return any(fits(value, each) for each in schema["anyOf"])
    if schema["type"] == "number":
        return isinstance(value, int | float) and not isinstance(value, bool) and value >= schema["minimum"]
    assert schema["type"] == "string"
    return isinstance(value, str) and re.search(schema["pattern"], value) is not None
