"""`analyze TARGET`: diagnose, optimise, verify. The command without a word of its own."""

from __future__ import annotations

import argparse
import re
from datetime import datetime
from pathlib import Path
from typing import Final

from analyzer.commands.command import Command, add_format
from analyzer.commands.dashboard import serve_until_interrupted
from analyzer.commands.output import print_report
from analyzer.core.errors import ExitCode, UsageError
from analyzer.core.settings import COMPILE_TIMEOUT_S, Mode, RunSettings, WorkloadSpec
from analyzer.interrupts import ending_signals_interrupt
from analyzer.progress import make_progress

RUNS: Final = Path("runs")
NAMED_MODELS: Final = ("timm:", "torchvision:", "hf:")
DTYPES: Final = ("float32", "float64", "bfloat16", "float16")
_TRACE_ENDINGS: Final = (".json", ".json.gz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="a Python file with get_model() and get_inputs(), with class Model, or with model and inputs; "
        "or timm:NAME, torchvision:NAME, hf:CONFIG_OR_FOLDER",
    )
    parser.add_argument("--mode", choices=[m.value for m in Mode], default=Mode.INFERENCE.value, help="what a step is")
    parser.add_argument("--device", choices=("cuda", "cpu"), help="default: cuda where there is one")
    parser.add_argument("--entry", metavar="NAME", help="a function of the file that returns (model, inputs)")
    parser.add_argument("--out", metavar="DIR", help="the run folder (default: runs/NAME-TIME)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    add_format(parser)
    parser.add_argument("--dashboard", action="store_true", help="open the dashboard at the end")
    _add_named_model(parser.add_argument_group("for timm:, torchvision: and hf: models"))
    _add_search(parser.add_argument_group("what is tried"))


def run(arguments: argparse.Namespace) -> ExitCode | int:
    _refuse_what_is_no_model(arguments.target)
    settings = run_settings(arguments, datetime.now())
    from analyzer.pipeline import run as run_pipeline  # numpy and msgspec: `analyze --help` does without

    progress = make_progress(quiet=arguments.quiet)
    try:
        with ending_signals_interrupt():
            finished = run_pipeline(settings, progress)
    finally:
        progress.close()
    print_report(finished.report, arguments.format)
    if finished.exit_code != ExitCode.OK:
        return finished.exit_code
    if arguments.dashboard and settings.out is not None:
        serve_until_interrupted(Path(settings.out), None, open_browser=True)
    return ExitCode.OK


def run_settings(arguments: argparse.Namespace, now: datetime) -> RunSettings:
    """The settings that the arguments ask for; `now` names the run folder. Raises UsageError."""
    if not arguments.target.startswith(NAMED_MODELS):
        _refuse_named_model_flags(arguments)
    spec = WorkloadSpec(
        target=arguments.target,
        entry=arguments.entry,
        mode=Mode(arguments.mode),
        device=arguments.device,
        batch=arguments.batch,
        dtype=arguments.dtype,
        shape=arguments.shape,
    )
    return RunSettings(
        workload=spec,
        out=arguments.out or str(_unused(RUNS / run_name(arguments.target, now))),
        optimize=arguments.optimize,
        compile_timeout_s=arguments.compile_timeout,
        candidates=arguments.candidates,
        isolate=arguments.isolate,
    )


def run_name(target: str, now: datetime) -> str:
    """`gptlite-20260101-120000`, fit for a folder of any system."""
    last = re.split(r"[/\\:]", target.rstrip("/\\"))[-1].removesuffix(".py")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", last).strip("._")[:60] or "run"
    return f"{name}-{now:%Y%m%d-%H%M%S}"


def _add_named_model(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--batch", type=_positive, metavar="N", help="the first dimension of the inputs")
    group.add_argument("--dtype", choices=DTYPES, help="of weights and inputs")
    group.add_argument("--shape", type=_shape, metavar="AxBxC", help="of the input, as 1x3x224x224")


def _add_search(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--no-optimize", dest="optimize", action="store_false", help="stop after the verdicts")
    group.add_argument("--candidates", type=_names, default=(), metavar="A,B", help="try only these (default: all)")
    group.add_argument(
        "--compile-timeout",
        type=_seconds,
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


def _refuse_what_is_no_model(target: str) -> None:
    if target.startswith(NAMED_MODELS):
        return
    if target.lower().endswith(_TRACE_ENDINGS):
        raise UsageError(
            f"{target}: reading recorded traces comes with a later release",
            hint="`analyze model.py` records its own; `analyze show RUN` prints a saved report",
        )
    if (Path(target) / "report.json").is_file():
        raise UsageError(f"{target} is a run folder", hint=f"`analyze show {target}`, or `analyze dashboard {target}`")


def _refuse_named_model_flags(arguments: argparse.Namespace) -> None:
    given = [f"--{name}" for name in ("batch", "dtype", "shape") if getattr(arguments, name) is not None]
    if given:
        raise UsageError(
            f"{', '.join(given)} cannot change {arguments.target}, which makes its own inputs",
            hint="They are for timm:, torchvision: and hf: models; in a file, change get_inputs().",
        )


def _unused(folder: Path) -> Path:
    """The folder, or with a number where a run of the same second has taken it."""
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in range(2, 1000))
    return folder if not folder.exists() else next(f for f in numbered if not f.exists())


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _shape(text: str) -> tuple[int, ...]:
    sizes = text.lower().split("x")
    if not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise argparse.ArgumentTypeError(f"{text!r} is not a shape like 1x3x224x224")
    return tuple(int(size) for size in sizes)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list like fused,cuda_graphs")
    return names


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


COMMAND: Final = Command(
    name="",
    summary="say what bounds each compiled graph of a PyTorch model, and free it",
    add_arguments=add_arguments,
    run=run,
)
