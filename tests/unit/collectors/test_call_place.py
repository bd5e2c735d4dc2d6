"""The user's line among the frames that run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from analyzer.core.graphs import SourceLine
from collectors.call_place import Places

SITE = "/opt/lib/python3.11/site-packages"
TORCH = f"{Path(torch.__file__).resolve().parent}/nn/functional.py"
STEP = ("/ours/step.py", "step")


def a_frame(file: str, name: str) -> tuple[Callable[[], Any], dict[str, Any]]:
    """A function `name` of `file` that calls, on its second line, what is put into the dict as `inner`."""
    space: dict[str, Any] = {}
    exec(compile(f"def {name}():\n    return inner()\n", file, "exec"), space)
    return space[name], space


def found(root: str | None, *frames: tuple[str, str]) -> SourceLine | None:
    """What is found below the first of these (file, function) frames, which runs the step and calls the next."""
    made = [a_frame(file, name) for file, name in frames]
    places = Places(None if root is None else Path(root), made[0][0].__code__)
    for (_, space), inner in zip(made, [*(function for function, _ in made[1:]), places.here], strict=True):
        space["inner"] = inner
    line: SourceLine | None = made[0][0]()
    return line


def test_the_innermost_line_under_the_root_wins() -> None:
    line = found("/home/ada", STEP, ("/home/ada/net.py", "outer"), ("/home/ada/layer.py", "inner"), (TORCH, "relu"))
    assert line == SourceLine("/home/ada/layer.py", 2, "inner")


def test_under_the_root_wins_over_other_code_further_in() -> None:
    line = found("/home/ada", STEP, ("/home/ada/net.py", "forward"), ("/home/bob/net.py", "inner"))
    assert line == SourceLine("/home/ada/net.py", 2, "forward")


def test_a_package_installed_inside_the_root_is_no_code_of_the_users() -> None:
    installed = "/home/ada/venv/lib/python3.11/site-packages/timm/vit.py"
    line = found("/home/ada", STEP, ("/home/ada/net.py", "forward"), (installed, "inner"))
    assert line == SourceLine("/home/ada/net.py", 2, "forward")


def test_python_itself_inside_the_root_is_no_code_of_the_users_either() -> None:
    standard = "/home/ada/miniconda/lib/python3.11/contextlib.py"
    line = found("/home/ada", STEP, ("/home/ada/net.py", "forward"), (standard, "inner"))
    assert line == SourceLine("/home/ada/net.py", 2, "forward")
    below = found("/srv/lib/python3-nets", STEP, ("/srv/lib/python3-nets/net.py", "forward"))
    assert below == SourceLine("/srv/lib/python3-nets/net.py", 2, "forward")


def test_without_a_root_code_outside_packages_comes_before_packages_and_those_before_nothing() -> None:
    package, other = (f"{SITE}/timm/vit.py", "attend"), ("/home/bob/net.py", "forward")
    assert found(None, STEP, other, package) == SourceLine("/home/bob/net.py", 2, "forward")
    assert found(None, STEP, package, (TORCH, "relu")) == SourceLine(f"{SITE}/timm/vit.py", 2, "attend")


def test_torch_python_and_generated_code_are_never_an_answer() -> None:
    standard = "/usr/lib/python3.11/contextlib.py"
    assert found("/home/ada", STEP, (TORCH, "relu"), (standard, "inner"), ("<eval_with_key>.3", "forward")) is None


def test_what_called_the_step_is_never_found() -> None:
    assert found("/home/ada", ("/home/ada/step.py", "step"), (TORCH, "relu")) is None
