"""A command as text to paste into a shell: each word arrives as it was, whatever a path holds."""

from __future__ import annotations

import os
import re
import shlex
from typing import Final

_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]+")


def shell_word(text: str) -> str:
    """`text` as one word of a POSIX shell. What cannot be seen is written as `$'\\x1b'`, which bash, zsh and ksh read,
    and POSIX of 2024 asks for.
    """
    if not text.isprintable():
        return f"$'{''.join(_escaped(character) for character in text)}'"
    return shlex.quote(text)


def shell_path(path: str | os.PathLike[str]) -> str:
    """A path as one word that no command takes for an option."""
    text = os.fspath(path)
    return shell_word(f"./{text}" if text.startswith("-") else text)


def shell_command(*words: str) -> str:
    return " ".join(shell_word(word) for word in words)


def ascii_command(command: str) -> str:
    """A command that `shell_word` made, for an output that takes ASCII alone: it does the same.

    Other characters stand between single quotes there, so the quotes can be closed around them.
    """
    return _NOT_ASCII.sub(lambda found: f"'$'{_bytes(found[0])}''", command)


def _escaped(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if character.isascii() and character.isprintable():
        return character
    return _bytes(character)


def _bytes(text: str) -> str:
    # Three octal digits: a shell may read more than two hexadecimal ones.
    return "".join(f"\\{byte:03o}" for byte in text.encode("utf-8", errors="surrogateescape"))
