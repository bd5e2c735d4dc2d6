"""One trial in a session: a step under some candidates, in turn with the default, its results and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from analyzer.core.graphs import CudaGraphSkip, GraphKey
from analyzer.core.plan import FUSED
from analyzer.core.run import Way
from analyzer.core.samples import Samples
from analyzer.core.trial import Accuracy, RegionTime, Trial, TrialOutcome
from analyzer.session_ears import CompileClock
from analyzer.session_words import nothing_compiled, outcome, wrong_reason
from collectors.capture import GraphLog
from collectors.cuda_graph_log import UNNAMED_PARTITION
from collectors.memory import Footprint, TrialMemory
from collectors.probe import Probe
from collectors.step import Stepper
from collectors.timing import probe_in_turn, region_medians, sample_in_turn, turn_count, warm_up
from optimizers.backend import Failure, SwitchBackend
from optimizers.candidates.pair import changes_of, pair_of
from optimizers.trials import Choices

NOTHING: Final[Choices] = {}

FIRST_LOOK_S: Final = 0.5
"""Wall time of the first samples of a trial: they tell what saves a tenth; what is closer gets as many again."""


MOST_OF_A_STEP: Final = 10.0
"""Times a step that a graph of it may seem to take before nothing is said of it. A host of two speeds makes 1.6, and
two cores under a test suite 2 of a step of microseconds."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the candidates of one build are tried. `judge` gives the accuracy of a step in steady state under
    these changes of meaning, None where there is nothing to judge by.
    """

    stepper: Stepper
    backend: SwitchBackend
    log: GraphLog
    probe: Probe
    clock: CompileClock
    judge: Callable[[Stepper, tuple[str, ...]], Accuracy | None]
    device: str
    kept_bytes: Callable[[], int] = lambda: 0

    def known_failure(self, tried: Mapping[str, str]) -> Failure | None:
        """What is known of these choices without running them, where none of them can be had."""
        failures = [self.backend.failure(digest, candidate) for digest, candidate in tried.items()]
        known = [failure for failure in failures if failure is not None]
        # A plan that asks all graphs for one candidate still stands where some of them cannot have it; not where there
        # was no time for some of them.
        untried = next((failure for failure in known if failure.outcome is TrialOutcome.UNTRIED), None)
        return untried or (known[0] if known and len(known) == len(failures) else None)

    def measure(self, tried: Mapping[str, str]) -> Trial:
        """Select, warm up, judge and time. Raises what the candidates raise."""
        self.backend.select(tried)
        self.log.cuda_graphs.selected = dict(tried)
        memory = TrialMemory(self.device)
        warmup_ns, _ = warm_up(self.stepper, self.log)
        refused = self._refusals(tried)
        if refused is not None:
            return Trial(outcome=TrialOutcome.REFUSED, reason=refused, skips=self.log.cuda_graphs.skips_of(tried))
        accuracy = self.judge(self.stepper, changes_of(tried.values()))
        against, step_ns = self.samples(tried, min(warmup_ns))
        needed = self._footprint(memory, tried)
        regions = self._regions(tried)
        own, own_against = own_times(regions, tried)
        if _is_disturbed(own, step_ns) or _is_disturbed(own_against, against):
            own = own_against = None
        return Trial(
            outcome=outcome(accuracy),
            reason=None if accuracy is None or accuracy.is_right else wrong_reason(accuracy, tried.values()),
            step_ns=step_ns,
            against=against,
            region_ns=own,
            region_against_ns=own_against,
            accuracy=accuracy,
            compile_ns=self.clock.of(tried),
            peak_bytes=needed.peak_bytes,
            pool_bytes=needed.pool_bytes,
            regions=regions,
            python_fallbacks=self._python_fallbacks(tried),
            is_partitioned=any(self.backend.is_partitioned(digest, candidate) for digest, candidate in tried.items()),
            skips=self._skips(tried, regions),
        )

    def samples(self, tried: Choices, step_ns: int, other: Choices = NOTHING) -> tuple[Samples, Samples]:
        """Steps under `other`, the default without it, and under what is tried, taken in turn, as many of each."""
        rounds = turn_count(step_ns, ways=2, target_s=FIRST_LOOK_S)
        first, second = (lambda: self.backend.select(other)), (lambda: self.backend.select(tried))
        against, own = sample_in_turn(((self.stepper, first), (self.stepper, second)), rounds)
        return against, own

    def _footprint(self, memory: TrialMemory, tried: Mapping[str, str]) -> Footprint:
        self.backend.select(tried)
        has_cuda_graphs = any(uses_cuda_graphs(candidate) for candidate in tried.values())
        kept_bytes = self.kept_bytes() + self.backend.kept_bytes(tried)
        return memory.of_steps(self.stepper, has_cuda_graphs=has_cuda_graphs, kept_bytes=kept_bytes)

    def _regions(self, tried: Mapping[str, str]) -> tuple[RegionTime, ...]:
        """Every graph's own time a step, under what is tried and under the default, taken in turn."""
        ways = (lambda: self.backend.select(tried), lambda: self.backend.select({}))
        own, against = (dict(region_medians(steps)) for steps in probe_in_turn(self.stepper, self.probe, ways))
        return tuple(RegionTime(key, ns, against.get(key)) for key, ns in own.items() if isinstance(key, GraphKey))

    def _python_fallbacks(self, tried: Mapping[str, str]) -> tuple[str, ...]:
        found = (self.backend.python_fallbacks(digest, candidate) for digest, candidate in tried.items())
        return tuple(dict.fromkeys(op for ops in found for op in ops))

    def _skips(self, tried: Mapping[str, str], regions: Sequence[RegionTime]) -> tuple[CudaGraphSkip, ...]:
        """What torch said of the CUDA graphs of what is tried. Why it took a graph apart it says when it compiles, and
        not where it has the graph in its cache.
        """
        heard = self.log.cuda_graphs.skips_of(tried)
        told = {skip.key.digest for skip in heard if skip.key is not None}
        apart = {digest for digest, candidate in tried.items() if self.backend.is_partitioned(digest, candidate)}
        silent = (region.key for region in regions if region.key.digest in apart - told)
        return (*heard, *(CudaGraphSkip(key, None, UNNAMED_PARTITION) for key in silent))

    def _refusals(self, tried: Mapping[str, str]) -> str | None:
        """Torch's reason, where it refused CUDA graphs to every graph that was to have them."""
        wanting = [(digest, candidate) for digest, candidate in tried.items() if uses_cuda_graphs(candidate)]
        reasons = [self.log.cuda_graphs.refusal(digest, candidate) for digest, candidate in wanting]
        return reasons[0] if wanting and all(reasons) else None


