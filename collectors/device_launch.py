"""What launching costs on a CUDA device: one launch, the gaps between kernels, one replay of a CUDA graph.

Three of the constants are chosen so that `busy + kernel_gap_ns * kernels + replay_ns` is the wall time of a step under
CUDA graphs, where `busy` and `kernels` are the profiled kernels of the same step launched one by one.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch.autograd import DeviceType  # type: ignore[attr-defined]
from torch.profiler import ProfilerActivity, profile, supported_activities

from analyzer.core.graphs import Direction, GraphKey
from collectors import torch_compat
from collectors.device_cpu import host_ns_per_call
from collectors.device_precision import tf32
from collectors.probe import Probe

_LAUNCH_BATCH: Final = 200
"""Launches without waiting: well under the some thousand that a stream queues before it blocks the host."""
_LAUNCH_BATCHES: Final = 15
_TINY: Final = 32
"""Elements: one warp."""

_PAIRS: Final = (32, 128, 256)
"""Lengths of the captured chains, in pairs of a small product and a pointwise kernel: 64 to 512 kernels."""
_ROWS: Final = 128
_WIDTH: Final = 1024
"""A product of 128 x 1024 x 1024 in float16 takes a few microseconds on an H200, as in one layer of a small model."""
_GAIN: Final = 1.5
"""Scale of the random weights: with a gain above 1 a chain of tanh layers stays of order 1 for ever."""

_LAYERS: Final = 8
_LAYER_WIDTH: Final = 256
_BATCH: Final = 64
"""The compiled model: enough layers that guards and parameters are checked on each call as in a real one."""

_QUEUED: Final = 128
"""Launches behind a long kernel: a few hundred microseconds of the host's time, and well under what a stream queues."""
_BLOCK_SIDE: Final = 4096
_BLOCK_CALLS: Final = 4
"""Float32 products of this side take 2.7 ms each on an H200, so that the host has launched all before they end."""

_WALL_REPEATS: Final = 31
_QUICK_PERCENT: Final = 10
_WARM_CALLS: Final = 5
"""A compiled call under CUDA graphs warms up, records, and replays from the third call on."""
_PROFILED_CALLS: Final = 5

_CUDA_GRAPHS: Final[dict[str, object]] = {"triton.cudagraphs": True, "cpp_wrapper": False}
_OWN_KEY: Final = GraphKey("0" * 12, Direction.INFERENCE)

_GRAPH_LAUNCH: Final = "cudaGraphLaunch"
_NO_KERNEL: Final = ("Memcpy", "Memset")


@dataclass(frozen=True, slots=True)
class LaunchCosts:
    """In nanoseconds; None where the profiler showed no kernel.

    `launch_ns` is the host time of `torch.add(a, b, out=c)` on 32 elements: dispatcher and launch, nothing else.
    `empty_kernel_ns` is the duration of that kernel, `launch_gap_ns` the gap between two of them that the host
    launched long before, by the timestamps of the profiler. `replay_ns` is from calling a compiled model to
    synchronised, less its kernels and their gaps, so it holds guards, the copy of the input and the wake-up of the
    host. `replay_host_ns` is the same between the device events around the graph's own call, as trials time it: what
    an idle device waits for the host's part of a replay.
    """

    launch_ns: float
    empty_kernel_ns: float | None
    launch_gap_ns: float | None
    kernel_gap_ns: float | None
    replay_ns: float | None
    replay_host_ns: float | None = None


@dataclass(frozen=True, slots=True)
class Profiled:
    """The kernels of one call, and whether a CUDA graph launched them."""

    kernels: float
    busy_ns: float
    is_replay: bool


@dataclass(frozen=True, slots=True)
class Span:
    """One kernel on the profiler's clock."""

    start_ns: float
    end_ns: float


@dataclass(frozen=True, slots=True)
class Point:
    """One captured chain: kernels in it, and its wall time less their durations, of a usual replay and a quick one."""

    kernels: float
    idle_ns: float
    quick_idle_ns: float


@dataclass(frozen=True, slots=True)
class Wall:
    """From a call on an idle device to synchronised: the median, and the quickest tenth, which the host did not hold
    up.
    """

    median_ns: float
    quick_ns: float


def measure_launches() -> LaunchCosts:
    """The launch costs of the current CUDA device, in some seconds.

    Everything is timed before anything is profiled: once the profiler has run, a process launches more slowly.
    """
    one, two, out = torch.ones(3, _TINY, device="cuda", dtype=torch.float32).unbind()

    def add() -> object:
        return torch.add(one, two, out=out)

    launch_ns = _launch_ns(add)
    chains = [_chain(pairs) for pairs in _PAIRS]
    walls = _walls([_captured(chain).replay for chain in chains])
    model = _timed_model()
    tiny = profile_calls(add)
    line = fit_line(_points(chains, walls))
    gap_ns, replay_ns = line if line is not None else (None, None)
    host_ns = None
    if gap_ns is not None and model is not None:
        # A bare replay costs less than a call of a compiled model; it stands in where nothing can be compiled.
        whole_ns, host_ns = model.rest_ns(gap_ns)
        replay_ns = whole_ns or replay_ns
    return LaunchCosts(
        launch_ns=launch_ns,
        empty_kernel_ns=None if tiny is None else tiny.busy_ns / tiny.kernels,
        launch_gap_ns=_launch_gap_ns(add),
        kernel_gap_ns=gap_ns,
        replay_ns=replay_ns,
        replay_host_ns=host_ns,
    )


