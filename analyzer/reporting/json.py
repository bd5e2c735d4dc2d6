"""report.json: writes a report so that reading it gives the same report, and the same report the same bytes."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from analyzer.core.errors import UnreadableFileError
from analyzer.core.gate import GateResult, ModelGate
from analyzer.core.model_runs import ModelRuns
from analyzer.core.report import REPORT_SCHEMA, Report
from analyzer.core.shell import shell_path
from analyzer.reporting.from_wire import report_from_wire
from analyzer.reporting.plain_text import escaped, plain
from analyzer.reporting.renderer import Page, Renderer
from analyzer.reporting.to_wire import report_to_wire
from analyzer.reporting.wire import WireReport

REPORT_FILE: Final = "report.json"
"""Its name in a run folder."""

DASHBOARD_COMMAND: Final = "analyze dashboard "
"""What the last line of a finished run begins with; its folder follows."""

GATE_SCHEMA: Final = 1
"""Of what `analyze check --format json` prints; the reports in it have their own."""

RUNS_SCHEMA: Final = 1
"""Of what `analyze a.py b.py --format json` prints; the reports in it have their own."""

_MANY_DIGITS: Final = re.compile(rb"[0-9]{19}")
"""As many as 2^63 has."""
_UNSAFE: Final = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""What JSON need not escape and a terminal may obey: DEL, the C1 controls (U+009B starts an escape sequence), marks
that reorder or hide text. They only occur inside JSON strings, so the escaped text means the same."""

_MADE_BY: Final = "`analyze model.py` writes one into its run folder."


class _SchemaOnly(msgspec.Struct):
    schema: int


class _Release(msgspec.Struct):
    graphbound: str


class _ReleaseOnly(msgspec.Struct):
    versions: _Release


def write_report(report: Report, path: Path) -> None:
    """Raises OSError where the folder cannot be written to."""
    write_whole(path, encode_report(report))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file at once or not at all: whoever reads meanwhile, or after a crash, sees a whole one.

    Raises OSError where the folder cannot be written to.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def read_report(path: str | Path) -> Report:
    """The report in this file, or in this run folder. Raises UnreadableFileError, which says what to do."""
    file = Path(path)
    file = file / REPORT_FILE if file.is_dir() else file
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise UnreadableFileError(f"{file}: there is no report here", hint=_MADE_BY) from None
    except OSError as error:
        raise UnreadableFileError(f"{file}: cannot be read ({error.strerror or error})", hint=_MADE_BY) from error
    return decode_report(data, str(file))


def report_at(path: str | Path) -> Report:
    """`read_report` for who is shown it: of a run folder that was copied or moved, what to type next names it where it
    is now. Raises UnreadableFileError.
    """
    report, place = read_report(path), Path(path)
    folder = place if place.is_dir() else place.parent
    is_run = place.is_dir() or place.name == REPORT_FILE
    if not is_run or not report.next_command.startswith(DASHBOARD_COMMAND) or _names(report.next_command, folder):
        return report
    return replace(report, next_command=f"{DASHBOARD_COMMAND}{shell_path(folder)}")


def _names(command: str, folder: Path) -> bool:
    with suppress(OSError, ValueError):  # a quote that is open, a path that is none
        (named,) = shlex.split(command)[2:]
        return Path(named).samefile(folder)
    return False


def encode_report(report: Report) -> bytes:
    return public_json(report_to_wire(report))


def public_json(value: Any) -> bytes:
    """Indented JSON that a terminal may show, ending in a newline; the same value gives the same bytes."""
    try:
        data = msgspec.json.encode(value, enc_hook=_plain_number)
    except UnicodeEncodeError:
        # A file name that is not UTF-8 comes with lone surrogates, which JSON cannot hold.
        data = msgspec.json.encode(_without_surrogates(msgspec.to_builtins(value, enc_hook=_plain_number)))
    text = msgspec.json.format(data, indent=2).decode()
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode() + b"\n"


