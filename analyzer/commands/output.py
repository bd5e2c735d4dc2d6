"""Puts rendered reports on stdout and into files: finds out what the other end can show, and says nothing else there.

On a GitHub Actions runner the annotations and the job's summary are written without being asked for.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from analyzer.commands.command import FORMATS, TWO_FORMATS, Output
from analyzer.core.errors import InternalError, UsageError

if TYPE_CHECKING:
    from analyzer.core.gate import GateResult
    from analyzer.core.model_runs import ModelRuns
    from analyzer.core.report import Report
    from analyzer.reporting.renderer import Page, Renderer
    from analyzer.reporting.shown_step import ShownStep

MAX_WIDTH: Final = 120
"""Columns: longer lines of text are hard to follow."""

NEEDED_CHARACTERS: Final = "→×µ–…·"

DRAWN: Final = "html"
"""The format that draws the steps of a trace."""

DOCUMENTS: Final = ("json", "sarif", "gitlab", "junit", DRAWN)
"""Formats for programs: nothing else may share stdout with one, and they are UTF-8 whatever the terminal takes."""

SUMMARY_BYTES: Final = 1_048_576
"""What GitHub takes of one step's summary; a longer one is dropped whole."""
SUMMARY_LEAST_BYTES: Final = 65_536
"""What is left of it where an earlier command of the step wrote there too: below this, nothing is added."""

Rendered = Callable[[str, "Page"], str]
"""From the id of a format and a page to text."""

Steps = Callable[[], "tuple[ShownStep, ...]"]
"""Reads traces, which takes a while."""


def print_report(
    report: Report, asked: Sequence[Output] | None, *, is_announced: bool = True, steps: Steps = lambda: ()
) -> None:
    """Write a report in each format that was asked for, None: for the terminal. `is_announced`: tell a CI runner too.
    `steps` gives those of its traces, and is asked for them by a format that draws them.

    Raises BrokenPipeError where the reader has gone, UsageError where a file cannot be written or formats exclude one
    another.
    """

    def rendered(format_id: str, page: Page) -> str:
        drawn = replace(page, steps=steps()) if format_id == DRAWN else page
        return _renderer(format_id).render(report, drawn)

    _write(rendered, partial(surroundings, report), asked, is_announced=is_announced)


def _renderer(format_id: str) -> Renderer:
    # The formats import msgspec and numpy, which `analyze --help` does without; and all but that for a terminal another
    # 30 ms of modules, which most of those who look at a report do without.
    if format_id == FORMATS[0]:
        from analyzer.reporting.terminal import RENDERER

        return RENDERER
    from analyzer.reporting.renderers import renderer

    return renderer(format_id)


def print_gate(gate: GateResult, asked: Sequence[Output] | None, terminal_text: str) -> None:
    """The same with what `analyze check` found; `terminal_text` is its text for a terminal."""
    from analyzer.reporting.renderers import renderer  # as above

    def rendered(format_id: str, page: Page) -> str:
        if format_id == FORMATS[0]:
            return terminal_text
        render_gate = renderer(format_id).render_gate
        if render_gate is None:
            raise InternalError(f"the format {format_id} shows no gates")
        return render_gate(gate, page)

    _write(rendered, partial(surroundings, gate), asked, is_announced=True)


def print_runs(runs: ModelRuns, asked: Sequence[Output] | None) -> None:
    """The same with the reports of several models. `refuse_single` has let the formats pass."""
    from analyzer.reporting.renderers import renderer  # as above

    def rendered(format_id: str, page: Page) -> str:
        render_runs = renderer(format_id).render_runs
        if render_runs is None:
            raise InternalError(f"the format {format_id} shows one report alone")
        return render_runs(runs, page)

    _write(rendered, partial(surroundings, runs), asked, is_announced=True)


def print_text(text: str) -> None:
    """Print text that ends in its newline; a character that the stream cannot take becomes `?`."""
    if sys.stdout is not None:  # closed by whoever started us (`>&-`, a service): nobody reads
        print_text_to(sys.stdout, text)


def page_of(stream: TextIO) -> Page:
    from analyzer.reporting.renderer import PAGE_WIDTH, Page

    if not stream.isatty():
        return Page(is_ascii=_is_ascii(stream))
    width = min(shutil.get_terminal_size((PAGE_WIDTH, 24)).columns, MAX_WIDTH)
    # https://no-color.org: any value that is not empty.
    has_colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Page(width=max(width, PAGE_WIDTH), has_colour=has_colour, is_ascii=_is_ascii(stream))


def terminal_width() -> int | None:
    """The columns of stdout where a person reads it; None in a pipe, where a line is what a program looks for. Of text
    that is folded: below PAGE_WIDTH too, which a page with tables never is.
    """
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return min(shutil.get_terminal_size().columns, MAX_WIDTH)


def refuse_mixed(asked: Sequence[Output] | None) -> None:
    """Raises UsageError where two formats would make one unreadable text of stdout, or be written into one file."""
    printed = [each.format for each in asked or () if each.file is None]
    documents = [format_id for format_id in printed if format_id in DOCUMENTS]
    if documents and len(printed) > 1:
        raise UsageError(
            f"{' and '.join(printed)} cannot share stdout",
            hint=f"write one of them to a file: --format {documents[0]}:FILE",
        )
    refuse_one_file(asked)


def refuse_one_file(asked: Sequence[Output] | None) -> None:
    """Raises UsageError where two formats would be written into one file, of which the last would stay."""
    taken: dict[Path, str] = {}
    for each in asked or ():
        if each.file is None:
            continue
        file = Path(each.file).resolve()
        if file in taken:
            text = f"{taken[file]} and {each.format} cannot share {each.file}"
            raise UsageError(text, hint="give each a file of its own")
        taken[file] = each.format


