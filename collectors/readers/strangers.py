"""What a file is that is no trace, by how it begins: one ordered table of what people give by mistake."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_EXPORT: Final = "export a trace with torch.profiler's export_chrome_trace"


@dataclass(frozen=True, slots=True)
class Stranger:
    """`what` reads on after `it is`."""

    what: str
    hint: str


TABLE: Final[tuple[tuple[bytes, Stranger], ...]] = (
    (
        rb"version https://git-lfs\.github\.com/",
        Stranger("a pointer of Git LFS, and not the file itself", "`git lfs pull` fetches the file"),
    ),
    (rb"/annex/objects/|\.\./.*annex/objects/", Stranger("a pointer of git-annex", "`git annex get` fetches the file")),
    (
        rb"(?i)<(?:!doctype html|html|head|\?xml)",
        Stranger("a web page, as a failed download leaves it", "download it again, from the link to the file itself"),
    ),
    (rb"SQLite format 3\0", Stranger("a SQLite file, as Nsight Systems and rocprof export", _EXPORT)),
    (rb"PK\x03\x04", Stranger("a zip archive", "unpack it, or give the archive itself")),
    (rb".{257}ustar", Stranger("a tar archive", "unpack it, or give the archive itself, named .tar.gz")),
    (rb"\x80[\x02-\x05]", Stranger("a pickle", _EXPORT)),
    (rb"\x89PNG|GIF8|\xff\xd8\xff", Stranger("a picture", _EXPORT)),
    (rb"%PDF-", Stranger("a PDF document", _EXPORT)),
)
"""How it begins, and what it is; the first match counts."""

_COMPILED: Final = tuple((re.compile(begin, re.DOTALL), stranger) for begin, stranger in TABLE)


def known_stranger(head: bytes) -> Stranger | None:
    """What a file is that begins so; None where that is not known."""
    return next((stranger for begin, stranger in _COMPILED if begin.match(head)), None)
