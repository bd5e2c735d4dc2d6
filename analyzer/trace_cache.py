"""Where traces that were read are kept for the next look, on this machine and for this user."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from collectors.readers.settings import MIB, ReadSettings

FOLDER: Final = Path("graphbound") / "traces"
LEAST_BYTES: Final = 1 * MIB
"""Of a file as it lies there: what is smaller is read in less than 0.3 s anyway."""


def reading_settings(*, keeps: bool) -> ReadSettings:
    """How the commands read traces; without a cache where `keeps` is False, or where the user has no home."""
    return ReadSettings(cache=cache_folder() if keeps else None, least_cached_bytes=LEAST_BYTES)


def cache_folder() -> Path | None:
    """The folder that the system has for what can be made again; it need not exist yet. None without a home.

    `XDG_CACHE_HOME` where it is an absolute path (XDG Base Directory Specification, which has others ignored), on every
    system; else `~/Library/Caches` on a Mac, `%LOCALAPPDATA%` on Windows, `~/.cache` elsewhere.
    """
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):
        return Path(chosen) / FOLDER
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        return Path(local) / FOLDER if local else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / FOLDER
