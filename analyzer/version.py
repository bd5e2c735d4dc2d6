"""The version of this installation, which is not read before somebody asks: importlib.metadata takes 70 ms."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

DISTRIBUTION: Final = "graphbound"

NOT_INSTALLED: Final = "0+source"
"""What runs straight from a checkout says; a local version by PEP 440, older than every release."""


def installed_version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return NOT_INSTALLED


VERSION: Final = installed_version()
