"""Which graphs are worth trials, and which candidates cannot repay one on a graph, and why. The reason goes into the
report beside the prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from analyzer.core.quantities import share
from analyzer.core.trial import TrialOutcome
from optimizers.candidates.fused_matvec import NO_MATVEC
from optimizers.contenders import Contender, Contenders, Role
from optimizers.trials import CandidateTrial, Target, is_faster, speedup

MAX_GRAPHS: Final = 12
"""Graphs tried one by one, the costliest first; the rest follow the plan's most common choice."""

MIN_SHARE: Final = 0.005
"""A graph under half a per cent of the step cannot repay a trial: no candidate removes more than all of it."""

PAYS: Final = 0.02
"""Of the step. Twice what is told apart from noise at all (`compare.MIN_CHANGE`)."""

NEAR_FLOOR: Final = 0.10
"""A trial that leaves less than a tenth of its graph's time between it and the graph without any starved time leaves no
room for a dear candidate that only saves the host's time."""

LAUNCH_NS: Final = 1_500
"""What a kernel costs that another could have done with its own: an empty kernel (0.83 µs) and the gap to the next one
inside a CUDA graph (0.6 µs) on an H200."""

HOST_LAUNCH_NS: Final = 12_500
"""The same where the host launches it and is late: 12.6 and 12.8 µs on two hosts of H200s (`Device.launch_ns`). Ten
graphs with 200 small products lost 9.6 µs for each of them under `max-autotune-no-cudagraphs`."""

NEAR_ROOF: Final = 0.10
"""Of its kernels' time. Peaks are measured with the best kernels there are, and repeat to a few per cent: what is
within a tenth of them is not made faster by trying more of the same kind."""

SLOWER_EAGER: Final = 0.05
"""Of the step, by which the model as it is must be slower than the default to leave `eager` untried: beyond the spread
of two ways taken in turn on a noisy machine."""


def worth_trying(targets: Sequence[Target]) -> tuple[Target, ...]:
    """The graphs that are tried one by one, the costliest first."""
    ranked = sorted(targets, key=lambda target: (-target.elapsed_ns, target.digest))
    return tuple(target for target in ranked[:MAX_GRAPHS] if target.share >= MIN_SHARE)


def is_promising(target: Target, contender: Contender) -> bool:
    """Whether it was predicted to pay."""
    return (target.predicted_saving(contender.id) or 0.0) >= PAYS


def why_not(target: Target, contender: Contender, trials: Sequence[CandidateTrial], all_of: Contenders) -> str | None:
    """Why trying it cannot repay, None where it may. What the user named is always tried. `all_of` holds what was tried
    in `trials`.
    """
    if contender.is_asked:
        return None
    if contender.whole_of is not None:
        same = _same_as_parts(target, contender.whole_of, trials)
        if same is not None:
            return same
    lacking = _nothing_for(target, contender, trials, all_of)
    if lacking is not None:
        return lacking
    match contender.role:
        case Role.LAUNCH:
            return _no_host_time(target, contender, trials)
        case Role.BOTH if not contender.is_dear:
            return None
        case Role.KERNELS | Role.BOTH | Role.MEANING:
            return None if contender.saves_launches else _no_kernel_time(target, contender)
        case Role.ALONE:
            # What a package saves beside the host's time, frozen weights save as well, and go with every launch.
            is_package = contender.launches_alone
            return _no_host_time(target, contender, trials) if is_package else _slower_as_it_is(target, contender)


def _no_host_time(target: Target, contender: Contender, trials: Sequence[CandidateTrial]) -> str | None:
    starved = target.starved_share
    if starved is None:
        return None
    saves = "beyond frozen weights it can only save" if contender.launches_alone else "it can only save"
    predicted = target.predicted_saving(contender.id)
    if starved < PAYS and (predicted is None or predicted < PAYS):
        return f"{saves} the host's time, for which the device waits {share(starved)} of a step"
    if not contender.is_dear:
        return None
    steps = [1 / speedup(t.trial) for t in trials if t.digest == target.digest and is_faster(t.trial)]
    left = min(steps, default=1.0) - (1 - starved)
    # Of ten graphs none has a tenth of the step.
    if left >= max(NEAR_FLOOR * target.share, PAYS):
        return None
    return f"{saves} the host's time, of which {share(max(left, 0.0))} of a step is left"


def _same_as_parts(target: Target, other: str, trials: Sequence[CandidateTrial]) -> str | None:
    """What is all or nothing is worth a trial only beside what torch took apart."""
    tried = next((t.trial for t in trials if (t.digest, t.candidate) == (target.digest, other)), None)
    if tried is None or tried.outcome is TrialOutcome.UNTRIED:
        return f"{other}, of which it is the stricter form, was not tried"
    if tried.outcome is not TrialOutcome.MEASURED:
        return f"{other}, of which it is the stricter form: {tried.outcome.value}"
    return None if tried.is_partitioned else f"{other} has the graph whole already"


def _nothing_for(
    target: Target, contender: Contender, trials: Sequence[CandidateTrial], all_of: Contenders
) -> str | None:
    """Where the graph has nothing of the kind that it is for, or too little to repay it."""
    outline = target.outline
    if outline is None:
        return None
    if contender.merges and outline.merged_share is None:
        return "nothing in the graph is alike"
    if contender.fuses_matvecs and not outline.matvecs:
        return NO_MATVEC
    if not contender.tunes_products:
        return None
    launch_ns = HOST_LAUNCH_NS if _is_host_late(target, trials, all_of) else LAUNCH_NS
    saved = outline.products * launch_ns / target.elapsed_ns * target.share
    if saved >= PAYS:
        return None
    return f"it saves a launch or two for each of {outline.products} products, {share(saved)} of a step"


def _is_host_late(target: Target, trials: Sequence[CandidateTrial], all_of: Contenders) -> bool:
    """Whether the device waits for the host in this graph, and no candidate was seen to end that at once for all."""
    faster = (all_of.find(t.candidate) for t in trials if t.digest == target.digest and is_faster(t.trial))
    is_replayed = any(one is not None and one.uses_cuda_graphs for one in faster)
    return (target.starved_share or 0.0) >= PAYS and not is_replayed


def _no_kernel_time(target: Target, contender: Contender) -> str | None:
    if target.starved_share is None:
        return None
    busy = target.share - target.starved_share
    if busy < PAYS:
        return f"it can only save the kernels' time, which is {share(max(busy, 0.0))} of a step"
    room = target.kernel_room
    if contender.is_dear and room is not None and (room < PAYS or room < NEAR_ROOF * busy):
        return f"its kernels are at their roofs: at most {share(max(room, 0.0))} of a step lies above them"
    return None


def _slower_as_it_is(target: Target, contender: Contender) -> str | None:
    """A prediction of `eager` is made of the measured step of the whole model (`targets.py`), not of a model of it."""
    predicted = target.predicted_saving(contender.id) if contender.is_eager else None
    if predicted is None or predicted > -SLOWER_EAGER:
        return None
    return f"the model as it is takes {share(-predicted)} of a step longer than the default, measured in turn"