def decode_report(data: bytes, name: str) -> Report:
    """The report in `data`; `name` stands for it in messages. Raises UnreadableFileError; of a report that another
    release of Graphbound wrote, it says which did.
    """
    try:
        schema = msgspec.json.decode(data, type=_SchemaOnly).schema
        if schema != REPORT_SCHEMA:
            why = f"report schema {schema} is not known here, only {REPORT_SCHEMA}"
            hint = "Another version of Graphbound wrote it: install that one, or run `analyze model.py` again."
            raise _of_another_release(data, name, why) or UnreadableFileError(f"{name}: {why}", hint=hint)
        if _MANY_DIGITS.search(data) and _has_too_large(msgspec.json.decode(data)):
            raise UnreadableFileError(f"{name}: not a report: it has a number beyond 64 bits", hint=_MADE_BY)
        return report_from_wire(msgspec.json.decode(data, type=WireReport))
    except msgspec.ValidationError as error:
        raise _not_a_report(data, name, error) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableFileError(f"{name}: {_where_cut(error, len(data))}", hint=_MADE_BY) from error
    except ValueError as error:
        raise _not_a_report(data, name, error) from error


def _has_too_large(value: Any) -> bool:
    """Whether a whole number lies in it that no clock counts to, and no float holds."""
    match value:
        case int():
            return not -(2**63) <= value < 2**63
        case dict():
            return any(map(_has_too_large, value.values()))
        case list():
            return any(map(_has_too_large, value))
    return False


def _not_a_report(data: bytes, name: str, error: Exception) -> UnreadableFileError:
    other = _of_another_release(data, name, str(error))
    return other or UnreadableFileError(f"{name}: not a report: {error}", hint=_MADE_BY)


def _of_another_release(data: bytes, name: str, why: str) -> UnreadableFileError | None:
    """That this release does not read what another one wrote; None where it is this one's, or does not say whose."""
    from analyzer.version import VERSION  # takes 70 ms

    try:
        made = msgspec.json.decode(data, type=_ReleaseOnly).versions.graphbound
    except msgspec.DecodeError:
        return None
    if made == VERSION:
        return None
    return UnreadableFileError(
        f"{name}: Graphbound {plain(made, 40)} wrote it, and this one, {VERSION}, does not read it: {why}",
        hint="Read it with that one, or run `analyze model.py` again with this one.",
    )


def render(report: Report, page: Page) -> str:
    """The bytes of report.json as text; the page changes nothing."""
    return encode_report(report).decode()


def render_gate(gate: GateResult, page: Page) -> str:
    """What `analyze check` found, each model with its whole report; the page changes nothing."""
    models = [_model_to_wire(model) for model in gate.models]
    found = {
        "schema": GATE_SCHEMA,
        "headline": gate.headline,
        "passed": gate.has_passed,
        "exit_code": int(gate.exit_code),
        "against": gate.against,
        "models": models,
        "notes": gate.notes,
        "accept": gate.accept,
        "accept_file": gate.accept_file,
        "command": gate.command,
    }
    return public_json(found).decode()


def render_runs(runs: ModelRuns, page: Page) -> str:
    """The runs of several models, each with its whole report; the page changes nothing."""
    models = [
        {
            "name": run.name,
            "exit_code": run.exit_code,
            "error": run.error,
            "error_at": run.error_at,
            "folder": run.folder,
            "report": None if run.report is None else report_to_wire(run.report),
        }
        for run in runs.runs
    ]
    found = {
        "schema": RUNS_SCHEMA,
        "headline": runs.headline,
        "exit_code": runs.exit_code,
        "models": models,
        "command": runs.command,
    }
    return public_json(found).decode()


def _model_to_wire(model: ModelGate) -> dict[str, Any]:
    return {
        "name": model.name,
        "passed": model.has_passed,
        "error": model.error,
        "error_at": model.error_at,
        "error_code": model.error_code,
        "folder": model.folder,
        "checks": model.checks,
        "silenced": model.silenced,
        "notes": model.notes,
        "report": None if model.report is None else report_to_wire(model.report),
    }


def _where_cut(error: Exception, size: int) -> str:
    if "truncated" in str(error):
        return f"the file ends too early, at byte {size}"
    return f"not JSON: {error}"


def _plain_number(value: object) -> Any:
    # A number that NumPy computed may reach a report; it is the same number.
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a report cannot hold a {type(value).__name__}")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return "".join(escaped(c) if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, dict):
        return {name: _without_surrogates(member) for name, member in value.items()}
    return [_without_surrogates(member) for member in value] if isinstance(value, list | tuple) else value


RENDERER: Final = Renderer(
    id="json",
    summary="report.json as it is saved, for other programs",
    render=render,
    render_gate=render_gate,
    render_runs=render_runs,
)
