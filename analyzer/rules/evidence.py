"""What several rules ask of the facts first, and what is said when it was not recorded."""

from __future__ import annotations

from analyzer.core.environment import Environment
from analyzer.core.graphs import Capture
from analyzer.core.report import WorkloadFacts
from analyzer.rules.facts import Facts, RegionFacts
from analyzer.rules.rule import MissingData


def capture_of(facts: Facts) -> Capture:
    if facts.capture is None:
        raise MissingData("the graphs were not captured: run analyze on the model itself")
    return facts.capture


def workload_of(facts: Facts) -> WorkloadFacts:
    if facts.workload is None:
        raise MissingData("the workload is not known: run analyze on the model itself")
    return facts.workload


def environment_of(facts: Facts) -> Environment:
    if facts.environment is None:
        raise MissingData("torch's settings were not recorded: run analyze on the model itself")
    return facts.environment


def regions_of(facts: Facts) -> tuple[RegionFacts, ...]:
    if not facts.regions:
        raise MissingData("no graph or eager gap was measured: run analyze on the model itself")
    return facts.regions
