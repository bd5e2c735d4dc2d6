"""The Triton kernels, run by Triton's interpreter on the CPU: that they do what is counted. Skipped without Triton."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton")

CLAIMS = {
    "reading sums each block it visits, and counts its bytes": """
source, sums = torch.randn(7 * kernels.BLOCK), torch.empty(3)
kernels.read_rounds(source, sums, 5)
blocks = source.view(7, -1).double().sum(1)
expected = torch.stack([sum(blocks[(program + turn * 3) % 7] for turn in range(5)) for program in range(3)])
assert torch.allclose(sums.double(), expected, atol=1e-3), (sums, expected)
assert kernels.bytes_read(sums, 5) == 3 * 5 * source.nbytes // 7
""",
    "copying copies": """
source = torch.randn(2 * kernels.BLOCK)
target = torch.empty_like(source)
kernels.copy(source, target)
assert torch.equal(source, target)
""",
    "as many multiply-adds are done as are counted": """
target = torch.empty(2 * kernels.VALUES)
kernels.multiply_add(target, 2)
steps = kernels.flops_done(target, 2) // (2 * target.numel())
value = torch.arange(target.numel(), dtype=torch.float64) / kernels.VALUES
for _ in range(steps):
    value = value * -0.9999 + 0.5
assert steps == 64
assert torch.allclose(target.double(), value, atol=1e-4)
value = value * -0.9999 + 0.5
assert not torch.allclose(target.double(), value, atol=1e-4)
""",
    "they are built without a complaint": """
from collectors.device_rates import triton_kernels
assert triton_kernels("cpu") == (kernels, None)
""",
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_kernels_do_what_is_counted(claim: str, root: Path) -> None:
    # In a process of its own: Triton decides once, when a kernel is made, whether to interpret it.
    program = f"import torch\nfrom collectors import device_kernels as kernels\ntorch.manual_seed(0)\n{CLAIMS[claim]}"
    paths = os.pathsep.join((str(root), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