def refuse_unwritable(asked: Sequence[Output] | None) -> None:
    """Raises UsageError where a file cannot be written, before what takes minutes has run. A disk that is full then is
    found when it is written.
    """
    for each in asked or ():
        if each.file is None:
            continue
        file = Path(each.file)
        above = next(folder for folder in file.absolute().parents if folder.exists())
        if file.is_dir():
            why = "it is a folder"
        elif not above.is_dir():
            why = f"{above} is no folder"
        elif not os.access(file if file.exists() else above, os.W_OK):
            why = "permission denied"
        else:
            continue
        raise UsageError(f"cannot write {file}: {why}", hint=f"name another file: --format {each.format}:FILE")


def refuse_single(asked: Sequence[Output] | None) -> None:
    """Raises UsageError where a format cannot hold the reports of several models."""
    from analyzer.reporting.renderers import renderer  # as above

    single = [each.format for each in asked or () if renderer(each.format).render_runs is None]
    if single:
        raise UsageError(
            f"{' and '.join(single)} can hold one report alone, and several models were asked for",
            hint=f"`analyze show RUN --format {single[0]}:FILE` writes it of each run folder afterwards",
        )


def refuse_ungated(asked: Sequence[Output] | None) -> None:
    """Raises UsageError where a format has no place for what a check found."""
    from analyzer.reporting.renderers import renderer  # as above

    ungated = [o.format for o in asked or () if o.format != FORMATS[0] and renderer(o.format).render_gate is None]
    if ungated:
        raise UsageError(
            f"{' and '.join(ungated)} shows a report, and no gates",
            hint="the run folder holds report.html; `analyze show RUN --format html:FILE` writes it again",
        )


def surroundings(shown: Report | GateResult | ModelRuns) -> Page:
    """A page that knows the repository and the rules; where it will be shown is said later."""
    from analyzer.commands.checkout import found_repository
    from analyzer.reporting.renderer import Page
    from analyzer.reporting.word import Word
    from analyzer.rules import RULES

    return Page(repository=found_repository(shown), rules=tuple(Word(rule.id, rule.doc) for rule in RULES))


def _write(
    rendered: Rendered, surroundings: Callable[[], Page], asked: Sequence[Output] | None, *, is_announced: bool
) -> None:
    from analyzer.reporting.renderer import Page

    refuse_mixed(asked)
    wanted = tuple(asked or (Output(FORMATS[0]),))
    is_on_runner = os.environ.get("GITHUB_ACTIONS") == "true"
    is_on_github = is_announced and is_on_runner
    # The rules and git's folder are looked up for those alone who show them.
    is_plain = not is_on_github and all(output.format in TWO_FORMATS for output in wanted)
    known = Page() if is_plain else surroundings()
    unwritten: list[UsageError] = []
    for output in wanted:
        if output.file is not None:
            try:
                _write_file(Path(output.file), rendered(output.format, known))
            except UsageError as error:  # the others are written and printed all the same
                unwritten.append(error)
    if is_on_github:
        _append_summary(rendered, known)
    for output in wanted:
        if output.file is None and sys.stdout is not None:
            _print(rendered, known, output.format, is_on_runner=is_on_runner)
    if is_on_github and all(output.format != "github" for output in wanted):
        has_document = any(output.file is None and output.format in DOCUMENTS for output in wanted)
        # The runner reads both streams for commands.
        stream = sys.stderr if has_document else sys.stdout
        if stream is not None:
            print_text_to(stream, rendered("github", known))
    if unwritten:
        raise unwritten[0]


def _print(rendered: Rendered, known: Page, format_id: str, *, is_on_runner: bool) -> None:
    seen = page_of(sys.stdout)
    page = replace(known, width=seen.width, has_colour=seen.has_colour, is_ascii=seen.is_ascii)
    text = rendered(format_id, page)
    if format_id in DOCUMENTS and hasattr(sys.stdout, "buffer"):
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
    elif is_on_runner and format_id == FORMATS[0]:
        # A name in a report may begin like one of the runner's commands. The word that ends this is not to be guessed.
        word = os.urandom(16).hex()
        print_text_to(sys.stdout, f"::stop-commands::{word}\n{text}::{word}::\n")
    else:
        print_text_to(sys.stdout, text)


def print_text_to(stream: TextIO, text: str) -> None:
    """The same to another stream."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, errors="replace").decode(encoding))
    stream.flush()


def _write_file(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(
            f"cannot write {file}: {error.strerror or error}",
            hint="name another file; of a run folder `analyze show`, or `analyze check` of a check, writes it again",
        ) from error


def _append_summary(rendered: Rendered, known: Page) -> None:
    """Add to the summary of the job. It is a courtesy: where it cannot be had, a line on stderr says so."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    file = Path(name)
    try:
        room = SUMMARY_BYTES - (file.stat().st_size if file.exists() else 0)
        if room < SUMMARY_LEAST_BYTES:
            _warn("the summary of this step is full: nothing was added to it")
            return
        with file.open("a", encoding="utf-8", newline="") as summary:
            summary.write(rendered("markdown", replace(known, most_bytes=room)))
    except OSError as error:
        _warn(f"cannot write the summary of the job: {error.strerror or error}")


def _warn(text: str) -> None:
    if sys.stderr is not None:
        print_text_to(sys.stderr, f"warning: {text}\n")


def _is_ascii(stream: TextIO) -> bool:
    try:
        NEEDED_CHARACTERS.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return True
    return False
