"""`analyze TARGET…`: diagnose, optimise, verify. The command without a word of its own."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from analyzer.commands.argument_types import (
    byte_count,
    duration,
    meaning_changes,
    named,
    names,
    positive,
    seconds,
    shape,
)
from analyzer.commands.command import Command, add_formats
from analyzer.commands.dashboard import serve_until_interrupted
from analyzer.commands.output import print_report, refuse_mixed
from analyzer.commands.several import Asked, policy_models, refuse_what_is_for_one, run_models
from analyzer.commands.trace import add_reading, is_trace
from analyzer.commands.trace import run as run_trace
from analyzer.core.errors import ExitCode, UsageError
from analyzer.core.settings import (
    COMPILE_TIMEOUT_S,
    MEANING_CHANGES,
    DimRange,
    Export,
    Mode,
    Objective,
    RunSettings,
    WorkloadSpec,
)
from analyzer.core.shell import shell_command, shell_path
from analyzer.interrupts import ending_signals_interrupt
from analyzer.progress import make_progress
from collectors.model_file import is_path, require_model_file

if TYPE_CHECKING:
    from analyzer.reporting.shown_step import ShownStep

RUNS: Final = Path("runs")
NAMED_MODELS: Final = ("timm:", "torchvision:", "hf:")
DTYPES: Final = ("float32", "float64", "bfloat16", "float16")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets",
        type=named,
        metavar="TARGET",
        nargs="*",
        help="a Python file with get_model() and get_inputs(), with class Model, or with model and inputs; "
        "or timm:NAME, torchvision:NAME, hf:CONFIG_OR_FOLDER; or a recorded trace, or a folder of ranks; several "
        "models are run one by one (default: models of [tool.graphbound])",
    )
    parser.add_argument("--mode", choices=[m.value for m in Mode], default=Mode.INFERENCE.value, help="what a step is")
    parser.add_argument("--device", choices=("cuda", "cpu"), help="default: cuda where there is one")
    parser.add_argument(
        "--entry", type=named, metavar="NAME", help="a function of the file that returns (model, inputs)"
    )
    parser.add_argument(
        "--out", type=named, metavar="DIR", help="the run folder, or that of several (default: runs/NAME-TIME)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    add_formats(parser)
    parser.add_argument("--dashboard", action="store_true", help="open the dashboard at the end")
    _add_named_model(parser.add_argument_group("for timm:, torchvision: and hf: models"))
    _add_search(parser.add_argument_group("what is tried"))
    _add_goal(parser.add_argument_group("what the plan is to be"))
    _add_production(parser.add_argument_group("for production"))
    add_reading(parser.add_argument_group("for recorded traces"))


def run(arguments: argparse.Namespace) -> ExitCode | int:
    refuse_mixed(arguments.format)
    named = [(target, target) for target in dict.fromkeys(arguments.targets)] or list(policy_models())
    if not named:
        raise UsageError(
            "what should be analysed?",
            hint='`analyze model.py`, or models = ["model.py"] in [tool.graphbound]; `analyze --help` shows the rest',
        )
    if len(named) > 1:
        return _run_several(arguments, named)
    return _run_one(argparse.Namespace(**vars(arguments), target=named[0][1]))


def _run_one(arguments: argparse.Namespace) -> ExitCode | int:
    if _is_recorded(arguments.target):
        return run_trace(arguments)
    _refuse_what_is_no_model(arguments.target)
    settings = run_settings(arguments, datetime.now())
    from analyzer.pipeline import run as run_pipeline  # numpy and msgspec: `analyze --help` does without

    progress = make_progress(quiet=arguments.quiet)
    try:
        with ending_signals_interrupt():
            finished = run_pipeline(settings, progress)
    finally:
        progress.close()
    print_report(finished.report, arguments.format, steps=partial(_steps, finished.folder))
    if finished.exit_code != ExitCode.OK:
        return finished.exit_code
    if arguments.dashboard and settings.out is not None:
        serve_until_interrupted(Path(settings.out), None, open_browser=True)
    return ExitCode.OK


def _steps(folder: Path) -> tuple[ShownStep, ...]:
    from dashboard.report_timeline import steps_of_run  # what reads traces, for a format that draws them

    return steps_of_run(folder)


def _run_several(arguments: argparse.Namespace, named: Sequence[tuple[str, str]]) -> int:
    """Whatever is wrong with one of them is said before any runs."""
    targets = [target for _, target in named]
    refuse_what_is_for_one(arguments, targets, [target for target in targets if _is_recorded(target)])
    for target in targets:
        _refuse_what_is_no_model(target)
        if is_path(target):
            require_model_file(Path(target))
    now, taken = datetime.now(), set[Path]()
    asked = []
    for name, target in named:
        out = None if arguments.out is None else str(_unused(Path(arguments.out) / run_stem(target), taken))
        own = argparse.Namespace(**{**vars(arguments), "target": target, "out": out})
        settings = run_settings(own, now, taken)
        taken.add(Path(settings.out or "."))
        asked.append(Asked(name, settings))
    return run_models(asked, arguments, shell_command("analyze", *arguments.words))


def run_settings(arguments: argparse.Namespace, now: datetime, taken: Collection[Path] = frozenset()) -> RunSettings:
    """The settings that the arguments ask for of `arguments.target`; `now` names the run folder, which is none of those
    `taken`. Raises UsageError.
    """
    if not arguments.target.startswith(NAMED_MODELS):
        _refuse_named_model_flags(arguments)
    spec = WorkloadSpec(
        target=arguments.target,
        entry=arguments.entry,
        mode=Mode(arguments.mode),
        device=arguments.device,
        batch=arguments.batch,
        dtype=arguments.dtype,
        shape=None if _ranges(arguments.shape) else arguments.shape,
        ranges=_ranges(arguments.shape),
    )
    return RunSettings(
        workload=spec,
        out=arguments.out or str(_unused(RUNS / run_name(arguments.target, now), taken)),
        optimize=arguments.optimize,
        compile_timeout_s=arguments.compile_timeout,
        candidates=arguments.candidates,
        isolate=arguments.isolate,
        budget_s=arguments.budget,
        objective=Objective(arguments.objective),
        memory_limit_bytes=arguments.memory_limit,
        backends=tuple(dict.fromkeys(arguments.backend)),
        allow=arguments.allow,
        plan=arguments.plan,
        export=None if arguments.export is None else Export(arguments.export),
    )


def run_name(target: str, now: datetime) -> str:
    """`gptlite-20260101-120000`, fit for a folder of any system."""
    return f"{run_stem(target)}-{now:%Y%m%d-%H%M%S}"


def run_stem(target: str) -> str:
    """`gptlite`, of `examples/gptlite.py`."""
    last = re.split(r"[/\\:]", target.rstrip("/\\"))[-1].removesuffix(".py")
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", last).strip("._")[:60] or "run"


def _add_named_model(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--batch", type=positive, metavar="N", help="the first dimension of the inputs")
    group.add_argument("--dtype", choices=DTYPES, help="of weights and inputs")
    group.add_argument(
        "--shape",
        type=shape,
        metavar="AxBxC",
        help="of the input, as 1x3x224x224; or, of a file's inputs too, what changes from call to call: 0:1-64 is the "
        "first dimension of input 0 from 1 to 64, 0.1:16-512 its second",
    )


def _add_search(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--no-optimize", dest="optimize", action="store_false", help="stop after the verdicts")
    group.add_argument("--candidates", type=names, default=(), metavar="A,B", help="try only these (default: all)")
    group.add_argument(
        "--compile-timeout",
        type=seconds,
        default=COMPILE_TIMEOUT_S,
        metavar="SECONDS",
        help="give up on a candidate that compiles for longer (default: %(default)g)",
    )
    group.add_argument(
        "--no-isolate",
        dest="isolate",
        action="store_false",
        help="run the model in this process: a crash then ends everything",
    )


def _add_goal(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--budget", type=duration, metavar="TIME", help="time for the search, as 90s or 2m")
    group.add_argument(
        "--objective",
        choices=[o.value for o in Objective],
        default=Objective.LATENCY.value,
        help="what to prefer among what is not slower than the default (default: %(default)s)",
    )
    group.add_argument("--memory-limit", type=byte_count, metavar="SIZE", help="refuse what needs more, as 4GiB")
    group.add_argument(
        "--backend", action="append", default=[], metavar="NAME", help="try this torch.compile backend as well"
    )
    group.add_argument(
        "--allow",
        type=meaning_changes,
        default=(),
        metavar="A,B",
        help=f"try what may change results, of {', '.join(MEANING_CHANGES)}",
    )


def _add_production(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--plan", type=named, metavar="FILE", help="verify this plan, and search for no other")
    group.add_argument("--export", choices=[e.value for e in Export], help="write the model as a package as well")


def _is_recorded(target: str) -> bool:
    return not target.startswith(NAMED_MODELS) and is_trace(target)


def _refuse_what_is_no_model(target: str) -> None:
    if target.startswith(NAMED_MODELS):
        return
    if (Path(target) / "report.json").is_file():
        folder = shell_path(target)
        raise UsageError(f"{target} is a run folder", hint=f"`analyze show {folder}`, or `analyze dashboard {folder}`")


def _refuse_named_model_flags(arguments: argparse.Namespace) -> None:
    names = [name for name in ("batch", "dtype", "shape") if getattr(arguments, name) is not None]
    given = [f"--{name}" for name in names if name != "shape" or not _ranges(arguments.shape)]
    if given:
        raise UsageError(
            f"{', '.join(given)} cannot change {arguments.target}, which makes its own inputs",
            hint="They are for timm:, torchvision: and hf: models; in a file, change get_inputs().",
        )


def _ranges(given: tuple[object, ...] | None) -> tuple[DimRange, ...]:
    """What `--shape` said of sizes that change; empty where it gave one shape."""
    return tuple(one for one in given or () if isinstance(one, DimRange))


def _unused(folder: Path, taken: Collection[Path]) -> Path:
    """The folder, or with a number where a run of the same second, or one of those to come, has taken it."""
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in range(2, 1000))
    return next(each for each in (folder, *numbered) if each not in taken and not each.exists())


COMMAND: Final = Command(
    name="",
    summary="say what bounds each compiled graph of a PyTorch model, and free it",
    add_arguments=add_arguments,
    run=run,
)
