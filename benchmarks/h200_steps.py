"""What is still to be measured on an H200, the most important first. Names commands, and runs none of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TESTS_S: Final = 150.0
"""The tests of tests/gpu took 87 s there when they were fewer."""

COUNTERS_S: Final = 330.0
INTERVENTIONS_S: Final = 280.0
CASES_S: Final = 540.0
"""The default budgets of these recordings."""

PLANS_S: Final = 540.0
"""One model may take two calls: what it has by then is kept."""

LEAST_S: Final = 60.0
"""Nothing is begun with less: importing torch, loading and compiling from a cache take most of it."""


@dataclass(frozen=True, slots=True)
class Site:
    """`work` is the folder of a step's group, `cases` that of the cases, None where there is none."""

    work: Path
    device: str
    cases: Path | None


Command = Callable[[Site, float], list[str]]
"""The arguments of Python for a step that is given so many seconds."""


@dataclass(frozen=True, slots=True)
class Step:
    """`group` is the folder that its results go to, shared by those of one benchmark.

    It is not begun with less than `least_s` left, and given no more than `most_s`. `resumes`: what it has not reached
    within its time, a later call goes on with.
    """

    name: str
    group: str
    command: Command
    most_s: float
    least_s: float = LEAST_S
    resumes: bool = False


def _plans(model: str) -> Step:
    def command(site: Site, seconds: float) -> list[str]:
        run = ["-m", "benchmarks.plans", "run", "--models", model, "--device", site.device]
        run += ["--budget-s", f"{seconds:.0f}", "--out", str(site.work / "plans_measured.json")]
        return [*run, "--work", str(site.work)]

    return Step(f"plans.{model}", "plans", command, PLANS_S, resumes=True)


def _third_counters(site: Site, seconds: float) -> list[str]:
    return [*_record("counters", site, seconds), "--set", "third", "--out", str(site.work)]


def _known_interventions(site: Site, seconds: float) -> list[str]:
    """The golden as the recording that it was cut from, so that only what is missing in it is run."""
    load = "tests.golden.interventions_h200.load"
    return ["-m", load, "tests/golden/interventions_ahead_h200", str(site.work)]


def _with_cases(part: str) -> Command:
    def command(site: Site, seconds: float) -> list[str]:
        cases = ["--cases", str(site.cases)] if site.cases is not None else []
        return [*_record(part, site, seconds), "--into", str(site.work), *cases]

    return command


def _record(part: str, site: Site, seconds: float) -> list[str]:
    run = ["-m", "benchmarks.verdicts", "record", part]
    return [*run, "--device", site.device, "--budget-s", f"{seconds:.0f}"]


def _tests(site: Site, seconds: float) -> list[str]:
    return ["-m", "pytest", "tests/gpu", "-q", "-p", "no:cacheprovider"]


STEPS: Final = (
    _plans("gptlite"),
    _plans("mixed_graphs"),
    _plans("granite"),
    _plans("gptlite_train"),
    Step("counters.third", "counters", _third_counters, COUNTERS_S, least_s=COUNTERS_S),
    Step("interventions.known", "interventions", _known_interventions, LEAST_S),
    Step("interventions", "interventions", _with_cases("interventions"), INTERVENTIONS_S, resumes=True),
    Step("tests", "tests", _tests, TESTS_S),
    *map(_plans, ("ten_graphs", "mobilenet_v2_1", "granite_decode", "mlp_3x8192", "bert", "vit", "resnet50")),
    *map(_plans, ("gptlite_128", "mlp_2048x256", "mobilenet_v2_32", "lstm")),
    Step("cases", "cases", _with_cases("cases"), CASES_S, resumes=True),
)
"""Runs of `plans` leave each model's run folder beside its figures: the goldens of Granite and of a training run are
made of these (`python -m tests.golden.record`)."""


def python(step: Step, site: Site, seconds: float) -> list[str]:
    return [sys.executable, *step.command(site, seconds)]
