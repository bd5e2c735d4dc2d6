"""One file an optimisation. `CANDIDATES` is the whole list of our own, the baseline first, in order of search."""

from optimizers.candidates.aoti import AOTI
from optimizers.candidates.base import Candidate
from optimizers.candidates.bf16 import BF16
from optimizers.candidates.channels_last import CHANNELS_LAST
from optimizers.candidates.combo_kernels import COMBO_KERNELS
from optimizers.candidates.coordinate_descent import COORDINATE_DESCENT
from optimizers.candidates.cpp_wrapper import CPP_WRAPPER
from optimizers.candidates.cpp_wrapper_cuda_graph import CPP_WRAPPER_CUDA_GRAPH
from optimizers.candidates.cpp_wrapper_eager import CPP_WRAPPER_EAGER
from optimizers.candidates.cuda_graphs import CUDA_GRAPHS
from optimizers.candidates.cuda_graphs_whole import CUDA_GRAPHS_WHOLE
from optimizers.candidates.eager import EAGER
from optimizers.candidates.fp8 import FP8
from optimizers.candidates.frozen import FROZEN
from optimizers.candidates.fused import FUSED
from optimizers.candidates.fused_attention import FUSED_ATTENTION
from optimizers.candidates.fused_matvec import FUSED_MATVEC
from optimizers.candidates.grouped import GROUPED
from optimizers.candidates.int8 import INT8
from optimizers.candidates.max_autotune import MAX_AUTOTUNE
from optimizers.candidates.tf32 import TF32
from optimizers.candidates.triton_gemm import TRITON_GEMM

CANDIDATES: tuple[Candidate, ...] = (
    FUSED,
    CUDA_GRAPHS,
    EAGER,
    FUSED_MATVEC,
    FROZEN,
    GROUPED,
    CPP_WRAPPER,
    CUDA_GRAPHS_WHOLE,
    COMBO_KERNELS,
    CPP_WRAPPER_CUDA_GRAPH,
    CPP_WRAPPER_EAGER,
    TRITON_GEMM,
    COORDINATE_DESCENT,
    AOTI,
    MAX_AUTOTUNE,
    FUSED_ATTENTION,
    CHANNELS_LAST,
    TF32,
    BF16,
    INT8,
    FP8,
)
