"""What a session says of what it found: outcomes, and the sentences that go into the report."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from analyzer.core.errors import GraphboundError, InternalError, UsageError, UserProgramError
from analyzer.core.plan import EAGER
from analyzer.core.run import Way
from analyzer.core.samples import Samples
from analyzer.core.trial import Accuracy, TrialOutcome
from collectors.checkout_root import root_above
from optimizers.candidates.pair import changes_of

MOST_NAMED: Final = 3
"""Paths of results that one sentence names."""

NO_COMPILER: Final = "Inductor needs a C++ compiler: install g++ (apt install g++), or name one in CXX"


def first_step_notes(broken: Sequence[str], unread: Sequence[str], unread_state: Sequence[str]) -> tuple[str, ...]:
    """What the first eager step shows that limits what can be said: paths of results, and types of tensors it keeps."""
    notes = [not_finite_note(broken)] if broken else []
    if unread:
        notes.append(f"the values of {', '.join(unread)} cannot be read: no candidate's are compared with them")
    if unread_state:
        kinds = ", ".join(unread_state)
        notes.append(f"tensors of type {kinds} cannot be read: they are taken for unchanged by a step")
    return tuple(notes)


def not_finite_note(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return (
        f"NaN or infinity in {paths[0]}{more} of the model as it is: times hold, but what is not finite cannot show "
        "whether a candidate computes the same"
    )


def unsteady_note(paths: Sequence[str]) -> str:
    """Of what two eager runs from one state and one seed leave or give otherwise."""
    differ = "differs" if len(paths) == 1 else "differ"
    return f"{first_of(paths)} {differ} from run to run of the model itself, from one state and one seed: not compared"


def unwidened_note(reason: str) -> str:
    """Of a model of which no copy in a wider type runs."""
    return (
        f"no run in higher precision was possible ({reason}): results are held against the model's own, and may differ "
        "from them by little more than rounding"
    )


def varying_note(paths: Sequence[str]) -> str:
    """Of results whose shape, or whose being there, the seed decides."""
    changes = "changes its" if len(paths) == 1 else "change their"
    return f"{first_of(paths)} {changes} shape, or whether there is one, with the random numbers: not compared"


def drawn_note(paths: Sequence[str]) -> str:
    """Of random whole numbers that a compiled step draws anew."""
    return (
        f"{first_of(paths)}: random whole numbers, and compiled code gave others than the model; shapes and types "
        "are compared, values are not"
    )


def chaotic_note(paths: Sequence[str]) -> str:
    """Of results that rounding alone changes by more than their size, in the model itself."""
    return (
        f"{first_of(paths)}: rounding the model's weights otherwise changes its own values by more than their size; "
        "compiled code is compared by how far off that gets, and by size, not value by value"
    )


def once_note(paths: Sequence[str]) -> str:
    """Of what eager writes in its forward, and again where a checkpoint computes a part again in the backward."""
    is_one = len(paths) == 1
    return (
        f"{first_of(paths)}: the model writes {'it' if is_one else 'them'} twice a step, once more where a checkpoint "
        "computes its part again in the backward; compiled, the step writes once, as without the checkpoint. A "
        "difference of state, and no wrong result"
    )


def first_of(paths: Sequence[str]) -> str:
    """The first of these names, and how many more there are."""
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(paths[:MOST_NAMED]) + more


def require_lasting(spent: Sequence[str]) -> None:
    """Raises UsageError where the first step used up inputs: every further one would run on nothing."""
    if spent:
        raise UsageError(
            f"input {spent[0]} gives nothing after the first step: it is an iterator, which can be gone through once",
            hint="give a list or a tuple in its place; steps are run again and again on the same inputs",
        )


def nothing_compiled(reason: str, *, is_ours: bool) -> GraphboundError:
    if is_ours:
        return InternalError(f"compiling {reason}", hint="the model is not at fault: please report it")
    hint = NO_COMPILER if "CxxCompiler" in reason else "torch.compile(model) alone should fail the same way"
    return UserProgramError(f"torch.compile could not compile any graph: {reason}", hint=hint)


def outcome(accuracy: Accuracy | None) -> TrialOutcome:
    return TrialOutcome.MEASURED if accuracy is None or accuracy.is_right else TrialOutcome.WRONG_RESULT


def wrong_reason(accuracy: Accuracy, candidates: Collection[str] = ()) -> str:
    """How far the result is off. The candidate `eager` runs the graph as captured, which need not be the model."""
    captured = "as captured, without a compiler, " if set(candidates) == {EAGER} else ""
    changes = changes_of(candidates) if accuracy.detail is None else ()
    allowed = f", and {' and '.join(changes)} may cost {accuracy.allowed:.2g}" if changes else ""
    return captured + _off_by(accuracy) + allowed


def _off_by(accuracy: Accuracy) -> str:
    where = accuracy.worst or "the result"
    if accuracy.detail:
        return f"{where}: {accuracy.detail}"
    return f"{where} is off by {accuracy.error:.2g} where the model itself is off by {accuracy.eager_error:.2g}"


def way(name: str, samples: Samples, accuracy: Accuracy | None = None) -> Way:
    reason = wrong_reason(accuracy) if accuracy is not None and not accuracy.is_right else None
    return Way(name, outcome(accuracy), reason, samples, accuracy)


def root_of(source: str) -> Path | None:
    """The repository of the user's file, else its folder; None where the model came from no file."""
    path = Path(source)
    if path.suffix != ".py" or not path.exists():
        return None
    folder = path.resolve().parent
    return root_above(folder) or folder
