"""host_sync."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analyzer.core.activity import CopyDirection, HostWait
from analyzer.core.graphs import GapKey
from analyzer.core.ops import OpCall, OpLog, TensorFacts
from analyzer.rules.host_sync import judge
from tests.reports import MS, a_budget, a_key, at
from tests.rule_facts import a_break, a_captured_graph, a_region, an_activity, captured, facts

BETWEEN = GapKey(a_key(1), a_key(2))
READ = ("aten::item", "aten::_local_scalar_dense")
COPY = ("aten::to", "aten::_to_copy", "aten::copy_")


def _wait(**changes: Any) -> HostWait:
    wait = HostWait("cudaStreamSynchronize", READ, BETWEEN, CopyDirection.TO_HOST, 4.0, 3 * MS, 2 * MS, 2 * MS)
    return replace(wait, **changes)


def _tensor(device: str) -> TensorFacts:
    return TensorFacts((8,), "float32", device, "contiguous")


def _log(*calls: OpCall, is_complete: bool = True) -> OpLog:
    return OpLog(calls=calls, total=len(calls), is_complete=is_complete)


def _call(op: str, place: str | None, source: str = "cuda", target: str | None = None) -> OpCall:
    outputs = (_tensor(target),) if target is not None else ()
    return OpCall(op, at(place) if place else None, (_tensor(source),), outputs, count=4, first=0)


def test_a_wait_that_costs_is_found_with_its_cost_and_what_to_write_instead() -> None:
    (finding,) = judge(facts(activity=an_activity(waits=(_wait(),))))
    assert finding.ns_per_step == 2 * MS
    assert finding.count == 4
    assert "waits 3.00 ms a step in aten::item, between two graphs, then the device idles 2.00 ms" in finding.message
    assert "replace x.item()" in finding.remedy


def test_a_long_wait_for_work_that_bounds_the_step_is_told_to_be_harmless() -> None:
    (finding,) = judge(facts(activity=an_activity(waits=(_wait(waited_ns=8 * MS, idle_ns=5_000, cost_ns=4_000),))))
    assert finding.ns_per_step == 4_000
    assert "bounds the step anyway" in finding.message
    assert "nothing is to be gained" in finding.remedy


@pytest.mark.parametrize(
    "wait",
    [
        _wait(waited_ns=MS // 2, cost_ns=MS // 10 - 1),
        _wait(waited_ns=MS // 2, cost_ns=None),
        _wait(direction=CopyDirection.TO_DEVICE),
    ],
    ids=["cheap and short", "unknown and short", "a copy to the device is blocking_copy's"],
)
def test_what_is_no_host_sync_is_silent(wait: HostWait) -> None:
    assert judge(facts(activity=an_activity(waits=(wait,)))) == ()


def test_the_line_of_the_eager_step_is_taken_where_there_is_one() -> None:
    log = _log(_call("aten::_local_scalar_dense", "/home/ada/net.py:17"), _call("aten::mm", "/home/ada/net.py:3"))
    (finding,) = judge(facts(activity=an_activity(waits=(_wait(),)), ops=log))
    assert finding.where == at("/home/ada/net.py:17")


@pytest.mark.parametrize(
    "log",
    [
        _log(_call(READ[1], "/home/ada/net.py:17"), _call(READ[1], "/home/ada/net.py:18")),
        _log(_call(READ[1], "/home/ada/net.py:17"), _call(READ[1], None)),
        _log(_call(READ[1], "/home/ada/net.py:17"), is_complete=False),
        _log(),
    ],
    ids=["two lines", "one line and code of a library", "a log that was cut", "none"],
)
def test_an_ambiguous_line_gives_way_to_where_the_graph_before_the_gap_ended(log: OpLog) -> None:
    capture = captured(a_captured_graph(1, ended_by=a_break("/home/ada/net.py:15")), a_captured_graph(2))
    (finding,) = judge(facts(activity=an_activity(waits=(_wait(),)), ops=log, capture=capture))
    assert finding.where == at("/home/ada/net.py:15")


def test_of_all_copies_only_those_between_host_and_device_can_be_the_one_that_waits() -> None:
    log = _log(
        _call("aten::_to_copy", "/home/ada/net.py:5", "cuda", "cuda"),
        _call("aten::_to_copy", "/home/ada/net.py:9", "cuda", "cpu"),
    )
    (finding,) = judge(facts(activity=an_activity(waits=(_wait(ops=COPY),)), ops=log))
    assert finding.where == at("/home/ada/net.py:9")
    assert "copy to the host after the step" in finding.remedy


@pytest.mark.parametrize(
    ("ops", "call", "remedy"),
    [
        (("aten::is_nonzero", *READ), "cudaStreamSynchronize", "torch.where(c, f(x), x)"),
        (("aten::nonzero",), "cudaStreamSynchronize", "nonzero_static"),
        (("aten::index", "aten::nonzero"), "cudaStreamSynchronize", "nonzero_static"),
        (("aten::masked_select",), "cudaStreamSynchronize", "nonzero_static"),
        (("aten::equal", *READ), "cudaStreamSynchronize", "comparing tensors"),
        (("aten::repeat_interleave",), "cudaStreamSynchronize", "output_size"),
        (("aten::_unique2",), "cudaStreamSynchronize", "unique"),
        (("aten::index_select",), "cudaStreamSynchronize", "set_sync_debug_mode"),
        ((), "cudaDeviceSynchronize", "torch.cuda.synchronize()"),
        ((), "hipDeviceSynchronize", "torch.cuda.synchronize()"),
        ((), "cudaEventSynchronize", "set_sync_debug_mode"),
    ],
)
def test_the_remedy_follows_the_operator(ops: tuple[str, ...], call: str, remedy: str) -> None:
    (finding,) = judge(facts(activity=an_activity(waits=(_wait(ops=ops, call=call, direction=None),))))
    assert remedy in finding.remedy


def test_a_cost_that_is_not_known_is_none_and_says_why() -> None:
    (crossed,) = judge(facts(activity=an_activity(waits=(_wait(cost_ns=None),))))
    (profiled,) = judge(facts(activity=an_activity(waits=(_wait(),), is_scaled=False)))
    (unlinked,) = judge(facts(activity=an_activity(waits=(_wait(cost_ns=0),), is_linked=False)))
    assert [f.ns_per_step for f in (crossed, profiled, unlinked)] == [None, None, None]
    assert "another thread" in crossed.message
    assert "with the profiler's load it costs 2.00 ms" in profiled.message
    assert "no launch row" in unlinked.message
    assert "bounds the step" not in unlinked.message


def test_of_a_call_in_which_the_device_did_nothing_no_saving_and_no_harmlessness_is_claimed() -> None:
    wait = _wait(cost_ns=None, is_for_nothing=True)
    (finding,) = judge(facts(activity=an_activity(waits=(wait,))))
    assert finding.ns_per_step is None
    assert "nothing meanwhile that was recorded" in finding.message
    assert finding.remedy.startswith("record later steps")


BRANCH = ("aten::is_nonzero", *READ)
DYNAMIC = "Data-dependent branching: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`)."


def _blocks(reason: str = DYNAMIC, gap_ms: float = 0.4) -> Any:
    """Three blocks of a model, each of which branches on a tensor at the same line and is a graph of its own."""
    gaps = [GapKey(a_key(number), a_key(number + 1)) for number in (1, 2, 3)]
    stop = a_break("/home/ada/net.py:28", reason)
    graphs = [a_captured_graph(number, ended_by=stop) for number in (1, 2, 3)]
    waits = tuple(
        _wait(ops=BRANCH, region=gap, count=1.0, waited_ns=MS // 20, idle_ns=0, cost_ns=MS // 20) for gap in gaps
    )
    regions = tuple(a_region(gap, a_budget(starved=gap_ms)) for gap in gaps)
    return facts(
        capture=captured(*graphs, a_captured_graph(4)),
        activity=an_activity(waits=waits),
        regions=regions,
        ops=_log(_call("aten::is_nonzero", "/home/ada/net.py:28")),
    )


def test_the_waits_of_one_line_in_several_regions_are_one_finding_with_the_cost_of_all() -> None:
    (finding,) = judge(_blocks(reason="Call to `print`"))
    assert finding.where == at("/home/ada/net.py:28")
    assert finding.count == 3
    assert finding.ns_per_step == 3 * (MS // 20), "each alone is less than a hundredth of the step"
    assert "between two graphs" in finding.message
    assert "capture stops" not in finding.message


@pytest.mark.parametrize("reason", [DYNAMIC, "Unsupported Tensor.item() call with capture_scalar_outputs=False: …"])
def test_a_cheap_wait_for_which_capture_stops_is_found_with_what_to_write_instead(reason: str) -> None:
    cheap = _blocks(reason)
    waits = tuple(replace(wait, cost_ns=1_000) for wait in cheap.activity.waits)
    (finding,) = judge(replace(cheap, activity=an_activity(waits=waits)))
    assert finding.ns_per_step == 3_000
    assert "the wait itself costs little, but capture stops for its value (graph_break)" in finding.message
    assert "torch.where(c, f(x), x)" in finding.remedy


@pytest.mark.parametrize(("reason", "gap_ms"), [("Call to `print`", 0.4), (DYNAMIC, 0.03)], ids=["print", "no gap"])
def test_a_cheap_wait_at_a_break_of_another_reason_or_of_no_time_is_silent(reason: str, gap_ms: float) -> None:
    cheap = _blocks(reason, gap_ms)
    waits = tuple(replace(wait, cost_ns=1_000) for wait in cheap.activity.waits)
    assert judge(replace(cheap, activity=an_activity(waits=waits))) == ()
