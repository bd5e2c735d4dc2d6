"""Keeps what was measured of a device, so that it is measured once. A cache that cannot be used is no error."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

import msgspec

from analyzer.core.device import Device

METHOD: Final = 5
"""Raised whenever what is measured, or how, changes: older entries are then measured again."""

_FOLDER: Final = "graphbound"
_MOST_BYTES: Final = 64 * 1024
"""An entry takes about 1 KiB; anything much larger is not ours."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What must be equal for a measurement to hold. `threads` is None for a GPU."""

    kind: str
    name: str
    torch: str
    triton: str | None
    driver: str | None
    threads: int | None
    method: int = METHOD


@dataclass(frozen=True, slots=True)
class _Entry:
    identity: Identity
    device: Device


def load(identity: Identity) -> Device | None:
    """What was stored for `identity`; None when there is nothing, or nothing that can be trusted."""
    path = _path(identity)
    # is_file: opening a pipe that somebody left here would wait for ever.
    if path is None or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            entry = msgspec.json.decode(file.read(_MOST_BYTES), type=_Entry)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None
    is_ours = entry.identity == identity and entry.device.kind == identity.kind
    return entry.device if is_ours and _is_plausible(entry.device) else None


def store(identity: Identity, device: Device) -> bool:
    """Keep `device`. False, and nothing changed, when the folder cannot be written."""
    path = _path(identity)
    if path is None:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(_Entry(identity, device)))
        # Replaced in one move: another process reads the old entry or the new one, never half of it.
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        return False
    return True


def folder() -> Path | None:
    """`$XDG_CACHE_HOME/graphbound`, or `~/.cache/graphbound`; None where there is no home.

    A relative `XDG_CACHE_HOME` is ignored, as the XDG base directory specification asks.
    """
    given = os.environ.get("XDG_CACHE_HOME", "")
    if given and os.path.isabs(given):
        return Path(given) / _FOLDER
    try:
        return Path.home() / ".cache" / _FOLDER
    except RuntimeError:
        return None


def _path(identity: Identity) -> Path | None:
    root = folder()
    digest = hashlib.sha256(msgspec.json.encode(identity)).hexdigest()[:16]
    return None if root is None else root / f"device-{digest}.json"


def _is_plausible(device: Device) -> bool:
    """Every number positive and finite."""
    values = [getattr(device, field.name) for field in fields(device)]
    numbers = [v for v in values if isinstance(v, int | float)] + [p.flops_per_s for p in device.peaks]
    return all(math.isfinite(number) and number > 0 for number in numbers)
