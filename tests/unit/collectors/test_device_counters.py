"""Who may read a GPU's hardware counters."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from collectors import device_counters
from collectors.device_counters import counter_rights


def _files(folder: Path, params: str | None, capabilities: str | None) -> tuple[Path, Path]:
    driver, status = folder / "params", folder / "status"
    if params is not None:
        driver.write_text(params)
    if capabilities is not None:
        status.write_text(f"Name:\tpython\nCapInh:\t0000000000000000\nCapEff:\t{capabilities}\nCapBnd:\t1ff\n")
    return driver, status


@pytest.mark.parametrize(
    ("params", "capabilities", "granted"),
    [
        ("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\n", "0000000000000000", True),
        ("RmProfilingAdminOnly: 1\nTCEBypassMode: 0\n", "0000000000000000", False),
        ("RmProfilingAdminOnly: 1\n", "00000000a80425fb", False),
        ("RmProfilingAdminOnly: 1\n", "000001ffffffffff", True),
        ("RmProfilingAdminOnly: 1\n", "0000000000200000", True),
        ("RmProfilingAdminOnly: 1\n", None, None),
        ("TCEBypassMode: 0\n", "0000000000000000", None),
        (None, "0000000000000000", None),
    ],
    ids=["for all", "admins only", "in a container", "root", "one capability", "no status", "silent", "no driver"],
)
def test_counters_are_granted_as_the_driver_and_the_kernel_say(
    tmp_path: Path, params: str | None, capabilities: str | None, granted: bool | None
) -> None:
    assert counter_rights(*_files(tmp_path, params, capabilities)).is_granted is granted


def test_ncu_is_looked_for_on_the_path_and_where_cuda_puts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ncu = tmp_path / "ncu"
    monkeypatch.setattr(device_counters, "_NCU_PLACES", (ncu,))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert counter_rights().ncu is None
    ncu.write_text("")
    assert counter_rights().ncu == str(ncu)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert counter_rights().ncu == "/usr/bin/ncu"
