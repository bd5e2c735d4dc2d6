"""`/code`: the code that Inductor generated for one graph, as text. Read from the run folder when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from analyzer.code_files import codes_of, read_code
from analyzer.core.errors import UnreadableFileError
from analyzer.core.generated_code import StoredCode
from analyzer.core.report import Report
from analyzer.reporting.plain_text import plain_code
from dashboard.run_folder import CHANGED

ROUTE: Final = "/code"
NO_CODE: Final = "This report keeps no such code."


def code_address(code: StoredCode, *, is_file: bool = False) -> str:
    """From the page's own address; `is_file` for one that a browser keeps rather than shows."""
    words = {"graph": str(code.key), "candidate": code.candidate} | ({"file": "1"} if is_file else {})
    return f"{ROUTE[1:]}?{urlencode(words, errors='replace')}"


def code_file_name(code: StoredCode) -> str:
    """`4f2a….inference.fused.py`: of the graph's key and the candidate, what any system takes."""
    return re.sub(r"[^A-Za-z0-9_.+-]+", "-", f"{code.key}.{code.candidate}").strip("-.")[:120] + ".py"


def add_code_route(
    flask_app: Any, report: Report | None, folder: Path, has_changed: Callable[[], bool] = lambda: False
) -> None:
    """Answers with the text, its hidden characters as escapes; as a download with the text as it is. 404 with a
    sentence where there is none, and where the folder `has_changed`: it is another run's then.
    """
    from flask import Response, request  # comes with Dash

    def answered() -> Any:
        if has_changed():
            return Response(CHANGED, status=404, content_type="text/plain; charset=utf-8")
        code = _asked(report, request.args.get("graph", ""), request.args.get("candidate", ""))
        if code is None:
            return Response(NO_CODE, status=404, content_type="text/plain; charset=utf-8")
        is_file = request.args.get("file") == "1"
        try:
            text = read_code(folder, code)
        except UnreadableFileError as error:
            said = error.message if error.hint is None else f"{error.message}. {error.hint}"
            return Response(said, status=404, content_type="text/plain; charset=utf-8")
        found = Response(text if is_file else plain_code(text), content_type="text/plain; charset=utf-8")
        found.headers["Cache-Control"] = "no-store"
        found.headers["X-Content-Type-Options"] = "nosniff"
        if is_file:
            found.headers["Content-Disposition"] = f'attachment; filename="{code_file_name(code)}"'
        return found

    flask_app.add_url_rule(ROUTE, "generated_code", answered)


def _asked(report: Report | None, key: str, candidate: str) -> StoredCode | None:
    codes = () if report is None else codes_of(report, key)
    return next((code for code in codes if code.candidate == candidate), None)
