"""What is wrong with a path is told before torch is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.core.errors import UsageError
from analyzer.core.settings import RunSettings, WorkloadSpec
from analyzer.pipeline import run
from analyzer.progress import SilentProgress
from collectors.model_file import is_path, require_model_file


def test_a_missing_file_is_told_before_anything_is_started_or_written(tmp_path: Path) -> None:
    (tmp_path / "gptlite.py").touch()
    settings = RunSettings(workload=WorkloadSpec(target=str(tmp_path / "gptlit.py")), out=str(tmp_path / "out"))
    with pytest.raises(UsageError, match="no such file") as caught:
        run(settings, SilentProgress())
    assert caught.value.hint == "did you mean gptlite.py?"
    assert not (tmp_path / "out").exists()


def test_it_needs_no_torch() -> None:
    code = "import sys, collectors.model_file; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("target", "expected"), [("net.py", True), ("timm:resnet18", False), ("a:b.py", True), ("net", True)]
)
def test_a_named_model_is_no_path(target: str, expected: bool) -> None:
    assert is_path(target) is expected


def test_a_python_file_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "my model-v2.py"
    file.touch()
    require_model_file(file)
