"""Whose a line is: the innermost one of the repository, wherever in it the model's file lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.core.graphs import SourceLine
from analyzer.session_words import root_of
from collectors import sources
from collectors.sources import user_line

ROOT = Path("/home/ada/nets")
FORWARD = SourceLine("/home/ada/nets/models/vision/net.py", 12, "forward")
HELPER = SourceLine("/home/ada/nets/shared/blocks.py", 5, "scaled")


def test_a_helper_of_another_folder_of_the_repository_is_further_in_than_the_model() -> None:
    torch = SourceLine("/opt/venv/lib/python3.11/site-packages/torch/_tensor.py", 99, "item")
    assert user_line((FORWARD, HELPER, torch), ROOT) == HELPER


@pytest.mark.parametrize(
    "installed",
    [
        "/home/ada/nets/.venv/lib/python3.11/site-packages/timm/vit.py",
        "/home/ada/nets/env/lib/python3/dist-packages/timm/vit.py",
        "/home/ada/nets/.venv/lib/python3.11/contextlib.py",
    ],
)
def test_what_is_installed_in_the_checkout_is_not_the_users(installed: str) -> None:
    assert user_line((FORWARD, SourceLine(installed, 3, "inner")), ROOT) == FORWARD


def test_a_package_between_the_model_and_its_helper_hides_neither() -> None:
    package = SourceLine("/opt/venv/lib/python3.11/site-packages/lightning/module.py", 3, "call")
    assert user_line((FORWARD, package, HELPER), ROOT) == HELPER


def test_a_checkout_below_a_folder_named_like_pythons_is_the_users_all_the_same() -> None:
    root = Path("/srv/lib/python3-projects/nets")
    line = SourceLine(f"{root}/net.py", 3, "forward")
    assert user_line((line,), root) == line


def test_our_own_frames_are_never_the_users() -> None:
    ours = SourceLine(f"{Path(sources.__file__).parent}/step.py", 3, "_forward")
    repository = Path(sources.__file__).parents[1]
    example = SourceLine(f"{repository}/examples/net.py", 3, "forward")
    assert user_line((ours, example), repository) == example
    assert user_line((ours,), repository) is None


def test_the_root_of_a_model_is_its_repository_else_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "net.py").write_text("")
    assert root_of(str(folder / "net.py")) == folder.resolve()
    (tmp_path / ".git").write_text("gitdir: of a worktree\n")
    assert root_of(str(folder / "net.py")) == tmp_path.resolve()
    assert root_of("timm:resnet18") is None
    assert root_of(str(folder / "gone.py")) is None


def test_the_command_line_of_a_program_is_no_line_of_the_users() -> None:
    typed = SourceLine("<string>", 1, "<module>")
    inside = SourceLine("/opt/venv/lib/python3.11/site-packages/torch/nn/parallel/distributed.py", 1757, "forward")
    assert user_line((typed, inside), ROOT) == inside


def test_a_function_behind_a_graph_break_keeps_its_name() -> None:
    stack = 'File "/home/ada/net.py", line 12, in torch_dynamo_resume_in_forward_at_10\n    return y * 2\n'
    assert sources.frames(stack) == (SourceLine("/home/ada/net.py", 12, "forward"),)
