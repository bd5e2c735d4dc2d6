"""What a run asks of the process that holds torch.compile's default once its trace is recorded, when its state need not
be kept any more: whether its results are right, and what it compiles for other inputs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from analyzer.core.errors import UserProgramError
from analyzer.core.graphs import Capture
from analyzer.core.run import LostChildError, Skip
from analyzer.driver import Driver
from analyzer.lab import start_afresh
from analyzer.measured import Measured

NOT_JUDGED: Final = "the results of torch.compile's default could not be compared with the model's"


def judge_default(driver: Driver, measured: Measured, skip: list[Skip], limit_s: float) -> bool:
    """Compare the default's results with the model's own; False where that cost the process which held it.

    It puts the first state back, so that nothing may be recorded after it.
    """
    try:
        measured.default_accuracy = driver.call("judge_default", limit_s=limit_s)
        measured.facts = driver.call("facts")  # with what could not be compared
    except LostChildError as lost:
        measured.notes.append(f"{NOT_JUDGED}: {lost.message}")
        start_afresh(driver, skip)
        return False
    except UserProgramError as error:  # no room for a second copy, as a rule
        measured.notes.append(f"{NOT_JUDGED}: {error.message}")
    return True


def run_variants(driver: Driver, measured: Measured, skip: list[Skip], limit_s: float) -> None:
    """Hear what torch compiles again for other inputs of the user's. Their graphs run in no step that was timed."""
    assert measured.capture is not None
    try:
        changed: Capture | None = driver.call("run_variants", limit_s=limit_s)
    except LostChildError as lost:
        measured.notes.append(f"the inputs of get_input_variants could not be run: {lost.message}")
        start_afresh(driver, skip)
        return
    if changed is not None:
        measured.capture = replace(measured.capture, recompiles=changed.recompiles)
        measured.facts = driver.call("facts")
