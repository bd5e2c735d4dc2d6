"""Traces behind URLs, through fsspec, which knows some thirty protocols. Optional."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final, cast

from analyzer.core.errors import MissingExtraError, UnreadableFileError

if TYPE_CHECKING:
    from types import ModuleType

INSTALL: Final = "pip install fsspec"
DOWNLOAD: Final = "download it first, and analyze the file"
"""The error is in fsspec's own words, which name the package that it misses, or what the server said."""


def expanded(url: str) -> list[str]:
    """The URLs of a URL with `*`, of a folder (one that ends in a slash), or just itself."""
    fsspec = _fsspec(url)
    if "*" not in url and not url.endswith("/"):
        return [url]
    try:
        files, _, _ = fsspec.get_fs_token_paths(url if "*" in url else f"{url}*.json*")
        paths = files.glob(url if "*" in url else f"{url}*.json*")
        return [files.unstrip_protocol(path) for path in paths]
    except ImportError as error:
        raise MissingExtraError(f"{url}: {error}", hint=DOWNLOAD) from error
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"{url}: cannot be read: {error}", hint=DOWNLOAD) from error


def opened_url(url: str) -> BinaryIO:
    """The bytes at a URL. Raises UnreadableFileError, or MissingExtraError for a protocol without its package."""
    fsspec = _fsspec(url)
    try:
        return cast(BinaryIO, fsspec.open(url, "rb").open())
    except ImportError as error:
        raise MissingExtraError(f"{url}: {error}", hint=DOWNLOAD) from error
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"{url}: cannot be read: {error}", hint=DOWNLOAD) from error


def _fsspec(url: str) -> ModuleType:
    try:
        # Optional: most traces are files.
        import fsspec  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError(f"{url}: a URL, for which a package is needed", hint=INSTALL) from None
    return cast("ModuleType", fsspec)
