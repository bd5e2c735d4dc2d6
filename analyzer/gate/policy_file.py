"""`[tool.graphbound]` as read: every key known, every value of its kind, or an error that names the nearest key."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar, assert_never

from analyzer.core.errors import UsageError
from analyzer.core.gate import GateLevel, GateUnit
from analyzer.core.policy import BASELINE_FILE, GateSetting, ModelPolicy, NamedSetting, Policy, Preset
from analyzer.core.spelling import nearest
from analyzer.gate.gates import GATES, gate
from analyzer.gate.reading import Gate

TOOL: Final = "graphbound"
TABLE: Final = f"tool.{TOOL}"
_SLIP: Final = 0.85
"""Of difflib's likeness: a letter too few, too many or another one, or two changed about. `graphviz` has 0.56."""
KEYS: Final = ("preset", "models", "baseline", "gates", "model")
MODEL_KEYS: Final = ("gates", "plan")
LIMIT_KEYS: Final = ("max", "min", "margin")

_QUANTITY: Final = re.compile(r"(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>[A-Za-zµ%]+)")
_UNITS: Final[Mapping[GateUnit, Mapping[str, float]]] = {
    GateUnit.NS: {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9},
    GateUnit.BYTES: {
        "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
        "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
    },
    GateUnit.SHARE: {"%": 0.01},
}  # fmt: skip
_EXAMPLES: Final = {GateUnit.NS: '"12.5 ms"', GateUnit.BYTES: '"4 GiB"', GateUnit.SHARE: "0.3"}

E = TypeVar("E", GateLevel, Preset)


def read_policy(text: str, name: str, folder: str, *, is_project: bool) -> Policy | None:
    """The policy in this TOML; `name` stands for the file in messages. `is_project`: a pyproject.toml, in which it is
    the table `tool.graphbound`, None without one; elsewhere it is the whole file. Raises UsageError.
    """
    try:
        content: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name} is no TOML: {error}") from error
    if not is_project:
        # A file of its own may carry the table's name all the same.
        content = _table(content.get("tool", {}), name, "tool").get(TOOL, content)
        return policy_of(_table(content, name, "the file"), name, folder)
    tools = _table(content.get("tool", {}), name, "tool")
    table = tools.get(TOOL)
    if table is None:
        _require_no_slip(tools, name)
        return None
    return policy_of(_table(table, name, TABLE), name, folder)


def _require_no_slip(tools: Mapping[str, Any], name: str) -> None:
    """A table whose name is nearly ours would leave every limit in it unheld."""
    slip = next(iter(difflib.get_close_matches(TOOL, tools, n=1, cutoff=_SLIP)), None)
    if slip is not None:
        raise UsageError(f"{name}: [tool.{slip}] is no table of Graphbound", hint=f"did you mean [{TABLE}]?")


def policy_of(table: Mapping[str, Any], name: str, folder: str) -> Policy:
    _require_known(table, KEYS, name, "")
    own = _table(table.get("model", {}), name, "model")
    baseline = table.get("baseline", BASELINE_FILE)
    if not isinstance(baseline, str) or not baseline:
        raise _wrong(name, "baseline", baseline, "the path of a file")
    return Policy(
        preset=_member(Preset, table.get("preset", Preset.RECOMMENDED.value), name, "preset"),
        gates=_gates(table.get("gates", {}), name, "gates"),
        models=_models(table.get("models", []), name),
        own=tuple(_own(model, value, name) for model, value in own.items()),
        baseline=baseline,
        source=name,
        folder=folder,
    )


def _models(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(model, str) and model for model in value):
        raise _wrong(name, "models", value, 'a list like ["model.py"]')
    return tuple(dict.fromkeys(value))


def _own(model: str, value: Any, name: str) -> ModelPolicy:
    where = f'model."{model}"'
    table = _table(value, name, where)
    _require_known(table, MODEL_KEYS, name, where)
    plan = table.get("plan")
    if plan is not None and not isinstance(plan, str):
        raise _wrong(name, f"{where}.plan", plan, "the path of a plan.json")
    return ModelPolicy(model, _gates(table.get("gates", {}), name, f"{where}.gates"), plan)


