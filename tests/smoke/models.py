"""Model files for runs of the real command: one that works, and some that do not."""

from __future__ import annotations

TALKS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(32, 32), nn.Linear(32, 16)

    def forward(self, x):
        x = torch.relu(self.first(x))
        print("a graph break", end="")
        return {"y": torch.tanh(self.second(x))}

def get_model():
    return Net()

def get_inputs():
    return (torch.randn(8, 32),)
"""

_OPERATOR = """
import os, pathlib, time
import torch
from torch import nn
from torch._inductor.lowering import clone, register_lowering
from torch._inductor.virtualized import V

# A graph from Inductor's cache would not come by the lowerings below.
torch._inductor.config.fx_graph_cache = False

HERE = pathlib.Path(__file__).parent
(HERE / "pid").write_text(str(os.getpid()))

def reached():
    (HERE / "reached").write_text("")
    time.sleep(3000)

def operator(name, in_compiler, in_call=lambda: None):
    op = torch.library.custom_op(f"graphbound_smoke::{name}", mutates_args=())(compute(in_call))
    op.register_fake(torch.empty_like)

    def lower(x):
        in_compiler(V.graph.cpp_wrapper)
        return clone(x)

    register_lowering(getattr(torch.ops.graphbound_smoke, name).default, type_promotion_kind=None)(lower)
    return op

def compute(in_call):
    def function(x: torch.Tensor) -> torch.Tensor:
        in_call()
        return x.clone()
    return function

def get_inputs():
    return (torch.randn(8, 16),)
"""

FRAGILE = f"""{_OPERATOR}
# The user's own lowerings: under the C++ wrapper one takes its process down, and one never ends.
fragile = operator("fragile", lambda cpp_wrapper: os._exit(5) if cpp_wrapper else None)
stubborn = operator("stubborn", lambda cpp_wrapper: time.sleep(3000) if cpp_wrapper else None)
# And one that no default compilation survives.
doomed = operator("doomed", lambda cpp_wrapper: None if cpp_wrapper else os._exit(6))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        x = fragile(torch.relu(self.linear(x)))
        torch._dynamo.graph_break()
        x = stubborn(torch.sin(x))
        torch._dynamo.graph_break()
        return doomed(torch.cos(x))

def get_model():
    return Net()
"""

HANGS = f"""{_OPERATOR}
WHERE = (HERE / "where").read_text()

def in_compiler(cpp_wrapper):
    if WHERE == "compiling" or (WHERE == "searching" and cpp_wrapper):
        reached()

waits = operator("waits", in_compiler)

class Net(nn.Module):
    def forward(self, x):
        return waits(torch.sin(x))

def get_model():
    if WHERE == "loading":
        reached()
    return Net()
"""

RAISES = f"""{_OPERATOR}
calls = []

def count():
    calls.append(1)
    if len(calls) > 12:
        raise ValueError("the twelfth is the last")

counts = torch.library.custom_op("graphbound_smoke::counts", mutates_args=())(compute(count))
counts.register_fake(torch.empty_like)

class Net(nn.Module):
    def forward(self, x):
        return counts(torch.sin(x))

def get_model():
    return Net()
"""
