"""The versions of this process."""

from __future__ import annotations

import platform

import torch

from collectors.versions import versions


def test_the_versions_are_those_of_this_process() -> None:
    found = versions()
    assert (found.python, found.torch) == (platform.python_version(), torch.__version__)
    assert found.graphbound
    assert found.cuda == torch.version.cuda
