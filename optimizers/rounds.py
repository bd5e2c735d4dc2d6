"""In which order the candidates of a graph are tried: by what bounds it, and by what its trials have shown so far.

Every round is one compilation of everything in it, so what does not depend on another's result shares a round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from analyzer.core.graphs import Direction
from analyzer.core.plan import FUSED
from analyzer.core.trial import TrialOutcome
from analyzer.core.verdict import Bound
from optimizers.candidates.base import JOIN
from optimizers.candidates.pair import SPLIT
from optimizers.contenders import Contender, Contenders, Role, can_split
from optimizers.trials import CandidateTrial, Target
from optimizers.worth import PAYS, is_promising

MERGED_FIRST: Final = 0.6
"""Of a graph's operations: where no more are left when what is alike is merged, all else is tried on top of that. The
heads of GPTlite leave four in ten, and launch a tenth of the kernels: 22.8 ms a step became 6.4 on an H200 that took
11.0 with a CUDA graph alone."""

MOST_STACKED: Final = 2
"""Combinations of what won apart that one round adds."""

Gain = Callable[[CandidateTrial], float]
"""How many times better than the default a trial is, 0 where it is not."""

Round = Callable[[Target, Contenders, Sequence[CandidateTrial], Gain], tuple[Contender, ...]]
"""What a graph is to be given next; `trials` are its own."""


def first_round(
    target: Target, all_of: Contenders, trials: Sequence[CandidateTrial], gain: Gain
) -> tuple[Contender, ...]:
    """What is cheap to compile, on the axis that the verdict names; and what the user asked for."""
    launch, kernels = (all_of.of(role, is_dear=False) for role in (Role.LAUNCH, Role.KERNELS))
    launch = tuple(one for one in launch if one.whole_of is None)
    merged = _merged(target, all_of, launch)
    rest = (*all_of.of(Role.ALONE, is_dear=False), *(one for one in all_of.single if one.is_asked))
    # What compiles nothing and was seen to be faster costs a trial of seconds.
    sure = tuple(one for one in rest if one.is_eager and is_promising(target, one))
    match target.bound:
        case Bound.CPU | Bound.UNDECIDED:
            # Kernels come with the best launch: alone they would be hidden behind the host.
            return tuple(dict.fromkeys((*sure, *(merged or launch), *rest)))
        case Bound.COMPUTE | Bound.MEMORY | Bound.LATENCY:
            return tuple(dict.fromkeys((*sure, *merged, *kernels, *launch, *rest)))


def second_round(
    target: Target, all_of: Contenders, trials: Sequence[CandidateTrial], gain: Gain
) -> tuple[Contender, ...]:
    """What the first left in pieces, whole; the other axis, combined with the best; and the dear ways to launch."""
    launch, dear = (all_of.of(Role.LAUNCH, is_dear=is_dear) for is_dear in (False, True))
    whole = tuple(one for one in launch if one.whole_of is not None)
    base = _best(all_of, trials, gain, Role.LAUNCH, Role.BOTH)
    kernels = tuple(_on(base, one, all_of) for one in _untried(all_of.of(Role.KERNELS, is_dear=False), trials))
    kernels += _stacked(all_of, trials, gain)
    if base is None and target.bound in (Bound.CPU, Bound.UNDECIDED):
        # No cheap way to launch was to be had: where the host is late, fewer kernels and the dear way to launch are
        # worth more than other kernels.
        fewer = tuple(one for one in all_of.of(Role.KERNELS, is_dear=True) if one.saves_launches)
        return (*whole, *launch, *_untried(fewer, trials), *dear, *kernels)
    return (*whole, *kernels, *launch, *dear)


def third_round(
    target: Target, all_of: Contenders, trials: Sequence[CandidateTrial], gain: Gain
) -> tuple[Contender, ...]:
    """The best that won apart, together; and the dear ways to make kernels, on top of the best there is."""
    base = _best(all_of, trials, gain, *Role)
    launch = _best(all_of, trials, gain, Role.LAUNCH)
    dear = _untried(all_of.of(Role.KERNELS, is_dear=True), trials)
    tuned = [_on_either(base, launch, one, all_of) for one in dear]
    return (*_stacked(all_of, trials, gain), *tuned, *_untried(all_of.of(Role.ALONE, is_dear=True), trials))


def changing_round(
    target: Target, all_of: Contenders, trials: Sequence[CandidateTrial], gain: Gain
) -> tuple[Contender, ...]:
    """What changes the meaning, where the user allowed it, each on top of the best that keeps it.

    On top of the best launch where the best of all does not go with it, and alone where that does not either.
    """
    base = _best(all_of, trials, gain, *Role)
    launch = _best(all_of, trials, gain, Role.LAUNCH)
    changing = _untried(tuple(one for one in all_of.single if one.role is Role.MEANING), trials)
    return tuple(_on_either(base, launch, one, all_of) for one in changing)


def changed_stack_round(
    target: Target, all_of: Contenders, trials: Sequence[CandidateTrial], gain: Gain
) -> tuple[Contender, ...]:
    """The changes of meaning that gained apart, together."""
    best = _best(all_of, trials, gain, Role.MEANING)
    return () if best is None else _stacked(all_of, trials, gain)


ROUNDS: Final[tuple[Round, ...]] = (first_round, second_round, third_round, changing_round, changed_stack_round)


def goes_on_top(contender: Contender, base: Contender) -> bool:
    """Whether it is tried on top of `base` where that has won since: other kernels always; a launch that is dear to
    compile on other kernels, which leave it less to launch. A cheap launch is tried alone, as it was predicted.
    """
    if contender.role is Role.LAUNCH:
        return contender.is_dear and base.role is Role.KERNELS
    return contender.role in (Role.KERNELS, Role.BOTH)


def is_overdue(target: Target, contender: Contender, trials: Sequence[CandidateTrial], gain: Gain) -> bool:
    """Whether it may spare the host of a graph something that waits for the host and that nothing tried has helped.

    It goes before what comes on top of others' wins: of ten graphs on an H200 five refused CUDA graphs, and the time
    ended before two of them had the C++ wrapper, and before any had it on top of `triton_gemm`, while frozen weights
    were tried on top of the others' CUDA graphs and gave nothing.
    """
    spares_the_host = contender.role is Role.LAUNCH or contender.saves_launches
    is_late = target.bound in (Bound.CPU, Bound.UNDECIDED)
    return is_late and spares_the_host and bool(trials) and not any(map(gain, trials))


def _merged(target: Target, all_of: Contenders, launch: Sequence[Contender]) -> tuple[Contender, ...]:
    """What merges the graph, with each way to launch that goes with it; nothing where that leaves most of it."""
    if target.merged_share is None or target.merged_share > MERGED_FIRST:
        return ()
    merging = [one for one in all_of.of(Role.KERNELS, is_dear=False) if one.merges]
    return tuple(on for one in merging for base in launch if (on := all_of.together(base, one)) is not None)


def split_of(target: Target, all_of: Contenders, trials: Sequence[CandidateTrial]) -> tuple[Contender, int] | None:
    """Another candidate for the backward than for the forward, with the graph's time that both trials foretell; None
    where none promises more than a trial that was measured, by PAYS of the step.
    """
    if not target.has_backward:
        return None
    forward, backward = (_own_times(trials, direction) for direction in (Direction.FORWARD, Direction.BACKWARD))
    together = {name: forward[name] + backward[name] for name in forward if name in backward}
    pairs = [(forward[f] + backward[b], f, b) for f in forward for b in backward if f != b and _may_split(f, b, all_of)]
    if not pairs or not together:
        return None
    ns, one, other = min(pairs)
    if (min(together.values()) - ns) / target.elapsed_ns * target.share < PAYS:
        return None
    ratio = max(found.compile_ratio if (found := all_of.find(name)) else 1.0 for name in (one, other))
    return Contender(f"{one}{SPLIT}{other}", Role.BOTH, ratio, (one, other)), ns


def _own_times(trials: Sequence[CandidateTrial], direction: Direction) -> dict[str, int]:
    """The graph's own time in one direction by candidate, the default among them."""
    found: dict[str, int] = {}
    for tried in trials:
        if tried.trial.outcome is not TrialOutcome.MEASURED or SPLIT in tried.candidate:
            continue
        mine = [r for r in tried.trial.regions if r.key.digest == tried.digest and r.key.direction is direction]
        if mine and all(r.against_ns is not None for r in mine):
            # Put on one scale by the default's time beside it: the machine drifts between trials.
            against = sum(r.against_ns or 0 for r in mine)
            base = found.setdefault(FUSED, against)
            found[tried.candidate] = round(sum(r.ns for r in mine) * base / max(against, 1))
    return found


