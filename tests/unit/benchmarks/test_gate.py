"""The benchmark of the gate on time judges with the gate itself, and its committed figures keep the promise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from analyzer.checking.in_turn import PROCESSES, TURNS
from analyzer.derive.slower import P_LIMIT, TURN_FACTOR
from benchmarks import gate
from benchmarks.gate import COMPARISONS, FALSE_ALARMS, FOUND


def test_a_quiet_machine_finds_five_per_cent_and_raises_no_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "COMPARISONS", 20)
    quiet = gate._normal(0.01)
    assert gate.rates("1%", quiet, 1.05, 36, TURN_FACTOR).called_slower >= FOUND
    still = gate.rates("1%", quiet, 1.0, 36, TURN_FACTOR)
    assert still.called_slower == 0
    assert still.called_same == 1


def test_what_a_pass_says_it_could_have_seen_is_held_against_true_slow_downs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "COMPARISONS", 20)
    monkeypatch.setattr(gate, "CLAIMS", 3)
    told = gate.claim("2%", gate._normal(0.02))
    assert TURN_FACTOR - 1 < told.seen < 0.08
    assert told.found >= 0.8
    rows = [gate.Rates("2%", 1.05, turns, TURN_FACTOR, found, 0, 0) for turns, found in ((36, 0.5), (144, 0.96))]
    (_, _, line) = gate._needed_table(rows, [told])
    assert line.startswith("| 2% | 144 | ")
    (_, _, line) = gate._needed_table(rows[:1], [told])
    assert line.startswith("| 2% | more than 36 | ")


def test_recorded_turns_keep_their_pairs_and_may_swap_sides() -> None:
    draw = gate._from_recorded([(np.full(TURNS, 100.0), np.full(TURNS, 200.0))])
    random = np.random.default_rng(0)
    seen = {tuple(np.unique(side)) for _ in range(20) for side in draw(random, TURNS, 1.0)}
    assert seen == {(100.0,), (200.0,)}
    base, head = draw(random, 3 * TURNS, 1.5)
    assert base.size == head.size == 3 * TURNS
    assert set(head / base) <= {0.75, 3.0}


def test_the_committed_figures_are_of_this_gate_and_keep_the_promise(root: Path) -> None:
    found = json.loads((root / "benchmarks" / "results" / "ci.json").read_text())
    assert found["p"] == P_LIMIT
    rows = found["rates"]
    usual = [row for row in rows if row["turns"] == PROCESSES * TURNS and row["factor"] == TURN_FACTOR]
    still = [row for row in usual if row["slower"] == 1.0]
    assert still
    assert all(row["called_slower"] < FALSE_ALARMS for row in still)
    assert any(row["called_slower"] >= FOUND for row in rows if row["slower"] == 1.05)
    for claim in found["claims"]:
        # Estimated from 36 turns, of three pairs of processes: what is said to be found in 95 of 100 is in most.
        assert claim["found"] > 0.85, claim["noise"]
        assert claim["seen"] >= TURN_FACTOR - 1
    assert all(claim["found"] > FOUND for claim in found["stored_claims"])
    assert f"{COMPARISONS} comparisons" in (root / "benchmarks" / "results" / "ci.md").read_text()
