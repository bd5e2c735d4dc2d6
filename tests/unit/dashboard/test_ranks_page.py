"""The page of several ranks: who is late, where each one's time went, each step of each, and what is not known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from plotly.utils import PlotlyJSONEncoder

from analyzer.core.ranks import LostRank, RanksReport
from analyzer.derive.rank_summary import RankName, summarize_rank
from analyzer.derive.ranks import compare_ranks
from analyzer.rank_analysis import TraceSettings, analyze_path
from analyzer.reporting.ranks_text import late_text
from dashboard.app import app_of
from dashboard.panels import ranks, ranks_collectives, ranks_steps
from dashboard.panels.ranks import parts_figure, shown_ranks, summary_text
from dashboard.panels.ranks_steps import (
    MOST_CELLS_WITH_TEXT,
    NO_STEPS,
    RESULT_ID,
    Measure,
    heat_figure,
    step_grid,
    steps_view,
)
from dashboard.prose import prose
from dashboard.run_folder import RunData, read_target
from tests.rank_files import a_rank, traces_of
from tests.reports import a_report
from tests.traces import Recording
from tests.unit.dashboard.several_runs import HOSTILE

US = 1_000
PUBLIC = Path(__file__).parents[4] / "shared" / "traces" / "dlrm_8ranks"
PAGES = (ranks, ranks_steps, ranks_collectives)


def ranks_of(*own_us: float, lost: tuple[LostRank, ...] = ()) -> RanksReport:
    summaries = [summarize_rank(t, RankName(f"rank{i}.json", i, i)) for i, t in enumerate(traces_of(*own_us))]
    return compare_ranks(summaries, lost)


def a_run(found: RanksReport | None) -> RunData:
    return RunData("ranks", a_report(ranks=found), None, ())


def text_of(components: object) -> str:
    return json.dumps(components, cls=PlotlyJSONEncoder, ensure_ascii=False)


def page(found: RanksReport) -> str:
    return text_of([panel.build(a_run(found)) for panel in PAGES])


def test_the_page_is_there_only_where_there_are_ranks() -> None:
    for panel in PAGES:
        assert panel.PANEL.applies(a_run(ranks_of(50, 20)))
        assert not panel.PANEL.applies(a_run(None))
        assert not panel.PANEL.applies(RunData("x", None, None, ()))
        assert "report.json holds no ranks" in text_of(panel.build(a_run(None)))


def test_who_is_late_and_for_what_comes_first() -> None:
    found = ranks_of(50, 20, 90)
    assert summary_text(found) == "3 ranks; the busiest computes 1.7× the mean"
    (said,) = late_text(found)
    assert said.startswith("rank 2 is late by 165 µs in ")
    assert said.endswith("likely for its kernels, which take longer")


def test_that_nobody_is_late_is_not_that_it_is_unknown() -> None:
    assert late_text(ranks_of(50, 50)) == ["No rank came clearly later to its collectives than the others."]
    alone = ranks_of(50)
    assert late_text(alone) == ["No collective was matched between ranks: who waits for whom is not known."]
    assert "not known" in summary_text(alone)


def test_the_bars_of_a_rank_add_up_to_its_window() -> None:
    found = ranks_of(50, 20, 90)
    figure = parts_figure(found)
    for number, rank in enumerate(found.ranks):
        assert rank.temporal is not None
        assert sum(trace.x[number] for trace in figure.data) == pytest.approx(rank.temporal.elapsed_ns / 1e6)
    shapes = [trace.marker.pattern.shape for trace in figure.data]
    assert len(set(shapes)) == len(shapes)


def test_of_many_ranks_the_latest_are_drawn_and_the_rest_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "MOST_BARS", 2)
    found = ranks_of(50, 20, 90, 50)
    assert [rank.rank for rank in shown_ranks(found)] == [1, 2]
    assert "2 ranks are in the table alone" in text_of(ranks.build(a_run(found)))


def test_lost_ranks_are_named_with_their_reason() -> None:
    text = page(ranks_of(50, 20, lost=(LostRank("rank7.json", "the file ends too early"),)))
    assert "not read: rank7.json: the file ends too early" in text
    assert "1 could not be read" in text


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (Measure.EXPOSED, [(50 * US, 80 * US), (80 * US, 80 * US), (10 * US, 10 * US)]),
        (Measure.WAITED, [(40 * US,), (70 * US,), (0,)]),
    ],
)
def test_the_heat_map_holds_the_figures_of_each_step(measure: Measure, expected: list[tuple[int, ...]]) -> None:
    grid = step_grid(ranks_of(50, 20, 90), measure)
    assert grid.steps == ("0", "1", "2", "3")
    for row, allowed in zip(grid.ns, expected, strict=True):
        assert set(row) <= set(allowed), row
    figure = heat_figure(grid, measure)
    assert [list(row) for row in figure.data[0].z] == [[(ns or 0) / 1e6 for ns in row] for row in grid.ns]


def test_the_time_of_a_step_is_its_time() -> None:
    found = ranks_of(50, 20)
    grid = step_grid(found, Measure.ELAPSED)
    assert grid.ns == tuple(rank.steps_ns for rank in found.ranks)


def test_what_was_waited_is_unknown_where_not_all_was_matched() -> None:
    found = ranks_of(50, 20)
    blind = replace(found, waits=())
    grid = step_grid(blind, Measure.WAITED)
    assert {ns for row in grid.ns for ns in row} == {None}
    assert "not known" in text_of(steps_view(a_run(blind), Measure.WAITED))


@pytest.mark.parametrize("steps", [0, 4])
def test_dash_is_asked_for_nothing_that_the_page_has_no_place_for(steps: int) -> None:
    summaries = [
        summarize_rank(a_rank(50, wait, steps=4).trace(), RankName(f"rank{i}.json", i, i))
        for i, wait in enumerate((0, 5))
    ]
    found = compare_ranks([one if steps else replace(one, steps=None, steps_ns=()) for one in summaries])
    app = app_of(a_run(found))
    asked = {part["id"] for callback in app.callback_map.values() for part in callback["inputs"]}
    asked |= {name.strip(".").split(".")[0] for key in app.callback_map for name in key.strip(".").split("...")}
    placed = {part.id for part in app.layout._traverse() if getattr(part, "id", None) is not None}
    assert asked <= placed
    assert (RESULT_ID in asked) is bool(steps)


def test_steps_are_laid_beside_each_other_by_their_numbers() -> None:
    found = ranks_of(50, 20)
    first, second = found.ranks
    assert second.steps is not None
    later = replace(found, ranks=(first, replace(second, steps=replace(second.steps, numbers=(2, 3, 4, 5)))))
    grid = step_grid(later, Measure.ELAPSED)
    assert grid.steps == ("0", "1", "2", "3", "4", "5")
    assert grid.ns[0][4:] == (None, None)
    assert grid.ns[1][:2] == (None, None)
    bare = replace(later, ranks=(first, replace(second, steps=replace(second.steps, numbers=None))))
    unnumbered = step_grid(bare, Measure.ELAPSED)
    assert unnumbered.steps == ("0", "1", "2", "3")
    assert any("carry no numbers" in text for text in unnumbered.left_out)


def test_what_is_left_out_of_the_heat_map_is_said() -> None:
    found = ranks_of(50, 20)
    first, second = found.ranks
    assert second.steps is not None
    cut = replace(found, ranks=(replace(first, steps=None), replace(second, steps=replace(second.steps, marked=900))))
    said = step_grid(cut, Measure.IDLE).left_out
    assert "1 of 2 ranks have no steps here." in said
    assert "The first 4 of 900 marked steps are kept." in said


def test_without_steps_the_page_says_how_to_mark_them() -> None:
    unmarked = Recording()
    unmarked.launch("gemm", us=5)
    summaries = [summarize_rank(unmarked.trace(), RankName(f"r{i}", i, i)) for i in range(2)]
    assert text_of(prose(NO_STEPS))[1:-1] in text_of(ranks_steps.build(a_run(compare_ranks(summaries))))


def test_a_rank_without_device_work_is_shown_as_unknown() -> None:
    idle = Recording()
    with idle.step(), idle.op("aten::add"):
        idle.host(5)
    found = compare_ranks([summarize_rank(idle.trace(), RankName(f"r{i}", i, i)) for i in range(2)])
    text = page(found)
    assert "No rank's trace shows work of a device" in text
    assert '"unknown"' in text


def test_times_stand_in_the_cells_only_where_there_is_room() -> None:
    few = heat_figure(step_grid(ranks_of(50, 20), Measure.ELAPSED), Measure.ELAPSED)
    assert few.data[0].texttemplate == "%{text}"
    grid = step_grid(ranks_of(50, 20), Measure.ELAPSED)
    many = MOST_CELLS_WITH_TEXT // 4 + 1
    wide = replace(grid, ranks=(grid.ranks[0],) * many, ns=(grid.ns[0],) * many)
    assert heat_figure(wide, Measure.ELAPSED).data[0].texttemplate is None


def test_communication_is_by_collective_and_group_with_the_clocks() -> None:
    found = ranks_of(50, 20)
    text = text_of(ranks_collectives.build(a_run(found)))
    assert "all_reduce" in text
    assert "not named" in text
    assert "aligned by their collectives: 4 collectives" in text
    silent = replace(found, collectives=(), offsets=())
    assert "No rank's trace shows a collective" in text_of(ranks_collectives.build(a_run(silent)))


def test_hostile_names_are_cut_and_shown_as_text() -> None:
    found = ranks_of(50, 20)
    named = tuple(replace(one, source=HOSTILE + "x" * 1_000_000) for one in found.ranks)
    uses = tuple(replace(use, group=HOSTILE + "y" * 1_000_000) for use in found.collectives)
    text = page(replace(found, ranks=named, collectives=uses, notes=("z" * 1_000_000,)))
    assert len(text) < 100_000


def test_a_thousand_ranks_stay_a_page() -> None:
    one, two = ranks_of(50, 20).ranks
    many = tuple(replace(one if n % 2 else two, rank=n) for n in range(512))
    grid = step_grid(replace(ranks_of(50, 20), ranks=many), Measure.ELAPSED)
    assert (len(grid.ranks), len(grid.steps)) == (512, 4)
    assert len(heat_figure(grid, Measure.ELAPSED).to_json()) < 1_000_000


def test_an_unknown_measure_is_the_time_of_the_step() -> None:
    assert ranks_steps.measure_of("nonsense") is Measure.ELAPSED
    assert [ranks_steps.measure_of(one.value) for one in Measure] == list(Measure)


def test_ranks_of_files_are_a_page(tmp_path: Path) -> None:
    for rank, own_us in enumerate((50, 20, 90)):
        a_rank(own_us, 90 - own_us).save(tmp_path / f"rank{rank}.json.gz")
    data = read_target(tmp_path)
    assert "rank 2 is late" in text_of([panel.build(data) for panel in PAGES])


@pytest.mark.skipif(not PUBLIC.exists(), reason="the public traces are not here")
def test_eight_real_ranks_add_up_in_every_step() -> None:
    report = analyze_path(str(PUBLIC), TraceSettings())
    assert report.ranks is not None
    assert len(report.ranks.ranks) == 8
    for rank in report.ranks.ranks:
        own = rank.steps
        assert own is not None
        assert own.numbers == (10,)
        parts = own.compute_ns[0] + own.exposed_collective_ns[0] + own.exposed_copy_ns[0] + own.idle_ns[0]
        assert parts == rank.steps_ns[0]
        assert own.exposed_collective_ns[0] > 1_000_000
    waited = {wait.rank: wait.steps_ns[0] for wait in report.ranks.waits}
    assert waited[7] is not None
    # Rank 7 is the one that the others wait for in the first collective, rank 1 waits longest.
    assert min(waited, key=lambda rank: waited[rank] or 0) == 7
    assert max(waited, key=lambda rank: waited[rank] or 0) == 1
    assert "gb-ranks-heat" in text_of(steps_view(RunData("x", report, None, ()), Measure.WAITED))
