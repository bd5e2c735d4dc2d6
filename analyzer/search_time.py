"""How long the search may take: what the user said, or in proportion to what one plain use of torch.compile takes."""

from __future__ import annotations

from typing import Final

from analyzer.core.quantities import NS_PER_S
from analyzer.core.settings import RunSettings
from analyzer.measured import Measured

MOST_TIMES_PLAIN: Final = 4.0
"""The whole of `analyze`, over a cold start of the same model with torch.compile's defaults: loading it, its first
call, and its warm-up. The promise of issue 4 for a model of one graph."""

LEAST_S: Final = 20.0
"""Of search, however fast the model compiles: one more compilation and a handful of trials of a small model."""

MORE_GRAPHS_S: Final = 18.0
"""For each graph beyond the first: four trials of three seconds, and one candidate that takes some to compile. A model
of several graphs is compiled no more often for it, but each is tried alone."""

VERIFY_S: Final = 9.0
"""What measuring the plan takes at the end beside compiling it: four seconds of samples in turn, two clean passes, a
trace. For that, a C++ wrapper on a CPU is built once more: 3 to 5 s for BERT and GPTlite in small, on two cores."""

RECOMPILE_SHARE: Final = 0.3
"""Of the first compilation, what compiling the plan takes with its kernels in torch's cache. Of six models of one graph
on an H200 verifying took 7 to 11 s where the default compiles in 9 to 20 s, 18 and 23 s where it does in 45."""

LOADING: Final = "loading the model"
"""The stage of the run that a plain program would have as well."""


def search_seconds(settings: RunSettings, measured: Measured) -> float | None:
    """Seconds of wall time for the search, from now on; None where the user named what is to be tried, and no time."""
    if settings.budget_s is not None:
        return settings.budget_s
    if settings.candidates:
        return None
    spent_s = sum(stage.ns for stage in measured.stages) / NS_PER_S
    reserved_s = VERIFY_S + RECOMPILE_SHARE * compile_seconds(measured)
    more_s = MORE_GRAPHS_S * max(0, len(measured.digests) - 1)
    left_s = MOST_TIMES_PLAIN * plain_seconds(measured) - spent_s - reserved_s
    return max(LEAST_S, left_s) + more_s


def plain_seconds(measured: Measured) -> float:
    """A cold start with torch.compile's defaults until steady state: the model is loaded, compiled and warmed up."""
    return loading_seconds(measured) + compile_seconds(measured)


def loading_seconds(measured: Measured) -> float:
    return sum(stage.ns for stage in measured.stages if stage.name == LOADING) / NS_PER_S


def compile_seconds(measured: Measured) -> float:
    """The first call of the default and the steps until nothing is compiled any more."""
    return sum(measured.timing.warmup_ns) / NS_PER_S if measured.timing is not None else 0.0
