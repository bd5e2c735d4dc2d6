"""Small stand-ins for the actions of others: each takes the inputs that the real one has, and does the least of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.ci_demo.runner import Machine

KEY_LIMIT: Final = 512
"""Characters of a cache's key; it may hold no comma (actions/toolkit, packages/cache/src/cache.ts, checkKey)."""

INPUTS: Final[Mapping[str, tuple[str, ...]]] = {
    "actions/checkout": ("ref", "fetch-depth", "persist-credentials"),
    "actions/setup-python": ("python-version", "cache"),
    "actions/cache": ("path", "key", "restore-keys"),
    "actions/upload-artifact": ("name", "path", "if-no-files-found", "retention-days", "overwrite"),
    "github/codeql-action/upload-sarif": ("sarif_file", "category", "checkout_path"),
}
"""Of each action, those of its inputs that are known here."""

NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "actions/setup-python": ("python-version",),
    "actions/cache": ("path", "key"),
    "actions/upload-artifact": ("path",),
    "github/codeql-action/upload-sarif": ("sarif_file",),
}

StandIn = Callable[[Machine, Mapping[str, str]], Mapping[str, str]]


@dataclass(slots=True)
class Host:
    """What outlives a job: the repository, the caches by their keys, the artifacts of the run, what was scanned."""

    origin: Path
    caches: Path
    artifacts: dict[str, list[str]] = field(default_factory=dict)
    scanned: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    _to_save: dict[str, list[Path]] = field(default_factory=dict)

    def stand_ins(self) -> Mapping[str, StandIn]:
        made: Mapping[str, StandIn] = {
            "actions/checkout": self._checkout,
            "actions/setup-python": lambda machine, given: {},
            "actions/cache": self._cache,
            "actions/upload-artifact": self._upload,
            "github/codeql-action/upload-sarif": self._scan,
        }
        return {name: _checked(name, one) for name, one in made.items()}

    def end_job(self) -> None:
        """What actions/cache does after the last step: keep what was made under a key that has nothing yet."""
        for key, paths in self._to_save.items():
            for number, path in enumerate(paths):
                if path.exists():
                    shutil.copytree(path, self.caches / key / str(number), dirs_exist_ok=True)
        self._to_save.clear()

    def _checkout(self, machine: Machine, given: Mapping[str, str]) -> Mapping[str, str]:
        """One commit alone, unless it is asked for more: the merge of the pull request into its base."""
        depth = given.get("fetch-depth", "1")
        ref = machine.environment["GITHUB_REF"]
        machine.workspace.mkdir(parents=True, exist_ok=True)
        words = [] if depth == "0" else [f"--depth={depth}"]
        for command in (
            ["init", "--quiet", "."],
            ["remote", "add", "origin", f"file://{self.origin}"],
            ["fetch", "--quiet", "--no-tags", *words, "origin", f"+{ref}:refs/remotes/{ref.removeprefix('refs/')}"],
            ["checkout", "--quiet", "--detach", f"refs/remotes/{ref.removeprefix('refs/')}"],
        ):
            subprocess.run(["git", *command], cwd=machine.workspace, check=True, capture_output=True)
        return {}

    def _cache(self, machine: Machine, given: Mapping[str, str]) -> Mapping[str, str]:
        key, paths = given["key"], [Path(path) for path in given["path"].splitlines() if path]
        if not key or len(key) > KEY_LIMIT or "," in key or not paths:
            raise ValueError(f"no cache can be kept under {key!r}")
        if not (self.caches / key).is_dir():
            self._to_save[key] = paths
        begins = [key, *given.get("restore-keys", "").splitlines()]
        found = [each for begin in begins for each in sorted(self.caches.glob(f"{begin}*"), reverse=True)]
        for number, path in enumerate(paths):
            if found and (found[0] / str(number)).is_dir():
                shutil.copytree(found[0] / str(number), path, dirs_exist_ok=True)
        self.restored.append(found[0].name if found else "")
        return {"cache-hit": "true" if found and found[0].name == key else "false"}

    def _upload(self, machine: Machine, given: Mapping[str, str]) -> Mapping[str, str]:
        folder = Path(given["path"])
        self.artifacts[given.get("name", "artifact")] = sorted(
            str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()
        )
        return {}

    def _scan(self, machine: Machine, given: Mapping[str, str]) -> Mapping[str, str]:
        log = json.loads((machine.workspace / given["sarif_file"]).read_text())
        if log["version"] != "2.1.0":
            raise ValueError("code scanning takes SARIF 2.1.0")
        self.scanned.append(given["sarif_file"])
        return {}


def _checked(name: str, stand_in: StandIn) -> StandIn:
    def checked(machine: Machine, given: Mapping[str, str]) -> Mapping[str, str]:
        unknown = set(given) - set(INPUTS[name])
        missing = [each for each in NEEDED.get(name, ()) if not given.get(each)]
        if unknown or missing:
            raise ValueError(f"{name}: inputs unknown {sorted(unknown)}, missing {missing}")
        return stand_in(machine, given)

    return checked
