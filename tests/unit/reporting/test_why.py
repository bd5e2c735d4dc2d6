"""The section that says why: the bound, what the host did meanwhile, and how the bound shifts under the plan."""

from __future__ import annotations

from analyzer.core.verdict import Bound
from analyzer.reporting.renderer import Page
from analyzer.reporting.terminal import RENDERER
from tests.reports import a_graph, a_report, a_verdict

EVIDENCE = (
    "the device is idle for 20.9 ms of 31.0 ms (67 %), busy 10.1 ms in 288 kernels",
    "of it 46 % wrapper, 31 % operators, 23 % launch calls (scaled from the profiled pass)",
    "6.20 ms of 31.0 ms (20 %) is in kernels nearer to the memory bandwidth",
    "a fourth sentence",
)


def test_why_tells_the_bound_the_host_and_the_next_part() -> None:
    graph = a_graph(verdict=a_verdict(evidence=EVIDENCE), verdict_after=a_verdict(Bound.UNDECIDED))
    text = " ".join(RENDERER.render(a_report(graphs=(graph,)), Page()).split())
    for sentence in EVIDENCE[:3]:
        assert sentence in text
    assert EVIDENCE[3] not in text
    assert "under the plan it is undecided" in text


def test_why_tells_how_the_bound_shifts() -> None:
    graph = a_graph(verdict_after=a_verdict(Bound.LATENCY, confidence=0.81))
    text = " ".join(RENDERER.render(a_report(graphs=(graph,)), Page()).split())
    assert "is CPU-bound (confidence 92 %)" in text
    assert "under the plan it is latency-bound (confidence 81 %)" in text
