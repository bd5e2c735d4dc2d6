"""What was asked for that cannot be had, said before anything is measured."""

from __future__ import annotations

from analyzer.core.settings import RunSettings
from analyzer.export_stage import require_inference
from analyzer.replan import read_old_plan
from analyzer.targets import require_allowed, require_candidates


def require_possible(settings: RunSettings) -> None:
    """Raises UsageError for a candidate that there is not or was not allowed, a plan that cannot be read, a package of
    a training step.
    """
    require_candidates(settings.candidates)
    require_allowed(settings.candidates, settings.allow)
    if settings.export is not None:
        require_inference(settings.workload.mode)
    read_old_plan(settings.plan)