def fit_line(points: Sequence[Point]) -> tuple[float, float] | None:
    """The gap between two kernels and the cost of one replay: the slope, by least squares, of the idle time of quick
    replays over their kernels, and what the gaps leave of usual ones.

    A busy host only adds to a replay, to one chain more than to the next: on one H200 the slope of the medians came out
    as 201, as 603 and as negative. None with fewer than two different lengths, or where a cost came out as zero or
    negative: noise, not a cost.
    """
    kernels = np.asarray([point.kernels for point in points], dtype=np.float64)
    if kernels.size < 2 or np.ptp(kernels) == 0:
        return None
    gap_ns = float(np.polyfit(kernels, [point.quick_idle_ns for point in points], 1)[0])
    replay_ns = statistics.median(point.idle_ns - gap_ns * point.kernels for point in points)
    return (gap_ns, replay_ns) if gap_ns > 0 and replay_ns > 0 else None


def queued_gap_ns(spans: Sequence[Span], queued: int, launching_ns: float) -> float | None:
    """The median gap between the last `queued` kernels, which took the host `launching_ns` to launch.

    None where the kernels before them were over by then, so that the device may have waited for the host; where there
    are none before them; and where the gap came out as zero or negative.
    """
    ordered = sorted(spans, key=lambda span: span.start_ns)
    before, after = ordered[:-queued], ordered[-queued:]
    if not before or len(after) < 2 or before[-1].end_ns - before[0].start_ns <= launching_ns:
        return None
    gap_ns = statistics.median(late.start_ns - early.end_ns for early, late in itertools.pairwise(after))
    return gap_ns if gap_ns > 0 else None


def profile_calls(call: Callable[[], object], calls: int = _PROFILED_CALLS) -> Profiled | None:
    """The kernels of one call, as the mean over `calls`; None where the profiler shows none (no rights, no CUPTI)."""
    if not _can_profile():
        return None
    call()
    torch.cuda.synchronize()
    # One cycle, so nothing adds up; without `acc_events` torch 2.11 warns, to the user's stderr.
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as recorded:
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
    spans = _spans(recorded)
    if not spans:
        return None
    return Profiled(
        kernels=len(spans) / calls,
        busy_ns=sum(span.end_ns - span.start_ns for span in spans) / calls,
        is_replay=any(event.name.startswith(_GRAPH_LAUNCH) for event in recorded.events() or []),
    )


def _can_profile() -> bool:
    return ProfilerActivity.CUDA in supported_activities()  # type: ignore[no-untyped-call]


def _spans(recorded: profile) -> list[Span]:
    """The kernels of a recording, without copies and memsets."""
    return [
        Span(event.time_range.start * 1e3, event.time_range.end * 1e3)
        for event in recorded.events() or []  # type: ignore[no-untyped-call]
        if event.device_type == DeviceType.CUDA
        and not event.is_user_annotation
        and not event.name.startswith(_NO_KERNEL)
    ]


def _launch_gap_ns(add: Callable[[], object]) -> float | None:
    """Small kernels launched while the device is busy with long ones: they then follow as closely as they can."""
    if not _can_profile():
        return None
    left, right = torch.randn(2, _BLOCK_SIDE, _BLOCK_SIDE, device="cuda", dtype=torch.float32).unbind()
    result = torch.empty_like(left)
    torch.mm(left, right, out=result)
    add()
    torch.cuda.synchronize()
    # As TF32 the products would be over too soon.
    with tf32(False), profile(activities=[ProfilerActivity.CUDA], acc_events=True) as recorded:
        start_ns = time.perf_counter_ns()
        for _ in range(_BLOCK_CALLS):
            torch.mm(left, right, out=result)
        for _ in range(_QUEUED):
            add()
        launching_ns = time.perf_counter_ns() - start_ns
        torch.cuda.synchronize()
    return queued_gap_ns(_spans(recorded), _QUEUED, launching_ns)


def _launch_ns(add: Callable[[], object]) -> float:
    samples = []
    for _ in range(_LAUNCH_BATCHES):
        torch.cuda.synchronize()
        samples.append(host_ns_per_call(add, batch=_LAUNCH_BATCH, batches=1))
    torch.cuda.synchronize()
    return statistics.median(samples)


def _points(chains: Sequence[Callable[[], None]], walls: Sequence[Wall]) -> list[Point]:
    """Each chain's kernels profiled as the stream runs them, its wall time as a CUDA graph replays them."""
    points = []
    for chain, wall in zip(chains, walls, strict=True):
        profiled = profile_calls(chain)
        if profiled is None:
            return []
        busy_ns = profiled.busy_ns
        points.append(Point(profiled.kernels, wall.median_ns - busy_ns, wall.quick_ns - busy_ns))
    return points


