"""The list of gates. A new one is one reading, one line here, one test."""

from __future__ import annotations

from typing import Final, assert_never

from analyzer.core.gate import GateLevel, GateUnit
from analyzer.core.policy import Preset
from analyzer.gate import readings
from analyzer.gate.reading import Gate, Needs, Reading, Subject, inapplicable

CODE_MARGIN: Final = 0.1
"""Of the generated code: names and constants in it change with a refactoring that changes no kernel."""

MEMORY_MARGIN: Final = 0.05
"""torch's allocator rounds to 512 bytes, 2 MiB and 20 MiB blocks: the order of allocations moves the peak a little."""

STARVED_MARGIN: Final = 0.1
"""Of the step, added and not multiplied: a share from two passes, of which one has a profiler in it."""


def _appeared(subject: Subject) -> Reading:
    return Reading(float(len(subject.report.findings)))


def _by_its_name(subject: Subject) -> Reading:
    return inapplicable("it is told by the names of the stored models")


GATES: Final[tuple[Gate, ...]] = (
    # A cause before what follows from it: of equals, the first is the headline.
    Gate(
        "graph_breaks", "graph break", "graph breaks", GateUnit.COUNT, Needs.GRAPHS, GateLevel.ERROR,
        readings.graph_breaks, ("graph_break",),
        doc="where capture stops, each place once for each chain of calls to it",
    ),
    Gate(
        "graphs", "graph", "graphs", GateUnit.COUNT, Needs.GRAPHS, GateLevel.ERROR, readings.graphs, ("graph_break",),
        doc="different graphs that Dynamo captured",
    ),
    Gate(
        "recompiles", "recompile", "recompiles", GateUnit.COUNT, Needs.GRAPHS, GateLevel.ERROR, readings.recompiles,
        ("recompilation", "recompile_limit"), doc="how often a guard failed and a frame was compiled again",
    ),
    Gate(
        "cudagraph_refusals", "refused CUDA graph", "refused CUDA graphs", GateUnit.COUNT, Needs.GRAPHS,
        GateLevel.ERROR, readings.cudagraph_refusals, ("cudagraph_skip",),
        doc="graphs that torch will not run as a CUDA graph", revision=2,
    ),
    Gate(
        "new_findings", "new finding", "new findings", GateUnit.COUNT, Needs.GRAPHS, GateLevel.WARN, _appeared,
        doc="findings that the baseline does not have, of rules that need no clock",
    ),
    Gate(
        "renamed_model", "renamed model", "renamed models", GateUnit.COUNT, Needs.GRAPHS, GateLevel.ERROR, _by_its_name,
        doc="no stored values, while those of a model whose file is gone are there",
    ),
    Gate(
        "kernels", "kernel a step", "kernels a step", GateUnit.COUNT, Needs.STEPS, GateLevel.ERROR, readings.kernels,
        ("many_small_kernels", "graph_break", "unfused_chain"), doc="kernels of a recorded step",
    ),
    Gate(
        "host_syncs", "host sync a step", "host syncs a step", GateUnit.COUNT, Needs.STEPS, GateLevel.ERROR,
        readings.host_syncs, ("host_sync", "graph_break"), doc="how often a step waits for the device",
    ),
    Gate(
        "plan_coverage", "of the graphs in the plan", "of the graphs in the plan", GateUnit.SHARE, Needs.GRAPHS,
        GateLevel.ERROR, readings.plan_coverage, is_more_better=True,
        doc="the share of a step's graphs for which the plan names a candidate",
    ),
    Gate(
        "generated_code", "of generated code", "of generated code", GateUnit.BYTES, Needs.GRAPHS, GateLevel.WARN,
        readings.generated_code, margin=CODE_MARGIN, doc="what Inductor wrote, without comments and paths",
    ),
    Gate(
        "accuracy", "of the allowed error", "of the allowed error", GateUnit.ERROR_SIZE, Needs.STEPS, GateLevel.ERROR,
        readings.accuracy, ("compile_changes_results",), doc="the error of the results over what is allowed",
    ),
    Gate(
        "step_time", "a step", "a step", GateUnit.NS, Needs.CLOCK, GateLevel.ERROR, readings.step_time,
        doc="the time of a step, without the profiler",
    ),
    Gate(
        "starved_share", "of the step starved", "of the step starved", GateUnit.SHARE, Needs.CLOCK, GateLevel.WARN,
        readings.starved_share, margin=STARVED_MARGIN, doc="the share of a step in which the device waits for the host",
    ),
    Gate(
        "peak_memory", "of peak memory", "of peak memory", GateUnit.BYTES, Needs.CLOCK, GateLevel.ERROR,
        readings.peak_memory, margin=MEMORY_MARGIN, doc="the most that was allocated, pools of CUDA graphs included",
    ),
    Gate(
        "compile_time", "of compiling", "of compiling", GateUnit.NS, Needs.CLOCK, GateLevel.WARN,
        readings.compile_time, doc="what compiling with torch's defaults took",
    ),
)  # fmt: skip


def gate(gate_id: str) -> Gate:
    """Raises KeyError for an id that is not in the list."""
    found = next((one for one in GATES if one.id == gate_id), None)
    if found is None:
        raise KeyError(gate_id)
    return found


def level_of(one: Gate, preset: Preset) -> GateLevel:
    match preset:
        case Preset.RECOMMENDED:
            return one.recommended
        case Preset.STRICT:
            return GateLevel.ERROR
        case Preset.OFF:
            return GateLevel.OFF
        case _:
            assert_never(preset)
