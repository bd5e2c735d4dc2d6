"""One file an optimisation. `CANDIDATES` is the whole list, the baseline first."""

from optimizers.candidates.base import Candidate
from optimizers.candidates.cpp_wrapper import CPP_WRAPPER
from optimizers.candidates.cuda_graphs import CUDA_GRAPHS
from optimizers.candidates.eager import EAGER
from optimizers.candidates.fused import FUSED

CANDIDATES: tuple[Candidate, ...] = (FUSED, CUDA_GRAPHS, CPP_WRAPPER, EAGER)
