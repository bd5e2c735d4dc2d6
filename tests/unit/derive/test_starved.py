"""The clean pass' idle time takes its reasons from the profiled pass, and adds up exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.budget import HostKind, HostPart
from analyzer.derive.host_rows import KINDS
from analyzer.derive.host_time import HostTime
from analyzer.derive.starved import Idle, host_parts, split_idle
from tests.unit.derive.runs import DEVICE

NOTHING = replace(DEVICE, launch_ns=None)
TIMES = st.integers(0, 10**12)


def _host(
    *, queued: int = 0, waited: int = 0, refill: int = 0, launches: int = 0, replays: int = 0, **kinds: int
) -> HostTime:
    return HostTime(
        queued_ns=(queued,),
        waited_ns=(waited,),
        refill_ns=(refill,),
        kind_ns=tuple((kinds.get(kind.name, 0),) for kind in KINDS),
        launches=(launches,),
        replays=(replays,),
    )


def test_gaps_and_waits_are_taken_as_they_are_and_lateness_is_scaled() -> None:
    host = _host(queued=10, waited=20, refill=100, GUARDS=300)
    assert split_idle(230, host) == Idle(queued_ns=10, sync_ns=20 + 50, starved_ns=150)


def test_a_clean_pass_shorter_than_the_gaps_is_all_gaps() -> None:
    assert split_idle(6, _host(queued=10, waited=20, GUARDS=300)) == Idle(6, 0, 0)


def test_a_synchronisation_never_costs_more_than_the_profiled_pass_saw() -> None:
    assert split_idle(1_000, _host(refill=100, GUARDS=100)) == Idle(0, 100, 900)
    assert split_idle(1_000, _host(refill=100)) == Idle(0, 100, 900)


@given(TIMES, TIMES, TIMES, TIMES, TIMES)
def test_the_reasons_add_up(idle: int, queued: int, waited: int, refill: int, late: int) -> None:
    found = split_idle(idle, _host(queued=queued, waited=waited, refill=refill, PYTHON=late))
    assert found.queued_ns + found.sync_ns + found.starved_ns == idle
    assert min(found.queued_ns, found.sync_ns, found.starved_ns) >= 0


@given(TIMES, st.lists(TIMES, min_size=len(KINDS), max_size=len(KINDS)), st.integers(0, 500), st.booleans())
def test_what_the_host_did_adds_up(starved: int, ns: list[int], launches: int, is_measured: bool) -> None:
    kinds = dict(zip((kind.name for kind in KINDS), ns, strict=True))
    device = replace(DEVICE, launch_ns=5_000.0 if is_measured else None)
    parts = host_parts(starved, _host(launches=launches, **kinds), device)
    if parts is None:
        assert not sum(ns)
    else:
        assert sum(part.ns for part in parts) == starved
        assert all(part.ns > 0 and part.is_scaled for part in parts)


def test_shares_are_the_profiled_ones() -> None:
    parts = host_parts(1_000, _host(GUARDS=600, PYTHON=1_400), NOTHING)
    assert parts == (HostPart(HostKind.GUARDS, 300), HostPart(HostKind.PYTHON, 700))


def test_nothing_seen_is_unknown_and_nothing_starved_is_nothing() -> None:
    assert host_parts(1_000, _host(), NOTHING) is None
    assert host_parts(0, _host(), NOTHING) == ()


def test_the_dispatch_of_a_cpus_operators_is_theirs() -> None:
    assert host_parts(100, _host(), NOTHING, dispatch_ns=7.0) == (HostPart(HostKind.OPERATORS, 100),)


@pytest.mark.parametrize(("replays", "launch_ns"), [(0, 20_000), (1, 60_000)])
def test_a_launch_takes_no_longer_than_an_operator_with_its_launch(replays: int, launch_ns: int) -> None:
    # The profiler shows 6 µs of 10 for four launches; this device needs 5 µs for an operator and its launch.
    host = _host(launches=4, replays=replays, LAUNCH=60_000, WRAPPER=30_000, OPERATORS=10_000)
    parts = host_parts(100_000, host, replace(DEVICE, launch_ns=5_000.0))
    assert parts is not None
    by_kind = {part.kind: part.ns for part in parts}
    assert by_kind[HostKind.LAUNCH] == launch_ns
    assert by_kind[HostKind.WRAPPER] == pytest.approx(3 * by_kind[HostKind.OPERATORS], abs=3)


def test_the_median_step_speaks() -> None:
    host = HostTime((0, 0, 0), (0, 0, 0), (0, 0, 0), ((10, 10, 9_000), *((10, 10, 10),) * (len(KINDS) - 1)), (), ())
    parts = host_parts(8_000, host, NOTHING)
    assert parts is not None
    assert {part.ns for part in parts} == {1_000}
