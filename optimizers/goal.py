"""What the plan is to be best at, and what it may cost: latency, memory or compile time, and a memory ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from analyzer.core.quantities import NS_PER_S, byte_count
from analyzer.core.settings import Objective
from analyzer.core.trial import Change, Trial, TrialOutcome
from optimizers.trials import Choices, change, is_faster, speedup

LEAST_GAIN: Final = 0.01
"""Of memory or of compile seconds: a plan for less would be a plan for nothing."""


@dataclass(frozen=True, slots=True)
class Goal:
    """`memory_limit_bytes` is the most a trial's peak may be, None for no limit. `default` is the default's own trial,
    None where it was not measured; `compile_s` what the default took to compile, by digest.
    """

    objective: Objective = Objective.LATENCY
    memory_limit_bytes: int | None = None
    default: Trial | None = None
    compile_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def needs_default(self) -> bool:
        """Whether what the default takes must be measured as a trial of its own."""
        return self.objective is Objective.MEMORY or self.memory_limit_bytes is not None

    def gain(self, choices: Choices, trial: Trial) -> float:
        """How many times better than the default; 0 where it is not better, not right, or not known to be either.

        Latency: default step over step, where that is beyond noise. Memory: default peak over peak. Compile: seconds
        of the whole model under the default over those with these choices. The last two only where the step is not
        slower than the default's beyond noise, and not so noisy that this cannot be told.
        """
        match self.objective:
            case Objective.LATENCY:
                return speedup(trial) if is_faster(trial) else 0.0
            case Objective.MEMORY:
                ratio = self._memory_ratio(trial)
            case Objective.COMPILE:
                ratio = self._compile_ratio(choices, trial)
            case _:
                assert_never(self.objective)
        holds = change(trial) in (Change.FASTER, Change.SAME)
        return ratio if holds and ratio is not None and ratio > 1 + LEAST_GAIN else 0.0

    def limited(self, trial: Trial) -> Trial:
        """The trial, refused with its figure where its peak is over the limit. An unknown peak is over no limit."""
        peak, limit = needed_bytes(trial), self.memory_limit_bytes
        if limit is None or peak is None or peak <= limit or trial.outcome is not TrialOutcome.MEASURED:
            return trial
        pools = f", {byte_count(trial.pool_bytes)} of it in CUDA graphs" if trial.pool_bytes else ""
        reason = f"it needs {byte_count(peak)} of the device's memory{pools}, over the limit of {byte_count(limit)}"
        return replace(trial, outcome=TrialOutcome.REFUSED, reason=reason)

    def _memory_ratio(self, trial: Trial) -> float | None:
        default = needed_bytes(self.default) if self.default is not None else None
        mine = needed_bytes(trial)
        return default / mine if default is not None and mine else None

    def _compile_ratio(self, choices: Choices, trial: Trial) -> float | None:
        own = [self.compile_s.get(digest) for digest in choices]
        known = [seconds for seconds in own if seconds is not None]
        if trial.compile_ns is None or len(known) != len(own):
            return None
        default_s = sum(self.compile_s.values())
        mine_s = default_s - sum(known) + trial.compile_ns / NS_PER_S
        # Compiling nothing at all takes no time; the ratio is then as large as a clock can tell.
        return default_s / max(mine_s, 1e-3) if default_s else None


def needed_bytes(trial: Trial) -> int | None:
    """What a trial needs of the device's memory at most: its peak, and what the pools of its CUDA graphs hold, of which
    a part may be in both. None where its peak is not known.
    """
    return None if trial.peak_bytes is None else trial.peak_bytes + (trial.pool_bytes or 0)


def goal_notes(goal: Goal) -> tuple[str, ...]:
    """What the reader must know of the objective and the limit: where they could not be judged, or not be met."""
    peak = needed_bytes(goal.default) if goal.default is not None else None
    notes = []
    if goal.needs_default and peak is None:
        notes.append(
            "peak memory is not known on this device: neither the objective nor the limit could be judged by it"
        )
    limit = goal.memory_limit_bytes
    if limit is not None and peak is not None and peak > limit:
        notes.append(
            f"torch.compile default itself peaks at {byte_count(peak)}, over the limit of {byte_count(limit)}: a graph "
            "for which nothing smaller was found keeps it"
        )
    if goal.objective is Objective.COMPILE and not goal.compile_s:
        notes.append("what compiling took is not known: the objective could not be judged by it")
    return tuple(notes)
