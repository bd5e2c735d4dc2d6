"""A lab whose costs are known: what the search makes of them can be checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from analyzer.core.samples import Samples
from analyzer.core.trial import Accuracy, AccuracyReference, Trial, TrialOutcome
from optimizers.search import CandidateTrial, Choices, JointTrial, Target

DEFAULT_NS = 10_000_000


def around(median_ns: int, spread: float = 0.001) -> Samples:
    return Samples(tuple(round(median_ns * (1 + spread * (7 * i % 9 - 4) / 4)) for i in range(9)))


def measured(step_ns: int, *, against_ns: int = DEFAULT_NS, spread: float = 0.001) -> Trial:
    against = Samples(around(against_ns, spread).ns[::-1])
    return Trial(TrialOutcome.MEASURED, step_ns=around(step_ns, spread), against=against)


def wrong(step_ns: int) -> Trial:
    accuracy = Accuracy(AccuracyReference.FLOAT64, 1.0, 1e-7, 1e-6, is_right=False)
    return Trial(
        TrialOutcome.WRONG_RESULT, "off", step_ns=around(step_ns), against=around(DEFAULT_NS), accuracy=accuracy
    )


@dataclass
class FakeLab:
    """`cost(choices)` is the trial of these choices."""

    cost: Callable[[Choices], Trial]
    prepared: list[dict[str, tuple[str, ...]]] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    told: list[CandidateTrial | JointTrial] = field(default_factory=list)
    counts: list[tuple[int, int]] = field(default_factory=list)

    def prepare(self, wanted: Mapping[str, Sequence[str]]) -> None:
        self.prepared.append({digest: tuple(candidates) for digest, candidates in wanted.items()})

    def measure(self, choices: Choices) -> Trial:
        assert self.prepared
        for digest, candidate in choices.items():
            assert candidate in self.prepared[-1][digest], "it was never compiled"
        self.asked.append(dict(choices))
        return self.cost(choices)

    def tried(self, trial: CandidateTrial | JointTrial, done: int, total: int) -> None:
        self.told.append(trial)
        self.counts.append((done, total))


def additive(savings_ns: dict[tuple[str, str], int]) -> Callable[[Choices], Trial]:
    """Each candidate saves what it saves, whatever the others do."""

    def cost(choices: Choices) -> Trial:
        return measured(DEFAULT_NS - sum(savings_ns.get(pair, 0) for pair in choices.items()))

    return cost


def a_target(digest: str, share: float = 0.3, starved: float | None = None) -> Target:
    return Target(digest, round(share * DEFAULT_NS), share, {"cuda_graphs": 5}, starved)
