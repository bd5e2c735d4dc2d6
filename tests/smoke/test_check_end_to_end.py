"""The real `analyze check` on a real model: quiet on a refactoring, loud on a graph break, at its line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_S = 900

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x):
        x = torch.relu(self.first(x))
        return torch.tanh(self.second(x))

def get_model():
    return Net()

def get_inputs():
    return (torch.randn(4, 16),)
"""
BREAK = MODEL.replace("        return torch", '        print("seen")\n        return torch')
REFACTORED = "# Moved down a line.\n" + MODEL.replace("def forward(self, x):", "def forward(self, inputs):").replace(
    "self.first(x)", "self.first(inputs)"
)


def check(folder: Path, *words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "analyzer.cli", "check", "model.py", "--no-run", "--device", "cpu", "-q", *words]
    environment = {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, env={**os.environ, **environment}
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode, done.stdout


@pytest.mark.slow
def test_a_break_is_loud_on_its_line_and_a_refactoring_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "model.py").write_text(MODEL)
    code, said = check(tmp_path)
    assert (code, (tmp_path / "graphbound.baseline.json").is_file()) == (0, True)
    assert "generated_code" in said
    assert "could not be judged" not in said

    (tmp_path / "model.py").write_text(BREAK)
    code, said = check(tmp_path)
    assert code == 1
    line = BREAK.splitlines().index('        print("seen")') + 1
    assert said.startswith(f"FAILED: 1 new graph break, model.py:{line}")

    (tmp_path / "model.py").write_text(REFACTORED)
    code, said = check(tmp_path)
    assert code == 0
    assert said.startswith("PASSED: nothing is past its limit, against graphbound.baseline.json")
    assert "warning" not in said
