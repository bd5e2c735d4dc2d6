"""`plan.to_source()`: a plan as plain Python with torch alone, for whoever deploys without Graphbound."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Final

from analyzer.core.graphs import Direction
from analyzer.core.plan import Plan
from analyzer.core.quantities import counted, durations, ratio_with_interval
from optimizers.candidates.base import QUANTIZING, Candidate
from optimizers.candidates.fused import FUSED
from optimizers.plan_candidates import chosen_candidates
from optimizers.source_text import gathered, import_block

Chosen = Mapping[tuple[str, Direction], Candidate]

_FOR_PEOPLE: Final = frozenset(
    {
        "title",
        "axis",
        "devices",
        "since",
        "lacking",
        "excludes",
        "joins",
        "whole_of",
        "caveat",
        "is_dear",
        "parts",
        "tunes_products",
    }
)
"""What of a candidate no compilation asks for."""

_SETTINGS_ALONE: Final = _FOR_PEOPLE | {
    *("id", "patches", "directions", "is_eager"),
    *("uses_cuda_graphs", "uses_cpp_wrapper", "needs_same_forward"),
}
"""A candidate that differs from the default in nothing else is had by Inductor's settings."""

_BY_SETTINGS: Final = '''def compile_candidate(
    gm: GraphModule, inputs: Sequence[Any], forward: Candidate, backward: Candidate, watch: CompileHooks
) -> Callable[..., Any]:
    """`gm` compiled, called as it is."""
    if forward.is_eager:
        return gm.forward
    inner = _inner(forward, backward, watch)
    return torch_compat.compile_graph(gm, inputs, patches=dict(forward.patches), inner=inner)'''
"""In place of `compile_candidate` where settings are all there is: what bakes weights in is then left out."""

_UNCHANGED: Final = '''def changed_graph(gm: GraphModule, changes: Iterable[str]) -> GraphModule:
    """As it is: no candidate of this plan changes what a graph computes."""
    return gm'''

_NOT_QUANTIZED: Final = '''def quantize_linears(graph: GraphModule, change: str) -> GraphModule:
    """As it is: no candidate of this plan has eight bits."""
    return graph'''
_NO_MATVECS: Final = '''def fuse_matvecs(gm: GraphModule) -> int:
    """As it is: no candidate of this plan rewrites products."""
    return 0'''
"""In place of what changes graphs, in a plan without: it is as long as all the rest."""

_OPTIMIZE: Final = '''def optimize(model: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.compile(model)`, each graph under the candidate that the plan chose for it."""
    return torch.compile(model, backend=ReportingBackend(CHOICES, DEFAULT, "this plan"))'''


def source_of(plan: Plan) -> str:
    """A module with one public function, `optimize(model)`, that compiles as the plan does.

    It imports torch and the standard library alone. Where one candidate holds for all graphs and is had by settings,
    it is a call of `torch.compile`; elsewhere a backend that recognises the graphs by their digest, in the very text
    that `analyzer.optimize` runs. Raises UsageError where the plan names a candidate that is not known here.
    """
    chosen = chosen_candidates(plan)
    body = _call_of_compile(plan, chosen) or _backend(chosen)
    return f'"""{_docstring(plan)}"""\n\nfrom __future__ import annotations\n\n{body}\n'


def _docstring(plan: Plan) -> str:
    graphs = counted(len(plan.choices), "graph")
    lines = [f"A plan of Graphbound for {graphs}, made on {plan.device} with torch {plan.versions.torch}."]
    if plan.figures is not None:
        figures = plan.figures
        step = durations((figures.default_ns, figures.plan_ns))
        gain = ratio_with_interval(figures.ratio, figures.low, figures.high)
        lines.append(f"A step under torch.compile's default and under this plan, taken in turn: {step}, {gain}.")
    lines += [f"{caveat[0].upper()}{caveat[1:]}." for caveat in plan.caveats if caveat]
    text = "\n\n".join([lines[0], "\n".join(lines[1:])] if lines[1:] else lines)
    # The device and the notes are text from a file, and may hold anything.
    plain = "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
    return plain.replace("\\", "\\\\").replace('"', "'") + ("\n" if len(lines) > 1 else "")


