"""The float32 rate of a CPU outside matrix products, by a C++ function of multiply-adds on every thread.

No operator of torch has enough arithmetic for its traffic to reach that rate. None where there is no C++ compiler.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

_SOURCE: Final = """
#if defined(__AVX512F__)
#define WIDTH 16
#elif defined(__AVX__)
#define WIDTH 8
#else
#define WIDTH 4
#endif
#define CHAINS 10
typedef float lanes __attribute__((vector_size(4 * WIDTH)));
extern "C" long long flops_per_round() { return 2LL * WIDTH * CHAINS; }
extern "C" float multiply_add(float scale, float shift, long long rounds) {
  lanes value[CHAINS], sum = {};
  for (int i = 0; i < CHAINS; ++i) value[i] = sum + 0.1f * i;
  for (long long round = 0; round < rounds; ++round) {
#pragma GCC unroll 10
    for (int i = 0; i < CHAINS; ++i) value[i] = value[i] * scale + shift;
  }
  for (int i = 0; i < CHAINS; ++i) sum += value[i];
  float total = 0;
  for (int i = 0; i < WIDTH; ++i) total += sum[i];
  return total;
}
"""
"""Ten independent chains hide the latency of a multiply-add (4 cycles, two a cycle, on cores since 2017: Agner Fog's
instruction tables), and ten vectors fit the 16 registers of AVX2."""

_FLAGS: Final = ("-O3", "-ffp-contract=fast", "-shared", "-fPIC")
_NATIVE: Final = "-march=native"
_COMPILE_S: Final = 20.0
"""It takes about 0.3 s; a compiler that is not done by then hangs."""

_SCALE: Final = -0.9999
_SHIFT: Final = 0.5
_CALIBRATING_ROUNDS: Final = 1_000_000
"""Some milliseconds."""
_CALL_S: Final = 0.06
_REPEATS: Final = 5


class VectorLibrary:
    """The compiled function, loaded into this process."""

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        library.flops_per_round.restype = ctypes.c_longlong
        # ctypes lets other Python threads run while it calls, so that they measure together.
        self._function = library.multiply_add
        self._function.argtypes = (ctypes.c_float, ctypes.c_float, ctypes.c_longlong)
        self._function.restype = ctypes.c_float
        self.flops_per_round = int(library.flops_per_round())

    def run(self, rounds: int, *, scale: float = _SCALE, shift: float = _SHIFT) -> float:
        """The sum of all lanes of all chains after `rounds`."""
        return float(self._function(scale, shift, rounds))


def vector_rate(compiler: str, threads: int) -> float | None:
    """Float32 operations a second of `threads` threads together; None where `compiler` builds nothing that runs."""
    with tempfile.TemporaryDirectory(prefix="graphbound-") as folder:
        library = build(compiler, Path(folder))
        return None if library is None else _best_rate(library, threads)


def build(compiler: str, folder: Path) -> VectorLibrary | None:
    """The library, compiled in `folder` for this very CPU where the compiler can; None where it cannot be built."""
    source, target = folder / "multiply_add.cpp", folder / "multiply_add.so"
    source.write_text(_SOURCE)
    for flags in ((*_FLAGS, _NATIVE), _FLAGS):
        command = (compiler, *flags, str(source), "-o", str(target))
        try:
            subprocess.run(command, capture_output=True, timeout=_COMPILE_S, check=True)
            return VectorLibrary(target)
        except (OSError, ValueError, AttributeError, subprocess.SubprocessError):
            continue
    return None


def _best_rate(library: VectorLibrary, threads: int) -> float:
    """The fastest of some turns: on a CPU other programs only ever slow it down."""
    first_ns = _together_ns(library, threads, _CALIBRATING_ROUNDS)
    rounds = max(int(_CALIBRATING_ROUNDS * _CALL_S * 1e9 / first_ns), 1)
    fastest_ns = min(_together_ns(library, threads, rounds) for _ in range(_REPEATS))
    return library.flops_per_round * rounds * threads / fastest_ns * 1e9


def _together_ns(library: VectorLibrary, threads: int, rounds: int) -> int:
    """From when the first thread begins to when the last one is done."""
    ready = threading.Barrier(threads)
    started_ns: list[int] = []
    ended_ns: list[int] = []

    def work() -> None:
        ready.wait()
        # By each thread itself: on a busy machine another one may wake up long after these have begun.
        started_ns.append(time.perf_counter_ns())
        library.run(rounds)
        ended_ns.append(time.perf_counter_ns())

    workers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return max(max(ended_ns) - min(started_ns), 1)
