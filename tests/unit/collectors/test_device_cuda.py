"""What can be said of measuring a GPU without one: settings, gaps, the line through the chains, where figures go."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import pytest
import torch

from analyzer.core.device import VECTOR, Device, Peak, Source
from collectors import device_cuda, device_profile, device_replay, torch_compat
from collectors.device_cuda import REPLAY_UNKNOWN, launch_notes
from collectors.device_launch import LaunchCosts, queued_gap_ns
from collectors.device_precision import float32_matmul_precision, tf32
from collectors.device_products import Products
from collectors.device_profile import Profiled, Span, last_kernels_ns
from collectors.device_rates import Rates
from collectors.device_replay import (
    Point,
    ProfiledModel,
    ReplayCosts,
    TimedModel,
    bare_costs,
    by_inputs,
    model_costs,
)
from collectors.probe import Probe

MATMUL = torch.backends.cuda.matmul
ONEDNN = torch.backends.mkldnn.matmul

Settings = tuple[str | None, str, str]


def _settings() -> Settings:
    return float32_matmul_precision(), MATMUL.fp32_precision, ONEDNN.fp32_precision


def _high() -> None:
    torch.set_float32_matmul_precision("high")


def _medium() -> None:
    torch.set_float32_matmul_precision("medium")


def _highest() -> None:
    torch.set_float32_matmul_precision("highest")


def _newer_on() -> None:
    MATMUL.fp32_precision = "tf32"


def _newer_off_over_high() -> None:
    _high()
    MATMUL.fp32_precision = "ieee"


@pytest.fixture(autouse=True)
def untouched() -> Iterator[None]:
    before, cuda, onednn = _settings()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
        torch.set_float32_matmul_precision(before or "highest")
    ONEDNN.fp32_precision, MATMUL.fp32_precision = onednn, cuda


@pytest.mark.parametrize("is_allowed", [True, False])
@pytest.mark.parametrize("choose", [lambda: None, _high, _medium, _highest, _newer_on, _newer_off_over_high])
def test_tf32_is_switched_and_every_setting_put_back(choose: Callable[[], None], is_allowed: bool) -> None:
    choose()
    before = _settings()
    with tf32(is_allowed):
        # Reading the older setting raises where the two disagree.
        assert MATMUL.allow_tf32 == is_allowed
        assert (MATMUL.fp32_precision == "tf32") == is_allowed
    assert _settings() == before


def test_a_failure_inside_puts_them_back_too() -> None:
    before = _settings()
    with pytest.raises(ZeroDivisionError), tf32(True):
        raise ZeroDivisionError
    assert _settings() == before


def bare(kernels: float, gap_ns: float, replay_ns: float) -> Point:
    return Point(kernels, replay_ns + gap_ns * kernels, gap_ns * kernels)


def test_of_bare_replays_a_host_that_held_one_up_changes_neither_cost() -> None:
    points = [bare(64, 640, 58_000), bare(256, 650, 138_000), bare(512, 660, 59_000)]
    found = bare_costs(points)
    assert found.gap_ns == pytest.approx(650)
    assert 58_000 < (found.replay_ns or 0) < 65_000
    assert found.host_ns is None


@pytest.mark.parametrize(
    "points",
    [[], [bare(64, -10, 1_000)], [Point(64, 1_000, 64_000)]],
    ids=["none", "kernels that took longer alone", "a wall time shorter than its gaps"],
)
def test_what_leaves_nothing_gives_no_cost(points: list[Point]) -> None:
    assert bare_costs(points) == ReplayCosts()


def model(kernels: int, *, gap_ns: float = 650, base_ns: float = 60_000, input_ns: float = 500) -> ProfiledModel:
    """Of as many inputs as kernels, and one; from the call to synchronised 50 µs more than inside it."""
    host_ns, gaps_ns = base_ns + input_ns * (kernels + 1), gap_ns * kernels
    return ProfiledModel(kernels + 1, Point(kernels, host_ns + 50_000 + gaps_ns, gaps_ns), host_ns + gaps_ns)


def test_two_compiled_models_tell_the_gap_the_replay_and_the_cost_of_an_input() -> None:
    found = model_costs([model(16), model(96)])
    assert (found.gap_ns, found.host_ns, found.input_ns) == pytest.approx((650, 60_000, 500))
    assert found.replay_ns == pytest.approx(60_000 + 50_000 + 17 * 500)


def test_of_one_model_no_cost_of_an_input_is_told_apart() -> None:
    found = model_costs([model(16)])
    assert (found.gap_ns, found.host_ns, found.input_ns) == (650, pytest.approx(68_500), None)


def test_inputs_that_seem_to_save_time_have_no_cost() -> None:
    found = model_costs([model(16), model(96, input_ns=-100)])
    assert (found.host_ns, found.input_ns) == (pytest.approx(68_500), None)
    assert by_inputs((17, None), (97, 100_000.0)) == (None, None)
    assert by_inputs((17, 10_000.0), (97, 100_000.0)) == (10_000.0, None), "nothing would be left without inputs"


def test_kernels_that_took_longer_alone_leave_no_gap_and_so_no_cost() -> None:
    assert model_costs([model(16), model(96, gap_ns=-5)]) == ReplayCosts()


def test_copies_of_the_inputs_come_before_the_graph_and_are_no_part_of_it() -> None:
    def call(start_ns: float) -> list[Span]:
        copy = Span(start_ns, start_ns + 1_000)
        return [copy, *(Span(at, at + 2_000) for at in (start_ns + 70_000, start_ns + 72_500, start_ns + 75_000))]

    spans = [span for start_ns in (0.0, 1e6, 2e6) for span in call(start_ns)]
    assert last_kernels_ns(spans[::-1], calls=3, kernels=3) == 7_000
    assert last_kernels_ns(spans, calls=3, kernels=4) == 77_000
    assert last_kernels_ns(spans, calls=3, kernels=5) is None, "more than the profiler shows"
    assert last_kernels_ns(spans[:-1], calls=3, kernels=3) is None, "not the same in each call"
    assert last_kernels_ns([], calls=3, kernels=3) is None


def test_a_profiler_that_cannot_see_kernels_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_called() -> None:
        raise AssertionError("nothing may run")

    monkeypatch.setattr(device_profile, "supported_activities", lambda: {torch.profiler.ProfilerActivity.CPU})
    assert device_profile.profile_calls(not_called) is None
    assert device_profile.replay_ns(not_called, 1) is None


def _queue(gap_ns: float, long_ns: float = 3_000_000.0, count: int = 8) -> list[Span]:
    """Two long kernels, and `count` of a microsecond that follow each other by `gap_ns`."""
    spans = [Span(0.0, long_ns), Span(long_ns + 5_000, 2 * long_ns)]
    start_ns = spans[-1].end_ns + 2_000
    for _ in range(count):
        spans.append(Span(start_ns, start_ns + 1_000))
        start_ns += 1_000 + gap_ns
    return spans


def test_the_gap_is_between_the_end_of_a_kernel_and_the_start_of_the_next() -> None:
    spans = _queue(850.0)
    assert queued_gap_ns(spans, 8, 1_000_000) == pytest.approx(850)
    assert queued_gap_ns(spans[::-1], 8, 1_000_000) == pytest.approx(850)


def test_one_interruption_does_not_move_it() -> None:
    spans = _queue(850.0)
    spans[-1] = Span(spans[-1].start_ns + 90_000, spans[-1].end_ns + 90_000)
    assert queued_gap_ns(spans, 8, 1_000_000) == pytest.approx(850)


@pytest.mark.parametrize(
    ("spans", "launching_ns"),
    [
        (_queue(850.0), 6_000_000.0),
        (_queue(850.0)[2:], 1.0),
        (_queue(0.0), 1.0),
        (_queue(-200.0), 1.0),
        ([], 1.0),
    ],
    ids=["the host was too slow", "nothing before them", "no gap", "overlap", "no kernel"],
)
def test_a_gap_that_may_be_the_hosts_or_is_none_is_unknown(spans: list[Span], launching_ns: float) -> None:
    assert queued_gap_ns(spans, 8, launching_ns) is None


def _timed(wall_ns: float, inside_ns: float) -> TimedModel:
    return TimedModel(17, lambda: "default", lambda: "replayed", wall_ns, inside_ns)


def _profiles(monkeypatch: pytest.MonkeyPatch, *, is_replay: bool = True, replay_ns: float | None = 25_000) -> None:
    """Ten kernels of 2 µs in the default call; what is counted of a replay does not matter."""
    found = {"default": Profiled(10, 20_000, is_replay=False), "replayed": Profiled(11, 99_000, is_replay=is_replay)}
    monkeypatch.setattr(device_replay, "profile_calls", lambda call, calls=5: found[call()])
    monkeypatch.setattr(device_replay, "replay_ns", lambda call, kernels: replay_ns if kernels == 10 else None)


def test_what_a_replay_costs_is_what_its_kernels_leave_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _profiles(monkeypatch)
    found = device_replay._profiled(_timed(150_000, 100_000))
    assert found == ProfiledModel(17, Point(10, 130_000, 5_000), 80_000)


def test_a_replay_that_was_none_has_no_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    _profiles(monkeypatch, is_replay=False)
    assert device_replay._profiled(_timed(150_000, 100_000)) is None
    _profiles(monkeypatch, replay_ns=None)
    assert device_replay._profiled(_timed(150_000, 100_000)) is None
    monkeypatch.setattr(device_replay, "profile_calls", lambda call, calls=5: None)
    assert device_replay._profiled(_timed(150_000, 100_000)) is None


def test_the_backend_of_the_replay_computes_the_same_and_is_timed_from_inside() -> None:
    probe = Probe("cpu")
    model = torch.nn.Linear(4, 4)
    value = torch.randn(2, 4)
    with torch.no_grad():
        graphs = torch_compat.compiled_model(model, device_replay._Replaying(probe))
        torch.testing.assert_close(graphs(value), model(value))
        with probe.clocking():
            probe.begin_step()
            graphs(value)
            calls = probe.calls(probe.end_step()).calls
    assert [call.key for call in calls] == [device_replay._OWN_KEY]
    torch_compat.reset()


def test_a_replay_is_timed_from_inside_after_a_step_of_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    probe = Probe("cpu")
    inside = probe.around(device_replay._OWN_KEY, lambda: said.append("replay"))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: said.append("wait"))
    assert device_replay._inside_ns(inside, lambda: said.append("default"), probe) > 0
    turns = len(said) // 4
    assert turns >= device_profile.WALL_REPEATS
    assert said == ["default", "wait", "replay", "wait"] * turns


class Properties:
    multi_processor_count = 132
    total_memory = 150_000_000_000
    L2_cache_size = 62_914_560


@pytest.fixture
def fake_gpu(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A GPU of which every part is measured already, with figures that all differ."""
    launches = LaunchCosts(
        launch_ns=4_000.0,
        empty_kernel_ns=1_300.0,
        launch_gap_ns=900.0,
        replay=ReplayCosts(gap_ns=800.0, replay_ns=150_000.0, host_ns=80_000.0, input_ns=400.0),
    )
    rates = Rates(copy_bytes_per_s=4.1e12, read_bytes_per_s=4.3e12, l2_bytes_per_s=6e12, vector_flops_per_s=6.2e13)
    products = Products((Peak("float32", 5e13), Peak("int8", 1.4e15)), ())
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: Properties)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (140 * 2**30, 150 * 2**30))
    monkeypatch.setattr(device_cuda, "_spin_up", lambda: None)
    monkeypatch.setattr(device_cuda, "measure_products", lambda on, timer: products)
    monkeypatch.setattr(device_cuda, "triton_kernels", lambda on: (None, None))
    monkeypatch.setattr(device_cuda, "measure_rates", lambda chip, kernels, timer: rates)
    monkeypatch.setattr(device_cuda, "measure_launches", lambda: launches)
    monkeypatch.setattr(device_cuda, "empty_op_ns", lambda on: 3_000.0)
    return monkeypatch


