"""What each part of a budget means, except those that a verdict is named after. The sections are those of the rules."""

from __future__ import annotations

from typing import Final

from analyzer.core.budget import Part
from analyzer.reporting.word import Word

STARVED: Final = """The device is idle because the host came late.

What it finds
    Time in which nothing runs on the device and nothing is queued for it. On a
    CPU: time outside the operators that compute, the framework's own.

Why it costs
    It is the host's time in the model's way, whatever the kernels do.

How it is measured
    Elapsed time without the profiler, less busy time, less the device's own
    gaps and what synchronising costs. It is split by what the host did while
    the device was idle in the profiled pass: guards, bytecode, prologue,
    wrapper, launch calls, allocator, operators, Python between. The split is
    scaled to the clean time and adds up to it.

What to do
    CUDA graphs, the C++ wrapper, fewer graph breaks, larger graphs. The split
    says which: `analyze explain guards`, and so on.

When it is wrong
    The total is as good as the clean pass. Of the split trust the order and the
    rough size: the profiler stretches rows with many arguments more than bare
    driver calls, so that wrapper and operators look larger than they are.
"""

UNKNOWN_KERNELS: Final = """Kernels that no roof can be named for.

What it finds
    Kernels whose operations or bytes are not known, whose dtype has no measured
    peak, or which are so far from both roofs that neither explains them.

Why it costs
    They take the time shown; what would shorten it is not known.

How it is measured
    What is left of the busy time after every kernel with a formula, and with
    plausible figures, has its class.

What to do
    Record shapes (record_shapes=True). For a kernel of your own, pass tensors
    so that their shapes are recorded. Give the graph a fused run beside a CUDA
    graph or C++ wrapper run, which shows what its kernels do.

When it is wrong
    It claims nothing. In a verdict it counts against the winner.
"""

COPIES: Final = """Copies and memsets with no kernel beside them.

What it finds
    Time in which the device copies between memories, or fills one, while no
    kernel of the region runs.

Why it costs
    The kernels wait for data that could have moved earlier or not at all.

How it is measured
    The union of copies and memsets of the region, less the union of its
    kernels: a copy that hides behind a kernel costs nothing.

What to do
    Pinned memory and non_blocking=True, prefetch on a second stream, keep
    tensors on the device, make constants there.

When it is wrong
    A copy beside a kernel of another region counts as exposed. A blocking copy
    also holds the host: that shows as starved or sync.
"""

SYNC: Final = """The device is idle because the host waits, or waited, for it.

What it finds
    Synchronisations (`.item()`, `.cpu()`, a branch on a tensor, synchronize())
    that leave the device without work.

Why it costs
    The host learns late that the device is done, and then its queue is empty:
    the device waits until the next launch.

How it is measured
    Idle time while a synchronising call is open; and idle time after it, as far
    as the host had waited for a busy device in it, for without the wait it
    would have launched that much earlier. A wait for a busy device alone costs
    nothing. From the profiled pass, scaled to the clean one. The recorder's own
    wait at the end of a step is in the step's budget only.

What to do
    Keep the value on the device (torch.where, capture_scalar_outputs), log
    every Nth step, copy with non_blocking=True and read it later.

When it is wrong
    It is what could be saved at most: if the value is needed before the next
    launch, only another algorithm avoids the wait. Blocking copies that wait
    inside the copy call are not told from launching.
"""

OTHER: Final = """What no evidence explains.

What it finds
    The step's edges outside all regions, and regions that the profiled pass did
    not reach. In a recorded trace also idle time between the marked steps or
    outside of them, which is no part of a step: the timeline and `analyze
    compare` tell it apart.

Why it costs
    It takes the time shown; by what is not known.

How it is measured
    The median step less the sum of its regions, less the wait at its end.

What to do
    Record more steps, so that the profiled pass reaches every region.

When it is wrong
    It claims nothing. In a verdict it counts against the winner.
"""

PART_WORDS: Final[tuple[Word, ...]] = (
    Word(Part.STARVED.value, STARVED),
    Word(Part.UNKNOWN_KERNELS.value, UNKNOWN_KERNELS),
    Word(Part.COPIES.value, COPIES),
    Word(Part.SYNC.value, SYNC),
    Word(Part.OTHER.value, OTHER),
)
