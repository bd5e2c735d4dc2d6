"""Puts the timelines of a run into its `report.html`, at the very end, when both traces are there."""

from __future__ import annotations

from analyzer.core.report import Report
from analyzer.narrator import Narrator
from analyzer.run_folder import RunFolder, write_page


def draw_page(report: Report, folder: RunFolder, told: Narrator) -> None:
    """Raises nothing: the page is there without timelines, and a picture must not cost a report that took minutes. A
    second Ctrl-C costs the picture alone, too.
    """
    from dashboard.report_timeline import steps_of_run  # what reads traces, which a run does in other processes

    try:
        write_page(report, folder.page, steps_of_run(folder.path))
    except (Exception, KeyboardInterrupt) as fault:  # whatever it is
        told.note(f"{folder.shown}/report.html has no timeline: {type(fault).__name__}: {fault}")
