"""Damages the bytes of a trace file in the ways of disks, networks, editors and attackers; seeded, so repeatable."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Final

HOSTILE_NAMES: Final = (
    "<script>alert(1)</script>" * 80,
    "\x1b[2J\x1b]0;owned\x07",
    "../../../../etc/passwd",
    "\u202egnp.exe",
    "'; DROP TABLE kernels; --",
    "%s%n%x" * 100,
    "{{7*7}}",
    "\u0000",
)
HOSTILE_NUMBERS: Final = (
    b"1e999999999", b"-1e999999999", b"9" * 400, b"-" + b"9" * 30, b"NaN", b"-Infinity", b"0x10", b"1.7.3", b"0.-660",
    b"9223372036854775807", b"-9223372036854775808", b'"7"', b"null", b"true", b"[]", b"{}", b"[" * 3000, b"01",
)  # fmt: skip


def _cut(text: bytes, chance: random.Random) -> bytes:
    return text[: chance.randrange(len(text))]


def _flip(text: bytes, chance: random.Random) -> bytes:
    data = bytearray(text)
    for _ in range(chance.choice((1, 1, 3, 40))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def _double(text: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(text))
    end = min(begin + chance.choice((1, 50, 4000)), len(text))
    return text[:end] + text[begin:end] * chance.choice((1, 1, 5)) + text[end:]


def _drop(text: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(text))
    return text[:begin] + text[begin + chance.choice((1, 1, 30, 3000)) :]


def _reorder(text: bytes, chance: random.Random) -> bytes:
    a, b, c = sorted(chance.randrange(len(text)) for _ in range(3))
    return text[:a] + text[b:c] + text[a:b] + text[c:]


def _rename(text: bytes, chance: random.Random) -> bytes:
    name = json.dumps(chance.choice(HOSTILE_NAMES), ensure_ascii=chance.random() < 0.5).encode()
    if chance.random() < 0.3:
        name = b'"' + chance.randbytes(chance.choice((3, 2000))) + b'"'
    at = text.find(b'"name":', chance.randrange(len(text)))
    return text if at < 0 else text[: at + 7] + name + text[at + 7 :].lstrip(b' "abcdefghijklmnopqrstuvwxyz_:')


def _renumber(text: bytes, chance: random.Random) -> bytes:
    key = chance.choice((b'"ts":', b'"dur":', b'"tid":', b'"pid":', b'"correlation":', b'"stream":', b'"device":'))
    at = text.find(key, chance.randrange(len(text)))
    if at < 0:
        return text
    return text[: at + len(key)] + chance.choice(HOSTILE_NUMBERS) + text[at + len(key) :].lstrip(b" 0123456789.-")


def _nest(text: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(text))
    return text[:at] + chance.choice((b"[", b"{", b'{"a":')) * chance.choice((10, 3000, 100_000)) + text[at:]


def _begin_again(text: bytes, chance: random.Random) -> bytes:
    return text[: chance.randrange(len(text))] + text


DAMAGES: Final[tuple[Callable[[bytes, random.Random], bytes], ...]] = (
    _cut, _flip, _double, _drop, _reorder, _rename, _renumber, _nest, _begin_again,
)  # fmt: skip


def damaged(text: bytes, seed: int) -> bytes:
    """The text with one to three kinds of damage."""
    chance = random.Random(seed)
    for _ in range(chance.choice((1, 1, 2, 3))):
        text = chance.choice(DAMAGES)(text, chance) or b" "
    return text
