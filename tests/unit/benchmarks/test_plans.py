"""Plans against global settings: what is promised is judged from samples alone, and a run that ended goes on."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analyzer.core.errors import UnreadableFileError
from analyzer.derive.ledger import Entry
from benchmarks.plans import stages
from benchmarks.plans.__main__ import main
from benchmarks.plans.page import figures, page
from benchmarks.plans.recorded import Chosen, Measurement, Outcome, Recording, Search, Way, read, write
from benchmarks.plans.rivals import AS_IT_IS, NO_PLAN, RIVALS, rivals_of
from benchmarks.plans.stages import OutOfTimeError, Workshop, compile_rivals
from benchmarks.plans.suite import ROOT, SUITE, TEN_GRAPHS, cases
from benchmarks.plans.summary import Check, Meets, against, best_rival, checks, geometric_mean
from benchmarks.verdicts.stopwatch import Stopwatch

MS = 1_000_000


def a_way(name: str, ms: float, spread: float = 0.002) -> Way:
    noise = random.Random(name)
    return Way(name, Outcome.MEASURED, tuple(round(ms * MS * noise.gauss(1, spread)) for _ in range(40)))


def a_measurement(case: str = "mlp", *, graphs: int = 1, spread: float = 0.002, **ms: float) -> Measurement:
    times = {"eager": 8.0, "default": 4.0, "reduce-overhead": 2.0, "plan": 2.0} | ms
    ways = tuple(a_way(name, time, spread) for name, time in times.items())
    search = Search(wall_s=60.0, cold_s=20.0, exit_code=0)
    return Measurement(case, "H200", "x86_64, 16 CPUs", "2.11.0", "2026-01-01", True, graphs, search, ways)


def check(measurements: list[Measurement], what: str) -> Check:
    return next(check for check in checks(measurements) if what in check.what)


def test_the_suite_has_the_models_asked_for_and_their_files() -> None:
    assert len(SUITE) == 15
    assert len({case.name for case in SUITE}) == len(SUITE)
    assert all((ROOT / case.target).is_file() for case in SUITE)
    assert [case.name for case in cases("lstm,bert")] == ["lstm", "bert"]
    with pytest.raises(ValueError, match="no such model: nope"):
        cases("nope")


def test_fullgraph_is_no_rival_where_graphs_break_and_a_cpu_has_no_cuda_graphs() -> None:
    (ten,) = cases(TEN_GRAPHS)
    (vit,) = cases("vit")
    assert "fullgraph" not in {rival.name for rival in rivals_of(ten, "cuda")}
    assert rivals_of(vit, "cuda") == RIVALS
    assert [rival.name for rival in rivals_of(vit, "cpu")] == ["eager", "default", "cpp_wrapper"]


def test_the_plan_is_held_against_the_fastest_rival() -> None:
    found = a_measurement(plan=2.5)
    best = against(found, best_rival(found))
    assert best is not None
    assert (best.name, round(best.ratio, 2), best.meets) == ("reduce-overhead", 0.8, Meets.MISSED)
    assert check([found], "0.98").meets is Meets.MISSED
    assert check([a_measurement()], "0.98").meets is Meets.MET


def test_what_the_noise_hides_is_open() -> None:
    assert check([a_measurement(plan=2.1, spread=0.2)], "0.98").meets is Meets.OPEN
    assert check([a_measurement(plan=1.9, spread=0.6)], "0.98").meets is Meets.OPEN


def test_a_model_without_a_plan_is_a_promise_not_kept() -> None:
    found = a_measurement()
    lost = replace(found, ways=tuple(way for way in found.ways if way.name != "plan"))
    assert check([a_measurement(), lost], "0.98").meets is Meets.MISSED


def test_means_are_geometric_and_those_over_rivals_are_of_several_graphs() -> None:
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    both = [a_measurement(plan=0.5), a_measurement("mixed", graphs=4, plan=1.6)]
    rivals, default = check(both, "several graphs"), check(both, "over torch.compile default")
    assert (rivals.found, rivals.of, rivals.meets) == ("1.25", 1, Meets.MET)
    assert (default.found, default.of) == ("4.47", 2)
    assert check([a_measurement()], "several graphs").meets is Meets.OPEN


def test_ten_graphs_are_mixed_and_faster_beyond_noise() -> None:
    chosen = tuple(Chosen(f"{n}.inference", "cuda_graphs" if n % 2 else "cpp_wrapper") for n in range(10))
    found = a_measurement(TEN_GRAPHS, graphs=10, plan=1.0)
    mixed = replace(found, search=replace(found.search, chosen=chosen))
    assert [check([mixed], f"ten graphs: {what}").meets for what in ("what", "faster")] == [Meets.MET, Meets.MET]
    assert [check([found], f"ten graphs: {what}").meets for what in ("what", "faster")] == [Meets.MISSED, Meets.MET]
    assert check([a_measurement(TEN_GRAPHS, plan=1.999)], "ten graphs: faster").meets is Meets.MISSED
    other = replace(found, search=replace(found.search, chosen=(*chosen[1:], Chosen("0.inference", "fused"))))
    told = check([other], "ten graphs: what")
    assert (told.found, told.meets) == ("5 as CUDA graphs, 4 with the C++ wrapper, 1 fused", Meets.MISSED)


def test_wall_time_is_of_models_of_one_graph_and_the_worst_counts() -> None:
    slow = a_measurement()
    slow = replace(slow, search=replace(slow.search, wall_s=90.0))
    several = replace(slow, case="mixed", graphs=4, search=replace(slow.search, wall_s=900.0))
    found = check([a_measurement(), slow, several], "wall time")
    assert (found.found, found.of, found.meets) == ("4.5 × at worst", 2, Meets.MISSED)


def test_the_ledger_is_of_all_trials() -> None:
    entries = tuple(Entry("a", "cuda_graphs", 100 + error, 100, 1000) for error in (0, 10, 20, 30, 400))
    found = a_measurement()
    found = replace(found, search=replace(found.search, ledger=entries))
    assert (check([found], "median").found, check([found], "median").meets) == ("2.0%", Meets.MET)
    assert check([found], "90th").meets is Meets.MISSED
    assert check([a_measurement()], "median").meets is Meets.OPEN


def test_a_recording_survives_its_file_and_a_model_is_in_it_once(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    assert read(path) == Recording()
    recording = Recording().with_one(a_measurement()).with_one(a_measurement(plan=1.0))
    write(recording, path)
    assert read(path) == recording
    assert len(recording.measurements) == 1
    path.write_text('{"measurements": [], "schema": 99}')
    with pytest.raises(UnreadableFileError, match="schema 99"):
        read(path)


def test_showing_writes_the_page_and_its_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured, results = tmp_path / "measured.json", tmp_path / "plans"
    failed = Way("max-autotune", Outcome.FAILED, reason="no | pipes\n<b>")
    found = a_measurement()
    write(Recording((replace(found, ways=(*found.ways, failed)),)), measured)
    assert main(["show", str(measured), "--results", str(results)]) == 0
    text = results.with_suffix(".md").read_text()
    assert "max-autotune: failed (no \\| pipes &lt;b>)" in text
    (device,) = json.loads(results.with_suffix(".json").read_text())["devices"]
    assert device["models"][0]["ratio"] == pytest.approx(1.0, abs=0.01)
    assert "H200: models with at least 0.98" in capsys.readouterr().out
    assert main(["show", str(tmp_path / "none.json")]) == 2


def test_the_same_recording_gives_the_same_page() -> None:
    recording = Recording((a_measurement(), replace(a_measurement(), device="CPU", is_gpu=False)))
    assert page(recording) == page(recording)
    assert len(figures(recording)["devices"]) == 2
    assert page(recording).count("geometric mean over torch.compile default") == 1


class Processes:
    """In place of `run`: a process that writes what it is to, or is stopped at its limit."""

    def __init__(self, hangs: frozenset[str] = frozenset()) -> None:
        self.hangs = hangs
        self.started: list[str] = []

    def __call__(self, command: list[str], log: Path, limit_s: float, **_: Any) -> int | None:
        name, out = command[4], command[-1]
        self.started.append(name)
        if name in self.hangs:
            return None
        Path(out).write_bytes(msgspec.json.encode(Way(name, Outcome.MEASURED, compile_s=1.0)))
        return 0


def a_shop(folder: Path, budget_s: float = 1000.0) -> Workshop:
    return Workshop(folder, "cuda", Stopwatch(budget_s, "test"), jobs=1)


def test_rivals_that_were_compiled_are_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes(hangs=frozenset({"max-autotune"}))
    monkeypatch.setattr(stages, "run", processes)
    for _ in range(2):
        compile_rivals(cases("vit"), a_shop(tmp_path))
    assert processes.started == [rival.name for rival in RIVALS if rival.name != "eager"]
    found = {way.name: way for way in stages._compiled(cases("vit")[0], a_shop(tmp_path))}
    assert found["max-autotune"].outcome is Outcome.TOO_LONG
    assert found["max-autotune"].reason == "it was not compiled after 240 s"


def test_rivals_whose_caches_stayed_on_another_machine_are_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = Processes(hangs=frozenset({"max-autotune"}))
    monkeypatch.setattr(stages, "run", processes)
    compile_rivals(cases("vit"), a_shop(tmp_path))
    first = list(processes.started)
    shutil.rmtree(a_shop(tmp_path).of(cases("vit")[0]) / "cache.rivals")
    compile_rivals(cases("vit"), a_shop(tmp_path))
    assert processes.started == [*first, *(name for name in first if name != "max-autotune")]


def test_a_cold_default_is_timed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes()
    monkeypatch.setattr(stages, "run", processes)
    (vit,) = cases("vit")
    times = [stages._cold_default_s(vit, a_shop(tmp_path)) for _ in range(2)]
    assert processes.started == ["default"]
    assert times[0] == times[1] is not None


def test_a_rival_that_the_budget_ended_is_not_called_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "run", Processes(hangs=frozenset({"max-autotune"})))
    shop = a_shop(tmp_path, budget_s=100.0)
    compile_rivals(cases("vit"), shop)
    with pytest.raises(OutOfTimeError):
        stages._compiled(cases("vit")[0], shop)


def test_a_stage_that_the_budget_ended_is_taken_up_again_and_one_that_hangs_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "run", Processes(hangs=frozenset({"default"})))
    (vit,) = cases("vit")
    with pytest.raises(OutOfTimeError):
        stages._cold_default_s(vit, a_shop(tmp_path, budget_s=100.0))
    assert stages._cold_default_s(vit, a_shop(tmp_path)) is None


def test_a_model_whose_measuring_the_budget_ended_is_out_of_time_and_not_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "run", Processes())
    (vit,) = cases("vit")
    compile_rivals([vit], a_shop(tmp_path))
    (a_shop(tmp_path).of(vit) / "search.json").write_bytes(msgspec.json.encode(Search(60.0, 20.0, 0)))
    monkeypatch.setattr(stages, "run", lambda *_, **__: None)
    with pytest.raises(OutOfTimeError):
        stages.measure(vit, a_shop(tmp_path, budget_s=100.0), "2026-01-01")
    with pytest.raises(UnreadableFileError, match=r"measured\.json"):
        stages.measure(vit, a_shop(tmp_path), "2026-01-01")


def test_the_model_itself_stands_for_a_plan_where_nothing_was_captured_alone(tmp_path: Path) -> None:
    well, badly = Search(60.0, 20.0, 0), Search(60.0, 20.0, 3)
    assert stages._plan(tmp_path, well, 0) == AS_IT_IS
    assert stages._plan(tmp_path, well, 1) == NO_PLAN
    assert stages._plan(tmp_path, badly, 0) == NO_PLAN
    assert stages._plan(tmp_path, replace(well, partial="interrupted"), 0) == NO_PLAN
    (tmp_path / "plan.json").touch()
    assert stages._plan(tmp_path, well, 1) == tmp_path / "plan.json"


@pytest.mark.parametrize(("code", "says"), [(None, "stopped, as it took too long"), (3, "ended with 3"), (0, "|  |")])
def test_how_a_search_ended_is_said(code: int | None, says: str) -> None:
    found = a_measurement()
    assert says in page(Recording().with_one(replace(found, search=replace(found.search, exit_code=code))))


def test_the_command_and_showing_need_no_torch() -> None:
    code = "import sys; import benchmarks.plans.__main__; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
