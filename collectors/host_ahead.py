"""Each region's own time with the host far ahead of the device, so that nothing in it waits for a launch.

A kernel that does nothing holds the device until the whole step is queued behind it; then the step runs as fast as the
device alone can. Only where no step waits for the device in its middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from analyzer.core.graphs import Region
from collectors import torch_compat
from collectors.probe import Probe, StepCalls
from collectors.step import Stepper
from collectors.timing import PROBE_ROUNDS, PROBES_A_ROUND, probe_steps, region_medians

HOLD_STEPS: Final = 4
"""Held for so many times what a step takes: a host that drifts to twice the time is still ahead."""
HOLD_NS: Final = 1_000_000
"""And a millisecond more, for what the first launch behind it costs."""
MOST_HOLD_NS: Final = 2_000_000_000
"""Longer steps are left out: a device held for seconds may trip a desktop's watchdog."""


@dataclass(frozen=True, slots=True)
class RegionAhead:
    """One region in ns a step, the median, taken in turn: as the host launches it, and with the host ahead."""

    region: Region
    launched_ns: int
    ahead_ns: int


def sample_host_ahead(stepper: Stepper, probe: Probe) -> tuple[RegionAhead, ...] | None:
    """None where the host could not get ahead: the step waits for the device, is too long, or has more launches than
    the driver queues (about a thousand).
    """
    hold_ns = HOLD_NS + HOLD_STEPS * stepper.timed()
    if hold_ns > MOST_HOLD_NS:
        return None
    launched: list[StepCalls] = []
    ahead: list[StepCalls] = []
    for _ in range(PROBE_ROUNDS):
        stepper.timed()
        launched += probe_steps(stepper, probe, PROBES_A_ROUND)
        with probe.clocking():
            found = [_step_ahead(stepper, probe, hold_ns) for _ in range(PROBES_A_ROUND)]
        ahead += [step for step in found if step is not None]
    # A host interrupted now and then loses a step; one that waits in its step loses all.
    return paired(launched, ahead) if len(ahead) > PROBE_ROUNDS * PROBES_A_ROUND // 2 else None


def paired(launched: Sequence[StepCalls], ahead: Sequence[StepCalls]) -> tuple[RegionAhead, ...]:
    """The regions that both kinds of steps have."""
    others = dict(region_medians(ahead))
    medians = region_medians(launched)
    return tuple(RegionAhead(region, ns, others[region]) for region, ns in medians if region in others)


def _step_ahead(stepper: Stepper, probe: Probe, hold_ns: int) -> StepCalls | None:
    """None where the device came to the step before all of it was queued."""
    stepper.prepare()
    torch_compat.hold_device(hold_ns)
    probe.begin_step()
    result = stepper.run()
    end = probe.end_step()
    is_ahead = not probe.has_begun()
    stepper.wait()
    calls = probe.calls(end)
    del result
    return calls if is_ahead else None
