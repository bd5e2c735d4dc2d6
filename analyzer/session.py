"""Everything that is done with the user's model in one process: load, capture, time, profile, try, verify.

Runs in the child process of the command, or in the caller's own in a notebook. Gives back core values only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from analyzer.core.device import Versions
from analyzer.core.environment import Environment
from analyzer.core.generated_code import GeneratedCode
from analyzer.core.graphs import Capture
from analyzer.core.ops import OpLog
from analyzer.core.plan import FUSED, Plan
from analyzer.core.report import WorkloadFacts
from analyzer.core.run import Event, PoisonedDeviceError, Skip, Verification
from analyzer.core.samples import Samples
from analyzer.core.settings import Mode, WorkloadSpec
from analyzer.core.timing import Timing
from analyzer.core.trial import Accuracy, Trial
from analyzer.package_trial import package_trial
from analyzer.session_ears import Announcer, CompileClock, Telling
from analyzer.session_judge import StepJudge
from analyzer.session_trials import Bench, default_compile_ns, require_compiled, uses_cuda_graphs, with_memory
from analyzer.session_words import first_step_notes, require_lasting, root_of, way
from collectors import torch_compat
from collectors.capture import GraphLog
from collectors.compiled_parts import CompiledParts
from collectors.crowd import crowd_between, read_crowd
from collectors.describe import first_line, given, workload_facts
from collectors.effects import written
from collectors.environment import read_environment
from collectors.health import device_is_healthy
from collectors.host_ahead import RegionAhead, sample_host_ahead
from collectors.kept_code import KeptCode
from collectors.left_gradients import with_gradient_mode
from collectors.loading import load_workload
from collectors.memory import Growth, TrialMemory
from collectors.op_log import record_ops
from collectors.outputs import not_finite, unread
from collectors.probe import Probe
from collectors.profiler import profile_steps
from collectors.reference import step_results
from collectors.sameness import StepWatch
from collectors.set_timing import first_passes, sets_in_turn, time_sets
from collectors.spent_inputs import spent_inputs
from collectors.state import State
from collectors.step import Stepper
from collectors.timing import MIN_SAMPLES, as_it_is, sample_in_turn, sample_steps, time_workload, turn_count, warm_up
from collectors.user_errors import describe
from collectors.variants import run_variants
from collectors.versions import known_backends, versions
from collectors.workload import Workload
from optimizers.accuracy import accused
from optimizers.backend import Failure, SwitchBackend, Watch, WatchedPlan, failure_of
from optimizers.candidates.pair import Pair, changes_of, pair_of
from optimizers.outline import outline_of
from optimizers.trials import Choices, Outline

VERIFY_S: Final = 4.0
"""Wall time of the last measurement, before against after: nearly three times that of a trial."""

T = TypeVar("T")


class Session:
    """One workload in this process. Methods are called in the order they stand in."""

    def __init__(self, workload: Workload, announce: Callable[[Event], None], skip: tuple[Skip, ...] = ()) -> None:
        self._parts = CompiledParts(workload)
        self._workload = self._parts.workload
        self._announce = announce
        self._skip = {(s.digest, s.candidate): Failure(s.outcome, s.reason) for s in skip}
        self._root = root_of(workload.source)
        self._state = State(self._workload)
        self._eager = Stepper(self._workload, self._workload.model, self._state)
        self._judge = StepJudge(announce)
        self._clock = CompileClock()
        self._ends_s = math.inf
        self._notes: list[str] = []
        self._is_built = False
        self._reset_log()

    @classmethod
    def load(cls, spec: WorkloadSpec, announce: Callable[[Event], None], skip: tuple[Skip, ...] = ()) -> Session:
        """Build the workload that `spec` names. Raises GraphboundError where it cannot be built."""
        announce(Event("loading the model"))
        return cls(load_workload(spec), announce, skip)

    # -- observing ------------------------------------------------------------------------------------------------

    def start(self) -> WorkloadFacts:
        """Run one eager step, so that a model that does not run is told apart from one that does not compile.

        Raises UsageError for inputs that this step used up.
        """
        self._announce(Event("running the model once"))
        self._parts.run_as_written()
        with self._telling("the model's first step"):
            self._state.restore()
            self._eager.prepare()
            results = step_results(self._eager)
            self._state.note_draws()
        require_lasting(spent_inputs(self._workload.every_set))
        self._notes += first_step_notes(not_finite(results), unread(results), self._state.unread)
        self._state.mutates_inputs = self._state.changed_inputs()
        self._state.written = written(self._workload, self._state)
        if self._state.mutates_inputs:
            self._notes.append("the step writes into its inputs: they are put back before each step")
        if self._workload.mode is Mode.INFERENCE and self._state.changed_model():
            self._notes.append("the step changes the model's state: it is put back before each trial")
        return self.facts()

    def close(self) -> None:
        """Leave the model, torch's settings and the compiled frames as they were found."""
        torch_compat.reset()
        self._state.restore()
        self._parts.put_back()

    def facts(self) -> WorkloadFacts:
        return workload_facts(self._workload, (*self._notes, *self._judge.notes))

    def versions(self) -> Versions:
        return versions()

    def known_backends(self) -> tuple[str, ...]:
        return known_backends()

    def environment(self) -> Environment:
        """Torch's global settings, and the gradient mode of a step of the user's own. Puts the first state back."""
        return with_gradient_mode(read_environment(), self._eager)

    def time_eager(self) -> Samples:
        """The model as it is, without torch.compile: a few steps, so that a run that ends early says something."""
        self._announce(Event("timing eager"))
        with self._telling("an eager step"):
            return sample_steps(self._eager, MIN_SAMPLES)

    def capture(self) -> Capture:
        """Compile with torch's defaults and run to steady state. Raises UserProgramError where torch.compile fails."""
        self._announce(Event("compiling with torch.compile's defaults"))
        self._compile({})
        with self._telling("the first compiled step"), self._log.listening():
            first_ns = self._compiled.timed()
            self._announce(Event("warming up"))
            warmup_ns, is_steady = warm_up(self._compiled, self._log)
        self._warmup = ((first_ns, *warmup_ns), is_steady)
        require_compiled([graph.failures.get(FUSED) for graph in self._backend.graphs])
        compile_ns = max(first_ns - min(warmup_ns), 0)
        return self._log.capture(compile_ns=compile_ns, first_call_ns=first_ns)

    def uncompiled(self) -> dict[str, str]:
        """The graphs that torch's defaults cannot compile or run, by digest, and why; such a graph runs as captured."""
        found = ((graph.digest, graph.failures.get(FUSED)) for graph in self._backend.graphs)
        return {digest: failure.reason for digest, failure in found if failure is not None}

    def generated_code(self) -> tuple[GeneratedCode, ...]:
        """Of the default's graphs; once a plan is verified of its, with none where it is the default or eager."""
        return self._code.codes()

    def time(self) -> Timing:
        """The clean pass."""
        self._announce(Event("timing without the profiler"))
        with self._telling("a timed step"), self._log.listening():
            watch = StepWatch(self._compiled, self._probe, self._log)
            before = read_crowd()
            timing = time_workload(self._compiled, self._probe, self._warmup)
            crowd = crowd_between(before, read_crowd(), self._workload.device)
            sets = time_sets(self._compiled)
            return replace(timing, crowd=crowd, changes=watch.changes(), sets=sets)

    def time_against_eager(self) -> tuple[Samples, Samples]:
        """The model as it is and its default compilation, in turn: steps timed minutes apart cannot be compared."""
        with self._telling("a timed step"), self._log.listening():
            eager_ns, _ = warm_up(self._eager, self._log)
            rounds = turn_count(max(min(eager_ns), self._compiled.timed()), ways=2)
            eager, default = sample_in_turn(((self._eager, as_it_is), (self._compiled, as_it_is)), rounds)
            return eager, default

    def operators(self) -> OpLog | None:
        """What one eager step does, operator by operator. None, with a note, where the model does not run under it."""
        self._announce(Event("reading the model's operators"))
        try:
            # One more step in steady state. Putting the first state back here would have the profiled pass run other
            # code than the timed one: a counter begins again, an optimizer kept on the model is made again.
            return record_ops(self._eager, self._root)
        except Exception as error:  # some code refuses a dispatch mode; that costs these findings, not the run
            self._state.restore()
            self._notes.append(f"its operators could not be logged: {describe(error)}")
            return None

    def host_ahead(self) -> tuple[RegionAhead, ...] | None:
        """The default's regions with the host ahead of the device; None where it cannot be (see there). CUDA only."""
        with self._telling("a step with the host ahead"), self._log.listening():
            return sample_host_ahead(self._compiled, self._probe)

    def profile(self, path: Path) -> int:
        """The profiled pass, written to `path`. Returns the median profiled step in ns."""
        self._announce(Event("recording a trace"))
        with self._telling("a profiled step"), self._log.listening():
            return profile_steps(self._compiled, self._probe, path)

    def run_variants(self) -> Capture | None:
        """Call the default on the workload's other inputs; the capture with what torch did for them, and a note.

        None where there are none. To be called after the measurements: it leaves more compiled code behind.
        """
        if not self._workload.variants:
            return None
        self._announce(Event("running the other inputs"))
        self._notes.append(run_variants(self._workload, self._compiled.model, self._state, self._log))
        return self._log.capture(compile_ns=0, first_call_ns=0)

    def judge_default(self) -> Accuracy | None:
        """The results of torch.compile's defaults against the model's own. Puts the first state back."""
        self.prepare_judge()
        with self._telling("a compiled step"):
            return accused(self._judge.accuracy(self._compiled))

    # -- trying ---------------------------------------------------------------------------------------------------

    def prepare_judge(self) -> None:
        """Run eager and a higher-precision copy once, to judge every candidate by."""
        if self._judge.is_prepared:
            return
        with self._telling("an eager step"):
            self._judge.prepare(self._eager)

    def build(self, wanted: Mapping[str, Sequence[str]], left_s: float | None = None) -> Capture:
        """Compile the default for every graph, and for those named by digest these candidates beside it.

        After `left_s` nothing more is begun but the default. Raises KeyError for an id that is no candidate's.
        """
        self._announce(Event("compiling the candidates"))
        self._ends_s = math.inf if left_s is None else time.monotonic() + left_s
        pairs = {digest: tuple(pair_of(name) for name in names) for digest, names in wanted.items()}
        is_new = not self.keeps_built()
        if is_new:
            self._compile(pairs)
        else:
            self._backend.select({})
            self._backend.extend(pairs)
            self._state.restore()
        self._is_built = True
        with self._telling("the first step of the candidates"), self._log.listening():
            first_ns = self._compiled.timed()
            warm_up(self._compiled, self._log)
            if is_new:
                self._judge.compare_with(self._compiled)
        return self._log.capture(compile_ns=first_ns, first_call_ns=first_ns)

    def keeps_built(self) -> bool:
        """Whether the next `build` compiles only what the last one did not."""
        return self._is_built and self._backend.is_open

    def trial(self, choices: Mapping[str, str]) -> Trial:
        """One step under `choices` (candidate by digest), in turn with the default, and its accuracy.

        What the candidate raises becomes its outcome. Raises PoisonedDeviceError when the device did not survive.
        """
        self._announce(Event("trying a candidate"))
        known = self._bench.known_failure(choices)
        if known is not None:
            return Trial(outcome=known.outcome, reason=known.reason)
        self._state.restore()
        measured = self._at_its_own_cost(lambda: self._bench.measure(choices))
        return Trial(measured.outcome, measured.reason) if isinstance(measured, Failure) else measured

    def in_turn(self, choices: Choices, other: Choices, step_ns: int) -> tuple[Samples, Samples] | None:
        """Steps of some `step_ns` under `other` and under `choices`, taken in turn; None where they cannot be."""
        taken = self._at_its_own_cost(lambda: self._bench.samples(choices, step_ns, other))
        return None if isinstance(taken, Failure) else taken

    def compile_times(self) -> dict[str, int]:
        """What torch.compile's defaults took to compile each graph, in ns by digest."""
        return default_compile_ns(self._clock, [graph.digest for graph in self._backend.graphs])

    def outlines(self) -> dict[str, Outline]:
        """What the operations of each captured graph tell, by digest."""
        return {g.digest: outline_of(g.captured) for g in self._backend.graphs if g.captured is not None}

    def _at_its_own_cost(self, do: Callable[[], T]) -> T | Failure:
        """What a candidate raises is its failure. Raises PoisonedDeviceError when the device did not survive."""
        try:
            with self._log.listening():
                return do()
        except Exception as error:  # a candidate may raise anything; it costs the candidate
            failure = failure_of(error)
            if not device_is_healthy(self._workload.device):
                raise PoisonedDeviceError(failure.reason) from error
            return failure
        finally:
            self._backend.select({})

    def verify(self, plan: Plan) -> Verification:
        """Compile with the plan as production would, and measure it in turn with eager and torch.compile default.

        The default is the one that the trials were held against: compiling it again would cost a large model minutes.
        """
        self._announce(Event("recompiling with the plan"))
        default, memory = self._compiled, TrialMemory(self._workload.device)
        self._backend.select({})
        growth, others = Growth(self._workload.device), self._judge.kept_bytes() + self._backend.kept_bytes({})
        planned = self._planned(plan, default)
        # Both compilations keep their entries on the same frames, beside those that a recompile may add.
        with torch_compat.dynamo_limit(2), self._log.listening(), self._telling("a step under the plan"):
            first_ns, costs = first_passes(planned, self._log)
            own = growth.bytes()
            warmup = warm_up(planned, self._log)
            capture = self._log.capture(compile_ns=first_ns, first_call_ns=first_ns)
            accuracy = self._judge.accuracy(planned, changes_of(choice.candidate for choice in plan.choices))
            default_accuracy = accused(accuracy if planned is default else self._judge.accuracy(default))
            warm_up(default, self._log)
            warm_up(self._eager, self._log)
            before = read_crowd()
            eager_ns, default_ns, planned_ns = self._in_turn(default, planned, plan)
            crowd = crowd_between(before, read_crowd(), self._workload.device)
            sets = sets_in_turn(self._eager, default, planned if plan.is_compiled else None, costs)
            timing = time_workload(planned, self._probe, warmup) if plan.is_compiled else None
            # Right after the plan's own, so that a graph's before and after are of the same minute of the machine.
            default_timing = time_workload(default, self._probe, warmup) if plan.is_compiled else None
            needs = partial(memory.of_steps, has_cuda_graphs=False, kept_bytes=others + own)
            eager_way = with_memory(way("eager", eager_ns), needs(self._eager))
            default_way = with_memory(way("default", default_ns, default_accuracy), needs(default))
            has_graphs = any(uses_cuda_graphs(choice.candidate) for choice in plan.choices)
            needed = needs(planned, has_cuda_graphs=has_graphs, kept_bytes=others)
            planned_way = with_memory(way("plan", planned_ns, accuracy), needed)
        self._verified = planned
        return Verification(
            eager=eager_way,
            default=default_way,
            planned=planned_way,
            capture=capture if plan.is_compiled else None,
            timing=timing,
            default_timing=default_timing,
            crowd=crowd,
            sets=sets,
        )

    def profile_plan(self, path: Path) -> int:
        """The profiled pass of what was verified last. On a GPU nothing may be timed in this process afterwards."""
        self._announce(Event("recording a trace under the plan"))
        with self._telling("a profiled step under the plan"), self._log.listening():
            return profile_steps(self._verified, self._probe, path)

    def export(self, path: Path) -> Trial:
        """The model as an AOTInductor package at `path`, judged and timed in turn with the default."""
        return package_trial(self._workload, self._state, self._compiled, self._judge.results, path)

    # -- how ------------------------------------------------------------------------------------------------------

    def _reset_log(self) -> None:
        self._probe = Probe(self._workload.device)
        self._log = GraphLog(self._root, lambda: self._probe.current, begins=first_line(self._workload.model))

    def _compile(self, wanted: Mapping[str, Sequence[Pair]]) -> None:
        torch_compat.reset()
        self._is_built = False
        self._reset_log()
        self._clock.begin_build()
        self._code = KeptCode(FUSED)
        self._backend = SwitchBackend(wanted, self._watch(), self._skip)
        self._compiled = self._stepper(self._backend)
        judge, device, kept = self._judge.accuracy, self._workload.device, self._judge.kept_bytes
        self._bench = Bench(self._compiled, self._backend, self._log, self._probe, self._clock, judge, device, kept)
        self._state.restore()

    def _planned(self, plan: Plan, default: Stepper) -> Stepper:
        self._code = KeptCode()
        if not plan.is_compiled:
            return self._eager
        if plan.is_default:
            # Measured against itself it shows the noise, and is compiled once.
            return default
        self._log.forget_kernels()
        return self._stepper(WatchedPlan(plan, self._watch()))

    def _watch(self) -> Watch:
        announcer = Announcer(self._announce, self._log, self._clock, self._code)
        return Watch(self._workload.device, self._probe, announcer, lambda: time.monotonic() > self._ends_s)

    def _stepper(self, backend: Any) -> Stepper:
        return Stepper(self._workload, torch_compat.compiled_model(self._workload.model, backend), self._state)

    def _in_turn(self, default: Stepper, planned: Stepper, plan: Plan) -> tuple[Samples, Samples, Samples]:
        self._announce(Event("measuring before against after"))
        rounds = turn_count(default.timed(), ways=3, target_s=VERIFY_S)
        steppers = (self._eager, default, planned) if plan.is_compiled else (self._eager, default)
        taken = sample_in_turn(tuple((stepper, as_it_is) for stepper in steppers), rounds)
        return taken[0], taken[1], taken[2 if plan.is_compiled else 0]

    def _telling(self, doing: str) -> Telling:
        return Telling(doing, self._root or Path.cwd(), given(self._workload))
