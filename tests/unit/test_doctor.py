"""`analyze doctor`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from analyzer import doctor
from analyzer.core.device import Device, Versions
from analyzer.core.environment import Compiler, Installation
from analyzer.doctor import Outcome, diagnose, render, run_doctor
from tests.rule_facts import a_device, an_environment


class Heard:
    """A progress that keeps the stages, and does not foresee anything else."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, name: str) -> None:
        self.stages.append(name)

    def step(self, done: int, total: int, note: str = "") -> None:
        raise AssertionError("no step was foreseen")

    def note(self, text: str) -> None:
        raise AssertionError("no note was foreseen")

    def close(self) -> None:
        raise AssertionError("the caller closes its progress")


def _gpu(**changes: Any) -> Device:
    device = a_device(
        memory_bytes_per_s=4.1e12, launch_ns=4e3, empty_kernel_ns=1.3e3, kernel_gap_ns=812.0, replay_ns=1.5e5
    )
    return replace(device, **changes)


def _installed(**changes: Any) -> Installation:
    found = Installation(
        versions=Versions("0.1.0", "3.11.7", "2.11.0", triton="3.6.0", cuda="12.8", driver="570.1", platform="Linux"),
        is_supported=True,
        oldest_torch="2.11",
        compiler=Compiler("g++", "g++ 12.2.0"),
        cuda_problem=None,
        sees_kernels=True,
        devices=(_gpu(),),
        is_cached=False,
        environment=an_environment(),
    )
    return replace(found, **changes)


def test_a_machine_with_everything_needs_nothing() -> None:
    checks = diagnose(_installed())
    assert {check.outcome for check in checks} == {Outcome.OK}
    assert all(check.remedy is None for check in checks)


@pytest.mark.parametrize(
    ("changes", "text", "remedy"),
    [
        ({"is_supported": False}, "too old", "pip install 'torch>=2.11'"),
        ({"compiler": None}, "no C++ compiler", "CXX"),
        ({"cuda_problem": "no NVIDIA driver"}, "no NVIDIA driver", "--device cpu"),
        ({"versions": Versions("0.1.0", "3.11", "2.11.0")}, "no triton", 'pip install "graphbound[gpu]"'),
        ({"sees_kernels": False}, "records no kernel", "--cap-add=SYS_ADMIN"),
        ({"environment": an_environment(threads=16, quota_cpus=3.5)}, "16 threads", "OMP_NUM_THREADS=3"),
        ({"devices": (_gpu(replay_ns=None),)}, "not measured on NVIDIA H200: cost of a replay", "run it again"),
    ],
)
def test_each_thing_missing_is_named_with_what_to_do(changes: dict[str, Any], text: str, remedy: str) -> None:
    (check,) = [check for check in diagnose(_installed(**changes)) if check.outcome is not Outcome.OK]
    assert text in check.text
    assert remedy in (check.remedy or "")


def test_without_a_gpu_nothing_is_said_of_triton_and_the_profiler() -> None:
    found = _installed(cuda_problem="none here", sees_kernels=None, versions=Versions("0", "3", "2.11"), devices=())
    texts = " ".join(check.text for check in diagnose(found))
    assert "triton" not in texts
    assert "profiler" not in texts


def test_the_page_shows_every_number_with_its_unit() -> None:
    page = render(_installed())
    for words in ("740 TFLOP/s", "4.10 TB/s", "812 ns", "150 µs", "1.30 µs", "3.6.0", "570.1"):
        assert words in page


def test_a_hostile_name_neither_widens_nor_colours_the_page() -> None:
    hostile = "\x1b[31m" + "wide " * 60 + "x" * 200
    found = _installed(
        compiler=Compiler(hostile, hostile),
        cuda_problem=hostile,
        devices=(_gpu(name=hostile),),
        versions=Versions(*[hostile] * 7),
    )
    page = render(found)
    assert "\x1b" not in page
    assert all(len(line) <= doctor.WIDTH for line in page.splitlines())


def test_without_torch_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    page = run_doctor(Heard())
    assert "torch is not installed" in page
    assert "pip install torch" in page


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import sys; sys.exit('ImportError: libtorch.so: no such file')", "exit code 1): ImportError: libtorch.so"),
        ("import os; os.abort()", "signal 6"),
        ("print('hello')", "something unexpected"),
        ("pass", "something unexpected"),
    ],
)
def test_a_child_that_fails_is_an_answer(monkeypatch: pytest.MonkeyPatch, program: str, words: str) -> None:
    check = doctor._examine_in_child((sys.executable, "-c", program))
    assert isinstance(check, doctor.Check)
    assert words in check.text


def test_a_child_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CHILD_TIMEOUT_S", 0.2)
    check = doctor._examine_in_child((sys.executable, "-c", "import time; time.sleep(60)"))
    assert isinstance(check, doctor.Check)
    assert "given up" in check.text


@pytest.mark.slow
def test_the_real_child_examines_this_machine(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    progress = Heard()
    page = run_doctor(progress)
    assert progress.stages == ["measuring this machine"]
    assert "float32 products" in page
    assert "is supported" in page
    assert page.endswith("\nanalyze demo\n")
    assert list((tmp_path / "graphbound").glob("device-*.json"))


def test_asking_the_doctor_imports_no_torch() -> None:
    program = "import sys, analyzer.doctor; sys.exit('torch' in sys.modules)"
    assert subprocess.run((sys.executable, "-c", program), check=False).returncode == 0
