"""The fixture `bottleneck` of pytest, which holds a model to what its test says of it.

Loaded in every pytest run of an environment that has Graphbound: until the fixture is used it imports pytest alone.
"""

from __future__ import annotations

import itertools
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from analyzer.pytest_plugin_model import Bottleneck

OPTION: Final = "graphbound_out"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9_./:-]+")
_NAME_LIMIT: Final = 120
"""Characters of a folder's name, under the 255 bytes of any file system."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("graphbound").addoption(
        "--graphbound-out",
        dest=OPTION,
        metavar="DIR",
        help="keep the run folder of each model that a test gives to `bottleneck`, for `analyze show` and `dashboard`",
    )


@pytest.fixture
def bottleneck(request: pytest.FixtureRequest) -> Iterator[Callable[..., Bottleneck]]:
    """Hold a model to what is said of it: bottleneck(model, inputs).has(graph_breaks=0, bound="compute").

    `has` takes the gates of `analyze check` (a number is the most that passes, a pair the least and the most) and
    `bound`. The model runs in this process and is left as it was. mode="training" runs forward and backward; device
    moves it; runs=False compiles and calls it, and times nothing; optimize=True searches for a plan as well. With
    plan="plan.json" (from pytest's root) plan_coverage, accuracy, times, memory and bound are those of that plan,
    however it does; graphs, breaks, kernels and syncs are always those of torch.compile's defaults. A model of which
    nothing is asked fails the test: it would hold whatever became of it.
    """
    numbers = itertools.count(1)
    given: list[Bottleneck] = []

    def hold(
        model: Any,
        inputs: Any = None,
        *,
        mode: str = "inference",
        device: str | None = None,
        runs: bool = True,
        optimize: bool = False,
        plan: str | os.PathLike[str] | None = None,
    ) -> Bottleneck:
        # When a test asks, and not before: it brings numpy and msgspec, and torch where the model is run.
        from analyzer.core.errors import UsageError
        from analyzer.pytest_plugin_model import Bottleneck, HeldSettings, plan_file

        root = request.config.rootpath
        named = None if plan is None else plan_file(plan, root)
        if named is not None and optimize:
            raise UsageError("bottleneck() was given plan= and optimize=True: a plan is held in place of a search")
        settings = HeldSettings(mode, device, runs, optimize, _folder(request, next(numbers)), root, named)
        given.append(Bottleneck(model, inputs, settings))
        return given[-1]

    yield hold
    if not all(one.was_asked for one in given):
        pytest.fail("bottleneck(model, inputs) was asked nothing: claim something with .has(...)", pytrace=False)


def _folder(request: pytest.FixtureRequest, number: int) -> Path | None:
    """Of one model of one test: the same in every run, and another one for every test. None: it is not kept."""
    out: str | None = request.config.getoption(OPTION)
    if out is None:
        return None
    node_id: str = request.node.nodeid
    name = _UNSAFE.sub("-", node_id).strip("-.")[-_NAME_LIMIT:]
    if _PLAIN_ID.fullmatch(node_id) is None or len(node_id) > _NAME_LIMIT:
        name += f"-{zlib.crc32(node_id.encode(errors='surrogatepass')):08x}"
    # A test may have changed the working directory.
    return request.config.invocation_params.dir / out / (name if number == 1 else f"{name}-{number}")
