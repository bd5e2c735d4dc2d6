"""The whole of it: a host, a runner, five pull requests and a second push, each held against what must be said."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.ci_demo.commands import Annotation
from benchmarks.ci_demo.comments import REPOSITORY, TOKEN, Comments, serving
from benchmarks.ci_demo.runner import Job, Machine, base_environment, play, read_yaml
from benchmarks.ci_demo.scene import CHANGES, Change, PullRequest, make_origin, open_request, push_again
from benchmarks.ci_demo.stand_ins import Host

ROOT: Final = Path(__file__).resolve().parents[2]
WORKFLOW: Final = ROOT / "examples" / "ci" / "github.yml"
ARGUMENTS: Final = "--no-run --mode training --device cpu"
"""In place of those of the example: a runner without a GPU, and a model that learns."""

OLDER_COMMENTS: Final = 130
"""Of people, on each pull request: ours is on the second page."""

SILENT: Final = "nothing is past its limit"


@dataclass(frozen=True, slots=True)
class Played:
    """One job of one pull request. `problems` are what is not as it must be; empty: it is."""

    change: Change
    push: int
    job: Job
    comment: str | None
    seconds: float
    problems: tuple[str, ...] = ()

    @property
    def at_line(self) -> tuple[Annotation, ...]:
        """The annotations at the line that has to be named, with its cause."""
        wanted = (self.change.file, self.change.line())
        return tuple(
            each
            for each in self.job.annotations
            if (each.file, each.line) == wanted and each.title.startswith(self.change.rule or "")
        )


@dataclass(slots=True)
class Shown:
    played: list[Played] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Stage:
    scratch: Path
    host: Host
    comments: Comments
    programs: Path
    workflow: Mapping[str, Any]


def demonstrate(scratch: Path, say: Callable[[str], None]) -> Shown:
    """Everything in `scratch`, which is empty. Raises what a broken action.yml or workflow raises."""
    origin = scratch / "origin"
    base = make_origin(origin)
    programs = a_python(scratch / "python")
    shown = Shown()
    with serving() as comments:
        stage = _Stage(scratch, Host(origin, scratch / "caches"), comments, programs, _workflow())
        for number, change in enumerate(CHANGES, start=1):
            for _ in range(OLDER_COMMENTS):
                comments.add(number, "looks good", user="User")
            shown.played.append(_play(stage, change, open_request(origin, number, change, base), 1))
            say(_line(shown.played[-1]))
        again = CHANGES[0]
        shown.played.append(_play(stage, again, push_again(origin, 1, again, base), 2))
        say(_line(shown.played[-1]))
    return shown


def a_python(folder: Path) -> Path:
    """An environment that has the packages of this one, a `pip` of its own and what builds Graphbound; the folder of
    its programs.
    """
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    (site / "ours.pth").write_text("\n".join(dict.fromkeys(sysconfig.get_path(n) for n in ("purelib", "platlib"))))
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *_build_requirements()], check=True, capture_output=True)
    return folder / "bin"


def _build_requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return list(project["build-system"]["requires"])


def _workflow() -> Mapping[str, Any]:
    workflow = read_yaml(WORKFLOW)
    steps = workflow["jobs"]["graphbound"]["steps"]
    (ours,) = [step for step in steps if step.get("id") == "graphbound"]
    ours["with"]["arguments"] = ARGUMENTS
    return dict(workflow)


def _play(stage: _Stage, change: Change, request: PullRequest, push: int) -> Played:
    folder = stage.scratch / f"job-{request.number}-{push}"
    (folder / "temp").mkdir(parents=True)
    before = {one["id"]: one["body"] for one in stage.comments.of(request.number)}
    start = time.perf_counter()
    machine = Machine(
        workspace=folder / "work",
        temporary=folder / "temp",
        environment=_environment(stage, request, folder),
        event=_event(request),
        actions={"YOUR_NAME/graphbound": ROOT},
        stand_ins=stage.host.stand_ins(),
    )
    job = play(stage.workflow, machine)
    stage.host.end_job()
    ours = [one for one in stage.comments.of(request.number) if "graphbound comment" in one["body"]]
    changed = [one["body"] for one in ours if before.get(one["id"]) != one["body"]]
    played = Played(change, push, job, changed[0] if changed else None, time.perf_counter() - start)
    return Played(
        change, push, job, played.comment, played.seconds, tuple(_problems(played, ours, stage.host, request))
    )


def _environment(stage: _Stage, request: PullRequest, folder: Path) -> dict[str, str]:
    base = base_environment()
    return {
        **base,
        "PATH": f"{stage.programs}:{base['PATH']}",
        "CI": "true",
        # Off, as pip reads it: each job would make an environment to build in, which takes longer than the build.
        "PIP_NO_BUILD_ISOLATION": "0",
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": stage.comments.url,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_REF": request.ref,
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_SHA": request.merge,
        "RUNNER_OS": "Linux",
        "RUNNER_TOKEN": TOKEN,
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def _event(request: PullRequest) -> dict[str, Any]:
    repository = {"full_name": REPOSITORY}
    return {
        "action": "opened",
        "number": request.number,
        "pull_request": {
            "number": request.number,
            "base": {"sha": request.base, "ref": "main", "repo": repository},
            "head": {"sha": request.head, "repo": repository},
        },
        "repository": repository,
    }


def _problems(played: Played, ours: list[dict[str, Any]], host: Host, request: PullRequest) -> list[str]:
    """What is wrong with what was said; each begins with the branch."""
    job, change = played.job, played.change
    is_loud = change.marked is not None and played.push == 1
    wrong: list[str] = []
    if job.has_failed is not (is_loud and change.fails):
        wrong.append(f"the job {'failed' if job.has_failed else 'passed'}")
    if is_loud and not played.at_line:
        wrong.append(f"no {change.rule} at {change.file}:{change.line()}")
    # What follows from the change at its own line may be said there too: an `.item()` recompiles as well.
    right = (change.file, change.line()) if is_loud else None
    away = [each for each in job.annotations if (each.file, each.line) != right]
    wrong += [f"{each.level} {each.title!r} at {each.file}:{each.line}: {each.message}" for each in away]
    wrong += _comment_problems(played, ours, is_loud=is_loud)
    if not job.summary.startswith("###"):
        wrong.append("no summary")
    if TOKEN in job.log or TOKEN in job.summary:
        wrong.append("the token is shown")
    wrong += [] if len(host.artifacts) == 1 else [f"artifacts: {sorted(host.artifacts)}"]
    return [f"{change.branch}, push {played.push}: {each}" for each in wrong]


def _comment_problems(played: Played, ours: list[dict[str, Any]], *, is_loud: bool) -> list[str]:
    if played.push == 2:
        is_updated = len(ours) == 1 and ours[0]["edits"] == 1 and SILENT in ours[0]["body"].splitlines()[0]
        return [] if is_updated else ["the comment was not written over by that nothing is past its limit"]
    if not is_loud:
        return [] if not ours else ["a comment on a change that did nothing"]
    if len(ours) != 1 or ours[0]["edits"]:
        return [f"{len(ours)} comments"]
    at = f"{played.change.file}:{played.change.line()}"
    return [] if at in ours[0]["body"] else [f"the comment does not name {at}"]


def _line(played: Played) -> str:
    said = "as it should be" if not played.problems else "; ".join(played.problems)
    return f"{played.change.branch}, push {played.push}, {played.seconds:.0f} s: {said}"
