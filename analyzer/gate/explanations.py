"""What `analyze explain` says of a gate beside what it counts: how it is held, and when it is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analyzer.core.quantities import share
from analyzer.derive.slower import P_LIMIT, STORED_FACTOR, TURN_FACTOR
from analyzer.gate.gates import CODE_MARGIN, MEMORY_MARGIN, STARVED_MARGIN


@dataclass(frozen=True, slots=True)
class Explanation:
    gate: str
    how: str
    wrong: str


_RELEASE: Final = "Another release of torch may change it: a value that was stored with another one warns at most."
_DEFAULTS: Final = "It is always that of torch.compile's defaults, where a plan is named too."

EXPLANATIONS: Final = (
    Explanation(
        "graph_breaks",
        "Counted while the model is compiled with torch.compile's defaults and called; exact on any machine, and held "
        "to the stored number, or to a max. A line that breaks is one for each chain of calls that reaches it: moved "
        "into a method it is still one, and called from two lines it is two. A loop over it, and inputs of other types "
        "and sizes, are not told apart.",
        f"A break on a path that these inputs do not take is not seen. {_RELEASE}",
    ),
    Explanation(
        "graphs",
        "Different graphs of the capture, forward and backward of one counted once; exact, as graph_breaks is.",
        "Two calls of one graph are one graph, however often a step makes them. A break in a called function divides "
        f"its callers as well: moved there, the same break makes more graphs. {_RELEASE}",
    ),
    Explanation(
        "recompiles",
        "Counted over the calls that compile, and over those of get_input_variants() where the file has it; exact.",
        f"Sizes that none of the inputs has are not tried. {_RELEASE}",
    ),
    Explanation(
        "cudagraph_refusals",
        "Graphs that torch refused to replay when it was asked for CUDA graphs: in a run with a search, or with a plan "
        "that has them.",
        "In a run that asked for none, and on a CPU, it is not judged; nor against another value from before what is "
        "counted changed: parts of a graph are no refusals any more, and those of trials are heard.",
    ),
    Explanation(
        "new_findings",
        "Findings of rules that need no clock, matched with the stored ones by rule, file, function and text of the "
        "line: code that only moved is the same.",
        "A line that was moved into another function and edited as well counts as new.",
    ),
    Explanation(
        "renamed_model",
        "Fails where nothing is stored for a model, and the file of a stored one of its kind and mode is gone.",
        "Of a new model beside one that was removed: --init accepts both.",
    ),
    Explanation(
        "kernels",
        f"The average of the recorded steps, in graphs and between them. {_DEFAULTS}",
        f"A step that takes another path each time has no exact number: give it a margin. {_RELEASE}",
    ),
    Explanation(
        "host_syncs",
        "Waits for the device in a recorded step, its closing one and copies to the device apart. " + _DEFAULTS,
        "On a CPU there is nothing to wait for, and it is not judged.",
    ),
    Explanation(
        "plan_coverage",
        "The share of the step's calls of graphs for which the plan of this model, named in the policy, has a "
        "candidate. Its limit is a min.",
        "A graph that the plan names may still be slower under it: step_time tells.",
    ),
    Explanation(
        "generated_code",
        f"Bytes of what Inductor wrote, without comments and paths; {share(CODE_MARGIN)} more are let pass.",
        f"More code need not be slower. {_RELEASE}",
    ),
    Explanation(
        "accuracy",
        "The worst relative error of any tensor against a run in higher precision, over what is allowed of it: of the "
        "plan where one is named, else of torch.compile's defaults. 1 is the most. It needs no stored value.",
        "Of a model with random numbers in it, results are compared as far as its draws repeat.",
    ),
    Explanation(
        "step_time",
        "With --against REF both sides run in turn, in three pairs of processes; SLOWER needs a factor of "
        f"{TURN_FACTOR}, p < {P_LIMIT} of a rank test, and that every pair agrees. The ratio is the median of those of "
        "turns that were taken together, and the times shown are of the pair of turns that has it. Otherwise it is "
        "held to stored samples of the same machine class and torch, with a factor of "
        f"{STORED_FACTOR}. A plan that the policy names is timed as it is; in turn with a commit both sides run under "
        "torch.compile's defaults. A pass says how small a slow-down would most likely have been found.",
        "While other programs keep the machine busy, nothing is called slower, and the headline says that a slow-down "
        "may have gone unseen. benchmarks/results/ci.md has how often it is wrong.",
    ),
    Explanation(
        "starved_share",
        f"The share of a step in which the device waits for the host; {share(STARVED_MARGIN)} of the step more than "
        "was stored on the same machine class are let pass.",
        "On a CPU it moves with the neighbours: only a written max holds it there.",
    ),
    Explanation(
        "peak_memory",
        f"The most that was allocated in a step, with the pools of CUDA graphs; {share(MEMORY_MARGIN)} more than was "
        "stored on the same machine class are let pass. It is measured in a run with a search, or with a plan.",
        "On a CPU, and in a run without either, it is not judged.",
    ),
    Explanation(
        "compile_time",
        "What compiling with torch.compile's defaults took, first calls included. Only a written max holds it.",
        "A warm cache of Inductor hides most of it.",
    ),
)


def explanation(gate_id: str) -> Explanation:
    """Raises KeyError for an id that is not in the list."""
    found = next((one for one in EXPLANATIONS if one.gate == gate_id), None)
    if found is None:
        raise KeyError(gate_id)
    return found
