"""The critical path of a recorded trace, explained. The sections are those of the rules."""

from __future__ import annotations

from typing import Final

from analyzer.reporting.word import Word

CRITICAL_PATH: Final = """What a recording would have to be shorter in to be shorter.

What it finds
    The chain of work from the begin of the recorded steps to their end in
    which each thing waited for the one before it: the host's own time, the
    delay from a launch call to its kernel, kernels, collectives
    (communication), copies, gaps between kernels that ran one behind the
    other, and what is left of a wait once the work it was for is done
    (synchronising). The parts add up to the steps.

Why it costs
    Only what is on the path can shorten the step. Beside a path that is all
    kernels a faster host gains nothing; beside one that is all host, faster
    kernels gain nothing. A part shows what could be gained at most: once it
    is shorter, another chain may be the longest.

How it is measured
    From the end back. A kernel that was launched before the last one of its
    stream ended leads to that one; one that another stream released, by an
    event or as a branch of one graph, to the one that released it; any other
    one through its launch delay to the host. A host that waits for the device
    leads to the work it waited for; otherwise its time leads back along its
    thread, and from the thread of the backward pass to the one that began it.
    The rows named have the most time on the path, operators without what they
    call. Which event a stream waited for, and which stream or event a host,
    is read from the rows of `cuda_sync` where the recording has them: ask for
    them with torch.profiler.profile(experimental_config=
    torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)).

What to do
    Host: see the starved part of the budget, and CUDA graphs. Kernels: see
    which bound their region has. Communication: analyze the folder of all
    ranks, since a collective also waits for the others. Unknown: record the
    CPU too, and begin some steps earlier.

When it is wrong
    The profiler slows the host, so that the host's part is too large. A
    recording without rows of `cuda_sync` does not name the event that a
    stream waited for: it is told from who ended up to 10 µs before, which may
    be another one by chance. Nor does it name the stream of a wait: it is
    taken for the one launched to last. What waits over 2 ms for nothing that
    was recorded is called unknown. A lock, a data loader's process or another
    rank is not seen: waiting for it is the host's time, or the collective's.
"""

PATH_WORDS: Final[tuple[Word, ...]] = (Word("critical path", CRITICAL_PATH),)
