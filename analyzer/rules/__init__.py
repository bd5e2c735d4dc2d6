"""The rules: known patterns that cost time. A new one is one file, one line in this list, one test."""

from __future__ import annotations

from typing import Final

from analyzer.rules import (
    anomaly_mode,
    compile_slower_than_eager,
    cudagraph_skip,
    deterministic_mode,
    eager_gap_heavy,
    graph_break,
    missing_no_grad,
    no_graph_captured,
    recompilation,
    recompile_limit,
    tf32_off,
    thread_oversubscription,
)
from analyzer.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    no_graph_captured.RULE,
    compile_slower_than_eager.RULE,
    graph_break.RULE,
    eager_gap_heavy.RULE,
    recompile_limit.RULE,
    recompilation.RULE,
    cudagraph_skip.RULE,
    tf32_off.RULE,
    thread_oversubscription.RULE,
    missing_no_grad.RULE,
    anomaly_mode.RULE,
    deterministic_mode.RULE,
)
