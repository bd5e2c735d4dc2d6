"""What can be said of measuring a GPU without one: settings, gaps, the line through the chains, where figures go."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import pytest
import torch

from analyzer.core.device import VECTOR, Device, Peak, Source
from collectors import device_cuda, device_launch, torch_compat
from collectors.device_cuda import REPLAY_UNKNOWN, launch_notes
from collectors.device_launch import LaunchCosts, Point, Profiled, Span, TimedModel, fit_line, queued_gap_ns
from collectors.device_precision import float32_matmul_precision, tf32
from collectors.device_products import Products
from collectors.device_rates import Rates
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


def usual(kernels: float, idle_ns: float, held_up_ns: float = 0.0) -> Point:
    """A chain whose usual replay took the host so much longer than a quick one."""
    return Point(kernels, idle_ns + held_up_ns, idle_ns)


def test_the_gap_is_the_slope_and_the_replay_the_intercept() -> None:
    points = [usual(kernels, 150_000 + 800 * kernels) for kernels in (64, 256, 512)]
    assert fit_line(points) == pytest.approx((800, 150_000))


def test_noise_on_one_chain_moves_the_line_little() -> None:
    points = [usual(64, 205_000), usual(256, 350_000), usual(512, 561_000)]
    gap_ns, replay_ns = fit_line(points) or (0, 0)
    assert 760 < gap_ns < 840
    assert 140_000 < replay_ns < 160_000


def test_a_host_that_held_one_chain_up_changes_neither_cost() -> None:
    points = [usual(64, 58_000), usual(256, 96_000, held_up_ns=80_000), usual(512, 147_000)]
    gap_ns, replay_ns = fit_line(points) or (0, 0)
    assert 180 < gap_ns < 220
    assert 40_000 < replay_ns < 50_000


@pytest.mark.parametrize(
    "points",
    [
        [],
        [usual(64, 1_000)],
        [usual(64, 1_000), usual(64, 2_000)],
        [usual(64, 90_000), usual(512, 80_000)],
        [usual(64, 1_000), usual(512, 90_000)],
    ],
    ids=["none", "one", "equal lengths", "falling", "negative intercept"],
)
def test_what_gives_no_line_gives_no_cost(points: list[Point]) -> None:
    assert fit_line(points) is None


def test_a_profiler_that_cannot_see_kernels_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_called() -> None:
        raise AssertionError("nothing may run")

    monkeypatch.setattr(device_launch, "supported_activities", lambda: {torch.profiler.ProfilerActivity.CPU})
    assert device_launch.profile_calls(not_called) is None


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


def _model(wall_ns: float, inside_ns: float) -> TimedModel:
    return TimedModel(default=lambda: "default", replayed=lambda: "replayed", wall_ns=wall_ns, inside_ns=inside_ns)


def _profiles(monkeypatch: pytest.MonkeyPatch, *, is_replay: bool = True) -> None:
    """Ten kernels of 2 µs in the default call; what is counted of a replay does not matter."""
    found = {"default": Profiled(10, 20_000, is_replay=False), "replayed": Profiled(11, 99_000, is_replay=is_replay)}
    monkeypatch.setattr(device_launch, "profile_calls", lambda call, calls=5: found[call()])


def test_what_a_replay_costs_is_what_kernels_and_gaps_leave_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _profiles(monkeypatch)
    assert _model(150_000, 100_000).rest_ns(500.0) == (125_000, 75_000)


def test_a_replay_that_was_none_or_left_nothing_has_no_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    _profiles(monkeypatch)
    assert _model(150_000, 25_000).rest_ns(500.0) == (125_000, None)
    _profiles(monkeypatch, is_replay=False)
    assert _model(150_000, 100_000).rest_ns(500.0) == (None, None)
    monkeypatch.setattr(device_launch, "profile_calls", lambda call, calls=5: None)
    assert _model(150_000, 100_000).rest_ns(500.0) == (None, None)


def test_the_backend_of_the_replay_computes_the_same_and_is_timed_from_inside() -> None:
    probe = Probe("cpu")
    model = torch.nn.Linear(4, 4)
    value = torch.randn(2, 4)
    with torch.no_grad():
        graphs = torch_compat.compiled_model(model, device_launch._Replaying(probe))
        torch.testing.assert_close(graphs(value), model(value))
        with probe.clocking():
            probe.begin_step()
            graphs(value)
            calls = probe.calls(probe.end_step()).calls
    assert [call.key for call in calls] == [device_launch._OWN_KEY]
    torch_compat.reset()


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
        kernel_gap_ns=800.0,
        replay_ns=150_000.0,
        replay_host_ns=80_000.0,
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
    known = LaunchCosts(6_000.0, 900.0, 1_250.0, 220.0, 60_000.0, 40_000.0)
    noise = LaunchCosts(6_000.0, 900.0, 1_250.0, None, None)
    blind = LaunchCosts(6_000.0, None, None, None, None)
    assert [launch_notes(costs) for costs in (known, noise, blind)] == [(), (REPLAY_UNKNOWN,), ()]
