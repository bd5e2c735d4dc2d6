"""The last line of a report is what to type next, and can be pasted."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analyzer.commands import analyze
from analyzer.core.settings import DimRange, Export, Mode, Objective, RunSettings, WorkloadSpec
from analyzer.measured import Measured
from analyzer.next_command import DOCTOR, IN_PYTHON, again, next_command
from tests.unit.fake_driver import STEP_NS, a_capture, facts
from tests.unit.optimizers.fake_lab import around

HOSTILE = "my  model's $HOME.py"
SETTINGS = RunSettings(WorkloadSpec(HOSTILE), out="runs/a b")
FOLDER = Path("runs/a  b")


def diagnosed() -> Measured:
    before: Any = SimpleNamespace()
    return Measured(facts=facts(), eager_ns=around(STEP_NS), capture=a_capture(), before=before)


def test_a_run_with_a_diagnosis_is_looked_at() -> None:
    assert next_command(SETTINGS, diagnosed(), FOLDER) == "analyze dashboard 'runs/a  b'"
    assert shlex.split(next_command(SETTINGS, diagnosed(), Path("-x"))) == ["analyze", "dashboard", "./-x"]


def test_a_run_whose_folder_is_temporary_says_how_to_keep_one() -> None:
    assert next_command(replace(SETTINGS, out=None, isolate=False), diagnosed(), FOLDER) == IN_PYTHON


def test_a_run_that_was_cut_off_is_run_again_and_no_doctor_is_called() -> None:
    begun = Measured(facts=facts(), eager_ns=around(STEP_NS))
    command = next_command(SETTINGS, begun, FOLDER, is_interrupted=True)
    assert shlex.split(command) == ["analyze", HOSTILE]
    assert shlex.split(next_command(SETTINGS, Measured(facts=facts()), FOLDER)) == ["analyze", HOSTILE]
    captured = replace(begun, capture=a_capture())
    assert shlex.split(next_command(SETTINGS, captured, FOLDER)) == ["analyze", HOSTILE]


def test_where_the_default_did_not_compile_the_doctor_says_whether_anything_can() -> None:
    assert next_command(SETTINGS, Measured(facts=facts(), eager_ns=around(STEP_NS)), FOLDER) == DOCTOR


def parsed(command: str) -> RunSettings:
    parser = argparse.ArgumentParser()
    analyze.add_arguments(parser)
    program, *words = shlex.split(command)
    assert program == "analyze"
    arguments = parser.parse_args(words)
    (arguments.target,) = arguments.targets
    return analyze.run_settings(arguments, datetime(2026, 1, 1))


@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS,
        RunSettings(WorkloadSpec("a.py", ranges=(DimRange(0, 0, 1, 64), DimRange("mask", 1, 2, 9)))),
        RunSettings(WorkloadSpec("timm:resnet18", batch=4, dtype="bfloat16", shape=(1, 3, 224, 224))),
        RunSettings(WorkloadSpec("-x.py", entry="make it", mode=Mode.TRAINING, device="cpu"), optimize=False),
        RunSettings(
            WorkloadSpec("m.py"),
            compile_timeout_s=33.5,
            candidates=("eager", "cuda_graphs"),
            isolate=False,
            budget_s=90.5,
            objective=Objective.MEMORY,
            memory_limit_bytes=3 * 2**30 + 1,
            backends=("a b", "tvm"),
            allow=("tf32", "bf16"),
            plan="old plans/plan.json",
            export=Export.AOTI,
        ),
    ],
)
def test_the_same_run_again_has_the_same_settings(settings: RunSettings) -> None:
    found = parsed(again(settings))
    target = "./-x.py" if settings.workload.target == "-x.py" else settings.workload.target
    workload = replace(settings.workload, target=target)
    assert replace(found, out=None) == replace(settings, out=None, workload=workload)
