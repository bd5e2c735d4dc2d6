"""`analyze check RUN|model.py`: holds a model to its baseline and its policy, and exits 1 only where a gate fails."""

from __future__ import annotations

import argparse
from typing import Final

from analyzer.commands.argument_types import named
from analyzer.commands.command import Command, add_formats
from analyzer.commands.comment import comment_on
from analyzer.commands.output import print_gate, refuse_mixed, refuse_ungated, refuse_unwritable, terminal_width
from analyzer.core.errors import UsageError
from analyzer.core.settings import Mode
from analyzer.core.shell import shell_command, shell_path, shell_word
from analyzer.interrupts import ending_signals_interrupt
from analyzer.progress import make_progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets",
        type=named,
        metavar="RUN|model.py",
        nargs="*",
        help="run folders, or models to run (default: models of [tool.graphbound])",
    )
    held = parser.add_argument_group("what it is held against")
    held.add_argument(
        "--baseline", type=named, metavar="BASE", help="a run folder or a file of values (default: the policy's)"
    )
    held.add_argument("--against", metavar="REF", help="a git commit: its model is run here in turn with this one")
    held.add_argument(
        "--budget-file", type=named, metavar="FILE", help="the policy (default: graphbound.toml or pyproject.toml)"
    )
    parser.add_argument("--init", action="store_true", help="accept this: write the policy and the values from it")
    parser.add_argument(
        "--no-run", dest="runs", action="store_false", help="compile and call the model, time and record nothing"
    )
    parser.add_argument("--mode", choices=[m.value for m in Mode], default=Mode.INFERENCE.value, help="what a step is")
    parser.add_argument("--device", choices=("cuda", "cpu"), help="default: cuda where there is one")
    parser.add_argument(
        "--entry", type=named, metavar="NAME", help="a function of the file that returns (model, inputs)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    add_formats(parser)
    told = parser.add_argument_group("what is kept and told")
    told.add_argument(
        "--out", type=named, metavar="DIR", help="keep the run folder of each model here (default: none is kept)"
    )
    told.add_argument(
        "--comment",
        action="store_true",
        help="on a GitHub runner: one comment on the pull request, written over by the next check (needs GITHUB_TOKEN)",
    )
    told.add_argument("--comment-name", metavar="NAME", help="tells apart the comments of one job (default: none)")


def run(arguments: argparse.Namespace) -> int:
    refuse_mixed(arguments.format)
    refuse_ungated(arguments.format)
    refuse_unwritable(arguments.format)
    if arguments.against is not None and arguments.baseline is not None:
        raise UsageError("--against and --baseline exclude one another", hint="a base is a commit, or what was stored")
    if arguments.against is not None and arguments.init:
        raise UsageError("--init stores this run, and --against stores nothing", hint="leave one of them out")
    if arguments.comment_name is not None and not arguments.comment:
        raise UsageError("--comment-name names the comment of --comment", hint="add --comment")
    # numpy and msgspec: `analyze --help` does without.
    from analyzer.checking.check import run_check
    from analyzer.checking.settings import CheckSettings
    from analyzer.reporting.check_text import check_text

    settings = CheckSettings(
        targets=tuple(arguments.targets),
        baseline=arguments.baseline,
        budget_file=arguments.budget_file,
        against=arguments.against,
        init=arguments.init,
        runs=arguments.runs,
        mode=Mode(arguments.mode),
        device=arguments.device,
        entry=arguments.entry,
        out=arguments.out,
        command=_again(arguments),
    )
    progress = make_progress(quiet=arguments.quiet)
    try:
        with ending_signals_interrupt():
            result = run_check(settings, progress)
    finally:
        progress.close()
    print_gate(result, arguments.format, check_text(result, terminal_width()))
    if arguments.comment:
        comment_on(result, arguments.comment_name or "")
    return result.exit_code


def _again(arguments: argparse.Namespace) -> str:
    """The same check, to be pasted into a shell."""
    values = ("baseline", "against", "budget_file", "device", "entry")
    given = [(name, getattr(arguments, name)) for name in values if getattr(arguments, name) is not None]
    flags = [shell_word(f"--{name.replace('_', '-')}={value}") for name, value in given]
    flags += [] if arguments.mode == Mode.INFERENCE.value else [f"--mode={arguments.mode}"]
    flags += [] if arguments.runs else ["--no-run"]
    return " ".join((shell_command("analyze", "check"), *map(shell_path, arguments.targets), *flags))


COMMAND: Final = Command(
    name="check",
    summary="hold a model to its baseline, for CI: exit 1 where a gate fails",
    add_arguments=add_arguments,
    run=run,
)
