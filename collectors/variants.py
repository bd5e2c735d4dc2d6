"""Calls a compiled workload on further inputs, for what torch does when they change. Times nothing."""

from __future__ import annotations

import time
from typing import Any, Final

from analyzer.core.quantities import counted
from collectors.capture import GraphLog
from collectors.state import State
from collectors.step import Stepper
from collectors.user_errors import describe
from collectors.workload import Workload

MOST_VARIANTS_S: Final = 120.0
"""Wall time after which no further set is begun: as long as warming up may take."""


def run_variants(workload: Workload, model: Any, state: State, log: GraphLog) -> str:
    """One step of `model` on each of the workload's variants in their order, with `log` listening.

    Ends at the first that raises. The state is put back afterwards. Returns a sentence on what was run.
    """
    deadline = time.monotonic() + MOST_VARIANTS_S
    graphs_before, wanted, ran, ended = log.compiles, len(workload.variants), 0, ""
    try:
        with log.listening():
            for inputs in workload.variants:
                if time.monotonic() > deadline:
                    ended = f"; then {MOST_VARIANTS_S:.0f} s were over"
                    break
                Stepper(workload.on(inputs), model, state).timed()
                ran += 1
    except Exception as error:  # further inputs may fail; what was found for the first stands
        ended = f"; number {ran + 1} failed: {describe(error)}"
    finally:
        state.restore()
    compiled = log.compiles - graphs_before
    graphs = "no further graph" if not compiled else counted(compiled, "more graph")
    return (
        f"get_input_variants: {ran} of {wanted} sets of inputs were run once each after the measurements, and torch "
        f"compiled {graphs} for them{ended}; every figure is for the first inputs"
    )
