"""What a session says of what it found: outcomes, and the sentences that go into the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from analyzer.core.errors import UserProgramError
from analyzer.core.run import Way
from analyzer.core.samples import Samples
from analyzer.core.trial import Accuracy, TrialOutcome

NO_COMPILER: Final = "Inductor needs a C++ compiler: install g++ (apt install g++), or name one in CXX"


def not_finite_note(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return (
        f"NaN or infinity in {paths[0]}{more} of the model as it is: times hold, but what is not finite cannot show "
        "whether a candidate computes the same"
    )


def nothing_compiled(reason: str) -> UserProgramError:
    hint = NO_COMPILER if "CxxCompiler" in reason else "torch.compile(model) alone should fail the same way"
    return UserProgramError(f"torch.compile could not compile any graph: {reason}", hint=hint)


def outcome(accuracy: Accuracy | None) -> TrialOutcome:
    return TrialOutcome.MEASURED if accuracy is None or accuracy.is_right else TrialOutcome.WRONG_RESULT


def wrong_reason(accuracy: Accuracy) -> str:
    where = accuracy.worst or "the result"
    if accuracy.detail:
        return f"{where}: {accuracy.detail}"
    return f"{where} is off by {accuracy.error:.2g} where eager is off by {accuracy.eager_error:.2g}"


def way(name: str, samples: Samples) -> Way:
    return Way(name, TrialOutcome.MEASURED, None, samples, None)
