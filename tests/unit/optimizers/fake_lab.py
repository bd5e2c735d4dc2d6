"""A lab whose costs are known: what the search makes of them can be checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from analyzer.core.samples import Samples
from analyzer.core.trial import Accuracy, AccuracyReference, Trial, TrialOutcome
from analyzer.core.verdict import Bound
from optimizers.candidates.base import Axis, Candidate
from optimizers.candidates.combine import combined
from optimizers.contenders import Contenders, Site, contenders
from optimizers.trials import CandidateTrial, Choices, JointTrial, Target

DEFAULT_NS = 10_000_000
COMPILE_S = 10.0
"""What the default takes to compile each graph of the double."""


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


def candidate(name: str, axis: Axis, *, is_dear: bool = False) -> Candidate:
    """An axis' candidate without settings; `eager` and CUDA graphs are what their names say."""
    return Candidate(
        name, name, axis=axis, is_eager=name == "eager", uses_cuda_graphs=name == "cuda_graphs", is_dear=is_dear
    )


CUDA_GRAPHS = candidate("cuda_graphs", Axis.LAUNCH)
CPP_WRAPPER = candidate("cpp_wrapper", Axis.LAUNCH, is_dear=True)
EAGER = candidate("eager", Axis.ALONE)
FROZEN = replace(candidate("frozen", Axis.KERNELS), joins=("max_autotune", "grouped"))
GROUPED = replace(candidate("grouped", Axis.KERNELS), groups=True)
COMBO = candidate("combo_kernels", Axis.KERNELS)
MAX_AUTOTUNE = candidate("max_autotune", Axis.KERNELS, is_dear=True)
LAUNCHES = (CUDA_GRAPHS, EAGER, CPP_WRAPPER)
ALL = (CUDA_GRAPHS, EAGER, FROZEN, CPP_WRAPPER, COMBO, MAX_AUTOTUNE)


def kit(*candidates: Candidate, asked: Sequence[str] = ()) -> Contenders:
    return contenders(candidates or LAUNCHES, combined, Site("cuda"), asked)


@dataclass
class FakeLab:
    """`cost(choices)` is the trial of these choices. With `left` seconds, compiling takes COMPILE_S times what `ratio`
    says for each graph and candidate, building again half of that, and measuring `trial_s`.
    """

    cost: Callable[[Choices], Trial]
    left: float | None = None
    ratio: Mapping[str, float] = field(default_factory=dict)
    trial_s: float = 2.0
    sharper: Callable[[Trial], Trial] = lambda trial: trial
    prepared: list[dict[str, tuple[str, ...]]] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    refined: list[dict[str, str]] = field(default_factory=list)
    alone: Callable[[Trial], int] = lambda trial: trial.step_ns.median_ns if trial.step_ns is not None else 0
    duels: list[tuple[dict[str, str], dict[str, str]]] = field(default_factory=list)
    told: list[CandidateTrial | JointTrial] = field(default_factory=list)
    counts: list[tuple[int, int]] = field(default_factory=list)
    built: set[tuple[str, str]] = field(default_factory=set)
    keeps: bool = False
    longest_rebuild_s: float = 0.0
    longest_compile_s: float = 0.0

    def keeps_built(self) -> bool:
        return self.keeps and bool(self.prepared)

    def prepare(self, wanted: Mapping[str, Sequence[str]], *, is_bounded: bool = True) -> None:
        is_kept = self.keeps_built()
        self.prepared.append({digest: tuple(candidates) for digest, candidates in wanted.items()})
        again, self.built = self.built, set()
        rebuild_s = 0.0 if is_kept else 0.5 * COMPILE_S * (len(wanted) + sum(self._ratio(name) for _, name in again))
        self.longest_rebuild_s = max(self.longest_rebuild_s, rebuild_s)
        self._pass(rebuild_s)
        for digest, candidates in wanted.items():
            for name in candidates:
                if (digest, name) in again:
                    self.built.add((digest, name))
                elif self.left is None or self.left > 0 or not is_bounded:
                    self.longest_compile_s = max(self.longest_compile_s, COMPILE_S * self._ratio(name))
                    self._pass(COMPILE_S * self._ratio(name))
                    self.built.add((digest, name))

    def measure(self, choices: Choices) -> Trial:
        assert self.prepared
        for digest, name in choices.items():
            assert name in self.prepared[-1][digest], "it was never asked for"
        if not all(pair in self.built for pair in choices.items()):
            return Trial(TrialOutcome.UNTRIED, "the search's time was over before it was compiled")
        self.asked.append(dict(choices))
        self._pass(self.trial_s)
        return self.cost(choices)

    def refine(self, choices: Choices, trial: Trial) -> Trial:
        self.refined.append(dict(choices))
        self._pass(self.trial_s / 2)
        return self.sharper(trial)

    def duel(self, choices: Choices, other: Choices, step_ns: int) -> tuple[Samples, Samples] | None:
        self.duels.append((dict(choices), dict(other)))
        steps = [self.alone(self.cost(each)) for each in (other, choices)]
        return around(steps[0]), around(steps[1])

    def left_s(self) -> float | None:
        return self.left

    def tried(self, trial: CandidateTrial | JointTrial, done: int, total: int) -> None:
        self.told.append(trial)
        self.counts.append((done, total))

    def _ratio(self, name: str) -> float:
        return max(self.ratio.get(part, 0.0 if part == "eager" else 1.0) for part in name.split("+"))

    def _pass(self, seconds: float) -> None:
        if self.left is not None:
            self.left -= seconds


def additive(savings_ns: dict[tuple[str, str], int]) -> Callable[[Choices], Trial]:
    """Each candidate saves what it saves, whatever the others do; a combination saves what its parts do."""

    def cost(choices: Choices) -> Trial:
        parts = [(digest, part) for digest, name in choices.items() for part in name.split("+")]
        return measured(DEFAULT_NS - sum(savings_ns.get(pair, 0) for pair in parts))

    return cost


def a_target(
    digest: str,
    share: float = 0.3,
    starved: float | None = None,
    bound: Bound = Bound.CPU,
    room: float | None = None,
) -> Target:
    return Target(
        digest,
        round(share * DEFAULT_NS),
        share,
        {"cuda_graphs": round(share * DEFAULT_NS / 2)},
        starved,
        bound,
        room,
        COMPILE_S,
    )
