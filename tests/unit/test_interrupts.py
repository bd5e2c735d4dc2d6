"""Ctrl-C, SIGTERM and SIGHUP end a run with what was measured, and a second one does not lose it."""

from __future__ import annotations

import os
import signal

import pytest

from analyzer.interrupts import Terminated, ending_signals_interrupt, exit_code_of, undisturbed, what_ended


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_process_interrupts_the_block_instead(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # the tests may themselves run under nohup
    try:
        with pytest.raises(Terminated) as caught, ending_signals_interrupt():
            os.kill(os.getpid(), number)
        assert caught.value.signal is number
        assert exit_code_of(caught.value) == 128 + number
        assert what_ended(caught.value) == f"ended by {number.name}"
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_a_signal_that_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ending_signals_interrupt():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_nothing_disturbs_the_saving_of_a_report() -> None:
    before = signal.getsignal(signal.SIGINT)
    with undisturbed():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_is_told_apart_from_a_signal() -> None:
    assert exit_code_of(KeyboardInterrupt()) == 130
    assert what_ended(KeyboardInterrupt()) == "interrupted by Ctrl-C"
