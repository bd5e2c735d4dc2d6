"""What replaying a CUDA graph costs: the gaps between its kernels, and the host's part of it.

The figures are chosen so that `busy + gap * kernels + replay` is the wall time of a step under CUDA graphs, where
`busy` and `kernels` are the profiled kernels of the same step launched one by one. They come from compiled models, as
what is predicted does, and from bare chains of kernels where nothing can be compiled.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from analyzer.core.graphs import Direction, GraphKey
from collectors import torch_compat
from collectors.device_profile import WALL_REPEATS, WARM_CALLS, profile_calls, replay_ns, walls_ns
from collectors.probe import Probe

_PAIRS: Final = (32, 128, 256)
"""Lengths of the captured chains, in pairs of a small product and a pointwise kernel: 64 to 512 kernels."""
_ROWS: Final = 128
_WIDTH: Final = 1024
"""A product of 128 x 1024 x 1024 in float16 takes a few microseconds on an H200, as in one layer of a small model."""
_GAIN: Final = 1.5
"""Scale of the random weights: with a gain above 1 a chain of tanh layers stays of order 1 for ever."""

_LAYERS: Final = 8
_MANY_LAYERS: Final = 48
"""The compiled models: a small graph, and one of some hundred kernels and inputs."""
_LAYER_WIDTH: Final = 256
_BATCH: Final = 64

_CUDA_GRAPHS: Final[dict[str, object]] = {"triton.cudagraphs": True, "cpp_wrapper": False}
_OWN_KEY: Final = GraphKey("0" * 12, Direction.INFERENCE)


@dataclass(frozen=True, slots=True)
class ReplayCosts:
    """In nanoseconds; None is unknown.

    `gap_ns` is what a kernel of a replay takes beyond what it does alone. `replay_ns` is from calling a compiled model
    to synchronised, one replay after another, less its kernels and their gaps, so it holds guards, the copy of the
    input and the wake-up of the host. `host_ns` is between the device events around the graph's own call, each after a
    step of the default, as trials time it: what an idle device waits for the host's part of a replay. With `input_ns`
    known that is of a graph without inputs, and each input of a call, parameters among them, adds so much.
    """

    gap_ns: float | None = None
    replay_ns: float | None = None
    host_ns: float | None = None
    input_ns: float | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One replay: the kernels in it, and what is more than their durations launched one by one: of its wall time, from
    the call to synchronised, and of the time that the device is at it, on its own clock.
    """

    kernels: float
    wall_idle_ns: float
    device_idle_ns: float


@dataclass(frozen=True, slots=True)
class TimedModel:
    """A compiled model: its default compilation, its call under CUDA graphs, and what that took before any profiling.

    `wall_ns` is from the call to synchronised, `inside_ns` between device events around the graph's own call.
    """

    inputs: int
    default: Callable[[], object]
    replayed: Callable[[], object]
    wall_ns: float
    inside_ns: float


@dataclass(frozen=True, slots=True)
class ProfiledModel:
    """Its `point`, and `inside_idle_ns`, what is more than the kernels' durations between those device events."""

    inputs: int
    point: Point
    inside_idle_ns: float


class ReplayBench:
    """Two steps, for everything is to be timed before anything is profiled: once the profiler has run, a process
    launches more slowly. Making one times; `costs` profiles.
    """

    def __init__(self) -> None:
        self._chains = [_chain(pairs) for pairs in _PAIRS]
        self._replays = [_captured(chain).replay for chain in self._chains]
        self._walls_ns = walls_ns(self._replays)
        self._models = [_timed_model(_Layers(depth)) for depth in (_LAYERS, _MANY_LAYERS)]

    def costs(self) -> ReplayCosts:
        models = [_profiled(model) for model in self._models if model is not None]
        known = [model for model in models if model is not None]
        return model_costs(known) if known else bare_costs(self._points())

    def _points(self) -> list[Point]:
        points = []
        for chain, replay, wall_ns in zip(self._chains, self._replays, self._walls_ns, strict=True):
            profiled = profile_calls(chain)
            device_ns = None if profiled is None else replay_ns(replay, round(profiled.kernels))
            if profiled is None or device_ns is None:
                return []
            points.append(Point(profiled.kernels, wall_ns - profiled.busy_ns, device_ns - profiled.busy_ns))
        return points


def bare_costs(points: Sequence[Point]) -> ReplayCosts:
    """Of replays without a compiler: medians over their lengths."""
    if not points:
        return ReplayCosts()
    gap_ns = statistics.median(point.device_idle_ns / point.kernels for point in points)
    whole_ns = statistics.median(point.wall_idle_ns - gap_ns * point.kernels for point in points)
    # Zero or less is noise, not a cost.
    return ReplayCosts(gap_ns, whole_ns) if gap_ns > 0 and whole_ns > 0 else ReplayCosts()


