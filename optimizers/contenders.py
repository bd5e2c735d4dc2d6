"""What the search may choose from: the candidates as it sees them, what each costs to compile, and which combine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, assert_never

from analyzer.core.graphs import Direction
from analyzer.core.plan import FUSED
from optimizers.candidates.base import JOIN, Axis, Candidate
from optimizers.candidates.pair import AnyCandidate, Pair

DEAR_RATIO: Final = 3.0
"""Compiling three times as long as the default is dear. Of what is measured below, the C++ wrapper begins there."""

_UNKNOWN_RATIO: Final = 1.5
"""Of a candidate whose compile time nobody has measured: the default's own, and something for what it does beside."""

_CPU_RATIOS: Final[dict[str, float]] = {"cpp_wrapper": 1.5}
"""There the kernels are C++ already, and the wrapper is compiled with them: 2.2 s on a graph of 21 s, mostly cached."""

_COMPILE_RATIOS: Final[dict[str, float]] = {
    "eager": 0.0,
    "cuda_graphs": 0.7,
    "cuda_graphs_whole": 0.7,
    "cpp_wrapper": 3.0,
    "cpp_wrapper_eager": 3.0,
    "cpp_wrapper_cuda_graph": 3.0,
    "max_autotune": 8.0,
    "coordinate_descent": 4.0,
    "combo_kernels": 0.8,
    "frozen": 1.1,
    "grouped": 1.0,
    "fused_matvec": 1.0,
    "triton_gemm": 3.0,
}
"""Of the default's compile time, in a process whose kernel cache the default has filled. A CUDA graph compiles the
default's own kernels again, and finds them; combos, frozen and grouped weights compile a few that are new (0.77, 1.1
and 0.9 of a Granite's 13 s on an H200). C++ wrapper: 1.1 to 8 times on H200s, the first use of a machine the longest.
`max_autotune`: MobileNetV2 was not done after five minutes, where the default takes 40 s. Estimates, replaced by what
this run measures as soon as it has measured any (`Pace`)."""

_ONCE_S: Final[dict[str, float]] = {
    **dict.fromkeys(("cpp_wrapper", "cpp_wrapper_eager", "cpp_wrapper_cuda_graph"), 45.0),
    "triton_gemm": 15.0,
}
"""Beside that, once a run on a GPU. C++ wrapper: the headers that all wrappers include; on three hosts of H200s the
first graph of 2 s took 49, 62 and 69 s, and the next ones 5. `triton_gemm`: twenty kernels for a shape of product,
which layers share; the first of ten graphs took 36 s and the others 3, one of 48 products in another model 14."""


class Role(Enum):
    """What a contender changes, as far as the search needs to know."""

    KERNELS = "kernels"
    LAUNCH = "launch"
    BOTH = "both"
    """One of each, combined."""
    ALONE = "alone"
    MEANING = "meaning"
    """A change of meaning, alone or on top of others: tried after all that keeps the meaning."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One candidate, or a combination. `compile_ratio` is its compile time over the default's, as far as known.

    `parts` are the ids of the single candidates that it is made of, its own where it is one. `is_asked` means that the
    user named it: it is not left out for what was predicted of it. `is_eager` compiles nothing. `whole_of`: as of the
    candidate.
    """

    id: str
    role: Role
    compile_ratio: float
    parts: tuple[str, ...]
    uses_cuda_graphs: bool = False
    is_eager: bool = False
    is_asked: bool = False
    whole_of: str | None = None
    merges: bool = False
    """What is alike in the graph: of one that it makes much smaller, everything compiles sooner and launches less."""
    fuses_matvecs: bool = False
    tunes_products: bool = False
    saves_launches: bool = False
    """All that it does to kernels leaves fewer of them: what it saves is the host's time as well."""
    launches_alone: bool = False
    """It has its own launch, which goes with no other and calls no Python: an AOTInductor package."""
    once_s: float = 0.0
    """What its first compilation of a run takes beyond what every one takes."""

    @property
    def is_dear(self) -> bool:
        return self.compile_ratio >= DEAR_RATIO


