"""The files of a project that a check reads and writes: its policy and its baseline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.baseline import Baseline
from analyzer.core.errors import UsageError
from analyzer.core.policy import Policy
from analyzer.core.settings import Mode
from analyzer.core.shell import shell_command
from analyzer.gate.baseline_file import decode_baseline, encode_baseline
from analyzer.gate.policy_file import read_policy
from analyzer.reporting.json import write_whole
from collectors.checkout_root import root_above
from collectors.model_file import close_matches, is_path, require_model_file

POLICY_FILE: Final = "graphbound.toml"
PROJECT_FILE: Final = "pyproject.toml"
TRAINING: Final = f" ({Mode.TRAINING.value})"
"""After the path of a model whose step is one of training."""


@dataclass(frozen=True, slots=True)
class Project:
    """`root` is the repository's root, or the policy's folder where there is none. All paths are absolute."""

    policy: Policy
    folder: Path
    root: Path

    @property
    def baseline_file(self) -> Path:
        return self.folder / self.policy.baseline


def find_project(budget_file: str | None, start: Path) -> Project:
    """The policy in `budget_file`; else the nearest one at or above `start`, up to the repository's root; else the
    preset alone. Raises UsageError where a file is not one.
    """
    start = start.resolve()
    root = root_above(start)
    if budget_file is not None:
        path = (start / budget_file).resolve()
        policy = _policy_in(path)
        if policy is None:
            raise UsageError(f"{budget_file} has no table [tool.graphbound]", hint="`analyze check --init` writes one")
        return Project(policy, path.parent, root or path.parent)
    above = [folder for folder in (start, *start.parents) if root is None or folder.is_relative_to(root)]
    for folder in above if root is not None else above[:1]:
        for name in (POLICY_FILE, PROJECT_FILE):
            policy = _policy_in(folder / name) if os.path.lexists(folder / name) else None
            if policy is not None:
                return Project(policy, folder, root or folder)
    return Project(Policy(folder=str(start)), start, root or start)


def policy_target(model: str, project: Project) -> str:
    """A model of the policy as a target: a file is found from the policy's folder. Raises UsageError."""
    path = project.folder / model
    if not is_path(model):
        return model
    try:
        require_model_file(path)
    except UsageError as error:
        where = f"{project.policy.source}: models has {model!r}"
        hint = error.hint if path.exists() else _unless_gone(path, project)
        raise UsageError(f"{where}, and {error.message}", hint=hint) from error
    return str(path)


def _unless_gone(path: Path, project: Project) -> str:
    """What a model that is not there may be: a slip for a file that the policy does not have, else one that is gone."""
    named = [project.folder / model for model in project.policy.models]
    others = [each.name for each in path.parent.glob("*.py") if each not in named] if path.parent.is_dir() else []
    return close_matches(path.name, others) or "of a model that is gone, take it out of models"


def require_models_of_tables(project: Project, names: Sequence[str]) -> None:
    """Raises UsageError where the policy has a table for a file that is not there: its limits would hold nothing.
    `names` are those of the models that are judged.
    """
    known = tuple(dict.fromkeys((*project.policy.models, *names)))
    for own in project.policy.own:
        file = own.name.removesuffix(TRAINING)
        if own.name in known or file in known or not is_path(file) or (project.folder / file).exists():
            continue
        where = f'{project.policy.source}: model."{own.name}"'
        hint = close_matches(file, known) or "it is the path of a model, from the folder of this file"
        raise UsageError(f"{where} is for no file that is there", hint=hint)


def require_plans(project: Project, names: Sequence[str]) -> None:
    """Raises UsageError where the plan of one of these models is not there."""
    for name in names:
        plan = project.policy.plan(name)
        if plan is not None and not (project.folder / plan).is_file():
            where = f'{project.policy.source}: model."{name}" has the plan {plan!r}'
            again = shell_command("analyze", name.removesuffix(TRAINING))
            raise UsageError(f"{where}, and there is no such file", hint=f"`{again}` writes one into its run folder")


def read_baseline(path: Path, shown: str) -> Baseline | None:
    """None where there is no such file. Raises UnreadableFileError where it is no baseline."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {shown}: {error.strerror}") from error
    return decode_baseline(data, shown)


def write_text(path: Path, text: str) -> None:
    """At once or not at all, and through a link into its file. Raises UsageError where it cannot be written."""
    try:
        write_whole(path.resolve(), text.encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def require_writable(path: Path) -> None:
    """Raises UsageError where `write_text` could not. A disk that is full then is found when it is written."""
    folder = path.resolve().parent
    if not folder.is_dir():
        hint = f"{shell_command('mkdir', '-p', str(folder))} makes it, if the path is right"
        raise UsageError(f"cannot write {path}: there is no folder {folder}", hint=hint)
    if not os.access(folder, os.W_OK):
        hint = "`analyze check --against REF` writes no values"
        raise UsageError(f"cannot write {path}: its folder is not to be written to", hint=hint)


def write_baseline(path: Path, baseline: Baseline) -> None:
    write_text(path, encode_baseline(baseline))


def _policy_in(path: Path) -> Policy | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        beside = [each.name for each in path.parent.glob("*.toml")] if isinstance(error, FileNotFoundError) else []
        raise UsageError(f"cannot read {path}: {reason}", hint=close_matches(path.name, beside)) from error
    return read_policy(text, path.name, str(path.parent), is_project=path.name == PROJECT_FILE)
