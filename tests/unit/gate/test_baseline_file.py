"""graphbound.baseline.json as it comes back from people and merges."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from analyzer.core.baseline import (
    Baseline,
    MachineClass,
    MachineTimes,
    ModelBaseline,
    StoredPlace,
    StoredValue,
    WayTimes,
)
from analyzer.core.errors import UnreadableFileError
from analyzer.core.samples import Samples
from analyzer.gate.baseline_file import decode_baseline, encode_baseline

NET = ModelBaseline("net.py", "cpu", "2.13.0", (StoredValue("graphs", 1), StoredValue("generated_code", 4352, 0.1)))


def timed(ns: int) -> ModelBaseline:
    ways = (WayTimes("default", (Samples((1000, ns)),)),)
    return replace(NET, times=(MachineTimes(MachineClass("cpu", "EPYC", 2, "Linux x86_64"), "2.13.0", ways),))


RECOUNTED = replace(NET, values=(StoredValue("cudagraph_refusals", 1, revision=2), StoredValue("graphs", 1)))


def test_a_first_revision_is_not_written() -> None:
    assert encode_baseline(Baseline((RECOUNTED,))).count('"revision"') == 1


@pytest.mark.parametrize("models", [(NET,), (NET, replace(NET, kind="cuda")), (timed(1100),), (RECOUNTED,), ()])
def test_what_was_written_is_read_again(models: tuple[ModelBaseline, ...]) -> None:
    assert decode_baseline(encode_baseline(Baseline(models)).encode(), "b").models == models


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ((NET, NET), "net.py on cpu is in it twice"),
        ((replace(NET, values=(StoredValue("graphs", 1), StoredValue("graphs", 2))),), "graphs has two values"),
        ((replace(NET, values=(StoredValue("graphs", -1),)),), "graphs is -1"),
        ((replace(NET, values=(StoredValue("graphss", 1),)),), "no gate 'graphss': did you mean graphs?"),
        ((replace(NET, values=(StoredValue("kernels", 3, -5.0),)),), "margin of kernels is -5"),
        ((replace(NET, places=(StoredPlace("graph_break", "net.py", "", "", -2),)),), "-2 of graph_break"),
        ((timed(0),), "took no time"),
        ((timed(10**18 * 9),), ""),
    ],
)
def test_values_that_no_run_can_have_are_held_against_nothing(models: tuple[ModelBaseline, ...], said: str) -> None:
    text = encode_baseline(Baseline(models)).encode()
    if not said:
        assert decode_baseline(text, "b").models == models
        return
    with pytest.raises(UnreadableFileError, match=re.escape(said)):
        decode_baseline(text, "b")


def test_of_a_merge_that_was_not_ended_the_way_out_is_named() -> None:
    with pytest.raises(UnreadableFileError) as caught:
        decode_baseline(b"{\n<<<<<<< HEAD\n" + encode_baseline(Baseline((NET,))).encode(), "b")
    assert "--theirs" in (caught.value.hint or "")