def _may_split(forward: str, backward: str, all_of: Contenders) -> bool:
    fused = Contender(FUSED, Role.KERNELS, 1.0, (FUSED,))
    one, other = (fused if name == FUSED else all_of.find(name) for name in (forward, backward))
    return one is not None and other is not None and can_split(one, other)


def _best(all_of: Contenders, trials: Sequence[CandidateTrial], gain: Gain, *roles: Role) -> Contender | None:
    """The contender of one of these roles whose trial gained most, None where none gained."""
    mine = [(gain(t), c.id, c) for t in trials if (c := all_of.find(t.candidate)) and c.role in roles and gain(t)]
    return max(mine, key=lambda ranked: ranked[:2])[2] if mine else None


def _stacked(all_of: Contenders, trials: Sequence[CandidateTrial], gain: Gain) -> tuple[Contender, ...]:
    """The best there is, with what won beside it: on the other axis, or on its own where two go together."""
    base = _best(all_of, trials, gain, *Role)
    if base is None:
        return ()
    won = sorted((t for t in trials if gain(t)), key=gain, reverse=True)
    others = [one for t in won if (one := all_of.find(t.candidate)) is not None]
    stacks = (all_of.together(base, one) for one in others)
    found = [one for one in stacks if one is not None and one.id != base.id]
    return _untried(dict.fromkeys(found), trials)[:MOST_STACKED]


def _on(base: Contender | None, one: Contender, all_of: Contenders) -> Contender:
    """`one` on top of `base`, alone where that cannot be."""
    return one if base is None else (all_of.together(base, one) or one)


def _on_either(base: Contender | None, launch: Contender | None, one: Contender, all_of: Contenders) -> Contender:
    """`one` on top of `base`, else of `launch`, alone where neither can be."""
    return next((on for on in (_on(base, one, all_of), _on(launch, one, all_of)) if on != one), one)


def _untried(some: Iterable[Contender], trials: Sequence[CandidateTrial]) -> tuple[Contender, ...]:
    """Those that were not tried, alone or as part of a combination."""
    tried = {t.candidate for t in trials}
    used = {part for t in trials for part in t.candidate.split(JOIN)}
    return tuple(c for c in some if c.id not in tried and not (len(c.parts) == 1 and c.id in used))