def _is_disturbed(own_ns: int | None, step_ns: Samples) -> bool:
    """Whether the few steps with a clock around each graph were no such steps: 55 ms of one of 77 µs, on two cores of
    which another program held both.
    """
    return own_ns is not None and own_ns > MOST_OF_A_STEP * step_ns.median_ns


def own_times(regions: Sequence[RegionTime], digests: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """The time a step of the graphs of these digests together, and under the default; None where no step called one."""
    mine = [region for region in regions if region.key.digest in digests]
    against = [region.against_ns for region in mine if region.against_ns is not None]
    return (sum(region.ns for region in mine) if mine else None, sum(against) if against else None)


def default_compile_ns(clock: CompileClock, digests: Sequence[str]) -> dict[str, int]:
    """What torch.compile's defaults took to compile each graph, forward and backward; without those not compiled."""
    found = ((digest, clock.of({digest: FUSED})) for digest in digests)
    return {digest: ns for digest, ns in found if ns is not None}


def require_compiled(failures: Sequence[Failure | None]) -> None:
    """Raises GraphboundError where the default failed for each of the graphs; `failures` are why, graph by graph."""
    first = failures[0] if failures else None
    if first is not None and all(failures):
        raise nothing_compiled(first.reason, is_ours=first.is_ours)


def uses_cuda_graphs(candidate: str) -> bool:
    """Whether this candidate, or pair, makes CUDA graphs. Raises KeyError for an id that is none."""
    pair = pair_of(candidate)
    return pair.forward.uses_cuda_graphs or pair.backward.uses_cuda_graphs


def with_memory(run: Way, needed: Footprint) -> Way:
    """The same with what its steps need."""
    return replace(run, peak_bytes=needed.peak_bytes, pool_bytes=needed.pool_bytes)
