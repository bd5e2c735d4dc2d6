"""What holds for every candidate: its file, its settings, when it is refused, and what it combines with."""

from __future__ import annotations

import importlib
import re
from itertools import permutations, product

import pytest
import torch._inductor.config

from analyzer.core.graphs import Direction
from analyzer.core.plan import FUSED
from analyzer.core.settings import MEANING_CHANGES, RunSettings, WorkloadSpec
from analyzer.targets import require_candidates
from optimizers.candidates import CANDIDATES
from optimizers.candidates.base import EVERY_DIRECTION, Axis, Candidate
from optimizers.candidates.combine import can_combine, combined
from optimizers.candidates.known import candidate_of, known_candidates

every_candidate = pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda c: c.id)
OLDEST, NEWEST = (2, 11), (2, 14)
PAIRS = list(permutations(CANDIDATES, 2))


def test_ids_are_unique_and_the_baseline_comes_first() -> None:
    ids = [candidate.id for candidate in CANDIDATES]
    assert len(ids) == len(set(ids))
    assert ids[0] == FUSED


@every_candidate
def test_it_is_named_after_its_file(candidate: Candidate) -> None:
    module = importlib.import_module(f"optimizers.candidates.{candidate.id}")
    assert getattr(module, candidate.id.upper()) is candidate
    assert candidate_of(candidate.id) is candidate
    assert module.__doc__


@every_candidate
def test_its_settings_are_inductors(candidate: Candidate) -> None:
    with torch._inductor.config.patch(dict(candidate.patches)):  # raises for a name that Inductor does not know
        if candidate.is_inductors:
            assert torch._inductor.config.triton.cudagraphs is candidate.uses_cuda_graphs
            assert torch._inductor.config.cpp_wrapper is candidate.uses_cpp_wrapper
            assert torch._inductor.config.freezing is candidate.freezes


@every_candidate
def test_how_kernels_are_launched_is_said_whatever_the_users_settings(candidate: Candidate) -> None:
    names = {name for name, _ in candidate.patches}
    assert (names >= {"triton.cudagraphs", "cpp_wrapper"}) is candidate.is_inductors
    assert candidate.is_inductors or not names


@every_candidate
def test_it_is_refused_on_a_device_it_cannot_run_on(candidate: Candidate) -> None:
    for device in ("cpu", "cuda"):
        refusal = candidate.refusal(device, Direction.INFERENCE, NEWEST)
        assert (refusal is None) is (device in candidate.devices)
        assert refusal is None or device.upper() in refusal


@every_candidate
def test_it_is_refused_by_releases_that_lack_it_with_the_reason(candidate: Candidate) -> None:
    reason = candidate.refusal(candidate.devices[0], Direction.INFERENCE, OLDEST)
    if candidate.since is None:
        assert reason is None
    else:
        assert candidate.lacking
        assert reason is not None
        assert candidate.lacking in reason
        assert "torch 2.13" in reason
        assert candidate.refusal(candidate.devices[0], Direction.INFERENCE, candidate.since) is None


@every_candidate
def test_what_bakes_weights_in_is_for_inference_alone_and_says_what_that_means(candidate: Candidate) -> None:
    bakes = candidate.freezes or candidate.is_packaged or bool({"int8", "fp8"} & set(candidate.changes))
    assert bakes is (candidate.directions == (Direction.INFERENCE,))
    assert (bakes or bool(candidate.changes)) is (candidate.caveat is not None)
    refusals = [candidate.refusal(candidate.devices[0], direction, NEWEST) for direction in EVERY_DIRECTION]
    assert [reason is None for reason in refusals] == [direction in candidate.directions for direction in Direction]


@every_candidate
def test_what_changes_the_meaning_says_so_and_is_named_as_allow_names_it(candidate: Candidate) -> None:
    assert (candidate.axis is Axis.MEANING) is bool(candidate.changes)
    if candidate.changes:
        assert candidate.changes == (candidate.id,)
        assert candidate.id in MEANING_CHANGES
        assert (candidate.caveat or "").startswith("it changes")


def test_every_change_that_can_be_allowed_is_a_candidate() -> None:
    assert {c.id for c in CANDIDATES if c.changes} == set(MEANING_CHANGES)


