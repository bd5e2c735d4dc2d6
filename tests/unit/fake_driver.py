"""A session whose measurements are known, and that can be made to fail at any call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from analyzer.core.device import Device, Versions
from analyzer.core.generated_code import GeneratedCode
from analyzer.core.graphs import Capture, GraphBreak, SourceLine
from analyzer.core.plan import FUSED, Plan
from analyzer.core.report import WorkloadFacts
from analyzer.core.run import Event, LostChildError, Skip, Verification, Way
from analyzer.core.samples import Samples
from analyzer.core.timing import Timing
from analyzer.core.trial import Accuracy, Trial, TrialOutcome
from analyzer.session_words import way
from optimizers.trials import Outline
from tests.rule_facts import a_captured_graph, an_environment, captured
from tests.unit.derive.runs import DEVICE, END, MIDDLE, START, A, B, recording, region, timing
from tests.unit.optimizers.fake_lab import around

VERSIONS = Versions(graphbound="0.1.0", python="3.11.9", torch="2.13.0")
STEP_NS = 800_000
BREAK = GraphBreak(SourceLine("/home/ada/net.py", 15), "print", None, "0/0")


def facts(device: str = "cuda") -> WorkloadFacts:
    return WorkloadFacts("net", "/home/ada/net.py", "get_model", "inference", device, ("float32[2]",), 10)


def a_capture() -> Capture:
    first = replace(a_captured_graph(1), key=A, ended_by=BREAK)
    return captured(first, replace(a_captured_graph(2), key=B), breaks=(BREAK,))


def a_timing(step_ns: int = STEP_NS) -> Timing:
    parts = {START: 20_000, A: 350_000, MIDDLE: 30_000, B: 380_000, END: 20_000}
    return timing(*(region(key, ns) for key, ns in parts.items()), step_ns=step_ns)


def a_way(name: str, step_ns: int, outcome: TrialOutcome = TrialOutcome.MEASURED) -> Way:
    return Way(name, outcome, None, around(step_ns), None)


def lost(doing: str = "trying a candidate", *, hung: bool = False, **event: Any) -> LostChildError:
    return LostChildError(f"the process died while {doing}", event=Event(doing, **event), hung=hung)


@dataclass
class FakeDriver:
    """`saves` says what share of a default step a candidate leaves, for trials and for plans (by their candidates);
    `fails` what a method raises, at its first call, or errors for its first calls.
    """

    device: str = "cuda"
    saves: Mapping[str, float] = field(default_factory=dict)
    plan_saves: Mapping[str, float] | None = None
    wrong: frozenset[str] = frozenset()
    eager_ns: int = 3 * STEP_NS
    fails: dict[str, BaseException | list[BaseException]] = field(default_factory=dict)
    is_isolated: bool = True
    called: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    skips: list[tuple[Skip, ...]] = field(default_factory=list)
    variants: Capture | None = None
    default_accuracy: Accuracy | None = None
    is_open: bool = False
    known: Device | None = None
    code: tuple[GeneratedCode, ...] = ()
    package: Trial = field(
        default_factory=lambda: Trial(TrialOutcome.MEASURED, step_ns=around(STEP_NS), against=around(STEP_NS))
    )

    def start(self, skip: tuple[Skip, ...], limit_s: float | None) -> None:
        self.called.append(("load", ()))
        self.skips.append(skip)
        self._fail("load")
        self.is_open = True

    def call(
        self, method: str, *arguments: Any, limit_s: float | None = None, compile_limit_s: float | None = None
    ) -> Any:
        assert self.is_open, f"{method} was asked of a process that is gone"
        self.called.append((method, arguments))
        self._fail(method)
        return getattr(self, f"_{method}")(*arguments)

    def known_device(self, kind: str, limit_s: float | None) -> Device | None:
        assert self.is_open, "the device was asked of a process that is gone"
        self.called.append(("known_device", (kind,)))
        return self.known

    def measure_device(self, kind: str, limit_s: float | None, *, renew: bool = False) -> Device:
        self.called.append(("measure_device", (kind,)))
        self._fail("measure_device")
        return replace(DEVICE, kind=kind)

    def close(self) -> None:
        self.is_open = False

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.called]

    def _fail(self, method: str) -> None:
        planned = self.fails.pop(method, [])
        errors = planned if isinstance(planned, list) else [planned]
        if errors:
            error, self.fails[method] = errors[0], errors[1:]
            if isinstance(error, LostChildError):
                self.is_open = False
            raise error

    def _start(self) -> WorkloadFacts:
        return facts(self.device)

    def _versions(self) -> Versions:
        return VERSIONS

    def _environment(self) -> Any:
        return an_environment()

    def _time_eager(self) -> Samples:
        return around(self.eager_ns)

    def _capture(self) -> Capture:
        return a_capture()

    def _uncompiled(self) -> dict[str, str]:
        return {skip.digest: skip.reason for skip in self.skips[-1] if skip.candidate == FUSED}

    def _generated_code(self) -> tuple[GeneratedCode, ...]:
        return self.code

    def _operators(self) -> None:
        return None

    def _facts(self) -> WorkloadFacts:
        return facts(self.device)

    def _time(self) -> Timing:
        return a_timing()

    def _time_against_eager(self) -> tuple[Samples, Samples]:
        return around(self.eager_ns), around(STEP_NS)

    def _profile(self, path: Path) -> int:
        recording().save(path)
        return 2 * STEP_NS

    def _run_variants(self) -> Capture | None:
        return self.variants

    def _judge_default(self) -> Accuracy | None:
        return self.default_accuracy

    def _export(self, path: Path) -> Trial:
        if self.package.outcome is TrialOutcome.MEASURED:
            path.write_bytes(b"package")
        return self.package

    def _prepare_judge(self) -> None:
        pass

    def _compile_times(self) -> dict[str, int]:
        return {A.digest: 2_000_000_000, B.digest: 1_000_000_000}

    def _outlines(self) -> dict[str, Outline]:
        return {}

    def _in_turn(self, choices: Mapping[str, str], other: Mapping[str, str], step_ns: int) -> None:
        return None

    def _build(self, wanted: Mapping[str, Any], left_s: float | None = None) -> Capture:
        return a_capture()

    def _keeps_built(self) -> bool:
        return True

    def _trial(self, choices: Mapping[str, str]) -> Trial:
        if self.wrong & set(choices.values()):
            return Trial(TrialOutcome.WRONG_RESULT, "off by 1", around(STEP_NS // 9), around(STEP_NS))
        return Trial(TrialOutcome.MEASURED, None, around(self._step_ns(choices.values(), self.saves)), around(STEP_NS))

    def _verify(self, plan: Plan) -> Verification:
        names = [choice.candidate for choice in plan.choices]
        saves = self.saves if self.plan_saves is None else self.plan_saves
        is_wrong = bool(self.wrong & set(names)) and plan.is_compiled
        planned_ns = self._step_ns(names, saves) if plan.is_compiled else self.eager_ns
        default = way("default", around(STEP_NS), self.default_accuracy)
        if FUSED in self.wrong:
            default = replace(default, outcome=TrialOutcome.WRONG_RESULT)
        return Verification(
            eager=a_way("eager", self.eager_ns),
            default=default,
            planned=a_way("plan", planned_ns, TrialOutcome.WRONG_RESULT if is_wrong else TrialOutcome.MEASURED),
            capture=a_capture() if plan.is_compiled else None,
            timing=a_timing(planned_ns) if plan.is_compiled else None,
        )

    def _profile_plan(self, path: Path) -> int:
        return self._profile(path)

    def _step_ns(self, candidates: Any, saves: Mapping[str, float]) -> int:
        step = float(STEP_NS)
        for candidate in candidates:
            step *= 1 - saves.get(candidate, 0.0)
        return round(step)
