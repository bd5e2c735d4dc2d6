"""`analyze doctor`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from analyzer import doctor
from analyzer.cli import main
from analyzer.core.device import VECTOR, Device, Peak, Versions
from analyzer.core.environment import Compiler, CounterRights, Installation
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
        peaks=(
            Peak("float32", 50e12),
            Peak("bfloat16", 740e12),
            Peak("float8_e4m3fn", 1.31e15),
            Peak("int8", 1.42e15),
            Peak(VECTOR, 61.5e12),
        ),
        memory_bytes_per_s=4.1e12,
        read_bytes_per_s=4.35e12,
        memory_bytes=150 * 10**9,
        l2_bytes=60 * 2**20,
        l2_bytes_per_s=5.9e12,
        empty_op_ns=2.9e3,
        launch_ns=4e3,
        empty_kernel_ns=1.3e3,
        launch_gap_ns=934.0,
        kernel_gap_ns=812.0,
        replay_ns=1.5e5,
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
        counters=CounterRights(ncu="/usr/local/cuda/bin/ncu", is_admin_only=False, is_admin=False),
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
        ({"devices": (_gpu(replay_ns=None),)}, "not measured on NVIDIA H200: cost of a replay", "doctor --renew"),
        ({"devices": (_gpu(l2_bytes_per_s=None),)}, "not measured on NVIDIA H200: L2 bandwidth", "doctor --renew"),
        ({"counters": CounterRights("ncu", True, False)}, "to administrators", "RestrictProfilingToAdminUsers=0"),
        ({"counters": CounterRights(None, False, False)}, "no ncu", "install Nsight Compute"),
        ({"missing_libraries": ("timm",)}, "timm is not installed", "pip install timm"),
        ({"missing_libraries": ("hta",)}, "traces of several ranks", 'pip install "graphbound[ranks]"'),
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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("float32 products", "50.0 TFLOP/s"),
        ("bfloat16 products", "740 TFLOP/s"),
        ("float8_e4m3fn products", "1.31 PFLOP/s"),
        ("int8 products", "1.42 POP/s"),
        ("float32 without products", "61.5 TFLOP/s"),
        ("memory, copying", "4.10 TB/s"),
        ("memory, reading", "4.35 TB/s"),
        ("memory", "140 GiB"),
        ("L2 cache", "60.0 MiB"),
        ("L2 cache, reading", "5.90 TB/s"),
        ("an op without work", "2.90 µs"),
        ("one launch, host", "4.00 µs"),
        ("smallest kernel", "1.30 µs"),
        ("gap between launches", "934 ns"),
        ("gap in a CUDA graph", "812 ns"),
        ("one graph replay", "150 µs"),
        ("triton", "3.6.0"),
        ("driver", "570.1"),
    ],
)
def test_the_page_shows_every_number_with_its_unit_in_one_column(name: str, value: str) -> None:
    assert f"  {name:<26}{value}" in render(_installed()).splitlines()


def test_the_page_says_measured_and_what_was_noted() -> None:
    page = render(_installed(devices=(_gpu(notes=("no int8 products: refused",)),)))
    assert "NVIDIA H200 (cuda), measured" in page
    assert "note: no int8 products: refused" in page


def test_a_cpu_is_shown_with_its_last_cache_and_without_launches() -> None:
    page = render(_installed(devices=(_gpu(kind="cpu", threads=8),)))
    assert "(cpu, 8 threads), measured" in page
    assert "last-level cache" in page
    assert "launch" not in page


def test_what_is_optional_is_not_called_missing() -> None:
    checks = diagnose(_installed(missing_libraries=("timm", "transformers", "torchvision", "hta")))
    assert [check.outcome for check in checks if check.outcome is not Outcome.OK] == [Outcome.OPTIONAL] * 4


def test_a_driver_that_does_not_say_who_may_read_counters_is_quoted_so() -> None:
    texts = [check.text for check in diagnose(_installed(counters=CounterRights("ncu", None, None)))]
    assert any("does not say" in text for text in texts)


@pytest.mark.parametrize("renew", [False, True])
def test_renewing_is_asked_of_the_child(monkeypatch: pytest.MonkeyPatch, renew: bool) -> None:
    asked: list[tuple[str, ...]] = []

    def examine(command: tuple[str, ...]) -> Installation:
        asked.append(command)
        return _installed()

    monkeypatch.setattr(doctor, "_examine_in_child", examine)
    run_doctor(Heard(), renew=renew)
    assert [("--renew" in command) for command in asked] == [renew]


def test_a_hostile_name_neither_widens_nor_colours_the_page() -> None:
    hostile = "\x1b[31m" + "wide " * 60 + "x" * 200
    found = _installed(
        compiler=Compiler(hostile, hostile),
        cuda_problem=hostile,
        devices=(_gpu(name=hostile, notes=(hostile,)),),
        counters=CounterRights(hostile, False, True),
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
    for name in ("float32 products", "float32 without products", "memory, reading", "last-level cache"):
        assert name in page
    assert "is supported" in page
    assert page.endswith("\nanalyze demo\n")
    # Kept, unless somebody else kept this machine busy: then the page says so.
    assert list((tmp_path / "graphbound").glob("device-*.json")) or "other programs kept" in page


@pytest.mark.parametrize(("flags", "renew"), [((), False), (("--renew",), True)])
def test_the_command_hands_its_flag_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], renew: bool
) -> None:
    asked: list[bool] = []

    def run(progress: object, *, renew: bool) -> str:
        asked.append(renew)
        return "the page\n\n"

    monkeypatch.setattr(doctor, "run_doctor", run)
    assert main(["doctor", "-q", *flags]) == 0
    assert asked == [renew]
    assert capsys.readouterr().out == "the page\n"


def test_asking_the_doctor_imports_no_torch() -> None:
    program = "import sys, analyzer.doctor; sys.exit('torch' in sys.modules)"
    assert subprocess.run((sys.executable, "-c", program), check=False).returncode == 0
