"""What the host does while the device is starved, kind by kind. The sections are those of the rules."""

from __future__ import annotations

from typing import Final

from analyzer.core.budget import HostKind
from analyzer.reporting.word import Word

GUARDS: Final = """Dynamo checks that its compiled code still fits.

What it finds
    The look-up of a frame's compiled code and the guards in it, on each call.

Why it costs
    Every guard is a check in Python's data: thousands for a large model, on
    each call of each compiled frame, before anything is launched.

How it is measured
    Rows `TorchDynamo Cache Lookup` while the device was idle, scaled to the
    clean pass. They lie in the gap before a graph, not in the graph.

What to do
    Fewer compiled frames (fewer graph breaks), no recompilations. Where modules
    never change after compiling, options={"guard_filter_fn":
    torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe}.

When it is wrong
    A trace of a compiled model without these rows is not split at all: guards
    would pass for Python.
"""

BYTECODE: Final = """The bytecode that Dynamo wrote around its graphs.

What it finds
    Time in a compiled frame outside its graphs: collecting inputs, rebuilding
    outputs, side effects on the user's objects.

Why it costs
    It runs in Python on each call. Many inputs (parameters), many outputs and
    mutated attributes make it long.

How it is measured
    Rows `Pregraph bytecode`, and the own time of `Torch-Compiled Region`, while
    the device was idle, scaled to the clean pass. Where such a row goes on for
    over 1 ms without another in it, it is the user's own code between graphs,
    and counts as Python between.

What to do
    Return fewer objects, do not mutate attributes in forward, join graphs by
    removing breaks. CUDA graphs do not remove it.

When it is wrong
    What the profiler's own ranges cost is in it.
"""

PROLOGUE: Final = """AOTAutograd prepares the inputs of a graph.

What it finds
    The runtime wrapper's work before the compiled graph is called.

Why it costs
    Aliased, mutated or subclassed inputs are unwrapped one by one, in Python.

How it is measured
    Rows `AOTDispatcher Runtime Wrapper Prologue` while the device was idle,
    scaled to the clean pass.

What to do
    Run inference under no_grad or inference_mode; avoid views and subclasses as
    inputs of a graph.

When it is wrong
    Its counterpart after the graph has no row and counts as wrapper.
"""

WRAPPER: Final = """Python of the compiled graph itself, between its calls.

What it finds
    Inductor's wrapper, AOTAutograd around it, Triton's launcher; with CUDA
    graphs, what surrounds the replay.

Why it costs
    A line or more of Python for every kernel, buffer and argument.

How it is measured
    The own time of a graph's range, of `## Call CompiledFxGraph` and of the
    rows of Inductor's kernels, while the device was idle, scaled.

What to do
    The C++ wrapper or CUDA graphs; fewer kernels.

When it is wrong
    Under the profiler Triton's launcher also collects the arguments that it
    shows in the trace: this share is rather too large than too small.
"""

LAUNCH: Final = """Driver and runtime calls that start device work.

What it finds
    cudaLaunchKernel, cuLaunchKernelEx, cudaGraphLaunch, copies, memsets, and
    their relatives on other devices.

Why it costs
    Some microseconds each, one for every kernel.

How it is measured
    Launch rows while the device was idle, scaled to the clean pass, and never
    more than the measured cost of an operator with its launch allows.

What to do
    Fewer kernels; CUDA graphs, which launch all of them with one call.

When it is wrong
    A graph's launch is many times slower under the profiler, which follows
    each of its kernels. A launch that blocks on a full queue looks slow.
"""

ALLOCATOR: Final = """Allocating and freeing memory.

What it finds
    aten::empty and its kind, and calls such as cudaMalloc and cudaFree.

Why it costs
    A cached allocation is a dictionary look-up; one that goes to the driver is
    far longer, and cudaFree waits for the device.

How it is measured
    Those rows while the device was idle, scaled to the clean pass. Inductor's
    own allocations have no row and count as wrapper.

What to do
    Keep shapes stable, do not call empty_cache() in a loop, preallocate, or set
    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. CUDA graphs use a pool.

When it is wrong
    It is too small where Inductor allocates (see above).
"""

OPERATORS: Final = """PyTorch's operators on the host.

What it finds
    Dispatcher, shape checks, autograd's bookkeeping and the choice of a kernel,
    for operators that run outside generated kernels.

Why it costs
    Some microseconds for each operator, however small its tensors.

How it is measured
    The own time of operator rows while the device was idle, without the driver
    calls in them, scaled. On a CPU also the measured cost of an operation on an
    empty tensor, for each operator that computes.

What to do
    Compile what runs eager, fuse, batch loops, use foreach optimizers.

When it is wrong
    With recorded shapes an operator's row is stretched more than most.
"""

PYTHON: Final = """Time that no row of the trace covers.

What it finds
    The user's Python, and what PyTorch does between its rows.

Why it costs
    Loops, hooks, data handling and logging run while the device has nothing.

How it is measured
    Idle time of the device in which no row of the threads that feed it was
    open, scaled to the clean pass.

What to do
    Record with_stack=True or use a Python profiler to see which lines; move
    work off the step, or compile it.

When it is wrong
    It is the rest: a row that is missing from the trace is in it.
"""

HOST_WORDS: Final[tuple[Word, ...]] = (
    Word(HostKind.GUARDS.value, GUARDS),
    Word(HostKind.BYTECODE.value, BYTECODE),
    Word(HostKind.PROLOGUE.value, PROLOGUE),
    Word(HostKind.WRAPPER.value, WRAPPER),
    Word(HostKind.LAUNCH.value, LAUNCH),
    Word(HostKind.ALLOCATOR.value, ALLOCATOR),
    Word(HostKind.OPERATORS.value, OPERATORS),
    Word(HostKind.PYTHON.value, PYTHON),
)
