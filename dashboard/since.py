"""What became of a run after its page was read, in a sentence. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

CHANGED: Final = "{subject} was written anew after this page was read."
CANNOT_READ: Final = "{subject} was written anew, and what is there now cannot be read: {problem}"
GONE: Final = "{subject} can no longer be found: this page shows what was read before."
GOES_ON: Final = "{subject} goes on: this page shows what it had written so far, and says when there is more."
MADE_ANEW: Final = "{subject} is being made anew: this page shows what was read before, and says when there is more."
NOT_KEPT: Final = "{subject} was written anew, and what this page was made of is no longer kept: load it anew."


class State(StrEnum):
    """The value is what the page hears."""

    SAME = "same"
    CHANGED = "changed"
    GOES_ON = "goes on"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Since:
    """`text` is empty where there is nothing to say. `now` is the stamp of what is there."""

    state: State
    text: str
    now: str | None


def since(subject: str, read: str | None, now: str | None, *, goes_on: bool) -> Since:
    """From the stamps of what was read and of what is there now, None where there was or is nothing. `goes_on`: a run
    says that it is writing there. `subject` begins the sentence: `This run`.
    """
    state, text = _said(read, now, goes_on=goes_on)
    return Since(state, text.format(subject=subject), now)


def _said(read: str | None, now: str | None, *, goes_on: bool) -> tuple[State, str]:
    if read == now:
        return (State.GOES_ON, GOES_ON) if goes_on and now is not None else (State.SAME, "")
    if now is None:
        return (State.GOES_ON, MADE_ANEW) if goes_on else (State.GONE, GONE)
    return State.CHANGED, CHANGED
