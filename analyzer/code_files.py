"""The generated code in a run folder: `code/GRAPH.CANDIDATE.py.gz`. A folder may come from anyone, so that what its
report names is read only where this module would have written it.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from analyzer.core.errors import UnreadableFileError, UsageError
from analyzer.core.generated_code import GeneratedCode, StoredCode
from analyzer.core.report import Report
from analyzer.reporting.json import write_whole
from analyzer.reporting.rows import graph_labels

CODE_FOLDER: Final = "code"
_SUFFIX: Final = ".py.gz"
_FILE: Final = re.compile(rf"{CODE_FOLDER}/[A-Za-z0-9_+-][A-Za-z0-9_.+-]{{0,250}}{re.escape(_SUFFIX)}")

MOST_READ_BYTES: Final = 4 << 20
"""Of one file, unpacked: twice what is written into one. What unpacks to more is none of ours."""

RUN_AGAIN: Final = "`analyze model.py` writes it anew"


def write_code(folder: Path, code: GeneratedCode, candidate: str) -> StoredCode:
    """Into the run folder, whole or not at all; no file where there was no room for any of it. Raises OSError."""
    if not code.text:
        return StoredCode(code.key, candidate, None, code.code_bytes, 0)
    safe = re.sub(r"[^A-Za-z0-9_+-]+", "-", candidate)[:80]
    name = f"{code.key}.{safe}{_SUFFIX}"
    data = code.text.encode("utf-8", "replace")
    path = folder / CODE_FOLDER / name
    path.parent.mkdir(exist_ok=True)
    write_whole(path, gzip.compress(data, mtime=0))  # without a time in it: the same code gives the same file
    return StoredCode(code.key, candidate, f"{CODE_FOLDER}/{name}", code.code_bytes, len(data))


def clear_code(folder: Path) -> None:
    """Remove what an earlier run kept, and nothing else."""
    for old in (folder / CODE_FOLDER).glob(f"*{_SUFFIX}"):
        old.unlink(missing_ok=True)
    with suppress(OSError):
        (folder / CODE_FOLDER).rmdir()


def read_code(folder: Path, stored: StoredCode) -> str:
    """The text of it. Raises UnreadableFileError, which says what to do."""
    if stored.file is None:
        raise UnreadableFileError(
            f"the code of {stored.key} under {stored.candidate} was not kept: other graphs had used up the room",
            hint="`TORCH_LOGS=output_code python your_program.py` prints it",
        )
    path = folder / stored.file
    if _FILE.fullmatch(stored.file) is None or not path.resolve().is_relative_to(folder.resolve()):
        raise UnreadableFileError("the report names a file of code that no run would have written", hint=RUN_AGAIN)
    try:
        with gzip.open(path) as packed:
            data = packed.read(MOST_READ_BYTES + 1)
    except FileNotFoundError:
        raise UnreadableFileError(f"{path}: the file of the code is gone", hint=RUN_AGAIN) from None
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFileError(f"{path}: cannot be read ({error})", hint=RUN_AGAIN) from error
    if len(data) > MOST_READ_BYTES:
        raise UnreadableFileError(f"{path}: holds more than {MOST_READ_BYTES >> 20} MiB of code", hint=RUN_AGAIN)
    return data.decode("utf-8", "replace")


def codes_of(report: Report, key: str) -> tuple[StoredCode, ...]:
    """What is kept for the graph of this key, the chosen candidate first."""
    chosen = next((graph.chosen for graph in report.graphs if str(graph.key) == key), None)
    own = [code for code in report.generated_code if str(code.key) == key]
    return tuple(sorted(own, key=lambda code: (code.candidate != chosen, code.candidate)))


def asked_code(report: Report, asked: str) -> StoredCode:
    """The one that `GRAPH` or `GRAPH=CANDIDATE` names: a graph by its key or by what its row is called, or how either
    begins; its chosen candidate where none is named. Raises UsageError, which says what there is.
    """
    graph, _, candidate = asked.partition("=")
    keys = _keys_that_begin(report.generated_code, graph) or _keys_called(report, graph)
    if not report.generated_code:
        raise UsageError("this run keeps no generated code", hint="`analyze model.py` keeps it where Inductor gave it")
    if len(keys) != 1:
        found = "more than one graph begins" if keys else "no graph with code begins"
        labels = _row_names(report)
        there = keys or _keys_that_begin(report.generated_code, "")
        named = ", ".join(f"{key} ({labels[key]})" if key in labels else key for key in there)
        raise UsageError(f"{found} with {graph!r}", hint=f"name one of {named}")
    own = codes_of(report, keys[0])
    wanted = [code for code in own if not candidate or code.candidate == candidate]
    if not wanted:
        names = ", ".join(f"{keys[0]}={code.candidate}" for code in own)
        raise UsageError(f"the code of {keys[0]} under {candidate!r} is not kept", hint=f"there is {names}")
    return wanted[0]


def _keys_called(report: Report, begin: str) -> list[str]:
    """The graphs with code whose rows are called so; where none is, those whose names begin so."""
    kept = {str(code.key) for code in report.generated_code}
    labels = {key: label for key, label in _row_names(report).items() if key in kept}
    exact = [key for key, label in labels.items() if label == begin]
    return exact or [key for key, label in labels.items() if label.startswith(begin)]


def _row_names(report: Report) -> dict[str, str]:
    """By key, what each graph of the step is called in a table."""
    return {str(key): label for key, label in graph_labels([g for g in report.graphs if g.is_in_step]).items()}


def _keys_that_begin(codes: Sequence[StoredCode], begin: str) -> list[str]:
    return list(dict.fromkeys(str(code.key) for code in codes if str(code.key).startswith(begin)))
