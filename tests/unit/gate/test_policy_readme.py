"""The policy that the README shows is one, and shows every key."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from analyzer.core.policy import Policy
from analyzer.gate.gates import gate
from analyzer.gate.policy_file import KEYS, LIMIT_KEYS, MODEL_KEYS, read_policy
from analyzer.gate.policy_schema import policy_schema
from analyzer.pytest_plugin_claims import read_claims


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shown(readme: str) -> str:
    (text,) = re.findall(r"```toml\n(.*?)```", readme, re.S)
    return str(text)


def test_the_readers_take_it(shown: str) -> None:
    policy = read_policy(shown, "pyproject.toml", ".", is_project=True)
    assert isinstance(policy, Policy)
    assert policy.models == ("net.py", "nets/large.py")
    assert policy.plan("nets/large.py") == "large.plan.json"
    table: dict[str, Any] = tomllib.loads(shown)["tool"]["graphbound"]
    jsonschema.validate(table, policy_schema())


def test_it_shows_every_key(shown: str) -> None:
    table = tomllib.loads(shown)["tool"]["graphbound"]
    assert set(table) == set(KEYS)
    assert {key for own in table["model"].values() for key in own} == set(MODEL_KEYS)
    limits = {key for value in table["gates"].values() if isinstance(value, list) for key in value[1]}
    assert limits == set(LIMIT_KEYS) - {"min"}, "min is for plan_coverage alone"
    assert all(gate(name) for name in table["gates"])


def test_the_claims_of_the_test_are_claims(readme: str) -> None:
    (call,) = re.findall(r"^    bottleneck\(net, inputs\)\.has\((.*)\)$", readme, re.M)
    assert read_claims(eval(f"dict({call})")).bounds