def test_a_combination_makes_the_changes_of_its_parts_and_no_two_that_exclude_each_other() -> None:
    assert candidate_of("bf16+fused_attention+frozen+cuda_graphs").changes == ("bf16", "fused_attention")
    for excluded in ("tf32+bf16", "int8+fp8", "int8+frozen"):
        with pytest.raises(KeyError):
            candidate_of(excluded)


def test_the_baseline_is_never_refused() -> None:
    for device, direction in product(("cpu", "cuda"), Direction):
        assert candidate_of(FUSED).refusal(device, direction, OLDEST) is None


# -- combinations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda c: c.id)
def test_two_go_together_or_it_is_said_why_not(one: Candidate, other: Candidate) -> None:
    reason = can_combine(one, other)
    assert (reason is None) is (can_combine(other, one) is None)
    joined = f"{one.id}+{other.id}"
    if reason is not None:
        with pytest.raises(ValueError, match=re.escape(reason)):
            combined((one, other))
        with pytest.raises(KeyError) as error:
            candidate_of(joined)
        assert reason in str(error.value)
        return
    both = combined((one, other))
    assert both == candidate_of(joined)
    assert (both.id, both.parts) == (joined, (one.id, other.id))
    assert both.is_combination
    assert both.title == f"{one.title} + {other.title.removeprefix('fusion + ')}"
    for device in ("cpu", "cuda"):
        alone = [part.refusal(device, Direction.INFERENCE, NEWEST) for part in (one, other)]
        assert (both.refusal(device, Direction.INFERENCE, NEWEST) is None) is (alone == [None, None])


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda c: c.id)
def test_a_combination_has_what_both_set(one: Candidate, other: Candidate) -> None:
    if can_combine(one, other) is not None:
        return
    both = combined((one, other))
    with torch._inductor.config.patch(dict(both.patches)):
        assert torch._inductor.config.triton.cudagraphs is both.uses_cuda_graphs
        assert torch._inductor.config.cpp_wrapper is both.uses_cpp_wrapper
    for part in (one, other):
        own = dict(part.patches) if part.axis is Axis.LAUNCH else dict(part.patches[2:])
        assert own.items() <= dict(both.patches).items()
        assert (both.freezes, both.groups) >= (part.freezes, part.groups)
        assert part.caveat is None or part.caveat in (both.caveat or "")


def test_every_way_to_make_kernels_goes_with_every_way_to_launch_them() -> None:
    kernels = [c for c in CANDIDATES if c.axis is Axis.KERNELS and c.id != FUSED]
    launches = [c for c in CANDIDATES if c.axis is Axis.LAUNCH]
    assert len(kernels) > 3
    assert len(launches) > 3
    for one, other in product(kernels, launches):
        assert can_combine(one, other) is None, (one.id, other.id)


def test_three_go_together_where_each_two_do() -> None:
    three = candidate_of("frozen+max_autotune+cuda_graphs")
    assert three.parts == ("frozen", "max_autotune", "cuda_graphs")
    assert three.freezes
    assert three.uses_cuda_graphs
    assert dict(three.patches)["max_autotune"] is True
    with pytest.raises(KeyError):
        candidate_of("frozen+cuda_graphs+cpp_wrapper")
    with pytest.raises(KeyError):
        candidate_of("frozen+frozen")
    with pytest.raises(ValueError, match="needs a part"):
        combined(())


# -- by name ----------------------------------------------------------------------------------------------------------


def test_any_backend_can_be_named() -> None:
    named = candidate_of("backend:aot_eager")
    assert (named.backend, named.axis) == ("aot_eager", Axis.ALONE)
    assert known_candidates(("aot_eager", "aot_eager"))[-1] == named
    assert can_combine(named, candidate_of("cuda_graphs")) == "backend aot_eager combines with nothing"


@pytest.mark.parametrize("name", ["max_autotune_everything", "", "+", "frozen+", "backend:", "fused+cuda_graphs"])
def test_an_unknown_name_is_no_candidate(name: str) -> None:
    with pytest.raises(KeyError):
        candidate_of(name)


def test_every_candidate_can_be_asked_for() -> None:
    require_candidates([candidate.id for candidate in CANDIDATES])
    require_candidates(["frozen+cuda_graphs"])
    assert RunSettings(WorkloadSpec("x.py")).candidates == ()
