"""What the search for a plan aims at, and what it leaves out. The sections are those of the rules."""

from __future__ import annotations

from typing import Final

from analyzer.reporting.word import Word

OBJECTIVE: Final = """What the plan is to be best at: latency, memory or compile.

What it finds
    latency: the fastest step that beats torch.compile default beyond noise.
    memory: the least memory, compile: the fewest seconds of compiling, each
    among the trials that are right and whose step is not slower than the
    default's beyond noise. A gain of less than 1 % is none.

Why it costs
    The fastest candidate may hold a pool of memory for its CUDA graphs, keep
    weights twice or compile for minutes.

How it is measured
    Steps in turn with the default. Memory is the peak of the trial's own
    steps with what the pools of its CUDA graphs hold. Compile seconds are
    those of the candidate, forward and backward, the default's for all other
    graphs; the longest of the run, for later compilations find a cache.

What to do
    --objective memory, --objective compile. --memory-limit 4GiB refuses
    whatever needs more, whichever the objective.

When it is wrong
    A peak is not known on a CPU: nothing is then chosen for memory, and the
    report says so. A part of a peak may lie in a pool and be counted twice.
    Compile seconds are shorter where torch's cache has the kernels already.
"""

SEARCH_TIME: Final = """What bounds the search, and what it leaves untried.

What it finds
    --budget 2m is the wall time of the search. Without it, the whole run is
    to take no more than four times a cold start with torch.compile default:
    loading, its first call and its warm-up; at least 20 s are for the search,
    and 12 s more for each further graph. Candidates that were named with
    --candidates are all tried, however long it takes.

Why it costs
    Each round compiles the default and all candidates so far once more, so
    that they can be timed in turn.

How it is measured
    A trial is expected to compile as long as it did on another graph of the
    run, relative to the default; before that, as long as such candidates
    took elsewhere. What would not fit is untried, with what it was predicted
    to give; so is what cannot repay its trial, by the verdict.

What to do
    Give it more with --budget, or name what is to be tried.

When it is wrong
    An estimate too long leaves out what would have fitted. One too short
    exceeds the time, by a compilation and a trial at most.
"""

SEARCH_WORDS: Final[tuple[Word, ...]] = (Word("objective", OBJECTIVE), Word("search time", SEARCH_TIME))
