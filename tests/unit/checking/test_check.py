"""The whole of `analyze check` over saved runs, and over models whose runs are not real."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.checking import check as checking
from analyzer.checking import project as files
from analyzer.checking.subjects import Made
from analyzer.cli import main
from analyzer.core.errors import ExitCode, UnreadableFileError, UsageError, UserProgramError
from analyzer.core.gate import GateStatus
from analyzer.core.graphs import SourceLine
from analyzer.core.policy import BASELINE_FILE
from analyzer.core.settings import WorkloadSpec
from analyzer.core.timing import Crowd
from analyzer.gate.baseline_file import decode_baseline, encode_baseline
from analyzer.reporting.remarks import DID_NOT_RUN, Place, gate_remarks
from analyzer.reporting.repository import Repository
from tests.checks import here, run, saved, standing_in, stored
from tests.gates import a_break, a_model_report, of
from tests.reports import at


def test_the_first_check_says_so_passes_and_writes_a_baseline(project: Path) -> None:
    result = run(targets=(saved(project, "a", a_model_report(breaks=1)),))
    assert result.has_passed
    assert result.against is None
    assert "baseline" in result.headline
    assert any("no baseline yet of gptlite.py" in note for note in result.notes)
    assert stored(project).of("gptlite.py", "cuda") is not None


def test_the_second_is_held_against_it_and_writes_nothing(project: Path) -> None:
    target = saved(project, "a", a_model_report(breaks=1))
    run(targets=(target,))
    before = (project / BASELINE_FILE).read_bytes()
    result = run(targets=(target,))
    assert result.has_passed
    assert result.against == BASELINE_FILE
    assert result.accept is None
    assert (project / BASELINE_FILE).read_bytes() == before


def test_a_new_break_fails_keeps_the_baseline_and_offers_the_new_one(project: Path) -> None:
    run(targets=(saved(project, "a", a_model_report()),))
    before = (project / BASELINE_FILE).read_bytes()
    result = run(targets=(saved(project, "b", a_model_report(breaks=1)),))
    assert result.exit_code == ExitCode.GATE_FAILED
    assert result.headline.startswith("1 new graph break: up to +0.80 ms a step, gptlite.py:57")
    assert (project / BASELINE_FILE).read_bytes() == before, "a worse value is never stored unasked"
    assert result.accept is not None
    accepted = decode_baseline(result.accept.encode(), "new").of("gptlite.py", "cuda")
    assert accepted is not None
    value = accepted.value("graph_breaks")
    assert value is not None
    assert value.value == 1


def test_an_improvement_passes_and_offers_the_new_file(project: Path) -> None:
    run(targets=(saved(project, "a", a_model_report(breaks=1)),))
    result = run(targets=(saved(project, "b", a_model_report()),))
    assert result.has_passed
    assert "better" in result.headline
    assert result.accept is not None
    assert json.loads(result.accept)["models"][0]["values"]
    assert result.accept_file == BASELINE_FILE, "as the repository calls it: a comment is read on another machine"


def test_init_accepts_what_is_there_and_writes_a_policy_once(project: Path) -> None:
    run(targets=(saved(project, "a", a_model_report()),))
    worse = saved(project, "b", a_model_report(breaks=1))
    result = run(targets=(worse,), init=True)
    assert result.has_passed
    assert result.headline == "nothing is past a written limit, and the values are stored as they are"
    told = [of(gate, result.models[0]).message for gate in ("graph_breaks", "step_time", "new_findings")]
    assert all(message.endswith("not compared: --init stores it as it is") for message in told)
    assert (project / "graphbound.toml").is_file()
    assert any("wrote the policy" in note for note in result.notes)
    assert run(targets=(worse,)).has_passed
    again = run(targets=(worse,), init=True)
    assert any("has a policy already" in note for note in again.notes)


def test_a_comment_in_the_source_silences_its_line(project: Path) -> None:
    run(targets=(saved(project, "a", a_model_report()),))
    lines = (project / "gptlite.py").read_text().splitlines()
    lines[56] = "x.item()  # graphbound: ignore[graph_break]"
    (project / "gptlite.py").write_text("\n".join(lines) + "\n")
    result = run(targets=(saved(project, "b", a_model_report(breaks=1)),))
    assert result.has_passed
    assert of("graph_breaks", result.models[0]).status is GateStatus.SILENCED


def test_a_run_folder_is_a_baseline_too(project: Path) -> None:
    base, head = saved(project, "a", a_model_report()), saved(project, "b", a_model_report(breaks=1))
    result = run(targets=(head,), baseline=base)
    assert not result.has_passed
    assert result.against == base
    assert not (project / BASELINE_FILE).exists()
    assert run(targets=(base,), baseline=base).has_passed


def test_a_base_of_another_graphbound_is_said_to_be_one(project: Path) -> None:
    report = a_model_report()
    older = replace(report, versions=replace(report.versions, graphbound="0.0.7"))
    base, head = saved(project, "a", older), saved(project, "b", report)
    (note,) = run(targets=(head,), baseline=base).notes
    assert note.startswith(f"Graphbound 0.0.7 made the run {base}, and {report.versions.graphbound} what is held")
    assert run(targets=(base,), baseline=base).notes == run(targets=(head,), baseline=head).notes == ()


def test_of_a_base_that_an_older_graphbound_wrote_and_that_is_not_read_it_says_which_one_and_what_to_do(
    project: Path,
) -> None:
    base, head = saved(project, "a", a_model_report()), saved(project, "b", a_model_report())
    older = json.loads((Path(base) / "report.json").read_text())
    older["versions"]["graphbound"] = "0.0.7"
    del older["linked_share"]
    (Path(base) / "report.json").write_text(json.dumps(older))
    with pytest.raises(UnreadableFileError, match=r"a/report\.json: Graphbound 0\.0\.7 wrote it") as caught:
        run(targets=(head,), baseline=base)
    assert "run `analyze model.py` again" in str(caught.value.hint)


def test_a_file_that_is_no_baseline_is_never_said_to_be_removed(project: Path) -> None:
    target = saved(project, "a", a_model_report())
    for text, said in (("{}", "not a baseline"), ('{"schema": 99}', "schema 99")):
        (project / BASELINE_FILE).write_text(text)
        with pytest.raises(UnreadableFileError, match=said) as caught:
            run(targets=(target,))
        assert "remove" not in (caught.value.hint or "")
    assert "update" in (caught.value.hint or "")


def test_a_baseline_of_another_kind_of_device_is_told_apart_from_none(project: Path) -> None:
    target = saved(project, "a", a_model_report())
    run(targets=(target,))
    text = (project / BASELINE_FILE).read_text()
    (project / BASELINE_FILE).write_text(text.replace('"kind": "cuda"', '"kind": "cpu"'))
    notes = run(targets=(target,)).notes
    assert f"{BASELINE_FILE} has gptlite.py on cpu alone, and this run was on cuda" in notes
    assert not any("alone" in note for note in run(targets=(target,)).notes)


def test_what_a_check_without_a_run_left_out_is_stored_by_one_with_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = here(project, a_model_report())
    monkeypatch.setattr(checking, "graphs_alone", lambda spec, progress: Made(report, None))
    run(targets=("gptlite.py",), runs=False)
    before = stored(project).of("gptlite.py", "cuda")
    target = saved(project, "a", a_model_report())
    result = run(targets=(target,))
    after = stored(project).of("gptlite.py", "cuda")
    assert before is not None
    assert after is not None
    assert before.value("host_syncs") is None
    assert after.value("host_syncs") is not None
    assert [after.value(one.gate) for one in before.values] == list(before.values)
    assert any(note.startswith("no ") and "host_syncs" in note for note in result.notes)
    assert not any("host_syncs" in note for note in run(targets=(target,)).notes)


def test_times_that_were_not_stored_are_said_to_be_missing(project: Path) -> None:
    busy = replace(a_model_report(), crowd=Crowd(2.0, 2, 2))
    result = run(targets=(saved(project, "a", busy),))
    assert "the machine was busy, and no times of gptlite.py were stored: run it again" in result.notes
    quiet = run(targets=(saved(project, "b", a_model_report()),))
    assert any("no times yet" in note for note in quiet.notes)
    assert not any("busy" in note for note in run(targets=(saved(project, "c", busy),)).notes)


def test_times_of_a_new_machine_are_added_beside_the_old(project: Path) -> None:
    report = a_model_report()
    run(targets=(saved(project, "a", report),))
    other = replace(report, device=replace(report.device, name="NVIDIA B200"))
    result = run(targets=(saved(project, "b", other),))
    assert result.has_passed
    assert any("no times yet of this machine class" in note for note in result.notes)
    model = stored(project).of("gptlite.py", "cuda")
    assert model is not None
    assert [times.machine.device for times in model.times] == ["NVIDIA H200", "NVIDIA B200"]
    before = (project / BASELINE_FILE).read_bytes()
    run(targets=(saved(project, "c", other),))
    assert (project / BASELINE_FILE).read_bytes() == before


def test_a_partial_run_fails_and_is_not_stored(project: Path) -> None:
    result = run(targets=(saved(project, "a", a_model_report(partial="Ctrl-C")),))
    assert result.exit_code == ExitCode.GATE_FAILED
    assert "ended early" in result.headline
    assert not (project / BASELINE_FILE).exists()


def test_several_models_of_the_policy_are_run_and_one_that_fails_costs_no_other(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "graphbound.toml").write_text('models = ["gptlite.py", "other.py"]\n')
    seen: list[str] = []

    def fake(spec: WorkloadSpec, plan: str | None, out: Path, progress: object) -> Made:
        seen.append(Path(spec.target).name)
        assert Path(spec.target).is_absolute()
        assert plan is None
        if spec.target.endswith("other.py"):
            raise UserProgramError("the model does not run")
        return Made(here(project, a_model_report()), out)

    monkeypatch.setattr(checking, "whole_run", fake)
    result = run()
    assert seen == ["gptlite.py", "other.py"]
    assert [model.name for model in result.models] == ["gptlite.py", "other.py"]
    assert result.models[0].has_passed
    assert result.models[1].error == "the model does not run"
    assert result.models[1].error_at == SourceLine(str(project / "other.py"), 1), "no other line is known"
    assert result.exit_code == ExitCode.USER_PROGRAM
    assert result.headline.startswith("other.py: could not be checked")


def test_a_model_that_fails_is_shown_at_the_line_that_fails(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = SourceLine(str(project / "other.py"), 7, "forward")
    standing_in(project, monkeypatch, gptlite=UserProgramError("it raised", where=line))
    raised = run(targets=("gptlite.py",))
    ended = run(targets=(saved(project, "a", a_model_report(partial="it raised", partial_at=line)),))
    repository = Repository(roots=(str(project),))
    for result in (raised, ended):
        (model,) = result.models
        assert model.error_at == line
        said = [remark for remark in gate_remarks(result, repository) if remark.id == DID_NOT_RUN]
        assert [remark.place for remark in said] == [Place("other.py", 7)]


def test_without_a_run_only_gates_of_graphs_are_judged(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(spec: WorkloadSpec, progress: object) -> Made:
        return Made(here(project, a_model_report()), None)

    monkeypatch.setattr(checking, "graphs_alone", fake)
    result = run(targets=("gptlite.py",), runs=False)
    judged = {check.gate for check in result.models[0].checks}
    assert "graph_breaks" in judged
    assert judged.isdisjoint({"kernels", "host_syncs", "step_time", "accuracy"})
    assert any("--no-run" in note for note in result.notes)
    # What was not run stays as it was stored.
    run(targets=(saved(project, "a", a_model_report()),), init=True)
    kept = run(targets=("gptlite.py",), runs=False, init=True)
    assert kept.has_passed
    model = stored(project).of("gptlite.py", "cuda")
    assert model is not None
    assert model.value("kernels") is not None
    assert model.times


def test_a_run_folder_without_a_step_is_held_to_what_it_has_and_to_no_more(project: Path) -> None:
    """As `--no-run --out` leaves one: each gate that needs a step could only say that its number is missing."""
    graphs = a_model_report(step_ns=None, step_budget=None, plans=())
    target = saved(project, "a", graphs)
    with pytest.raises(UsageError, match=r"no step was run for .*a: it was made with --no-run") as caught:
        run(targets=(target,))
    assert "check it with --no-run" in str(caught.value.hint)
    assert run(targets=(target,), runs=False).has_passed
    (lost, whole) = run(targets=(target, saved(project, "b", a_model_report()))).models
    assert "no step was run" in str(lost.error)
    assert whole.error is None


def test_nothing_to_check_is_a_usage_error(project: Path) -> None:
    with pytest.raises(UsageError, match="what should be checked"):
        run()
    with pytest.raises(UsageError, match=r"no such file: othr\.py") as refused:
        run(targets=("othr.py",))
    assert refused.value.hint == "did you mean other.py?"


def test_a_baseline_that_is_named_and_not_there_is_a_slip_unless_it_is_to_be_written(project: Path) -> None:
    head = saved(project, "head", a_model_report())
    run(targets=(head,), baseline="base.json", init=True)
    with pytest.raises(UsageError, match=r"there is no baseline bsae\.json") as refused:
        run(targets=(head,), baseline="bsae.json")
    assert refused.value.hint == "did you mean base.json?"
    assert not (project / "bsae.json").exists()
    with pytest.raises(UsageError) as lost:
        run(targets=(head,), baseline="nowhere/stored.toml")
    assert lost.value.hint == "--init writes it from this run"
    assert run(targets=(head,), baseline="base.json").has_passed


def test_training_is_another_model_than_inference(project: Path) -> None:
    report = a_model_report()
    run(targets=(saved(project, "a", replace(report, workload=replace(report.workload, mode="training"))),))
    assert stored(project).of("gptlite.py (training)", "cuda") is not None


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["runs/base"], 0),
        (["runs/base", "--baseline", "runs/base"], 0),
        (["runs/worse"], 1),
        (["runs/worse", "--baseline", "runs/worse"], 0),
        (["runs/worse", "--format", "json"], 1),
        (["runs/base", "--baseline", "gone.json"], 2),
        (["gone.py"], 2),
        ([], 2),
        (["runs/base", "--against", "main"], 2),
        (["runs/base", "--against", "main", "--baseline", "runs/base"], 2),
        (["runs/base", "--budget-file", "gone.toml"], 2),
        (["runs/base", "--bugdet-file", "x"], 2),
    ],
)
def test_the_command_exits_as_promised(
    project: Path, words: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(project, "base", a_model_report())
    saved(project, "worse", a_model_report(breaks=1))
    run(targets=("runs/base",))
    assert main(["check", *words, "--quiet"]) == code
    seen = capsys.readouterr()
    if code == 1 and "json" not in words:
        assert seen.out.startswith("FAILED: 1 new graph break")
        assert "gptlite.py:57" in seen.out
        assert "again: analyze check runs/worse" in seen.out
    if code == 2:
        assert seen.err.startswith("error: ")
        assert not seen.out


def test_the_names_of_a_report_reach_no_terminal_as_they_are(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(targets=(saved(project, "a", a_model_report()),))
    hostile = replace(
        a_break(57), message="\x1b]0;owned\x07", remedy="a\n::error::b", where=at("/home/ada/\x1b[2J.py:57")
    )
    main(["check", saved(project, "b", a_model_report(findings=(hostile,))), "-q"])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert not any(line.startswith("::error") for line in out.splitlines())


@pytest.mark.parametrize(
    ("golden", "off"),
    [("mixed_graphs_h200", 'gates = {host_syncs = "off", generated_code = "off"}\n'), ("granite_h200", "")],
)
def test_a_real_run_is_quiet_against_itself(golden: str, off: str, root: Path, project: Path) -> None:
    """Of an H200; one is older than two of the gates, which say so and cannot pass."""
    (project / "graphbound.toml").write_text(off)
    target = str(root / "tests" / "golden" / golden)
    first = run(targets=(target,))
    assert first.has_passed, [check.message for check in first.models[0].failures]
    second = run(targets=(target,))
    assert second.has_passed
    assert not second.models[0].warnings
    assert second.accept is None


def test_what_an_older_run_does_not_say_fails_with_that_reason(root: Path, project: Path) -> None:
    result = run(targets=(str(root / "tests" / "golden" / "mixed_graphs_h200"),))
    check = of("host_syncs", result.models[0])
    assert check.status is GateStatus.BROKEN
    assert "an older Graphbound" in check.message


def test_one_graph_break_less_than_a_real_run_stored_fails_on_its_line(root: Path, project: Path) -> None:
    (project / "graphbound.toml").write_text('gates = {host_syncs = "off", generated_code = "off"}\n')
    target = str(root / "tests" / "golden" / "mixed_graphs_h200")
    run(targets=(target,))
    baseline = stored(project)
    (model,) = baseline.models
    known = [place for place in model.places if place.rule == "graph_break"]
    fewer = replace(
        model,
        places=tuple(place for place in model.places if place is not known[0]),
        values=tuple(
            replace(v, value=v.value - known[0].count) if v.gate == "graph_breaks" else v for v in model.values
        ),
    )
    (project / BASELINE_FILE).write_text(encode_baseline(baseline.having(fewer)))
    check = of("graph_breaks", run(targets=(target,)).models[0])
    assert check.status is GateStatus.FAILED
    assert check.where is not None
    assert check.where.file.endswith("mixed_graphs.py")


def test_reports_are_kept_where_that_is_asked_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "nets").mkdir()
    (project / "nets" / "gptlite.py").write_text("x\n")

    def fake(spec: WorkloadSpec, progress: object, program_log: Path | None = None) -> Made:
        if program_log is not None:
            program_log.write_text("said")
        return Made(here(project, a_model_report()), None)

    monkeypatch.setattr(checking, "graphs_alone", fake)
    result = run(targets=("gptlite.py", "nets/gptlite.py", "other.py"), runs=False, out="kept")
    folders = [project / "kept" / name for name in ("gptlite-0", "gptlite-1", "other")]
    assert [model.folder for model in result.models] == [str(folder) for folder in folders]
    assert all((folder / name).is_file() for folder in folders for name in ("report.json", "program.log"))
    assert [model.folder for model in run(targets=("gptlite.py",), runs=False).models] == [None]


def test_of_a_model_that_does_not_run_what_it_said_is_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(spec: WorkloadSpec, progress: object, program_log: Path | None = None) -> Made:
        assert program_log is not None
        program_log.write_text("said")
        raise UserProgramError("the model does not run")

    (project / "kept").mkdir()
    monkeypatch.setattr(checking, "graphs_alone", fake)
    assert not run(targets=("gptlite.py",), runs=False, out="kept").has_passed
    assert (project / "kept" / "gptlite" / "program.log").read_text() == "said"


def test_a_run_is_told_where_to_be_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Path] = []

    def fake(spec: WorkloadSpec, plan: str | None, out: Path, progress: object) -> Made:
        seen.append(out)
        return Made(here(project, a_model_report()), None)

    monkeypatch.setattr(checking, "whole_run", fake)
    result = run(targets=("gptlite.py",), out="kept")
    assert seen == [project / "kept" / "gptlite"]
    assert result.models[0].folder == str(seen[0])


def test_a_folder_that_cannot_be_made_is_said(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "graphs_alone", lambda spec, progress: Made(here(project, a_model_report()), None))
    (project / "kept").write_text("a file")
    with pytest.raises(UsageError, match="cannot write"):
        run(targets=("gptlite.py",), runs=False, out="kept")


def test_what_is_wrong_with_one_of_several_costs_that_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacks = UsageError("gptlite.py has no get_model", hint="name one with --entry")
    begun = standing_in(project, monkeypatch, gptlite=lacks)
    result = run(targets=("gptlite.py", "other.py"))
    assert begun == ["gptlite", "other"]
    assert result.exit_code == ExitCode.USAGE
    assert result.models[0].error == "gptlite.py has no get_model (name one with --entry)"
    assert stored(project).of("other.py", "cuda") is not None
    with pytest.raises(UsageError, match="has no get_model"):
        run(targets=("gptlite.py",))


def test_a_file_that_is_not_there_is_told_before_anything_runs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = standing_in(project, monkeypatch)
    with pytest.raises(UsageError, match="no such file"):
        run(targets=("gptlite.py", "gone.py"))
    (project / "graphbound.toml").write_text('models = ["gptlite.py", "othr.py"]\n')
    with pytest.raises(UsageError, match=r"graphbound\.toml: models has 'othr\.py', and no such file") as refused:
        run()
    assert refused.value.hint == "did you mean other.py?"
    with pytest.raises(UsageError, match="there is no commit"):
        run(targets=("gptlite.py",), against="no-such-branch")
    assert not begun


def test_a_table_for_a_file_that_is_not_there_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = standing_in(project, monkeypatch)
    (project / "graphbound.toml").write_text('[model."othr.py".gates]\ngraph_breaks = ["error", {max = 0}]\n')
    with pytest.raises(UsageError, match=r'graphbound\.toml: model\."othr\.py" is for no file') as refused:
        run(targets=("gptlite.py", "other.py"))
    assert refused.value.hint == "did you mean other.py?"
    assert not begun
    (project / "graphbound.toml").write_text(
        '[model."other.py (training)"]\nplan = "a"\n[model."other.py"]\n[model."timm:vit"]\n'
    )
    assert run(targets=("gptlite.py",)).has_passed


def test_a_plan_that_is_not_there_is_told_before_anything_runs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = standing_in(project, monkeypatch)
    (project / "graphbound.toml").write_text('[model."gptlite.py"]\nplan = "gone.json"\n')
    with pytest.raises(UsageError, match=r"gptlite\.py. has the plan 'gone\.json', and there is no such file"):
        run(targets=("gptlite.py",))
    assert not begun
    assert run(targets=("other.py",)).has_passed, "its plan is not asked for"


def test_a_model_that_is_named_twice_is_run_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = standing_in(project, monkeypatch)
    result = run(targets=("gptlite.py", "other.py", "./gptlite.py"))
    assert begun == ["gptlite", "other"]
    assert [model.name for model in result.models] == ["gptlite.py", "other.py"]


def test_init_writes_nothing_where_no_model_runs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    standing_in(project, monkeypatch, gptlite=UserProgramError("it raised"), other=UserProgramError("it raised"))
    result = run(targets=("gptlite.py", "other.py"), init=True)
    assert result.exit_code == ExitCode.USER_PROGRAM
    assert "nothing was written: no model could be judged" in result.notes
    assert not (project / BASELINE_FILE).exists()
    assert not (project / "graphbound.toml").exists()


def test_what_could_be_added_and_not_written_costs_no_verdict(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = here(project, a_model_report())
    monkeypatch.setattr(checking, "graphs_alone", lambda spec, progress: Made(report, None))
    run(targets=("gptlite.py",), runs=False)
    target = saved(project, "a", a_model_report())

    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(files, "write_whole", full)
    result = run(targets=(target,))
    assert result.has_passed
    assert any("Read-only" in note and "of gptlite.py stays out" in note for note in result.notes)
    (project / BASELINE_FILE).unlink()
    with pytest.raises(UsageError, match="Read-only"):  # a new one would be held against nothing for ever
        run(targets=(target,))


def test_values_that_could_not_be_written_are_told_before_anything_runs(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "graphs_alone", lambda *_: pytest.fail("it was run"))
    (project / "graphbound.toml").write_text('baseline = "ci/values.json"\n')
    for init in (True, False):
        with pytest.raises(UsageError, match="there is no folder") as caught:
            run(targets=("gptlite.py",), runs=False, init=init)
        assert "mkdir -p" in str(caught.value.hint)


def test_what_another_check_accepts_meanwhile_stays_accepted(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def graphs(spec: WorkloadSpec, progress: object) -> Made:
        if Path(spec.target).name == "gptlite.py":  # while it runs, the other check begins and ends
            run(targets=("other.py",), runs=False, init=True)
        return Made(here(project, a_model_report()), None)

    monkeypatch.setattr(checking, "graphs_alone", graphs)
    result = run(targets=("gptlite.py",), runs=False, init=True)
    assert [one.model for one in stored(project).models] == ["gptlite.py", "other.py"]
    assert "graphbound.toml has a policy already, and was left as it is" in result.notes


def test_what_was_just_stored_is_not_offered_to_be_accepted(project: Path) -> None:
    (project / "graphbound.toml").write_text('[gates]\ngraph_breaks = ["error", {max = 0}]\n')
    result = run(targets=(saved(project, "a", a_model_report(breaks=1)),))
    assert result.exit_code == ExitCode.GATE_FAILED, "a written limit needs no baseline"
    assert any("no baseline yet" in note for note in result.notes)
    assert result.accept is None, "it would change nothing"


def test_a_comment_that_silences_nothing_is_told_at_its_place_in_the_repository(project: Path) -> None:
    lines = (project / "gptlite.py").read_text().splitlines()
    lines[56] = "x.item()  # graphbound: ignore[graph_brake]"
    (project / "gptlite.py").write_text("\n".join(lines) + "\n")
    result = run(targets=(saved(project, "b", a_model_report(breaks=1)),))
    (note,) = result.models[0].notes
    assert note == "gptlite.py:57: there is no rule 'graph_brake' to ignore: did you mean graph_break?"
