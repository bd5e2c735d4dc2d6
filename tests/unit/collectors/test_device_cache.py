"""The cache of measured devices."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

from analyzer.core.device import Device, Peak, Source
from collectors.device_cache import METHOD, Identity, folder, load, store

IDENTITY = Identity(kind="cuda", name="NVIDIA H200", torch="2.11.0", triton="3.6.0", driver="570.1", threads=None)
DEVICE = Device(
    kind="cuda",
    name="NVIDIA H200",
    source=Source.MEASURED,
    peaks=(Peak("bfloat16", 7.4e14),),
    memory_bytes_per_s=4.1e12,
    l2_bytes=62_914_560,
    kernel_gap_ns=812.5,
    read_bytes_per_s=4.3e12,
    l2_bytes_per_s=5.9e12,
    launch_gap_ns=901.25,
    notes=("no int8 products: \x1b[31mµ",),
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "graphbound"


def _entry(cache: Path) -> Path:
    store(IDENTITY, DEVICE)
    (path,) = cache.iterdir()
    return path


def test_what_was_stored_is_loaded_to_the_last_digit() -> None:
    assert store(IDENTITY, DEVICE)
    assert load(IDENTITY) == DEVICE


@pytest.mark.parametrize("field", [field.name for field in fields(Identity)])
def test_another_machine_or_version_is_another_entry(field: str) -> None:
    store(IDENTITY, DEVICE)
    other = METHOD + 1 if field in ("threads", "method") else "other"
    assert load(replace(IDENTITY, **{field: other})) is None


def test_an_entry_of_an_older_method_is_renewed_and_not_trusted(cache: Path) -> None:
    """Whatever an older release left, even under the name that ours would have."""
    older = replace(IDENTITY, method=METHOD - 1)
    store(older, DEVICE)
    assert load(IDENTITY) is None
    (path,) = cache.iterdir()
    ours = _entry_of(cache, IDENTITY)
    ours.write_bytes(path.read_bytes())
    assert load(IDENTITY) is None
    store(IDENTITY, DEVICE)
    assert load(IDENTITY) == DEVICE


def _entry_of(cache: Path, identity: Identity) -> Path:
    before = set(cache.iterdir())
    store(identity, DEVICE)
    (path,) = set(cache.iterdir()) - before
    return path


def test_nothing_is_left_beside_the_entry(cache: Path) -> None:
    store(IDENTITY, DEVICE)
    store(IDENTITY, replace(DEVICE, kernel_gap_ns=900.0))
    assert len(list(cache.iterdir())) == 1
    assert load(IDENTITY) == replace(DEVICE, kernel_gap_ns=900.0)


def _write(text: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(text) and None  # type: ignore[func-returns-value]


def _edit(pattern: str, by: str) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        before = path.read_text()
        after = re.sub(pattern, by, before)
        assert after != before
        path.write_text(after)

    return edit


def _folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe_instead(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "spoil",
    [
        _write(b""),
        _write(b"{"),
        _write(b"null"),
        _write(b"\xff\xfe\x00"),
        _write(b"[" * 60_000),
        _write(b'{"identity":' + b'{"x":' * 10_000),
        _write(b" " * 10_000_000),
        _edit("740000000000000.0", "-1"),
        _edit("740000000000000.0", "0"),
        _edit("740000000000000.0", "1e999"),
        _edit("740000000000000.0", '"fast"'),
        _edit("measured", "invented"),
        _edit("NVIDIA H200", "NVIDIA H100"),
        _edit("812.5", "NaN"),
        _edit("5900000000000.0", "-5"),
        _edit("901.25", "0"),
        _folder_instead,
        _pipe_instead,
    ],
)
def test_a_spoilt_entry_is_no_entry(cache: Path, spoil: Callable[[Path], None]) -> None:
    spoil(_entry(cache))
    assert load(IDENTITY) is None


def test_a_spoilt_entry_is_replaced(cache: Path) -> None:
    _write(b"{")(_entry(cache))
    assert store(IDENTITY, DEVICE)
    assert load(IDENTITY) == DEVICE


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert not store(IDENTITY, DEVICE)
    assert load(IDENTITY) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_no_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert not store(IDENTITY, DEVICE)


def test_an_entry_that_cannot_be_replaced_leaves_no_rubbish(cache: Path) -> None:
    _folder_instead(_entry(cache))
    assert not store(IDENTITY, DEVICE)
    assert [path.is_dir() for path in cache.iterdir()] == [True]


def test_the_home_folder_is_used_where_xdg_says_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for given in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert folder() == tmp_path / ".cache" / "graphbound"
