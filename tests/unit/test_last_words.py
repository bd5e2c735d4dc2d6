"""A lost process is told by the user's line it died at, or by the last lines of its log."""

from __future__ import annotations

from pathlib import Path

from analyzer.last_words import LONGEST, hung_at, last_words

THREADS = """Thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3/threading.py", line 5 in wait

Current thread 0x00007f02 (most recent call first):
  File "/site/torch/ops.py", line 9 in call
  File "/home/ada/net.py", line 12 in forward
  File "/home/ada/net.py", line 30 in main
"""

CRASH = f"""loading
Fatal Python error: Aborted

{THREADS}
Extension modules: numpy.core (total: 1)
"""


def test_a_crash_is_placed_at_the_innermost_line_of_the_users_folder() -> None:
    assert last_words(CRASH, Path("/home/ada")) == "Aborted at /home/ada/net.py:12 in forward"


def test_without_a_line_of_the_users_the_innermost_is_named() -> None:
    assert last_words(CRASH, None) == "Aborted at /site/torch/ops.py:9 in call"
    assert last_words(CRASH, Path("/home/bob")) == "Aborted at /site/torch/ops.py:9 in call"


def test_a_crash_without_frames_keeps_its_name() -> None:
    assert last_words("Fatal Python error: Segmentation fault\n", None) == "Segmentation fault"


def test_without_a_crash_the_last_lines_are_repeated() -> None:
    assert last_words("a\n\nb\nc\nd\n", None) == "b | c | d"
    assert last_words("", None) == ""
    assert len(last_words("x" * 1000, None)) == LONGEST


HANG = f"loading\n{THREADS}"


def test_what_hangs_is_placed_at_the_innermost_line_of_the_users_folder() -> None:
    assert hung_at(HANG, Path("/home/ada")) == "/home/ada/net.py:12 in forward"
    assert hung_at(HANG, None) == hung_at(HANG, Path("/home/bob")) == "/site/torch/ops.py:9 in call"
    assert hung_at(HANG.replace("Current thread", "Thread"), Path("/home/ada")) == "/home/ada/net.py:12 in forward"
    assert hung_at("loading\n", None) == ""
