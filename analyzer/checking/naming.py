"""What a check calls a model: the name that its policy and its baseline know it by."""

from __future__ import annotations

from pathlib import Path

from analyzer.checking.project import TRAINING, Project
from analyzer.checking.sources import storable
from analyzer.core.report import Report
from analyzer.core.settings import Mode
from collectors.model_file import is_path, require_model_file


def model_name(target: str, mode: str, project: Project) -> str:
    """Its path from the policy's folder, and its mode in training."""
    path = Path(target)
    shown = target
    if path.suffix == ".py":
        whole = (Path.cwd() / path).resolve()
        whole = whole if whole.exists() else (project.root / path).resolve()
        shown = whole.relative_to(project.folder).as_posix() if whole.is_relative_to(project.folder) else target
    name = storable(shown)
    return f"{name}{TRAINING}" if mode == Mode.TRAINING.value else name


def name_of_report(report: Report, project: Project) -> str:
    return model_name(report.workload.source, report.workload.mode, project)


def file_of(name: str) -> str | None:
    """The file of a model of this name, from the policy's folder; None of a model that is none (`timm:NAME`)."""
    file = name.removesuffix(TRAINING)
    return file if is_path(file) else None


def found_model(target: str) -> str:
    """An absolute path for a file: processes are started in other folders too. Raises UsageError."""
    path = Path(target)
    if not is_path(target) and not path.exists():
        return target
    require_model_file(path)
    return str(path.resolve())
