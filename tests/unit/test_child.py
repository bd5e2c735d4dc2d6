"""The process that may be lost: how its end is noticed, what is said of it, and that nothing of it stays behind.

A stand-in for the session makes each kind of end happen; torch is not imported, so that a process starts at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from analyzer import child as module
from analyzer.child import Child
from analyzer.core.errors import ExitCode, InternalError, UsageError, UserProgramError
from analyzer.core.run import Event, LostChildError
from analyzer.core.settings import WorkloadSpec
from analyzer.driver import ChildDriver

LONG_S = 100.0
"""More than any of it takes on a crowded machine: only what never comes is waited for so long."""

SESSION = """
import os, signal, subprocess, sys, threading, time
from analyzer.core.errors import UsageError, UserProgramError
from analyzer.core.graphs import GraphKey
from analyzer.core.run import Event, PoisonedDeviceError

if "TORCHINDUCTOR_CACHE_DIR" in os.environ:
    os.makedirs(os.environ["TORCHINDUCTOR_CACHE_DIR"], exist_ok=True)  # as torch._dynamo does when it is imported

class Session:
    def __init__(self, announce, skip):
        self.announce, self.skip = announce, skip

    @classmethod
    def load(cls, spec, announce, skip):
        announce(Event("loading the model"))
        if spec.target == "missing.py":
            raise UsageError("no such file: missing.py", hint="look again")
        return cls(announce, skip)

    def pid(self):
        return os.getpid()

    def given(self):
        return self.skip

    def says(self, text):
        print(text, flush=True)
        return len(text)

    def abort(self):
        self.announce(Event("trying a candidate"))
        print("terminate called after throwing", file=sys.stderr, flush=True)
        os.abort()

    def leave(self):
        self.announce(Event("compiling", GraphKey.parse("abc.inference"), "cpp_wrapper"))
        os._exit(7)

    def die_with_offspring(self, path):
        if os.fork() == 0:
            with open(path, "w") as file:
                file.write(str(os.getpid()))
            time.sleep(600)
        while not os.path.exists(path):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)

    def come_back_twice(self):
        copy = os.fork()
        if copy:
            os.waitpid(copy, 0)
        return copy

    def hang(self):
        self.announce(Event("compiling", GraphKey.parse("abc.inference"), "cpp_wrapper"))
        time.sleep(600)

    def hang_and_ignore(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)

    def slow(self, steps, pause_s):
        for number in range(steps):
            self.announce(Event(f"step {number}"))
            time.sleep(pause_s)
        return "done"

    def stepwise(self, steps, folder):
        for number in range(steps):
            self.announce(Event(f"step {number}"))
            while not os.path.exists(os.path.join(folder, str(number))):
                time.sleep(0.01)
        return "done"

    def exit(self):
        sys.exit(3)

    def interrupt(self):
        raise KeyboardInterrupt

    def raises(self):
        raise ZeroDivisionError("ours")

    def theirs(self):
        raise UserProgramError("the model raised", hint="line 3")

    def poison(self):
        raise PoisonedDeviceError("an illegal memory access was encountered")

    def unpicklable(self):
        return threading.Lock()
"""


@pytest.fixture(scope="module")
def stand_in(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree that is ours but for the session."""
    tree = tmp_path_factory.mktemp("tree")
    (tree / "analyzer").mkdir()
    for entry in (root / "analyzer").iterdir():
        if entry.name not in ("session.py", "__pycache__"):
            (tree / "analyzer" / entry.name).symlink_to(entry)
    (tree / "analyzer" / "session.py").write_text(SESSION)
    return tree


Heard = list[Event | None]


@pytest.fixture
def heard() -> Heard:
    return []


@pytest.fixture
def make(
    stand_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard: Heard
) -> Iterator[Callable[..., Child]]:
    monkeypatch.setattr(module, "ROOT", stand_in)
    children: list[Child] = []

    def made(target: str = "net.py", hear: Callable[[Event | None], None] = heard.append) -> Child:
        children.append(Child(WorkloadSpec(target), tmp_path / "program.log", hear))
        return children[-1]

    yield made
    for child in children:
        child.close()


@pytest.fixture
def child(make: Callable[..., Child]) -> Child:
    started = make()
    started.start((), limit_s=LONG_S)
    return started


