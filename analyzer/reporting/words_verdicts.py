"""What each verdict means. The sections are those of the rules."""

from __future__ import annotations

from typing import Final

from analyzer.core.verdict import Bound
from analyzer.reporting.word import Word

COMPUTE: Final = """Arithmetic takes most of the time.

What it finds
    Graphs and gaps in which most time goes to kernels that are nearer to the
    device's arithmetic peak than to its memory bandwidth. What a product reads
    of shared memory counts with it: the evidence says of how much of the time
    that is the busier of the two. The same word names that part of a budget.

Why it costs
    These kernels end when their multiplications are done. Launching faster or
    moving less changes nothing.

How it is measured
    Operations from the recorded shapes, over the dense matrix peak measured on
    this device for that dtype, give the arithmetic time of a kernel; its bytes
    over the measured bandwidth give the memory time. The larger one names the
    kernel. On Hopper, what a product whose name tells its tile asks of shared
    memory is held beside its arithmetic, which it feeds: half the arithmetic
    takes half of both. Counters count it to memory. Of the part, at most what
    exceeds the memory time can be saved.

What to do
    A cheaper dtype (TF32, bfloat16, float8), less arithmetic, or a faster
    device. Near the peak there is nothing to gain: leave it alone. Where shared
    memory is busier than the arithmetic that it feeds: operands that lie along
    the inner dimension in multiples of 16 bytes, for which libraries have
    better tiles.

When it is wrong
    A kernel that does more operations than its formula says (padding, another
    algorithm), or whose dtype is not the one recorded. If TF32 is not known to
    be allowed, float32 products stay unknown kernels.
"""

MEMORY: Final = """Moving data takes most of the time.

What it finds
    Graphs and gaps in which most time goes to kernels that are nearer to the
    device's memory bandwidth than to its arithmetic peak, or that shared memory
    or the first cache bounds and that feed no products with it: the evidence
    says which. The same word names that part of a budget.

Why it costs
    These kernels end when their last byte has moved. The arithmetic units wait
    for memory meanwhile.

How it is measured
    Every input read once and every output written once, and what is known to be
    read again where it does not fit the cache, over the bandwidth measured on
    this device; or, where strides touch more, the sectors that cross from the
    cache, over its own bandwidth. Where all that a kernel moves is less than
    two thirds of the cache, memory need not get what it writes while it runs:
    that crosses to the cache alone. Or, on Hopper, what a sort in a block, a
    pointwise kernel that reads across what it writes, or attention with a bias
    asks of shared memory and the first cache. What feeds products counts to
    compute. Held against the kernel's duration and its arithmetic time.
    Inductor's own count is taken where there is one.

What to do
    Fuse operations so that data is read once, keep a smaller dtype, use larger
    batches where weights are the traffic, avoid copies between layouts. Where
    shared memory or the first cache bounds: a smaller dtype, and one memory
    format throughout, so that what is read lies as what is written does.

When it is wrong
    Data that stays in the cache moves faster than memory; scattered access
    moves more than is counted, and of other kernels what a cache near the
    multiprocessors or shared memory bounds is not seen. Over 105 % of the
    bandwidth is shown as an anomaly and not believed.
"""

CPU: Final = """The host does not keep the device busy.

What it finds
    Graphs and gaps in which the device is idle most of the time, because the
    host launched late (`starved`) or waited for the device and had to start
    anew (`sync`). On a CPU: the host's own work takes most of the time.

Why it costs
    A faster kernel changes nothing while nobody launches it in time.

How it is measured
    Elapsed time of the region without the profiler, less the time in which the
    device worked, which the profiled pass shows. Gaps between kernels that the
    host had launched in time are not counted: they are latency. Never from
    profiled wall time alone, which the profiler stretches. The headline's share
    is of both parts, and names each where it holds both.

What to do
    CUDA graphs remove nearly all of it; the C++ wrapper removes the Python. A
    graph break, a recompilation or a synchronisation among the findings goes
    first. `analyze explain starved` says what the host does.

When it is wrong
    When kernels of the region were not linked to it and ran in its idle time;
    when other programs held the cores; when the clean pass met another speed
    of the machine than a later run will. Where a later pass of the same run
    did (half as long again, or more), the confidence is of both speeds, and the
    headline gives the share at each.
"""

LATENCY: Final = """Kernels too small for the device take most of the time.

What it finds
    Graphs and gaps in which most time goes to kernels up to 10 µs that reach
    under 40 % of both roofs, and to the gaps between kernels that the host had
    launched in time. The same word names that part of a budget.

Why it costs
    Starting, draining and following on take longer than the work itself.

How it is measured
    A kernel's duration against its arithmetic and its memory time, both at
    measured peaks; and the duration of an empty kernel. A gap counts when the
    next kernel's launch had returned before the device fell idle, or when it
    is part of a graph's replay. At most all but the larger of the kernels'
    arithmetic and memory time can be saved.

What to do
    Fewer and larger kernels: larger batches, fusion, foreach or fused
    optimizers, one batched call in place of a loop. CUDA graphs shorten the
    gaps, not the kernels.

When it is wrong
    A kernel with much hidden work, such as a long dependent loop in one block,
    looks the same. Counts that are too low make a kernel look small.
"""

UNDECIDED: Final = """No bound can be named.

What it finds
    Regions without the data for a verdict, with two bounds too near to tell
    apart, with most time in a part that has no bound (copies, unknown kernels,
    other), or too short for two device events to time.

Why it costs
    It does not cost: it says that any other word would be a guess.

How it is measured
    A verdict is given if one bound is the largest in at least half of 400
    budgets that differ from the measured one within the errors of measuring:
    single clean steps in place of their median, idle and busy time, counts and
    peaks; time that nothing explains goes to the strongest rival. That share is
    the confidence of a verdict, 97 % at most.

What to do
    What the report says is missing: run `analyze` on the model rather than on a
    trace alone, record shapes, record more steps, on an idle machine.

When it is wrong
    It may be overcautious: the errors assumed are those of a busy machine.
"""

VERDICT_WORDS: Final[tuple[Word, ...]] = (
    Word(Bound.COMPUTE.value, COMPUTE),
    Word(Bound.MEMORY.value, MEMORY),
    Word(Bound.CPU.value, CPU),
    Word(Bound.LATENCY.value, LATENCY),
    Word(Bound.UNDECIDED.value, UNDECIDED),
)
