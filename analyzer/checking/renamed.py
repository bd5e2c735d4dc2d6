"""Stored values whose model is not there any more: of a model that has none they may be, under another name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from analyzer.checking.naming import file_of
from analyzer.checking.project import TRAINING, Project
from analyzer.core.baseline import Baseline, ModelBaseline

WRITTEN_OUT: Final = "\\x"
"""In a stored name, a byte that is no UTF-8: of which file it was cannot be asked."""


def gone_models(stored: Baseline | None, new: ModelBaseline, project: Project) -> tuple[str, ...]:
    """The stored models, on this kind of device and in this mode, whose file is gone: the most like `new` first. Empty
    where `new` has stored values of its own, and where it is no file of this project, as a run from elsewhere is not.
    """
    if stored is None or not _is_here(new.model, project) or any(one.model == new.model for one in stored.models):
        return ()
    gone = [
        one
        for one in stored.models
        if one.kind == new.kind and _is_training(one.model) == _is_training(new.model) and _is_gone(one.model, project)
    ]
    return tuple(one.model for one in sorted(gone, key=lambda one: (-_likeness(one, new), one.model)))


def without(stored: Baseline, models: tuple[str, ...], kind: str) -> Baseline:
    kept = tuple(one for one in stored.models if not (one.model in models and one.kind == kind))
    return Baseline(kept, stored.source, stored.schema)


def _likeness(old: ModelBaseline, new: ModelBaseline) -> int:
    """How many of its values and lines are the same, whatever their file is called."""
    values = {(value.gate, value.value) for value in old.values}
    lines = {(place.rule, place.function, place.text) for place in old.places}
    return sum((value.gate, value.value) in values for value in new.values) + sum(
        (place.rule, place.function, place.text) in lines for place in new.places
    )


def _is_training(name: str) -> bool:
    return name.endswith(TRAINING)


def _is_here(name: str, project: Project) -> bool:
    file = file_of(name)
    return file is not None and (project.folder / file).is_file()


def _is_gone(name: str, project: Project) -> bool:
    file = file_of(name)
    if file is None or WRITTEN_OUT in file or Path(file).is_absolute():
        return False
    return not (project.folder / file).exists()
