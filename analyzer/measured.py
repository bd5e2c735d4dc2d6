"""All that a run has measured so far. Grows stage by stage; a report can be made of it at any moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from analyzer.core.device import Device, Versions
from analyzer.core.environment import Environment
from analyzer.core.generated_code import StoredCode
from analyzer.core.graphs import Capture, GraphKey, SourceLine
from analyzer.core.ops import OpLog
from analyzer.core.origin import Origin
from analyzer.core.plan import EAGER, FUSED, Choice, Plan
from analyzer.core.report import Stage, WorkloadFacts
from analyzer.core.run import Verification
from analyzer.core.samples import Samples
from analyzer.core.timing import Timing
from analyzer.core.trial import Accuracy
from analyzer.diagnosis import Diagnosis
from optimizers.trials import CandidateTrial, Found, JointTrial, Outline, for_direction

NOT_VERIFIED: Final = "not verified"


@dataclass(slots=True)
class Measured:
    """None and empty: not measured, or not yet. `trials` and `joint` are kept as they come, so that an interrupted
    search loses none. `uncompiled` are the graphs, by digest, that torch's defaults cannot compile or run, and why: the
    default runs them as captured. `compile_ns` is what the default took to compile each graph, by digest, and
    `outlines` what its operations tell. `default_ns` was taken in turn with `eager_ns`, and is None until then;
    `default_accuracy` is of the diagnosis, `accuracy_of_default` the latest there is. `holds_plan`: the plan was given,
    and stays, however it does.
    """

    facts: WorkloadFacts | None = None
    versions: Versions | None = None
    environment: Environment | None = None
    device: Device | None = None
    eager_ns: Samples | None = None
    default_ns: Samples | None = None
    default_accuracy: Accuracy | None = None
    capture: Capture | None = None
    uncompiled: Mapping[str, str] = field(default_factory=dict)
    compile_ns: Mapping[str, int] = field(default_factory=dict)
    outlines: Mapping[str, Outline] = field(default_factory=dict)
    ops: OpLog | None = None
    timing: Timing | None = None
    profiled_step_ns: int | None = None
    before: Diagnosis | None = None
    predicted_ns: Mapping[GraphKey, int] = field(default_factory=dict)
    trials: list[CandidateTrial] = field(default_factory=list)
    joint: list[JointTrial] = field(default_factory=list)
    found: Found | None = None
    plan: Plan | None = None
    verification: Verification | None = None
    after: Diagnosis | None = None
    stages: list[Stage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    partial: str | None = None
    partial_at: SourceLine | None = None
    origin: Origin | None = None
    holds_plan: bool = False
    generated_code: list[StoredCode] = field(default_factory=list)

    @property
    def digests(self) -> tuple[str, ...]:
        """Each captured graph once, in order of first call."""
        graphs = self.capture.graphs if self.capture else ()
        return tuple(dict.fromkeys(graph.key.digest for graph in graphs))

    @property
    def accuracy_of_default(self) -> Accuracy | None:
        """What the results of torch.compile's defaults were last judged to be; None where they were not."""
        checked = self.verification.default.accuracy if self.verification is not None else None
        return self.default_accuracy if checked is None else checked

    @property
    def plan_note(self) -> str:
        """What a plan says of how it was measured."""
        checked = self.verification
        if checked is None or checked.default.step_ns is None or checked.planned.step_ns is None:
            return NOT_VERIFIED
        before_ns, after_ns = checked.default.step_ns.median_ns, checked.planned.step_ns.median_ns
        return f"torch.compile default {before_ns} ns a step, this plan {after_ns} ns, measured in turn"

    def plan_of(self, choices: Mapping[str, str], *, is_compiled: bool = True) -> Plan:
        """A plan that names a candidate for every captured graph; where `choices` has none, what the default runs. One
        that leaves the model alone names `eager` for each: no graph of it is compiled.
        """
        assert self.versions is not None
        assert self.capture is not None
        return Plan(
            choices=tuple(
                Choice(graph.key, self._chosen(graph.key, choices) if is_compiled else EAGER)
                for graph in self.capture.graphs
            ),
            device=self.device.name if self.device else "unknown",
            versions=self.versions,
            is_compiled=is_compiled,
        )

    def _chosen(self, key: GraphKey, choices: Mapping[str, str]) -> str:
        chosen = choices.get(key.digest)
        return self._default(key) if chosen is None else for_direction(chosen, key.direction)

    def _default(self, key: GraphKey) -> str:
        return EAGER if key.digest in self.uncompiled else FUSED
