"""Opens five pull requests on a repository, plays the action on each, and writes benchmarks/results/ci_demo.md.

python -m benchmarks.ci_demo            # a few minutes on two cores
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.ci_demo.demonstration import demonstrate
from benchmarks.ci_demo.page import page

PAGE: Final = Path(__file__).resolve().parents[1] / "results" / "ci_demo.md"


def main() -> int:
    with TemporaryDirectory(prefix="graphbound-demo-") as scratch:
        shown = demonstrate(Path(scratch).resolve(), lambda text: print(text, file=sys.stderr, flush=True))
    PAGE.write_text(page(shown))
    wrong = [problem for one in shown.played for problem in one.problems]
    print("\n".join(wrong) or f"all as it should be: {PAGE.name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
