"""Plays a job of GitHub Actions: its steps in order, each `run` for real, each `uses` by a stand-in or its action.yml.

Environment, files and expressions are those that GitHub documents; what is not known here raises.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks.ci_demo.commands import Annotation, annotations, file_values
from benchmarks.ci_demo.expressions import Contexts, as_text, filled, is_on

STEP_LIMIT_S: Final = 900.0
SUMMARY_BYTES: Final = 1_048_576
SHELL: Final = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""`shell: bash` of GitHub (workflow syntax, jobs.<job_id>.steps[*].shell)."""

STEP_KEYS: Final = {"name", "id", "if", "uses", "with", "run", "shell", "env", "working-directory", "continue-on-error"}


@dataclass(frozen=True, slots=True)
class Machine:
    """`temporary` is the runner's own folder, `workspace` where the checkout goes; `environment` is what each step
    starts with. `actions` maps what stands before the `@` of a `uses` to the folder of its action.yml.
    """

    workspace: Path
    temporary: Path
    environment: Mapping[str, str]
    event: Mapping[str, Any]
    actions: Mapping[str, Path]
    stand_ins: Mapping[str, Callable[[Machine, Mapping[str, str]], Mapping[str, str]]]


@dataclass(slots=True)
class Job:
    """What became of it. `steps` are the names of those that ran, with whether they failed."""

    log: str = ""
    summary: str = ""
    has_failed: bool = False
    steps: list[tuple[str, bool]] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    exported: dict[str, str] = field(default_factory=dict)


def play(workflow: Mapping[str, Any], machine: Machine, leg: Mapping[str, Any] | None = None) -> Job:
    """The only job of a workflow; `leg` is the one of its matrix that is played, None without a matrix."""
    ((name, job),) = workflow["jobs"].items()
    done = Job()
    values = {
        "github": {**_github(machine), "job": name, "workflow": workflow["name"]},
        "inputs": {},
        "matrix": None if leg is None else dict(leg),
        "runner": {"temp": str(machine.temporary), "os": "Linux"},
    }
    environment = {"GITHUB_WORKFLOW": str(workflow["name"]), "GITHUB_JOB": str(name)}
    _play_steps(job["steps"], machine, values, environment, done)
    return done


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def _github(machine: Machine) -> dict[str, Any]:
    environment = machine.environment
    return {
        "event": machine.event,
        "token": environment["RUNNER_TOKEN"],
        "ref": environment["GITHUB_REF"],
        "sha": environment["GITHUB_SHA"],
        "repository": environment["GITHUB_REPOSITORY"],
    }


def _play_steps(
    steps: list[dict[str, Any]], machine: Machine, values: Mapping[str, Any], environment: Mapping[str, str], job: Job
) -> dict[str, dict[str, Any]]:
    """The outputs by the id of a step. A step that fails keeps those after it from running, unless they ask."""
    outputs: dict[str, dict[str, Any]] = {}
    has_failed = False
    for number, step in enumerate(steps):
        unknown = set(step) - STEP_KEYS
        if unknown:
            raise ValueError(f"a step has no {sorted(unknown)}")
        contexts = Contexts({**values, "steps": outputs, "env": dict(environment)}, has_failed)
        if not is_on(step.get("if"), contexts):
            continue
        own = {**environment, **{key: filled(as_text(v), contexts) for key, v in step.get("env", {}).items()}}
        name = str(step.get("name") or step.get("uses") or f"step {number}")
        if "uses" in step:
            given = {key: filled(as_text(value), contexts) for key, value in step.get("with", {}).items()}
            failed, found = _use(filled(step["uses"], contexts), given, machine, values, own, job)
        else:
            folder = machine.workspace / filled(step.get("working-directory", "."), contexts)
            failed, found = _run(filled(step["run"], contexts), folder, machine, own, job)
        job.steps.append((name, failed))
        has_failed = has_failed or (failed and not step.get("continue-on-error", False))
        if "id" in step:
            outputs[step["id"]] = {"outputs": found}
    job.has_failed = job.has_failed or has_failed
    return outputs


def _use(
    uses: str, given: Mapping[str, str], machine: Machine, values: Mapping[str, Any], environment: Mapping[str, str],
    job: Job,
) -> tuple[bool, dict[str, str]]:  # fmt: skip
    name, at, _ = uses.partition("@")
    if name in machine.stand_ins and at:
        return False, dict(machine.stand_ins[name](machine, given))
    folder = machine.actions[name]
    action = read_yaml(folder / "action.yml")
    if action["runs"]["using"] != "composite":
        raise ValueError(f"{name} is no composite action")
    unknown = set(given) - set(action["inputs"])
    if unknown:
        raise ValueError(f"{name} has no input {sorted(unknown)}")
    outer = Contexts(values)
    inputs = {key: filled(as_text(each.get("default", "")), outer) for key, each in action["inputs"].items()}
    inner = {**values, "inputs": {**inputs, **given}}
    before = len([failed for _, failed in job.steps if failed])
    own = {**environment, "GITHUB_ACTION_PATH": str(folder)}
    outputs = _play_steps(action["runs"]["steps"], machine, inner, own, job)
    contexts = Contexts({**inner, "steps": outputs})
    found = {key: filled(each["value"], contexts) for key, each in action.get("outputs", {}).items()}
    return len([failed for _, failed in job.steps if failed]) > before, found


def _run(
    script: str, folder: Path, machine: Machine, environment: Mapping[str, str], job: Job
) -> tuple[bool, dict[str, str]]:
    number = len(job.steps)
    files = {name: machine.temporary / f"{name}-{number}" for name in ("output", "env", "path", "step_summary")}
    for file in files.values():
        file.write_text("")
    text = machine.temporary / f"step-{number}.sh"
    text.write_text(script)
    event = machine.temporary / "event.json"
    event.write_text(json.dumps(machine.event))
    whole = {
        **{name: value for name, value in machine.environment.items() if name != "RUNNER_TOKEN"},
        **job.exported,
        **environment,
        **{f"GITHUB_{name.upper()}": str(file) for name, file in files.items()},
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_WORKSPACE": str(machine.workspace),
        "RUNNER_TEMP": str(machine.temporary),
    }
    done = subprocess.run(
        [*SHELL, str(text)], cwd=folder, env=whole, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", timeout=STEP_LIMIT_S, check=False,
    )  # fmt: skip
    job.log += done.stdout
    job.annotations += annotations(done.stdout)
    job.exported |= file_values(files["env"])
    summary = files["step_summary"].read_text()
    # GitHub drops a longer one whole.
    job.summary += summary if len(summary.encode()) <= SUMMARY_BYTES else ""
    return done.returncode != 0, file_values(files["output"])


def base_environment() -> dict[str, str]:
    """What a step may see of this machine: where programs are, and how packages are fetched. No setting of a CI."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CXX")
    begins = ("PIP_", "UV_", "HTTP_", "HTTPS_", "NO_PROXY", "http_", "https_", "no_proxy", "OMP_", "MKL_")
    return {name: value for name, value in os.environ.items() if name in kept or name.startswith(begins)}
