"""The folder a run leaves behind. The only place that knows its files' names."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from analyzer.core.errors import UsageError
from analyzer.core.plan import Plan
from analyzer.core.report import Report
from analyzer.reporting.json import write_report
from optimizers.plan import write_plan


@dataclass(frozen=True, slots=True)
class RunFolder:
    """`path` is absolute: the user's program may change the working directory. `shown` is as it was asked for."""

    path: Path
    shown: Path

    @staticmethod
    def create(name: str, out: str | None) -> RunFolder:
        """`out`, or `runs/NAME-TIME/`. Raises UsageError, before anything is measured, where it cannot be written."""
        safe = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "model"
        path = Path(out) if out else Path("runs") / f"{safe}-{time.strftime('%Y%m%d-%H%M%S')}"
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe = path / ".writable"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise UsageError(
                f"cannot write the run folder {path}: {error.strerror}", hint="choose another with --out DIR"
            ) from error
        return RunFolder(path.absolute(), path)

    @property
    def report(self) -> Path:
        return self.path / "report.json"

    @property
    def plan(self) -> Path:
        return self.path / "plan.json"

    @property
    def before_trace(self) -> Path:
        return self.path / "before.trace.json.gz"

    @property
    def after_trace(self) -> Path:
        return self.path / "after.trace.json.gz"

    @property
    def program_log(self) -> Path:
        """What the user's program printed."""
        return self.path / "program.log"

    def clear(self) -> None:
        """Remove what an earlier run left under the same name, so that no file is of another run than its neighbour."""
        for old in (self.report, self.plan, self.before_trace, self.after_trace, self.program_log):
            old.unlink(missing_ok=True)

    def save_report(self, report: Report) -> None:
        write_report(report, self.report)

    def save_plan(self, plan: Plan) -> None:
        write_plan(plan, self.plan)
