"""Packages of AOTInductor."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch._inductor.config

from collectors.torch_compat import compile_package, package_program
from tests.workloads import Mlp

X = torch.randn(4, 8)


def _metadata() -> dict[str, str]:
    return dict(torch._inductor.config.aot_inductor.metadata)


def test_what_torch_writes_into_the_metadata_of_a_package_stays_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(*_: object, **__: object) -> str:
        torch._inductor.config.aot_inductor.metadata["AOTI_DEVICE_KEY"] = "cpu"  # as torch does
        return "graph.pt2"

    monkeypatch.setattr("torch._inductor.aoti_compile_and_package", compiled)
    monkeypatch.setattr("torch._inductor.aoti_load_package", lambda path: path)
    before = _metadata()
    program = torch.export.export(Mlp(), (X,))
    compile_package(program, {})
    package_program(program, Path("graph.pt2"))
    assert _metadata() == before


@pytest.mark.slow
def test_torch_itself_leaves_no_setting_of_a_package_behind() -> None:
    before = _metadata()
    with torch.no_grad():
        compile_package(torch.export.export(Mlp(), (X,)), {})
    assert _metadata() == before
