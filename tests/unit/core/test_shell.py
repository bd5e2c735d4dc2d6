"""A printed command, pasted into a shell, gives back the words that it was made of."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer.core.shell import ascii_command, shell_command, shell_path, shell_word

BASH = shutil.which("bash")
HOSTILE = (
    "runs/gptlite-20260101",
    "my model",
    "two  spaces",
    "it's",
    'say "no"',
    "$HOME",
    "`id`",
    "a;b&c|d>e",
    "*?[x]~!#",
    "back\\slash",
    "new\nline",
    "tab\there",
    "esc\x1b[31m",
    "модель",
    "é'ü",
    "\u202egpj",
    "",
    "-rf",
    "50%",
    "1\x1b1",
)


def words_in_bash(command: str) -> list[str]:
    assert BASH is not None
    script = (
        f"{sys.executable} -c 'import os,sys; sys.stdout.buffer.write(b\"\\0\".join(map(os.fsencode, sys.argv[1:])))' "
    )
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": "/nowhere"}
    said = subprocess.run([BASH, "-c", script + command], capture_output=True, check=True, env=environment).stdout
    return [os.fsdecode(word) for word in said.split(b"\0")]


@pytest.mark.skipif(BASH is None, reason="there is no bash here")
def test_a_shell_reads_every_hostile_word_as_it_was_in_ascii_too() -> None:
    command = shell_command(*HOSTILE)
    assert words_in_bash(command) == list(HOSTILE)
    assert words_in_bash(ascii_command(command)) == list(HOSTILE)


@pytest.mark.skipif(BASH is None, reason="there is no bash here")
def test_a_name_that_is_not_utf_8_survives() -> None:
    word = os.fsdecode(b"caf\xe9")
    assert words_in_bash(shell_word(word)) == [word]


@given(st.lists(st.text(), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_command_is_one_line_of_what_can_be_seen(words: list[str]) -> None:
    command = shell_command(*words)
    assert command.isprintable()
    assert ascii_command(command).isascii()


def test_plain_words_stay_as_they_are() -> None:
    assert shell_command("analyze", "dashboard", "runs/gptlite-1") == "analyze dashboard runs/gptlite-1"


def test_a_path_is_never_an_option() -> None:
    assert shell_path("-x y") == "'./-x y'"
    assert shell_path(Path("runs/a b")) == "'runs/a b'"
