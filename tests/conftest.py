"""What every test shares: where the repository is, and which tests this machine can run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, and nothing of the law. The examples are the same each time,
# so that a run judges the change and not its luck; `pytest --hypothesis-profile=search` looks for others.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("any machine", settings.get_profile("search"), derandomize=True)
settings.load_profile("any machine")

SLOW_LIMIT_S: Final = 1800
"""Of a slow test: on a crowded machine it has taken five times what it takes on a quiet one."""
OF_THE_RUNNER: Final = (
    *("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "GITHUB_OUTPUT", "CI_PROJECT_DIR", "GITLAB_CI"),
    *("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "PYTEST_ADDOPTS"),
)
"""What a service that runs tests, or a terminal, may say to every program in it."""
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_cases() -> Path:
    """The folder of models with a known cause, which lies beside the checkout on some machines only."""
    folder = ROOT.parent / "shared" / "cases"
    if not folder.is_dir():
        pytest.skip("no shared/cases beside the checkout")
    return folder


@pytest.fixture(scope="session", autouse=True)
def off_any_runner() -> Iterator[None]:
    """Tests of what is printed mean the same where they themselves run in CI; so do the fixtures of whole modules."""
    with pytest.MonkeyPatch.context() as patch:
        for name in OF_THE_RUNNER:
            patch.delenv(name, raising=False)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Weights by chance are the same in each test and its fixtures: how many were drawn before it, in steps that were
    timed, is the machine's to say.
    """
    torch = sys.modules.get("torch")  # most of the suite runs without
    if torch is not None:
        torch.manual_seed(0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_LIMIT_S))
    marked = [item for item in items if item.get_closest_marker("gpu") is not None]
    if marked and not _has_gpu():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def _has_gpu() -> bool:
    import torch  # only where a test asks for a GPU: most of the suite runs without torch

    return bool(torch.cuda.is_available())
