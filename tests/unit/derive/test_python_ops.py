"""A user's operator in Python: what it does between the operators it calls is the host's, unless it takes too long."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.budget import Budget, Part
from analyzer.derive.attribution import attribute
from analyzer.derive.budget import Context, region_budgets
from analyzer.derive.python_ops import LONGEST_GLUE_NS, glue_rows, python_names
from tests.op_logs import an_op, an_op_log
from tests.traces import Recording
from tests.unit.derive.runs import DEVICE, A, region, timing

CPU = replace(DEVICE, kind="cpu", empty_op_ns=1_000.0)
NAMES = frozenset({"mine::sum"})


def _run(*between_us: float, calls: int = 1) -> Recording:
    """A graph whose operator of a user's multiplies between stretches of its own."""
    run = Recording()
    with run.step(), run.graph(str(A)):
        for _ in range(calls):
            with run.op("mine::sum"):
                run.host(us=between_us[0])
                for us in between_us[1:]:
                    with run.op("aten::mul", ((1024, 1024), (1024, 1024)), ("float", "float")):
                        run.host(us=20)
                    run.host(us=us)
    return run


def _budget(run: Recording, python_ops: frozenset[str]) -> Budget:
    context = Context(CPU, python_ops=python_ops)
    budgets = region_budgets(timing(region(A, 200_000), step_ns=200_000), attribute(run.trace()), context)
    (budget,) = [b.budget for b in budgets if b.region == A]
    assert budget is not None
    return budget


def test_what_it_does_between_its_operators_is_the_hosts_own_work() -> None:
    unsaid, said = _budget(_run(30, 20, 10), frozenset()), _budget(_run(30, 20, 10), NAMES)
    own_ns = unsaid.ns(Part.UNKNOWN_KERNELS)
    assert own_ns > 40_000
    assert said.ns(Part.UNKNOWN_KERNELS) == 0
    # Its dispatch, 1 µs of an operator that works, was starved already.
    assert said.ns(Part.STARVED) == unsaid.ns(Part.STARVED) + own_ns


def test_the_operators_inside_it_stay_what_they_are() -> None:
    unsaid, said = _budget(_run(30, 20, 10), frozenset()), _budget(_run(30, 20, 10), NAMES)
    assert said.ns(Part.MEMORY) == unsaid.ns(Part.MEMORY) > 0


@pytest.mark.parametrize(
    ("run", "is_glue"),
    [
        (_run(30, 20), True),
        (_run(30, LONGEST_GLUE_NS / 1e3 + 1), False),
        (_run(30), False),
        (Recording(), False),
    ],
    ids=["short stretches", "one long stretch", "calls no operator", "an empty trace"],
)
def test_work_of_another_library_is_not_taken_for_python(run: Recording, is_glue: bool) -> None:
    assert bool(glue_rows(run.trace(), NAMES)) is is_glue


def test_one_disturbed_call_says_nothing_of_the_others() -> None:
    run = _run(30, 20, calls=3)
    with run.step(), run.graph(str(A)), run.op("mine::sum"):
        run.host(us=5_000)
        with run.op("aten::mul", ((8,), (8,)), ("float", "float")):
            run.host(us=2)
    assert len(glue_rows(run.trace(), NAMES)) == 4


def test_only_operators_that_the_log_calls_python_are_meant() -> None:
    ours = replace(an_op("sum"), op="mine::sum", is_python=True)
    assert python_names(an_op_log(an_op("mul"), ours)) == NAMES
    assert python_names(None) == frozenset()
    assert glue_rows(_run(30, 20).trace(), frozenset({"other::sum"})) == frozenset()
