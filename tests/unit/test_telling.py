"""Whatever the user's program raises in a step names their line."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from analyzer.core.errors import UserProgramError
from analyzer.session_ears import Telling
from collectors.user_module import import_user_module


@pytest.mark.parametrize(("statement", "told"), [("sys.exit(3)", "SystemExit: 3"), ("1 / 0", "ZeroDivisionError")])
def test_leaving_in_a_step_is_a_failure_of_that_line(tmp_path: Path, statement: str, told: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(f"import sys\ndef step():\n    {statement}\n")
    step = import_user_module(file).step
    with pytest.raises(UserProgramError) as caught, Telling("the model's first step", tmp_path):
        step()
    assert f"net.py:3 in step: {told}" in caught.value.message


def test_backward_in_an_inference_step_is_told_the_mode_it_wants(tmp_path: Path) -> None:
    with pytest.raises(UserProgramError) as caught, Telling("the model's first step", tmp_path):
        torch.ones(3).sum().backward()  # type: ignore[no-untyped-call]
    assert caught.value.hint is not None
    assert "--mode training" in caught.value.hint


def test_ctrl_c_in_a_step_stays_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt), Telling("a step", Path()):
        raise KeyboardInterrupt
