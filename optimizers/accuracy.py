"""Whether a candidate's results are right: no further from a higher-precision run than eager's, times a factor."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import torch

from analyzer.core.trial import Accuracy, AccuracyReference
from collectors.effects import Results
from collectors.kept_numbers import is_number
from collectors.outputs import gpu_bytes
from collectors.tensor_parts import computable
from optimizers.allowances import FACTOR, NOISE, allowed_for, as_far_as, floor
from optimizers.drawn import are_of_other_draws, no_draw, odd_draws
from optimizers.likeness import (
    Sizes,
    all_finite,
    is_alike,
    is_whole,
    mismatch,
    relative_error,
    same_specials,
    share_of_others,
    size,
    unlike,
    unlike_in_kind,
    unsteady,
    without,
)
from optimizers.outshone import Outshone, is_part_of, outshone

ACCUSED: Final = 10.0
"""Times what is allowed. The first batch norm of MobileNetV2, trained on a batch of 4, is 3.1 times as far off as
eager, and right."""

MOST_EXCUSED: Final = 0.3
"""Beyond it torch's default is accused wherever it is wrong: half a gradient is off by a half, and in bfloat16 ten
times what is allowed is more than that."""

AS_GOOD: Final = 1.5
"""Times the error of torch's own default: a candidate within it is as good as what it is held against, however far off
eager both are. MobileNetV2's first weight gradient came out 3.06 times as far off as eager's, by the same kernels in
the default and in the plan, which was dropped for it. A half, as for the luck of few elements."""

CANCELLED_EPS: Final = 512.0
"""Units of rounding of the largest result that a sum whose terms cancel may leave: the gradient of a convolution's
bias before a batch norm, a sum of 784 elements, was 46 such units under torch.compile, 1 in eager, and is truly 0."""

NOISE_SHARE: Final = 0.01
"""Of the largest result: beyond it a wider run that gives next to nothing is itself in doubt."""

USELESS: Final = 0.9
"""A result of zeros is off by exactly 1: an allowance near that would let anything through. Where eager itself gets as
far off by rounding alone no value says anything, but zeros are told by their size. Of MobileNetV2's gradients on an
H200, trained on a batch of 8 with TF32 convolutions, one was off by 2 in eager, and by 1.3 under CUDA graphs."""


@dataclass(frozen=True, slots=True)
class Judge:
    """What results are judged by. `reference` is None where no wider run was possible: eager itself takes its place.
    `is_random`: eager runs of different seeds differ, and of what differs equality cannot be asked. `default_errors`
    are those of torch's own default, tensor by tensor; None where it is no measure, and empty where it was not run.
    """

    kind: AccuracyReference
    reference: Results | None
    eager: Results
    other_eager: Results | None = None
    is_random: bool = False
    default_errors: tuple[float | None, ...] = ()
    shaken_errors: tuple[float, ...] | None = None
    """How far off eager itself gets, tensor by tensor, when its weights are rounded or its random numbers drawn
    otherwise; None: not asked."""
    repeat_errors: tuple[float, ...] = ()
    """How far off the second of two equal eager runs is, tensor by tensor; empty: not asked."""
    drawn: frozenset[str] = frozenset()
    """What more seeds than `other_eager`'s showed to depend on random numbers."""
    uneven: frozenset[str] = frozenset()
    """Of which more seeds gave draws that have another size than two, or are turned otherwise."""
    uncompared: frozenset[str] = frozenset()
    """What eager's own runs give in other shapes, or otherwise each time: none of it is among the results here."""
    fixed: frozenset[str] = frozenset()
    """Python numbers that are the same whatever the weights and the inputs: no rounding can have changed them."""
    sizes: Sizes = field(default_factory=Sizes, repr=False)
    """Of eager's results."""
    outshone: Outshone = field(default_factory=Outshone, repr=False)

    def doubts(self, accuracy: Accuracy) -> bool:
        """Whether what was found wrong may be luck: a value next to where a ReLU or a comparison turns falls on one
        side of it or the other by rounding alone, and then whole gradients differ. Of a random step anything may be.
        """
        can_be_luck = self.is_random or (accuracy.detail is None and math.isfinite(accuracy.error))
        return can_be_luck and not accuracy.is_right and self.shaken_errors is None

    def shaken(self, runs: Iterable[Results]) -> Judge:
        """The same judge, who knows how far off eager runs get whose weights are rounded otherwise."""
        errors = list(self.shaken_errors or [0.0] * len(self.eager))
        for results in runs:
            results = self.asked(results)
            if mismatch(self.eager, results) is None:
                errors = [max(error, self._off(index, results[index][1])) for index, error in enumerate(errors)]
        return replace(self, shaken_errors=tuple(errors))

    def seeded(self, runs: Iterable[Results]) -> Judge:
        """The same judge of a random step, who knows how far off eager runs of further seeds get."""
        wiser = self
        for results in runs:
            wiser = wiser.without(unlike_in_kind(wiser.eager, wiser.asked(results)))
            known = wiser.asked(results)
            wiser = replace(wiser.shaken([known]), drawn=wiser.drawn | unlike(wiser.eager, known))
            odd = odd_draws(known, wiser.eager, wiser.other_eager or wiser.eager)
            wiser = replace(wiser, uneven=wiser.uneven | odd)
        return wiser

    def holding(self, elsewhere: Sequence[Results]) -> Judge:
        """The same judge, who knows what eager runs on other weights and inputs gave; of none he learns nothing."""
        numbers = frozenset(path for path, _ in self.eager if is_number(path)) if elsewhere else frozenset()
        return replace(self, fixed=numbers.difference(*(unlike(self.eager, results) for results in elsewhere)))

    def asked(self, results: Results) -> Results:
        """What is compared of these results: those that are, and the parts that their largest values outshine."""
        return self.outshone.added(without(results, self.uncompared), self.uncompared)

    def by_parts(self) -> Judge:
        """The same judge, who asks of the parts that the largest values outshine as of results of their own."""
        found = replace(self, outshone=outshone(self.eager))
        wide = None if self.reference is None else found.asked(self.reference)
        return replace(found, eager=found.asked(self.eager), reference=wide)

    def without(self, paths: Collection[str]) -> Judge:
        """The same judge, who asks nothing of what lies at these paths."""
        stays = [i for i, (path, _) in enumerate(self.eager) if path not in paths and not is_part_of(path, paths)]
        return replace(
            self,
            reference=None if self.reference is None else tuple(self.reference[index] for index in stays),
            eager=tuple(self.eager[index] for index in stays),
            other_eager=None if self.other_eager is None else tuple(self.other_eager[index] for index in stays),
            default_errors=tuple(self.default_errors[index] for index in stays) if self.default_errors else (),
            shaken_errors=None if self.shaken_errors is None else tuple(self.shaken_errors[index] for index in stays),
            repeat_errors=tuple(self.repeat_errors[index] for index in stays) if self.repeat_errors else (),
            uncompared=self.uncompared.union(paths),
        )

    def wrong_in(self, results: Results, changes: Collection[str] = ()) -> frozenset[str]:
        """The paths at which these results are wrong, are missing, or are and should not be."""
        known = dict(self.asked(results))
        odd = unlike_in_kind(self.eager, tuple(known.items()))
        both = ((index, path) for index, (path, _) in enumerate(self.eager) if path not in odd)
        return odd.union(
            path for index, path in both if not self._judge_one(index, path, known[path], changes).is_right
        )

    def drawn_anew(self, results: Results) -> tuple[str, ...]:
        """The paths of the whole numbers among these that are other random ones than eager's: nothing is said of their
        values.
        """
        known = self.asked(results)
        if mismatch(self.eager, known) is not None:
            return ()
        whole = (index for index, (_, tensor) in enumerate(known) if is_whole(tensor) and self._is_drawn(index))
        return tuple(known[index][0] for index in whole if not torch.equal(known[index][1], self.eager[index][1]))

    def passed_by_size(self, results: Results) -> tuple[str, ...]:
        """The paths at which these results are as far off as zeros would be, as eager's own are when its weights are
        rounded otherwise: nothing is said of their single values.
        """
        known = self.asked(results)
        if self.shaken_errors is None or mismatch(self.eager, known) is not None:
            return ()
        chaotic = (index for index in range(len(known)) if self._is_chaotic(index) and not self._is_drawn(index))
        far = (index for index in chaotic if self._off(index, known[index][1]) > USELESS)
        return tuple(known[i][0] for i in far if not self._is_as_noisy(i, self.eager[i][1], known[i][1]))

    def _off(self, index: int, tensor: torch.Tensor) -> float:
        """0 for what has no distance from the truth; of whole numbers the share that differs."""
        eager = self.eager[index][1]
        if tensor.is_meta or eager.is_meta:
            return 0.0
        if is_whole(tensor):
            return share_of_others(eager, tensor)
        if not same_specials(eager, tensor):
            return 0.0
        return relative_error(tensor, self._truth(index, eager))

    def beside(self, default: Results) -> Judge:
        """The same judge, who finds nothing wrong that is as good as these results of torch's own default.

        Where those are wrong beyond doubt themselves, they are no measure of anything.
        """
        default = self.asked(default)
        if self.is_random or mismatch(self.eager, default) is not None:
            return self
        alone = replace(self, default_errors=())
        judged = [accused(alone._judge_one(index, path, tensor)) for index, (path, tensor) in enumerate(default)]
        errors = tuple(one.error if one is not None and one.is_right and one.detail is None else None for one in judged)
        return replace(self, default_errors=errors)

    @property
    def has_numbers(self) -> bool:
        """Whether Python numbers are among what is judged."""
        return any(is_number(path) for path, _ in self.eager)

    @property
    def kept_bytes(self) -> int:
        """What its results take of a GPU's memory."""
        kept = (self.reference, self.eager, self.other_eager)
        return sum(gpu_bytes(results) for results in kept if results is not None)

    def judge(self, results: Results, changes: Collection[str] = ()) -> Accuracy:
        """Compare one step's results with eager's and the reference's.

        Under `changes` of meaning that the user allowed a tensor may be `allowed_for` them off as well.
        """
        results = self.asked(results)
        shape = mismatch(self.eager, results)
        if shape is not None:
            return self._wrong(shape)
        verdicts = [self._judge_one(index, path, tensor, changes) for index, (path, tensor) in enumerate(results)]
        wrong = [v for v in verdicts if not v.is_right]
        ranked = wrong or verdicts
        if not ranked:
            detail = "nothing that could be compared" if self.uncompared else "no tensors"
            return Accuracy(self.kind, 0.0, 0.0, 0.0, is_right=True, is_random=self.is_random, detail=detail)
        return max(ranked, key=lambda verdict: verdict.error)

    def judge_one(self, path: str, tensor: torch.Tensor) -> Accuracy:
        """What lies at this path alone, which must be among what is judged."""
        return self._judge_one(next(i for i, (name, _) in enumerate(self.eager) if name == path), path, tensor)

    def _judge_one(self, index: int, path: str, tensor: torch.Tensor, changes: Collection[str] = ()) -> Accuracy:
        eager = self.eager[index][1]
        if tensor.is_meta:  # it has no values, or none that can be read: the session's notes say so
            return Accuracy(AccuracyReference.EAGER, 0.0, 0.0, 0.0, is_right=True, worst=path, detail="not compared")
        if is_whole(tensor):
            return self._exact(index, path, eager, tensor)
        is_drawn = self._is_drawn(index)
        spread = eager if self.other_eager is None else self.other_eager[index][1]
        if is_drawn and not all_finite(tensor) and all_finite(eager) and all_finite(spread):
            return self._wrong("NaN or infinity where eager has none", path)
        if not is_drawn and not same_specials(eager, tensor):
            return self._wrong("NaN or infinity in other places than eager", path)
        if self._is_as_noisy(index, eager, tensor):
            return Accuracy(self.kind, 0.0, 0.0, 0.0, is_right=True, worst=path, detail="rounding noise, as eager's is")
        truth = self._truth(index, eager)
        kind = AccuracyReference.EAGER if truth is eager else self.kind
        error = relative_error(tensor, truth)
        eager_error = max(relative_error(spread, truth), self._shaken_error(index), self._repeat_error(index))
        own = max(as_far_as(eager_error, tensor), floor(path, tensor), AS_GOOD * self._default_error(index))
        allowed = max(own, allowed_for(changes))
        odd = None
        if is_drawn:
            odd = no_draw(tensor, eager, spread) if path not in self.uneven else None
        elif self._is_chaotic(index):
            odd = _of_another_size(tensor, (self.sizes.of(self.eager[index]), size(truth)))
        else:
            allowed = min(allowed, USELESS)
        return Accuracy(
            reference=kind,
            error=error,
            eager_error=eager_error,
            allowed=allowed,
            is_right=error <= allowed and odd is None,
            is_random=self.is_random,
            worst=path,
            detail=odd,
        )

    def _default_error(self, index: int) -> float:
        """0 where the default allows nothing."""
        return (self.default_errors[index] if self.default_errors else None) or 0.0

    def _shaken_error(self, index: int) -> float:
        return self.shaken_errors[index] if self.shaken_errors else 0.0

    def _repeat_error(self, index: int) -> float:
        return self.repeat_errors[index] if self.repeat_errors else 0.0

    def _is_chaotic(self, index: int) -> bool:
        """Whether eager, its weights rounded otherwise, is as far off in this one result as zeros would be."""
        return self._shaken_error(index) > USELESS

    def _is_drawn(self, index: int) -> bool:
        """Whether this one result depends on random numbers. In a random step the others are as exact as in any."""
        if not self.is_random or self.other_eager is None:
            return self.is_random
        return self.eager[index][0] in self.drawn or not is_alike(self.eager[index][1], self.other_eager[index][1])

    def _is_as_noisy(self, index: int, eager: torch.Tensor, tensor: torch.Tensor) -> bool:
        """Whether eager's values are nothing but rounding (the gradient of a bias before a batch norm is 0), small
        beside the other results, and these are no larger than such noise can be.
        """
        if self.reference is None:
            return False
        wide = self.reference[index][1]
        if wide.is_meta or wide.shape != eager.shape or not all_finite(wide):
            return False
        noise = self.sizes.of(self.eager[index])
        if noise <= NOISE * size(wide):
            return False
        # Last, as it reads every other result, and few come so far.
        rounding = max(torch.finfo(tensor.dtype).eps, self.sizes.typical_error(self.eager, self.reference))
        others = ((path, one) for path, one in self.eager if not (is_whole(one) or one.is_meta or is_number(path)))
        sizes = map(self.sizes.of, others)
        largest = max(sizes, default=0.0)
        cancelled = min(NOISE_SHARE, CANCELLED_EPS * rounding) * largest
        return noise <= cancelled and size(tensor) <= max(NOISE * noise, cancelled)

    def _truth(self, index: int, eager: torch.Tensor) -> torch.Tensor:
        """The reference of one tensor; eager itself where the wider run came to nothing comparable."""
        if self.reference is None:
            return eager
        wide = self.reference[index][1]
        if wide.is_meta:
            return eager
        if wide.shape != eager.shape or not all_finite(wide[torch.isfinite(computable(eager))]):
            return eager
        # What rounds on purpose, as `y - y.bfloat16()` does, gives nothing where nothing is rounded.
        has_size = self.sizes.of(self.eager[index]) <= NOISE * size(wide)
        return wide if has_size and relative_error(eager, wide) < USELESS else eager

    def _exact(self, index: int, path: str, eager: torch.Tensor, tensor: torch.Tensor) -> Accuracy:
        """Whole numbers are equal, or as many differ as do in eager itself when its weights are rounded otherwise: the
        index of the largest of two values that are nearly the same. A single one that does so may be any.
        """
        error = share_of_others(eager, tensor)
        shaken = self._shaken_error(index)
        allowed = 1.0 if tensor.numel() == 1 and shaken > 0 else min(as_far_as(shaken, tensor), USELESS)
        detail = None
        if self._is_drawn(index):
            detail = "random whole numbers: not compared" if error > 0 else None
            error, shaken, allowed = 0.0, 0.0, 0.0
        elif error > allowed and path in self.fixed:
            detail = f"{_said(tensor)} where the model itself leaves {_said(eager)}"
        return Accuracy(
            AccuracyReference.EAGER, error, shaken, allowed,
            is_right=error <= allowed, is_random=self.is_random, worst=path, detail=detail,
        )  # fmt: skip

    def _wrong(self, detail: str, path: str | None = None) -> Accuracy:
        return Accuracy(
            self.kind, float("inf"), 0.0, 0.0, is_right=False, is_random=self.is_random, worst=path, detail=detail
        )