def _call_of_compile(plan: Plan, chosen: Chosen) -> str | None:
    """The short form, None where there is none."""
    if not plan.is_compiled:
        return _short("return model", "The model itself: torch.compile does not help it.")
    candidate, *others = _each_once(chosen) or [FUSED]
    if others:
        return None
    if candidate.is_eager:
        return _short('return torch.compile(model, backend="eager")', "Every graph as captured, without a compiler.")
    if candidate.backend is not None and _differs_in(candidate, _SETTINGS_ALONE | {"backend"}):
        return None
    if candidate.backend is not None:
        return _short(
            f"return torch.compile(model, backend={_value(candidate.backend)})", "Every graph by one backend."
        )
    # A backward with the C++ wrapper needs settings of its own around its compilation, which comes later.
    has_backward = any(direction is not Direction.INFERENCE for _, direction in chosen)
    if _differs_in(candidate, _SETTINGS_ALONE) or (candidate.uses_cpp_wrapper and has_backward):
        return None
    options = "".join(f"    {_value(name)}: {_value(value)},\n" for name, value in candidate.patches)
    does = _short("return torch.compile(model, options=OPTIONS)", f"Every graph under {candidate.id}.")
    return does.replace("\n\n\ndef", f"\n\nOPTIONS = {{\n{options}}}\n\n\ndef", 1)


def _short(statement: str, does: str) -> str:
    return (
        "from collections.abc import Callable\nfrom typing import Any\n\nimport torch\n\n\n"
        "def optimize(model: Callable[..., Any]) -> Callable[..., Any]:\n"
        f'    """{does}"""\n    {statement}'
    )


def _differs_in(candidate: Candidate, allowed: Iterable[str]) -> bool:
    """Whether a candidate differs from the default of its type in any field but those allowed."""
    return any(getattr(candidate, f.name) != f.default for f in fields(candidate) if f.name not in frozenset(allowed))


def _backend(chosen: Chosen) -> str:
    candidates = [FUSED, *(one for one in _each_once(chosen) if one.id != FUSED.id)]
    instead = {"Candidate": _candidate_class()}
    types = gathered((("optimizers.candidates.base", "Candidate"),), instead=instead)
    if not any(_differs_in(candidate, _SETTINGS_ALONE) for candidate in candidates):
        instead["compile_candidate"] = _BY_SETTINGS
    changes = {change for candidate in candidates for change in candidate.changes}
    if not changes:
        instead["changed_graph"] = _UNCHANGED
    if not changes.intersection(QUANTIZING):
        instead["quantize_linears"] = _NOT_QUANTIZED
    if not any(candidate.fuses_matvecs for candidate in candidates):
        instead["fuse_matvecs"] = _NO_MATVECS
    rest = gathered((("optimizers.plan_backend", "ReportingBackend"),), types.names, instead)
    names = {candidate.id: f"CANDIDATE_{number}" for number, candidate in enumerate(candidates)}
    made = "\n".join(f"{names[candidate.id]} = {_made(candidate)}" for candidate in candidates)
    choices = "".join(
        f"    ({_value(d)}, Direction.{way.name}): {names[one.id]},\n" for (d, way), one in chosen.items()
    )
    data = f"{made}\n\nDEFAULT = {names[FUSED.id]}\nCHOICES = {{\n{choices}}}"
    imports = import_block({*types.imports, *rest.imports, ("torch", None)})
    return "\n\n\n".join((imports, types.text, data, rest.text, _OPTIMIZE))


def _each_once(chosen: Chosen) -> list[Candidate]:
    # Not a set: settings may hold a dict.
    return list({candidate.id: candidate for candidate in chosen.values()}.values())


def _candidate_class() -> str:
    wanted = [f for f in fields(Candidate) if f.name not in _FOR_PEOPLE]
    lines = [f"    {f.name}: {f.type}" + ("" if f.default is MISSING else f" = {_value(f.default)}") for f in wanted]
    return (
        '@dataclass(frozen=True, slots=True)\nclass Candidate:\n    """One configuration for one graph: `patches` are '
        'settings of Inductor."""\n\n' + "\n".join(lines)
    )


def _made(candidate: Candidate) -> str:
    differing = [f.name for f in fields(candidate) if f.name not in _FOR_PEOPLE and f.name != "patches"]
    given = [
        f"    {name}={_value(getattr(candidate, name))},"
        for name in differing
        if getattr(candidate, name) != Candidate.__dataclass_fields__[name].default
    ]
    patches = "".join(f"        {_value(patch)},\n" for patch in candidate.patches)
    given += [f"    patches=(\n{patches}    ),"] if patches else []
    return "Candidate(\n" + "\n".join(given) + "\n)"


def _value(value: object) -> str:
    """As source, in double quotes."""
    match value:
        case dict():
            return "{" + ", ".join(f"{_value(key)}: {_value(one)}" for key, one in value.items()) + "}"
        case Direction():
            return f"Direction.{value.name}"
        case str():
            return json.dumps(value)
        case tuple():
            inner = ", ".join(_value(one) for one in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case _:
            return repr(value)
