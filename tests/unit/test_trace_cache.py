"""Where read traces are kept: where the system has such things, and nowhere when asked not to."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.cli import main
from analyzer.trace_cache import FOLDER, LEAST_BYTES, cache_folder, reading_settings
from collectors.readers.kineto import read_trace
from tests.traces import Recording


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


def recorded(path: Path, padding: int = 0) -> Path:
    run = Recording()
    with run.step():
        run.launch("gemm", us=5)
        run.synchronize()
    run.save(path)
    if padding:
        path.write_bytes(path.read_bytes() + b" " * padding)
    return path


def test_it_is_the_user_s_cache(home: Path) -> None:
    assert cache_folder() == home / ".cache" / FOLDER


def test_xdg_s_folder_is_taken_where_it_is_absolute(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "elsewhere"))
    assert cache_folder() == home / "elsewhere" / FOLDER
    monkeypatch.setenv("XDG_CACHE_HOME", "elsewhere")
    assert cache_folder() == home / ".cache" / FOLDER


def test_a_mac_and_windows_have_their_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder() == home / "Library" / "Caches" / FOLDER
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(home / "Local"))
    assert cache_folder() == home / "Local" / FOLDER
    monkeypatch.delenv("LOCALAPPDATA")
    assert cache_folder() is None


def test_a_second_look_comes_from_it_and_is_the_same(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recorded(home / "big.json", padding=LEAST_BYTES)
    first = read_trace(path, reading_settings(keeps=True))
    assert len(list((home / ".cache" / FOLDER).iterdir())) == 1
    monkeypatch.setattr("collectors.readers.kineto._read", None)
    second = read_trace(path, reading_settings(keeps=True))
    assert second.names == first.names
    assert second.start_ns.tolist() == first.start_ns.tolist()


def test_small_files_and_whoever_asks_for_none_leave_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small, big = recorded(home / "small.json"), recorded(home / "big.json", padding=LEAST_BYTES)
    assert main([str(small)]) == 0
    assert main([str(big), "--no-cache"]) == 0
    assert main(["compare", str(big), str(big), "--no-cache"]) == 0
    assert not (home / ".cache").exists()
    assert main([str(big)]) == 0
    assert (home / ".cache" / FOLDER).is_dir()
    assert "gemm" not in capsys.readouterr().err