def model_costs(models: Sequence[ProfiledModel]) -> ReplayCosts:
    """Of compiled models: the gap is that of the one with most kernels, on the device's own clock.

    Not from wall times, for the host varies: the slope of quick replays over their kernels was 199, 201, 511 and 603 ns
    on H200s, on all of which the device's clock showed 416 ns between the kernels of a replay, and each kernel taking
    some 0.15 µs longer than alone.
    """
    most, least = (choose(models, key=lambda model: model.point.kernels) for choose in (max, min))
    gap_ns = most.point.device_idle_ns / most.point.kernels
    if gap_ns <= 0:
        return ReplayCosts()

    def left_ns(idle_ns: float, model: ProfiledModel) -> float | None:
        left = idle_ns - gap_ns * model.point.kernels
        return left if left > 0 else None

    few, many = ((model.inputs, left_ns(model.inside_idle_ns, model)) for model in (least, most))
    host_ns, input_ns = by_inputs(few, many)
    return ReplayCosts(gap_ns, left_ns(least.point.wall_idle_ns, least), host_ns, input_ns)


def by_inputs(few: tuple[int, float | None], many: tuple[int, float | None]) -> tuple[float | None, float | None]:
    """What the host's part of a replay is without inputs, and for each of them, out of that of two graphs, each with
    the number of its inputs. The first as it is, and None, where no such line can be drawn through them.
    """
    (fewer, few_ns), (more, many_ns) = few, many
    if few_ns is None or many_ns is None or more <= fewer:
        return few_ns, None
    input_ns = (many_ns - few_ns) / (more - fewer)
    base_ns = few_ns - input_ns * fewer
    return (base_ns, input_ns) if input_ns > 0 and base_ns > 0 else (few_ns, None)


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


class _Layers(torch.nn.Module):
    """Linear layers with ReLU. A class of its own, so that no code object of a user's model is compiled here."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(_LAYER_WIDTH, _LAYER_WIDTH, device="cuda", dtype=torch.float16) for _ in range(depth)
        )
        self.inputs = 2 * depth + 1

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            value = torch.relu(layer(value))
        return value


class _Replaying:
    """A `torch.compile` backend: Inductor with CUDA graphs, and a probe around each call, as a trial has it."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def __call__(self, gm: torch.fx.GraphModule, inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
        def inner(aot: torch.fx.GraphModule, aot_inputs: Sequence[Any], **kwargs: Any) -> Any:
            return torch_compat.compile_inner(aot, aot_inputs, _CUDA_GRAPHS, kwargs)

        call = torch_compat.compile_graph(gm, inputs, patches=_CUDA_GRAPHS, inner=inner)
        return self._probe.around(_OWN_KEY, call)


def _timed_model(model: _Layers) -> TimedModel | None:
    """None where it cannot be compiled."""
    probe = Probe("cuda")
    value = torch.randn(_BATCH, _LAYER_WIDTH, device="cuda", dtype=torch.float16)
    default = torch.compile(model, dynamic=False)
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
        (wall_ns,) = walls_ns([call_replayed])
        inside_ns = _inside_ns(call_replayed, call_default, probe)
    except (RuntimeError, OSError, ImportError):
        # No Triton, no compiler, an unwritable compile cache: torch's own errors of compilation are RuntimeErrors.
        return None
    return TimedModel(model.inputs, call_default, call_replayed, wall_ns, inside_ns)


def _profiled(model: TimedModel) -> ProfiledModel | None:
    """None where the profiler shows no kernel, or torch refused the CUDA graph."""
    # Kernels are counted in the default run, as a prediction has them before CUDA graphs were tried.
    alone, replayed = profile_calls(model.default), profile_calls(model.replayed, calls=1)
    if alone is None or replayed is None or not replayed.is_replay:
        return None
    device_ns = replay_ns(model.replayed, round(alone.kernels))
    if device_ns is None:
        return None
    point = Point(alone.kernels, model.wall_ns - alone.busy_ns, device_ns - alone.busy_ns)
    return ProfiledModel(model.inputs, point, model.inside_ns - alone.busy_ns)


def _inside_ns(call: Callable[[], object], default: Callable[[], object], probe: Probe) -> float:
    """Between the device events around the graph of each call, on an idle device, the median.

    In turn with the default, as in a trial: on an H200 the host took 46 to 84 µs longer for a replay after a step of
    the default than right after itself, and longer still after 3 ms of sleep.
    """
    samples = []
    with probe.clocking():
        for _ in range(WARM_CALLS + WALL_REPEATS):
            default()
            torch.cuda.synchronize()
            probe.begin_step()
            result = call()
            end = probe.end_step()
            torch.cuda.synchronize()
            samples.append(sum(one.end_ns - one.start_ns for one in probe.calls(end).calls))
            del result
    return statistics.median(samples[WARM_CALLS:])
