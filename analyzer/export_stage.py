"""`--export`: which models can be exported, their package made in a process of its own, and what the report says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from analyzer.core.errors import UsageError, UserProgramError
from analyzer.core.graphs import Capture, Direction
from analyzer.core.quantities import byte_count, counted
from analyzer.core.run import Skip
from analyzer.core.settings import Export, Mode
from analyzer.core.trial import Trial, TrialOutcome
from analyzer.driver import Driver
from analyzer.lab import start_afresh
from analyzer.measured import Measured
from analyzer.run_folder import RunFolder
from optimizers.trials import JointTrial

WAY: Final = "AOTInductor package"
"""Its row in the report's table of ways to run the whole model."""

EXPORT_LIMIT_S: Final = 1800.0
"""Silence allowed while a package is made: AOTInductor compiles a model as one C++ program, some minutes for a large
one, and says nothing meanwhile."""

TRAINING: Final = "--export aoti makes a package for inference; a training step has none"
_FAILED: Final = "torch.export.export(model, inputs) alone should show the same"
_WRONG: Final = "AOTInductor compiles this model wrongly; analyzer.optimize(model, plan=...) needs no package"
_APART: Final = "without a graph break: functions called one after another, as a hook on the model itself is"
_HINT: Final = "leave --export out, or mend the graph breaks that the report names"


def require_inference(mode: Mode) -> None:
    """Raises UsageError for a training run."""
    if mode is not Mode.INFERENCE:
        raise UsageError(TRAINING, hint="leave out --mode training, or --export")


def require_one_graph(export: Export | None, measured: Measured) -> None:
    """Raises UsageError where a package is asked for of a model that Dynamo did not capture as one inference graph."""
    capture = measured.capture
    if export is None or capture is None:
        return
    digests = dict.fromkeys(graph.key.digest for graph in capture.graphs)
    if len(digests) != 1 or capture.breaks:
        graphs = counted(len(digests), "graph")
        text = f"--export aoti needs a model captured whole, this one was as {graphs}{_parted_by(capture)}"
        raise UsageError(text, hint=_HINT)
    if any(graph.key.direction is not Direction.INFERENCE for graph in capture.graphs):
        raise UsageError(TRAINING, hint="leave out --export, or run the model without gradients")


def _parted_by(capture: Capture) -> str:
    """Where and why it is not one graph, in brackets; empty where neither is known."""
    reasoned = next((one for one in capture.breaks if one.reason), None)
    if reasoned is not None:
        return f" ({reasoned.where}: {reasoned.reason.splitlines()[0]})"
    places = dict.fromkeys(str(graph.where) for graph in capture.graphs if graph.where is not None)
    return f" ({', '.join(places)}: {_APART})" if places and not capture.breaks else ""


def export_model(driver: Driver, measured: Measured, folder: RunFolder, skip: Sequence[Skip]) -> None:
    """Make the package in a fresh process, and write down what came of it. Raises UserProgramError where none did.

    Fresh, because on a GPU nothing may be timed where a profiler ran, and because a compiler that takes its process
    down then costs the package alone.
    """
    if driver.is_isolated:
        start_afresh(driver, skip)
    driver.call("capture", limit_s=EXPORT_LIMIT_S)
    driver.call("prepare_judge", limit_s=EXPORT_LIMIT_S)
    path = folder.package
    trial: Trial = driver.call("export", path, limit_s=EXPORT_LIMIT_S)
    measured.joint.append(JointTrial(WAY, {}, trial))
    if trial.outcome is not TrialOutcome.MEASURED:
        raise UserProgramError(
            f"the model was not exported, {trial.outcome.value}: {trial.reason}",
            hint=_WRONG if trial.outcome is TrialOutcome.WRONG_RESULT else _FAILED,
        )
    measured.notes.append(package_note(path, folder.shown / path.name))
    measured.notes += (f"{path.name}: {caution}" for caution in trial.cautions)


def package_note(path: Path, shown: Path) -> str:
    """What whoever deploys the package must know."""
    return (
        f"{shown} is the model as one file of {byte_count(path.stat().st_size)}, weights included: "
        f"torch._inductor.aoti_load_package({str(shown)!r}) gives it back. It is for inputs of these shapes and this "
        "kind of device, and checks neither unless AOTI_RUNTIME_CHECK_INPUTS=1 is set"
    )
