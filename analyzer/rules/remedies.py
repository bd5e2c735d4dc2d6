"""What to do about torch's own reasons: ordered tables of anchored patterns, the first that matches decides."""

from __future__ import annotations

import re
from typing import Final


def tried_by(change: str) -> str:
    """What has this change of meaning tried, for the end or the beginning of a remedy."""
    return f"--allow {change} has it tried, with its error shown"


Table = tuple[tuple[re.Pattern[str], str], ...]

_RESIZE: Final = (
    "mark the dimension that changes, torch._dynamo.mark_dynamic(tensor, dim), or pad the inputs to a few fixed sizes"
)
_BAKED_IN: Final = (
    "a Python value is part of the compiled code: keep it constant, or hold it in a tensor (a buffer of the module)"
)

_OWN_TENSORS: Final = (
    "modules of one class share this code, and each has a shape of its own: mend the graph break that cuts them apart, "
    "so that one graph holds them all, or compile each by itself"
)

# The texts are those of torch 2.11 to 2.14 (torch/csrc/dynamo/guards.cpp, torch/_dynamo/guards.py).
GUARDS: Final[Table] = (
    (re.compile(r"^tensor '.*\b_(?:parameters|buffers)\[.*' (?:size|rank|stride) mismatch"), _OWN_TENSORS),
    (re.compile(r"^tensor '.*' size mismatch"), _RESIZE),
    (re.compile(r"^tensor '.*' rank mismatch"), "give every call tensors of the same number of dimensions"),
    (re.compile(r"^tensor '.*' stride mismatch"), "give every call the same memory layout: .contiguous() before it"),
    (re.compile(r"^tensor '.*' dtype mismatch"), "give every call the same dtype"),
    (re.compile(r"^tensor '.*' device mismatch"), "give every call tensors on the same device"),
    (
        re.compile(r"^tensor '.*' requires_grad mismatch"),
        "call it always with, or always without, tensors that require gradients",
    ),
    (
        re.compile(r"^tensor '.*' dispatch key set mismatch"),
        "call it in one gradient mode, and not with inference tensors now and plain ones then",
    ),
    (
        re.compile(r"^GLOBAL_STATE changed: "),
        "call it always under the same gradient mode, autocast, number of threads and determinism settings",
    ),
    (
        re.compile(r"^(?:len\(|not \S+$)"),
        "a container changed its length: keep it fixed, or stack what it holds into one tensor",
    ),
    (re.compile(r"^.*\.size\(\)\[\d+\]"), _RESIZE),
    (re.compile(r"^___check_type_id\("), "give every call arguments of the same type"),
    (re.compile(r"^___check_obj_id\("), "give every call the same object: create it once, outside the step"),
    (re.compile(r"^.*\S == "), _BAKED_IN),
)
GUARD_OTHERWISE: Final = "make what this guard tests the same in every call"

# The texts are those of torch 2.11 to 2.14 (torch/_inductor/cudagraph_utils.py, compile_fx.py, lowering.py,
# scheduler.py).
SKIPS: Final[Table] = (
    (
        re.compile(r"^.*\bre-recording limit\b"),
        "each new address of a static input, and each new size, is recorded once more: keep such inputs where they "
        "are, and give it few fixed shapes",
    ),
    (
        re.compile(r"^.*\bmutated inputs\b"),
        "do not write into an input in place: return the new value, or keep the state in a buffer of the module",
    ),
    (
        re.compile(r"^.*\bcpu (?:device|ops)\b"),
        "a tensor of this graph is on the CPU: create it on the GPU, device=x.device, or pass it as a Python number",
    ),
    (re.compile(r"^.*\bmultiple devices\b"), "keep all tensors of this graph on one GPU"),
    (
        re.compile(r"^.*\bcpp wrapper\b"),
        "in this release of torch, a graph runs with the C++ wrapper or as a CUDA graph, not both: choose one for it",
    ),
    (
        re.compile(r"^.*\b(?:symbolic shapes|dynamic shapes?|distinct (?:input )?sizes)\b"),
        "give it few fixed shapes: each one is recorded as a CUDA graph of its own",
    ),
    (
        re.compile(r"^.*\b(?:boolean indexing|nonzero|data.dependent|unbacked binding)\b"),
        "the shape depends on the data: use torch.where or a mask of fixed size",
    ),
    (
        re.compile(r"^.*\bDeviceCopy\b"),
        "copy between host and device outside this graph, or create the tensor where it is used",
    ),
    (
        re.compile(r"^.*\b(?:control flow operator|Conditional ops)\b"),
        "keep torch.cond and torch.while_loop out of this graph",
    ),
    (re.compile(r"^.*\bsparsity\b"), "torch cannot record sparse tensors: keep them out of this graph"),
    (
        re.compile(r"^.*\b(?:incompatible op|(?i:cudagraph)-unsafe custom ops)\b"),
        "move the operator out of this graph, or replace it by one that neither waits for the device nor copies to it",
    ),
)
SKIP_OTHERWISE: Final = "see torch's reason; TORCH_LOGS=cudagraphs tells more"


_UNKNOWN_SOURCE: Final = re.compile(r" # \(unknown source .*, please file a bug\)$")
"""What torch says of a value that it took a Python number for (`___as_tensor(rate).item()`)."""
_GUARD_SOURCE: Final = re.compile(r" # (?P<code>(?:(?! # ).)*?)(?: # )?\(?\S+:\d+ in \S+.*$")
"""The user's code that a guard stands for, and torch's shortened path of it: ` # self.n += 1 # …/net.py:26 in forward`;
or the path alone, in brackets where the code is torch's own."""


def guard_text(guard: str) -> str:
    """A guard without torch's shortened path and hint, with the code that it stands for where torch names it."""
    guard = _UNKNOWN_SOURCE.sub("", guard)
    found = _GUARD_SOURCE.search(guard)
    if found is None:
        return guard
    test, code = guard[: found.start()], found["code"].strip()
    return f"{test} (for “{code}”)" if code else test


_REPEATED: Final = (
    (
        "Failed to handle graph break gracefully. Skipping the function and falling back to eager. "
        "Graph break encountered: ",
        ", and torch leaves a whole function eager",
    ),
    (
        "Encountered graph break that we cannot resume from. Compiling up to the previous resumable state, then "
        "skipping the rest of the function. Graph break encountered: ",
        ", and torch leaves the rest of a function eager",
    ),
)
"""How torch (2.11 to 2.14) repeats a break from which it cannot resume (in a loop, a `with`), and what it means."""


def own_reason(reason: str) -> tuple[str, str]:
    """Torch's reason for a break itself, and what it means for the function, empty where torch can resume."""
    for prefix, meaning in _REPEATED:
        if reason.startswith(prefix):
            return reason.removeprefix(prefix), meaning
    return reason, ""


def is_resize(guard: str) -> bool:
    """Whether this guard failed because a size changed."""
    return remedy(guard, GUARDS, GUARD_OTHERWISE) == _RESIZE


def remedy(reason: str, table: Table, otherwise: str) -> str:
    """The remedy of the first pattern that matches `reason`, else `otherwise`."""
    return next((text for pattern, text in table if pattern.search(reason)), otherwise)