def is_gone(pid: int, *, within_s: float = LONG_S) -> bool:
    """Whether no process of this id runs (a dead one that nobody has waited for does not run)."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def test_it_answers_and_its_events_are_heard(child: Child, heard: Heard) -> None:
    assert child.call("slow", 2, 0.0) == "done"
    assert [event.doing for event in heard if event] == ["loading the model", "step 0", "step 1"]
    assert child.call("given") == ()


def test_it_is_another_process_in_a_group_of_its_own(child: Child) -> None:
    pid = child.call("pid")
    assert pid != os.getpid()
    assert os.getpgid(pid) == pid
    child.close()
    assert is_gone(pid)


def test_what_the_program_prints_goes_to_the_log(
    child: Child, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    child.call("says", "hello from the model")
    child.close()
    assert "hello from the model" in (tmp_path / "program.log").read_text()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("method", "kind", "says"),
    [
        ("theirs", UserProgramError, "the model raised"),
        ("exit", UserProgramError, r"sys.exit\(3\)"),
        ("interrupt", UserProgramError, "KeyboardInterrupt"),
        ("raises", InternalError, "ZeroDivisionError in raises: ours"),
        ("unpicklable", InternalError, "unpicklable"),
    ],
)
def test_what_it_raises_comes_back_and_it_lives_on(child: Child, method: str, kind: type, says: str) -> None:
    with pytest.raises(kind, match=says) as caught:
        child.call(method, limit_s=LONG_S)
    assert not isinstance(caught.value, LostChildError)
    assert child.call("says", "still here") == 10


def test_a_hint_comes_back_too(make: Callable[..., Child]) -> None:
    with pytest.raises(UsageError, match="no such file") as caught:
        make("missing.py").start((), limit_s=LONG_S)
    assert (caught.value.hint, caught.value.exit_code) == ("look again", ExitCode.USAGE)


def test_a_crash_names_its_signal_what_it_did_and_its_last_words(child: Child) -> None:
    with pytest.raises(LostChildError, match="was ended by SIGABRT while trying a candidate") as caught:
        child.call("abort", limit_s=LONG_S)
    assert "in abort" in str(caught.value.hint)  # the line that faulthandler saw
    assert not caught.value.hung
    assert caught.value.exit_code is ExitCode.USER_PROGRAM


def test_an_exit_names_its_code_and_the_candidate(child: Child) -> None:
    with pytest.raises(LostChildError, match="left with code 7") as caught:
        child.call("leave", limit_s=LONG_S)
    assert caught.value.event is not None
    assert (str(caught.value.event.key), caught.value.event.candidate) == ("abc.inference", "cpp_wrapper")


def test_a_poisoned_device_is_a_lost_process(child: Child) -> None:
    with pytest.raises(LostChildError) as caught:
        child.call("poison", limit_s=LONG_S)
    assert "illegal memory access" in str(caught.value.hint)


def test_a_death_is_noticed_although_its_offspring_lives_and_that_is_ended(child: Child, tmp_path: Path) -> None:
    """A worker of a data loader inherits the pipe: its end does not close with the process."""
    path = tmp_path / "offspring"
    started = time.monotonic()
    with pytest.raises(LostChildError, match="SIGKILL"):
        child.call("die_with_offspring", str(path), limit_s=2 * LONG_S)
    assert time.monotonic() - started < LONG_S
    assert is_gone(int(path.read_text()))


@pytest.mark.parametrize("method", ["hang", "hang_and_ignore"])
def test_a_hang_is_ended_at_its_limit(child: Child, method: str) -> None:
    pid = child.call("pid")
    with pytest.raises(LostChildError, match="no answer for") as caught:
        child.call(method, limit_s=0.5)
    assert caught.value.hung
    assert is_gone(pid)


def test_every_event_starts_the_limit_anew(
    make: Callable[..., Child], heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [0.0]

    def hear(event: Event | None) -> None:
        """At the first tick after each step six seconds are over, and the next step may come."""
        heard.append(event)
        steps = sum(one is not None and one.doing.startswith("step") for one in heard)
        next_step = tmp_path / str(steps - 1)
        if event is None and steps and not next_step.exists():
            now_s[0] += 6.0
            next_step.touch()

    child = make(hear=hear)
    child.start((), limit_s=LONG_S)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    assert child.call("stepwise", 4, str(tmp_path), limit_s=10.0) == "done"
    assert now_s == [24.0]
    assert None in heard  # ticks, so that a clock can go on


def test_a_compilation_has_a_limit_of_its_own(child: Child) -> None:
    started = time.monotonic()
    with pytest.raises(LostChildError) as caught:
        child.call("hang", limit_s=2 * LONG_S, compile_limit_s=0.5)
    assert caught.value.hung
    assert time.monotonic() - started < LONG_S


def test_a_lost_child_can_be_started_afresh(child: Child) -> None:
    first = child.call("pid")
    with pytest.raises(LostChildError):
        child.call("leave", limit_s=LONG_S)
    with pytest.raises(InternalError, match="not started"):
        child.call("pid")
    child.start((), limit_s=LONG_S)
    assert child.call("pid") != first


def test_starting_again_ends_the_old_one(child: Child) -> None:
    first = child.call("pid")
    child.start((), limit_s=LONG_S)
    assert is_gone(first)


def test_the_driver_measures_the_device_in_a_process_that_is_ended(
    make: Callable[..., Child], stand_in: Path, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    (stand_in / "collectors").mkdir(exist_ok=True)
    (stand_in / "collectors" / "__init__.py").write_text("")
    (stand_in / "collectors" / "device.py").write_text(
        "import os\n"
        "def measure_device(kind, renew):\n"
        f"    open({str(pid_file)!r}, 'w').write(str(os.getpid()))\n"
        "    return kind\n"
        "def known_device(kind):\n"
        "    return kind, os.getpid()\n"
    )
    driver = ChildDriver(WorkloadSpec("net.py"), tmp_path / "program.log", lambda _: None)
    driver.start((), LONG_S)
    own = driver.call("pid")
    assert driver.known_device("cpu", LONG_S) == ("cpu", own), "looking it up takes no other process"
    assert driver.measure_device("cpu", LONG_S) == "cpu"
    assert is_gone(int(pid_file.read_text()))
    assert driver.call("pid") == own
    driver.close()
    assert is_gone(own)


def test_a_copy_that_the_program_forked_answers_nothing(child: Child) -> None:
    assert child.call("come_back_twice") > 0
    assert child.call("says", "still one") == len("still one")


def test_a_folder_that_torch_cannot_make_as_it_is_imported_is_told_with_what_names_it(
    make: Callable[..., Child], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(UsageError, match="torch could not be imported: Not a directory") as caught:
        make().start((), LONG_S)
    assert "TORCHINDUCTOR_CACHE_DIR" in str(caught.value.hint)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_what_it_raises_comes_back_from_a_full_disk_too(make: Callable[..., Child]) -> None:
    child = make()
    child._log = Path("/dev/full")
    child.start((), LONG_S)
    with pytest.raises(UserProgramError, match="the model raised"):
        child.call("theirs")
