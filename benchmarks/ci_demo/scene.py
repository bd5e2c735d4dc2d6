"""The repository of the demonstration: a student that learns from a teacher, and what five pull requests do to it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STUDENT: Final = '''\
"""A student that learns what its teacher says."""

import torch
from torch import nn

from scaling import scaled


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.teacher = nn.Linear(24, 8)
        self.first = nn.Linear(24, 24)
        self.second = nn.Linear(24, 8)

    def forward(self, x):
        with torch.no_grad():
            wanted = torch.softmax(self.teacher(x), dim=1)
        hidden = torch.relu(self.first(x))
        hidden = scaled(hidden)
        answer = torch.softmax(self.second(hidden), dim=1)
        return (answer - wanted).square().mean()


def get_model():
    return Student()


def get_inputs():
    return (torch.randn(16, 24),)


def get_loss():
    return lambda output: output


def get_optimizer(model):
    return torch.optim.SGD([*model.first.parameters(), *model.second.parameters()], lr=0.1)
'''

SCALING: Final = '''\
"""A helper in a file of its own."""


def scaled(x):
    largest = x.abs().amax(dim=1, keepdim=True)
    return x / (largest + 1.0)
'''

BASE: Final = {
    "student.py": STUDENT,
    "scaling.py": SCALING,
    "graphbound.toml": 'models = ["student.py"]\n',
    "requirements.txt": "torch>=2.11\n",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A pull request. `marked` is the text of the line that has to be named, `file` where it stands, `rule` the cause;
    None of one that has to be silent. `old` in `file` is replaced by `new`.
    """

    branch: str
    what: str
    file: str
    old: str
    new: str
    marked: str | None = None
    rule: str | None = None
    fails: bool = False

    def line(self) -> int | None:
        """The number of the marked line after the change."""
        lines = self.text().splitlines()
        return None if self.marked is None else lines.index(self.marked) + 1

    def text(self) -> str:
        text = BASE[self.file]
        if text.count(self.old) != 1:
            raise ValueError(f"{self.branch}: what it replaces is not there once")
        return text.replace(self.old, self.new)


CHANGES: Final = (
    Change(
        "print", "a new `print` in `forward`", "student.py",
        "        answer = torch", '        print("scaled", hidden.shape)\n        answer = torch',
        '        print("scaled", hidden.shape)', "graph_break", fails=True,
    ),
    Change(
        "item", "an `.item()`, in a helper of another file", "scaling.py",
        "    largest = x.abs().amax(dim=1, keepdim=True)", "    largest = x.abs().amax().item()",
        "    largest = x.abs().amax().item()", "graph_break", fails=True,
    ),
    Change(
        "no-grad", "a dropped `no_grad` around the teacher", "student.py",
        "        with torch.no_grad():\n            wanted", "        wanted",
        "        wanted = torch.softmax(self.teacher(x), dim=1)", "unused_gradients",
    ),
    Change(
        "host-tensor", "a tensor made on the host in `forward`", "student.py",
        "        hidden = scaled(hidden)",
        "        hidden = scaled(hidden) * torch.tensor([0.5] * 24, device=x.device)",
        "        hidden = scaled(hidden) * torch.tensor([0.5] * 24, device=x.device)", "host_constant",
    ),
    Change(
        "refactoring", "a harmless refactoring", "student.py",
        "        hidden = torch.relu(self.first(x))\n        hidden = scaled(hidden)\n"
        "        answer = torch.softmax(self.second(hidden), dim=1)\n"
        "        return (answer - wanted).square().mean()\n",
        "        answer = self.answer(x)\n        return (answer - wanted).square().mean()\n\n"
        "    def answer(self, x):\n"
        '        """What the student says itself."""\n'
        "        first_layer = torch.relu(self.first(x))\n        squashed = scaled(first_layer)\n"
        "        return torch.softmax(self.second(squashed), dim=1)\n",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PullRequest:
    """Its number, the commits that it is of, and the merge of both that GitHub checks out."""

    number: int
    base: str
    head: str
    merge: str

    @property
    def ref(self) -> str:
        return f"refs/pull/{self.number}/merge"


def make_origin(origin: Path) -> str:
    """The repository with its base commit, which is returned. A server that gives any commit, as GitHub's does."""
    origin.mkdir(parents=True)
    _git(origin, "init", "--quiet", "--initial-branch=main", ".")
    _git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    for name, text in BASE.items():
        (origin / name).write_text(text)
    return _commit(origin, "a student and its teacher")


def open_request(origin: Path, number: int, change: Change, base: str) -> PullRequest:
    """The branch of a change, and its merge into the base."""
    _git(origin, "checkout", "--quiet", "-B", change.branch, base)
    (origin / change.file).write_text(change.text())
    return _merged(origin, number, base, _commit(origin, change.what))


def push_again(origin: Path, number: int, change: Change, base: str) -> PullRequest:
    """A second commit on the branch, which takes the change back."""
    _git(origin, "checkout", "--quiet", change.branch)
    (origin / change.file).write_text(f"{BASE[change.file]}\n# Without the {change.branch} again.\n")
    return _merged(origin, number, base, _commit(origin, "take it back"))


def _merged(origin: Path, number: int, base: str, head: str) -> PullRequest:
    tree = _git(origin, "rev-parse", f"{head}^{{tree}}")
    merge = _git(origin, "commit-tree", tree, "-p", base, "-p", head, "-m", f"Merge {head} into {base}")
    _git(origin, "update-ref", f"refs/pull/{number}/merge", merge)
    return PullRequest(number, base, head, merge)


def _commit(origin: Path, message: str) -> str:
    _git(origin, "add", "--all")
    _git(origin, "commit", "--quiet", "--message", message)
    return _git(origin, "rev-parse", "HEAD")


def _git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.email=ada@example.org", "-c", "user.name=Ada", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()