Combine = Callable[[Sequence[Candidate]], Candidate]
"""The candidate of all these at once. Raises ValueError where they do not go together."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where candidates are to run: the kind of device, and torch's release (major, minor), None where not known."""

    device: str
    release: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Contenders:
    """`single` in the order of the list of candidates, each with what it stands for in `candidates`."""

    single: tuple[Contender, ...]
    candidates: tuple[AnyCandidate, ...]
    combine: Combine
    site: Site

    def of(self, role: Role, *, is_dear: bool) -> tuple[Contender, ...]:
        return tuple(c for c in self.single if c.role is role and c.is_dear is is_dear)

    def refusal(self, contender: Contender, *, has_backward: bool) -> str | None:
        """Why it cannot be had here, for a graph with a backward or without; None where that is not known yet."""
        direction = Direction.FORWARD if has_backward else Direction.INFERENCE
        named = [c for c in self.candidates if c.id == contender.id]
        parts = named or [c for c in self.candidates if c.id in contender.parts]
        reasons = (part.refusal(self.site.device, direction, self.site.release) for part in parts)
        return next((reason for reason in reasons if reason is not None), None)

    def find(self, candidate: str) -> Contender | None:
        """The contender of this id, a combination included; None for the default and for what is not known."""
        single = next((one for one in self.single if one.id == candidate), None)
        return single or self._made_of(tuple(candidate.split(JOIN)))

    def together(self, *contenders: Contender) -> Contender | None:
        """All of these at once, None where they do not go together. Ways to make kernels are named first."""
        return self._made_of(tuple(dict.fromkeys(part for contender in contenders for part in contender.parts)))

    def _made_of(self, parts: tuple[str, ...]) -> Contender | None:
        both = zip(self.candidates, self.single, strict=True)
        found = [(c, one) for c, one in both if c.id in parts and isinstance(c, Candidate)]
        if len(found) != len(parts):
            return None
        if len(found) == 1:
            return found[0][1]
        found.sort(key=lambda pair: pair[1].role is Role.LAUNCH)
        try:
            made = self.combine([candidate for candidate, _ in found])
        except ValueError:
            return None
        ones = [one for _, one in found]
        makers = [one for one in ones if one.role is not Role.LAUNCH]
        return Contender(
            id=made.id,
            role=_role_of_all([one.role for one in ones]),
            # Whatever is dear of each is done once; the rest they have in common.
            compile_ratio=max(one.compile_ratio for one in ones),
            parts=tuple(one.id for one in ones),
            uses_cuda_graphs=made.uses_cuda_graphs,
            merges=made.groups,
            fuses_matvecs=made.fuses_matvecs,
            tunes_products=made.tunes_products,
            saves_launches=bool(makers) and all(one.saves_launches for one in makers),
            once_s=max(one.once_s for one in ones),
        )


def contenders(
    candidates: Sequence[AnyCandidate], combine: Combine, site: Site, asked: Iterable[str] = ()
) -> Contenders:
    """The contenders among `candidates`, without the default. `asked` are ids that the user named."""
    named = frozenset(asked)
    rivals = tuple(candidate for candidate in candidates if candidate.id != FUSED)
    single = tuple(_contender(one, site, is_asked=one.id in named) for one in rivals)
    return Contenders(single, rivals, combine, site)


def _contender(candidate: AnyCandidate, site: Site, *, is_asked: bool) -> Contender:
    if isinstance(candidate, Pair):
        sides = (candidate.forward, candidate.backward)
        return Contender(
            id=candidate.id,
            role=Role.BOTH,
            compile_ratio=max(_ratio(side, site) for side in sides),
            parts=tuple(side.id for side in sides),
            uses_cuda_graphs=any(side.uses_cuda_graphs for side in sides),
            is_asked=is_asked,
        )
    return Contender(
        id=candidate.id,
        role=_role(candidate),
        compile_ratio=_ratio(candidate, site),
        parts=candidate.parts or (candidate.id,),
        uses_cuda_graphs=candidate.uses_cuda_graphs,
        is_eager=candidate.is_eager,
        is_asked=is_asked,
        whole_of=candidate.whole_of,
        merges=candidate.groups,
        fuses_matvecs=candidate.fuses_matvecs,
        tunes_products=candidate.tunes_products,
        saves_launches=candidate.groups or candidate.fuses_matvecs or candidate.tunes_products,
        launches_alone=candidate.is_packaged,
        once_s=0.0
        if site.device == "cpu"
        else max(_ONCE_S.get(part, 0.0) for part in (candidate.id, *candidate.parts)),
    )


def _role_of_all(roles: Collection[Role]) -> Role:
    if Role.MEANING in roles:
        return Role.MEANING
    return Role.BOTH if Role.LAUNCH in roles else Role.KERNELS


def _role(candidate: Candidate) -> Role:
    match candidate.axis:
        case Axis.MEANING:
            return Role.MEANING
        case Axis.KERNELS:
            return Role.KERNELS
        case Axis.LAUNCH:
            return Role.LAUNCH
        case Axis.ALONE:
            if candidate.changes:
                return Role.MEANING
            return Role.BOTH if candidate.is_combination else Role.ALONE
        case _:
            assert_never(candidate.axis)


def _ratio(candidate: Candidate, site: Site) -> float:
    ratios = _COMPILE_RATIOS | _CPU_RATIOS if site.device == "cpu" else _COMPILE_RATIOS
    known = [ratios[part] for part in (candidate.parts or (candidate.id,)) if part in ratios]
    if known:
        return max(known)
    return DEAR_RATIO if candidate.is_dear else _UNKNOWN_RATIO


def can_split(forward: Contender, backward: Contender) -> bool:
    """Whether a graph's forward may run under one and its backward under the other.

    What the forward of a CUDA graph saves for the backward lies at fixed addresses, and a backward that is one wants it
    there: neither goes with anything else. A graph that is left to Autograd has no backward of its own, and one whose
    meaning was changed has the backward of what it was changed into.
    """
    sides = (forward, backward)
    return not any(side.uses_cuda_graphs or side.role in (Role.ALONE, Role.MEANING) for side in sides)
