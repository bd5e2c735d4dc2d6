"""What is shipped, and what the README promises of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

SHIPPED = ("analyzer", "collectors", "optimizers", "dashboard")
COMMANDS = (
    'pip install -c constraints.txt ".[all]" && analyze examples/gptlite.py',
    'pip install -c constraints.txt ".[dev]" && pytest',
)


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text())


def pins(root: Path) -> dict[str, str]:
    lines = (root / "constraints.txt").read_text().splitlines()
    return {
        normal(name): version for name, _, version in (line.partition("==") for line in lines if line[:1] not in "#")
    }


def normal(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def test_only_the_four_packages_are_shipped(root: Path, project: dict[str, Any]) -> None:
    assert tuple(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == SHIPPED
    for name in SHIPPED:
        folders = [p for p in (root / name).rglob("*") if p.is_dir() and p.name != "__pycache__"]
        assert not [p for p in folders if p.name in ("tests", "notebooks", "examples", "benchmarks")]
        assert not list((root / name).rglob("test_*.py"))
        assert not list((root / name).rglob("*.ipynb"))


def test_every_folder_with_code_is_a_package(root: Path) -> None:
    for name in SHIPPED:
        for folder in {path.parent for path in (root / name).rglob("*.py")}:
            assert (folder / "__init__.py").is_file(), folder


def test_every_direct_dependency_is_pinned(root: Path, project: dict[str, Any]) -> None:
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *extras["ranks"], *extras["gpu"], *extras["dev"]]
    assert not {normal(r) for r in wanted} - set(pins(root))


def test_the_pins_are_exact_and_carry_no_local_version(root: Path) -> None:
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in pins(root).values())
    assert int(pins(root)["pandas"].partition(".")[0]) < 3


def test_the_readme_gives_the_two_commands(root: Path) -> None:
    lines = [line.strip() for line in (root / "README.md").read_text().splitlines()]
    assert [line for line in lines if line.startswith("pip install -c")] == list(COMMANDS)


def test_the_installed_command_is_the_one_that_is_declared(project: dict[str, Any]) -> None:
    assert project["project"]["scripts"] == {"analyze": "analyzer.cli:main"}
    done = subprocess.run([sys.executable, "-m", "analyzer.cli", "--help"], capture_output=True, text=True, check=True)
    assert "usage: analyze" in done.stdout


def test_notebooks_are_committed_without_outputs_and_hold_no_logic(root: Path) -> None:
    notebooks = sorted((root / "notebooks").glob("*.ipynb"))
    assert notebooks
    for path in notebooks:
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] == "code":
                source = "".join(cell["source"])
                assert not cell["outputs"], path.name
                assert cell["execution_count"] is None, path.name
                assert not re.search(r"^\s*(def|class|for|while|if) ", source, re.M), (path.name, source)
