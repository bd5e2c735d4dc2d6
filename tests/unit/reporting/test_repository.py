"""A file is in the repository where a code host would find it, and nowhere else."""

from __future__ import annotations

import pytest

from analyzer.reporting.repository import LineText, Repository
from tests.reports import at

CHECKOUT = Repository(("/work/net", "/mnt/disk/net"), "/work/net/examples")


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("/work/net/model.py", "model.py"),
        ("/work/net/a b/layer.py", "a b/layer.py"),
        ("/mnt/disk/net/model.py", "model.py"),
        ("run.py", "examples/run.py"),
        ("../model.py", "model.py"),
        ("/work/net/examples/../model.py", "model.py"),
        ("/work/network/model.py", None),
        ("/work/net/../other/model.py", None),
        ("/work/net", None),
        ("/work/net/.venv/lib/python3.11/site-packages/timm/net.py", None),
        ("/usr/lib/python3/dist-packages/numpy/a.py", None),
        ("<string>", None),
        ("<eval_with_key>.3", None),
        ("", None),
    ],
)
def test_a_path_is_taken_from_the_root(file: str, path: str | None) -> None:
    assert CHECKOUT.path(file) == path


def test_without_a_repository_nothing_is_inside() -> None:
    assert Repository().path("/work/net/model.py") is None


def test_a_checkout_may_be_the_root_of_the_system() -> None:
    assert Repository(("/",), "/").path("/model.py") == "model.py"


def test_the_text_of_a_line_is_known_only_where_it_was_read() -> None:
    known = Repository(("/work",), "/work", (LineText(at("/work/a.py:3"), "print(x)"),))
    assert known.text(at("/work/a.py:3")) == "print(x)"
    assert known.text(at("/work/a.py:4")) is None
