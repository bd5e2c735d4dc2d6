"""What a profiled step did beside computing: waits, copies, allocator calls, small kernels, guards. Judges nothing.

Every count and time is that of the average recorded step. Times of the host are those of the clean pass where
`Activity.is_scaled`; elsewhere they are the profiled pass's own, which the profiler stretches.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from analyzer.core.graphs import Region


class CopyDirection(Enum):
    """The value is how it is said."""

    TO_DEVICE = "host to device"
    TO_HOST = "device to host"
    ON_DEVICE = "device to device"
    BETWEEN_DEVICES = "between devices"


class HostMemory(Enum):
    PAGEABLE = "pageable"
    PINNED = "pinned"


@dataclass(frozen=True, slots=True)
class HostWait:
    """Calls of one kind from one place in which the host waited for the device. The step's closing one is none.

    `call` is the runtime call (`cudaStreamSynchronize`), `ops` the operators around it, outermost first (`aten::item`,
    `aten::_local_scalar_dense`), empty outside of any. `direction` is that of the copy it waited for, None where it
    waited for no copy of its own operator. `idle_ns` is how long the device then had nothing to do, from the end of
    its last work to the first work launched after the wait. `cost_ns` is what the step would be shorter by, None
    where it is not known: at most `waited_ns`, 0 for a wait for work that bounds the step anyway. The costs of all
    waits add up to what being rid of all of them would save.
    """

    call: str
    ops: tuple[str, ...]
    region: Region
    direction: CopyDirection | None
    count: float
    waited_ns: int
    idle_ns: int
    cost_ns: int | None
    is_for_nothing: bool = False
    """Whether the device was idle within it too, for too long to be a wait for work that was recorded."""


@dataclass(frozen=True, slots=True)
class CopyGroup:
    """Copies of one kind from one place. None is unknown.

    `host_memory` is the kind of the host's side, None between devices too. `device_ns` is how long they ran,
    `exposed_ns` the part of it with no kernel beside them. `holds_host` is whether the host was held until they were
    done, by the copy's own call or by a wait of its operator.
    """

    direction: CopyDirection | None
    host_memory: HostMemory | None
    ops: tuple[str, ...]
    region: Region | None
    count: float
    bytes: int | None
    device_ns: int
    exposed_ns: int
    holds_host: bool


@dataclass(frozen=True, slots=True)
class AllocatorCalls:
    """Calls of one kind that took device or pinned memory from the driver, or gave it back. `host_ns` is their time."""

    call: str
    region: Region
    count: float
    host_ns: int
    cost_ns: int


@dataclass(frozen=True, slots=True)
class KernelSizes:
    """The kernels of one region: all of them, and those of no more than `Activity.small_kernel_ns`.

    The small ones are None where that is unknown. `launches` are the calls that launched them: a replay launches many.
    """

    region: Region
    count: float
    device_ns: int
    launches: float
    small_count: float | None
    small_ns: int | None


@dataclass(frozen=True, slots=True)
class PointwiseChain:
    """Pointwise operators of one size that ran one after another, each with a kernel of its own.

    `ops` in their order. `device_ns` is the time of their kernels, `longest_ns` that of the longest one: a fused
    kernel reads and writes no less. `elements` is the size of their result.
    """

    region: Region
    ops: tuple[str, ...]
    elements: int
    count: float
    device_ns: int
    longest_ns: int


class EntryKind(Enum):
    """What torch does each time that compiled code is entered; the value is how the trace names it."""

    GUARDS = "TorchDynamo Cache Lookup"
    BYTECODE = "Pregraph bytecode"
    PROLOGUE = "AOTDispatcher Runtime Wrapper Prologue"


@dataclass(frozen=True, slots=True)
class EntryCost:
    """One kind of entry work in one region. `profiled_ns` is as recorded, `host_ns` brought to the clean pass."""

    kind: EntryKind
    region: Region
    count: float
    profiled_ns: int
    host_ns: int
    cost_ns: int


@dataclass(frozen=True, slots=True)
class GraphReplays:
    """CUDA graphs in the recorded steps: `launches` replayed one, `captures` recorded one again. `capture_ns` is the
    host's time from the begin of each capture until its graph could run.
    """

    launches: float
    captures: float
    capture_ns: int
    cost_ns: int
    region: Region | None = None
    """Where most of the captures lie; None without any."""
    maker: str = "CUDA"
    """Whose graphs they are, by the names of the calls: `CUDA` or `HIP`."""


@dataclass(frozen=True, slots=True)
class InputWait:
    """Waiting for one loader's next batch. `loader` is as torch names it (`_SingleProcessDataLoaderIter`).

    `idle_ns` is the part of `host_ns` in which the device had nothing to do; None on a CPU.
    """

    loader: str
    region: Region
    count: float
    host_ns: int
    idle_ns: int | None
    cost_ns: int


@dataclass(frozen=True, slots=True)
class Activity:
    """`steps` is how many recorded steps it is the average of, `step_ns` the length of one: of the clean pass where
    `is_scaled`, else profiled. `missing` is why nothing is known, None where it is; the tuples are then empty.

    `is_linked` is False where over a tenth of the device's time has no launch row, so that costs are rough.
    `entry_cost_ns` and `allocation_cost_ns` are what the step would be shorter by without any of the entries, or of the
    allocations: their own costs, one by one, may add up to more.
    """

    steps: int
    step_ns: int
    is_scaled: bool
    is_host: bool
    is_linked: bool = True
    small_kernel_ns: int | None = None
    waits: tuple[HostWait, ...] = ()
    copies: tuple[CopyGroup, ...] = ()
    allocations: tuple[AllocatorCalls, ...] = ()
    kernels: tuple[KernelSizes, ...] = ()
    chains: tuple[PointwiseChain, ...] = ()
    entries: tuple[EntryCost, ...] = ()
    replays: GraphReplays | None = None
    inputs: tuple[InputWait, ...] = ()
    entry_cost_ns: int = 0
    allocation_cost_ns: int = 0
    missing: str | None = None