def judge_of(runs: tuple[Results, Results, Results], kind: AccuracyReference, wide: Results | None) -> Judge:
    """The judge of two eager runs with one seed and one with another, and of a wider run of this kind where there is
    one. A wider run that returns other tensors is none. What the runs give in other shapes is left out, as is what two
    equal runs give otherwise (`unsteady`).
    """
    eager, again, other = runs
    if wide is not None and [path for path, _ in wide] != [path for path, _ in eager]:
        wide = None
    left_out = unsteady(eager, again) | unlike_in_kind(eager, other)
    again, other = without(again, left_out), without(other, left_out)
    judge = Judge(kind, wide, eager).without(left_out)
    is_random = are_of_other_draws(judge.eager, again, other)
    judge = judge.by_parts()
    again, other = judge.asked(again), judge.asked(other)
    pairs_of_runs = zip(judge.eager, again, strict=True)
    repeated = tuple(
        0.0 if is_alike(own, tensor) else judge._off(index, tensor)
        for index, ((_, own), (_, tensor)) in enumerate(pairs_of_runs)
    )
    return replace(judge, other_eager=other if is_random else None, is_random=is_random, repeat_errors=repeated)


def accused(accuracy: Accuracy | None) -> Accuracy | None:
    """The same, but wrong only beyond doubt: for torch's own default, of which it is an accusation and not a choice."""
    if accuracy is None or accuracy.is_right or accuracy.detail is not None:
        return accuracy
    excused = max(accuracy.allowed, min(ACCUSED * accuracy.allowed, MOST_EXCUSED))
    return replace(accuracy, is_right=accuracy.error <= excused)


def _of_another_size(tensor: torch.Tensor, sizes: Sequence[float]) -> str | None:
    """What is wrong with a result that is FACTOR times smaller or larger than all of these; None where it is not."""
    own = size(tensor)
    if min(sizes) <= own * FACTOR and own <= max(sizes) * FACTOR:
        return None
    return f"its values are of size {own:.2g}, the model's own of {sizes[0]:.2g}"


def _said(number: torch.Tensor) -> str:
    return str(number.tolist())
