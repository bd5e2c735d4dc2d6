"""The last cache before memory, from a folder like the kernel's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collectors.device_cpu_cache import last_level_bytes

MIB = 2**20


def _cpu(root: Path, cpu: int, *caches: tuple[str, str, str, str]) -> None:
    for index, (level, kind, size, shared) in enumerate(caches):
        folder = root / f"cpu{cpu}" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, text in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)):
            (folder / name).write_text(f"{text}\n")


def _inner(cpu: int) -> tuple[tuple[str, str, str, str], ...]:
    return (
        ("1", "Data", "32K", str(cpu)),
        ("1", "Instruction", "32K", str(cpu)),
        ("2", "Unified", "512K", str(cpu)),
    )


@pytest.fixture
def epyc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four cores, two for each 32 MiB of third level."""
    for cpu in range(4):
        _cpu(tmp_path, cpu, *_inner(cpu), ("3", "Unified", "32768K", "0-1" if cpu < 2 else "2-3"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    return tmp_path


@pytest.mark.parametrize(("threads", "expected"), [(1, 32 * MIB), (2, 64 * MIB), (4, 64 * MIB)])
def test_threads_reach_as_many_caches_as_there_are_of_either(epyc: Path, threads: int, expected: int) -> None:
    assert last_level_bytes(threads, epyc) == expected


def test_caches_of_forbidden_cpus_do_not_count(epyc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    assert last_level_bytes(4, epyc) == 32 * MIB


def test_without_a_third_level_the_second_is_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _cpu(tmp_path, 0, *_inner(0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0}, raising=False)
    assert last_level_bytes(1, tmp_path) == MIB // 2


@pytest.mark.parametrize(
    "caches",
    [
        (),
        (("1", "Instruction", "32K", "0"),),
        (("3", "Unified", "much", "0"),),
        (("three", "Unified", "32K", "0"),),
        (("3", "Unified", "0K", "0"),),
    ],
    ids=["none", "instructions only", "no size", "no level", "zero"],
)
def test_what_the_system_does_not_say_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caches: tuple[tuple[str, str, str, str], ...]
) -> None:
    _cpu(tmp_path, 0, *caches)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0}, raising=False)
    assert last_level_bytes(1, tmp_path) is None


def test_without_the_folder_it_is_unknown(tmp_path: Path) -> None:
    assert last_level_bytes(1, tmp_path / "none") is None


def test_megabytes_are_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _cpu(tmp_path, 0, ("3", "Unified", "96M", "0"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0}, raising=False)
    assert last_level_bytes(1, tmp_path) == 96 * MIB