def test_every_figure_goes_to_its_own_field(fake_gpu: pytest.MonkeyPatch) -> None:
    assert device_cuda.measure_cuda("H200") == Device(
        kind="cuda",
        name="H200",
        source=Source.MEASURED,
        peaks=(Peak("float32", 5e13), Peak("int8", 1.4e15), Peak(VECTOR, 6.2e13)),
        memory_bytes_per_s=4.1e12,
        memory_bytes=150_000_000_000,
        l2_bytes=62_914_560,
        launch_ns=4_000.0,
        kernel_gap_ns=800.0,
        replay_ns=150_000.0,
        empty_kernel_ns=1_300.0,
        empty_op_ns=3_000.0,
        read_bytes_per_s=4.3e12,
        l2_bytes_per_s=6e12,
        launch_gap_ns=900.0,
        replay_host_ns=80_000.0,
        replay_input_ns=400.0,
    )


def test_the_chip_is_described_by_its_driver(fake_gpu: pytest.MonkeyPatch) -> None:
    seen = []

    def measure(chip: object, kernels: object, timer: object) -> Rates:
        seen.append(chip)
        return Rates(None, None, None, None)

    fake_gpu.setattr(device_cuda, "measure_rates", measure)
    device = device_cuda.measure_cuda("H200")
    assert seen == [device_cuda.Chip("cuda", 132, 62_914_560, 140 * 2**30)]
    assert device.peak(VECTOR) is None


def test_what_could_not_be_measured_is_noted(fake_gpu: pytest.MonkeyPatch) -> None:
    fake_gpu.setattr(device_cuda, "measure_products", lambda on, timer: Products((), ("no int8 products: x",)))
    fake_gpu.setattr(device_cuda, "triton_kernels", lambda on: (None, "no Triton: y"))
    assert device_cuda.measure_cuda("H200").notes == ("no int8 products: x", "no Triton: y")


def test_a_gap_that_came_out_as_noise_is_said() -> None:
    known = LaunchCosts(6_000.0, 900.0, 1_250.0, ReplayCosts(220.0, 60_000.0, 40_000.0))
    noise = LaunchCosts(6_000.0, 900.0, 1_250.0)
    blind = LaunchCosts(6_000.0, None, None)
    assert [launch_notes(costs) for costs in (known, noise, blind)] == [(), (REPLAY_UNKNOWN,), ()]