def _gates(value: Any, name: str, where: str) -> tuple[NamedSetting, ...]:
    table = _table(value, name, where)
    _require_known(table, [one.id for one in GATES], name, where)
    return tuple(NamedSetting(key, _setting(gate(key), given, name, f"{where}.{key}")) for key, given in table.items())


def _setting(one: Gate, given: Any, name: str, where: str) -> GateSetting:
    """`"warn"`, or `["error", {max = 3}]`."""
    if isinstance(given, str):
        return GateSetting(_member(GateLevel, given, name, where), is_asked=True)
    if not isinstance(given, list) or not 1 <= len(given) <= 2:
        raise _wrong(name, where, given, f'"off", "warn", or ["error", {{max = {_EXAMPLES.get(one.unit, "3")}}}]')
    setting = GateSetting(_member(GateLevel, given[0], name, where), is_asked=True)
    if len(given) == 1:
        return setting
    limits = _table(given[1], name, where)
    _require_known(limits, LIMIT_KEYS, name, where)
    return _limited(one, setting, limits, name, where)


def _limited(one: Gate, setting: GateSetting, limits: Mapping[str, Any], name: str, where: str) -> GateSetting:
    useless = "max" if one.is_more_better else "min"
    if useless in limits:
        other = "min" if one.is_more_better else "max"
        raise UsageError(f"{name}: {where} takes no {useless}", hint=f"{one.id} is held to a {other}")
    most, least = (
        quantity(one, limits[key], name, f"{where}.{key}") if key in limits else None for key in ("max", "min")
    )
    margin = limits.get("margin")
    if margin is not None and (isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 <= margin < 10):
        raise _wrong(name, f"{where}.margin", margin, "a share like 0.05")
    return replace(setting, most=most, least=least, margin=margin)


def quantity(one: Gate, given: Any, name: str, where: str) -> float:
    """A limit of this gate, in its unit. Raises UsageError, in which `name` and `where` say what was read."""
    units = _UNITS.get(one.unit, {})
    if isinstance(given, str) and units:
        found = _QUANTITY.fullmatch(given.strip())
        if found is not None and found["unit"] in units:
            return float(found["number"]) * units[found["unit"]]
    # A bare number of a time or of memory is refused: nobody knows of what.
    is_plain = one.unit in (GateUnit.COUNT, GateUnit.SHARE, GateUnit.ERROR_SIZE)
    if is_plain and isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < float("inf"):
        return float(given)
    raise _wrong(name, where, given, _wanted(one.unit))


def _wanted(unit: GateUnit) -> str:
    match unit:
        case GateUnit.NS:
            return 'a time like "12.5 ms"'
        case GateUnit.BYTES:
            return 'an amount of memory like "4 GiB"'
        case GateUnit.SHARE:
            return 'a share like 0.3 or "30 %"'
        case GateUnit.COUNT | GateUnit.ERROR_SIZE:
            return "a number from 0"
        case _:
            assert_never(unit)


def _member(kind: type[E], given: Any, name: str, where: str) -> E:
    known = [member.value for member in kind]
    if given in known:
        return kind(given)
    raise _wrong(name, where, given, " or ".join((", ".join(known[:-1]), known[-1])), near=_near(given, known))


def _table(value: Any, name: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(name, where, value, "a table")
    return value


def _require_known(table: Mapping[str, Any], known: Iterable[str], name: str, where: str) -> None:
    names = list(known)
    for key in table:
        if key not in names:
            place = f" in {where}" if where else ""
            near = _near(key, names)
            raise UsageError(
                f"{name}: there is no {key!r}{place}",
                hint=f"did you mean {near}?" if near else f"there are {', '.join(names)}",
            )


def _wrong(name: str, where: str, given: Any, wanted: str, *, near: str | None = None) -> UsageError:
    return UsageError(
        f"{name}: {where} is {given!r}, and must be {wanted}", hint=f"did you mean {near}?" if near else None
    )


def _near(given: Any, known: Iterable[str]) -> str | None:
    return nearest(str(given), known)
