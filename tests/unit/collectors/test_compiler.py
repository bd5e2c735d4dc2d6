"""The C++ compiler that Inductor would take."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
import torch._inductor.config

from collectors.compiler import find_compiler, inductor_compilers


def _program(folder: Path, text: str, name: str = "cxx") -> str:
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o700)
    return str(path)


def test_the_first_compiler_that_runs_is_taken(tmp_path: Path) -> None:
    good = _program(tmp_path, "print('cxx 12.2\\nmore')")
    bad = _program(tmp_path, "raise SystemExit(1)", name="bad")
    found = find_compiler((None, str(tmp_path / "absent"), bad, good))
    assert found is not None
    assert (found.command, found.version) == (good, "cxx 12.2")


def test_a_compiler_that_says_nothing_is_one_still(tmp_path: Path) -> None:
    found = find_compiler((_program(tmp_path, "pass"),))
    assert found is not None
    assert found.version is None


@pytest.mark.parametrize("commands", [(), (None,), ("",), ("no such program",), ("nul\0byte",)])
def test_where_none_runs_there_is_none(commands: tuple[str | None, ...]) -> None:
    assert find_compiler(commands) is None


def test_inductors_own_choice_follows_its_configuration() -> None:
    # Not by monkeypatch: what it puts back on a part of torch's configuration is gone afterwards.
    with torch._inductor.config.patch({"cpp.cxx": (None, "some-cxx")}):
        assert inductor_compilers() == (None, "some-cxx")
    with torch._inductor.config.patch({"cpp.cxx": "one-cxx"}):
        assert inductor_compilers() == ("one-cxx",)