def _chain(pairs: int) -> Callable[[], None]:
    """Kernels that each need the one before: products and tanh, without allocation."""
    state = torch.randn(_ROWS, _WIDTH, device="cuda", dtype=torch.float16)
    weight = torch.randn(_WIDTH, _WIDTH, device="cuda", dtype=torch.float16) * (_GAIN / _WIDTH**0.5)
    product = torch.empty_like(state)

    def run() -> None:
        for _ in range(pairs):
            torch.mm(state, weight, out=product)
            torch.tanh(product, out=state)

    return run


def _captured(call: Callable[[], None]) -> torch.cuda.CUDAGraph:
    # A first run on another stream, as torch's documentation asks: libraries allocate their workspaces in it.
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


def _walls(calls: Sequence[Callable[[], object]]) -> list[Wall]:
    """Of each call, all taken in turn: a host that slows down for a second slows each of them."""
    samples: list[list[int]] = [[] for _ in calls]
    for _ in range(_WARM_CALLS + _WALL_REPEATS):
        for call, taken in zip(calls, samples, strict=True):
            torch.cuda.synchronize()
            start_ns = time.perf_counter_ns()
            result = call()
            torch.cuda.synchronize()
            taken.append(time.perf_counter_ns() - start_ns)
            del result
    steady = [taken[_WARM_CALLS:] for taken in samples]
    return [Wall(statistics.median(taken), float(np.percentile(taken, _QUICK_PERCENT))) for taken in steady]


class _Layers(torch.nn.Module):
    """Linear layers with ReLU. A class of its own, so that no code object of a user's model is compiled here."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(_LAYER_WIDTH, _LAYER_WIDTH, device="cuda", dtype=torch.float16) for _ in range(_LAYERS)
        )

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            value = torch.relu(layer(value))
        return value


@dataclass(frozen=True, slots=True)
class TimedModel:
    """A compiled model: its default compilation, its call under CUDA graphs, and what that took before any profiling.

    `wall_ns` is from the call to synchronised, `inside_ns` between device events around the graph's own call.
    """

    default: Callable[[], object]
    replayed: Callable[[], object]
    wall_ns: float
    inside_ns: float

    def rest_ns(self, gap_ns: float) -> tuple[float | None, float | None]:
        """Both times less the kernels of the default compilation and their gaps.

        None where the profiler shows no kernel, torch refused the CUDA graph, or nothing is left: noise, not a cost.
        """
        # Kernels are counted in the default run, as a prediction has them before CUDA graphs were tried.
        alone, replayed = profile_calls(self.default), profile_calls(self.replayed, calls=1)
        if alone is None or replayed is None or not replayed.is_replay:
            return None, None
        work_ns = alone.busy_ns + gap_ns * alone.kernels
        wall_ns, inside_ns = self.wall_ns - work_ns, self.inside_ns - work_ns
        return (wall_ns if wall_ns > 0 else None), (inside_ns if inside_ns > 0 else None)


class _Replaying:
    """A `torch.compile` backend: Inductor with CUDA graphs, and a probe around each call, as a trial has it."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def __call__(self, gm: torch.fx.GraphModule, inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
        def inner(aot: torch.fx.GraphModule, aot_inputs: Sequence[Any], **kwargs: Any) -> Any:
            return torch_compat.compile_inner(aot, aot_inputs, _CUDA_GRAPHS, kwargs)

        call = torch_compat.compile_graph(gm, inputs, patches=_CUDA_GRAPHS, inner=inner)
        return self._probe.around(_OWN_KEY, call)


def _timed_model() -> TimedModel | None:
    """None where it cannot be compiled."""
    model, probe = _Layers(), Probe("cuda")
    value = torch.randn(_BATCH, _LAYER_WIDTH, device="cuda", dtype=torch.float16)
    default = torch.compile(model)
    graphs = torch_compat.compiled_model(model, _Replaying(probe))

    @torch.no_grad()
    def call_default() -> object:
        return default(value)

    @torch.no_grad()
    def call_replayed() -> object:
        torch_compat.mark_step_begin()
        return graphs(value)

    try:
        call_default()
        wall_ns = _walls([call_replayed])[0].median_ns
        inside_ns = _inside_ns(call_replayed, probe)
    except (RuntimeError, OSError, ImportError):
        # No Triton, no compiler, an unwritable compile cache: torch's own errors of compilation are RuntimeErrors.
        return None
    return TimedModel(call_default, call_replayed, wall_ns, inside_ns)


def _inside_ns(call: Callable[[], object], probe: Probe) -> float:
    """Between the device events around the graph of each call, on an idle device, the median."""
    samples = []
    with probe.clocking():
        for _ in range(_WARM_CALLS + _WALL_REPEATS):
            torch.cuda.synchronize()
            probe.begin_step()
            result = call()
            end = probe.end_step()
            torch.cuda.synchronize()
            samples.append(sum(one.end_ns - one.start_ns for one in probe.calls(end).calls))
            del result
    return statistics.median(samples[_WARM_CALLS:])
