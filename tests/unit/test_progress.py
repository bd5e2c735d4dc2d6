"""What is said while a run works."""

from __future__ import annotations

import io

from analyzer.core.quantities import NS_PER_S
from analyzer.progress import (
    LiveProgress,
    PlainProgress,
    Position,
    SilentProgress,
    make_progress,
    position_line,
)


class _Clock:
    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns

    def wait(self, seconds: float) -> None:
        self.ns += round(seconds * NS_PER_S)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_time_left_goes_on_as_the_stage_began() -> None:
    position = Position(
        run_started_ns=0, stage_started_ns=10 * NS_PER_S, stage="trials", done=3, total=12, note="fused"
    )
    assert position.left_ns(40 * NS_PER_S) == 90 * NS_PER_S
    assert position_line(position, 40 * NS_PER_S) == "[40 s] trials 3/12, 1 min 30 s left: fused"


def test_no_time_left_is_claimed_before_a_step_is_done() -> None:
    position = Position(run_started_ns=0, stage_started_ns=0, stage="capture")
    assert position.left_ns(NS_PER_S) is None
    assert position_line(position, NS_PER_S) == "[1.0 s] capture"


def test_a_pipe_gets_a_line_a_stage_and_one_in_ten_seconds() -> None:
    clock, out = _Clock(), io.StringIO()
    progress = PlainProgress(out, clock)
    progress.stage("trials")
    for done in range(1, 11):
        clock.wait(2.5)
        progress.step(done, 10, "cuda_graphs")
    progress.note("skipped one")
    progress.stage("compare")
    progress.close()
    assert out.getvalue().splitlines() == [
        "[0.0 s] trials",
        "[10 s] trials 4/10, 15 s left: cuda_graphs",
        "[20 s] trials 8/10, 5.0 s left: cuda_graphs",
        "note: skipped one",
        "[25 s] compare",
    ]


def test_a_terminal_keeps_the_notes_and_loses_the_line() -> None:
    clock, out = _Clock(), _Terminal()
    progress = LiveProgress(out, clock)
    progress.stage("trials")
    progress.step(1, 2, "fused")
    progress.note("[bold]kept[/bold]")
    progress.step(2, 2, "done")
    progress.close()
    progress.close()
    assert "note: [bold]kept[/bold]" in out.getvalue()
    assert "trials 2/2" in out.getvalue()
    assert out.getvalue().endswith("\x1b[2K"), "the line is wiped at the end"


def test_a_terminal_is_drawn_at_most_ten_times_a_second() -> None:
    clock, out = _Clock(), _Terminal()
    progress = LiveProgress(out, clock)
    progress.stage("trials")
    for done in range(1, 101):
        clock.wait(0.01)
        progress.step(done, 200)
    progress.close()
    assert 10 <= out.getvalue().count("trials") <= 13


def test_a_name_cannot_steer_the_terminal() -> None:
    out = io.StringIO()
    progress = PlainProgress(out, _Clock())
    progress.stage("\x1b[2Jtrials")
    progress.note("a\nb\x9b")
    assert out.getvalue() == "[0.0 s] \\x1b[2Jtrials\nnote: a b\\x9b\n"


def test_the_progress_fits_the_stream() -> None:
    assert isinstance(make_progress(quiet=True, stream=_Terminal()), SilentProgress)
    assert isinstance(make_progress(quiet=False, stream=_Terminal()), LiveProgress)
    assert isinstance(make_progress(quiet=False, stream=io.StringIO()), PlainProgress)


def test_a_stream_that_cannot_write_a_micro_sign_gets_a_question_mark() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    PlainProgress(stream, _Clock()).stage("2 µs")
    assert raw.getvalue() == b"[0.0 s] 2 ?s\n"
