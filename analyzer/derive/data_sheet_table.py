"""The table of data sheets: a line a device, dense figures only, each with the document it comes from.

Sheets that print a rate "with sparsity" are halved here. tests/contract/test_data_sheets.py computes every figure
again, from multiprocessors, clocks and the width of the memory bus.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_TERA: Final = 1e12
_GIGA: Final = 1e9
_MIB: Final = 2**20
_GIB: Final = 2**30


@dataclass(frozen=True, slots=True)
class Units:
    """What the matrix units of a generation do beside float16 with float32 accumulation, as multiples of that rate;
    `float32` as a multiple of the rate outside them. None: they have no such format.
    """

    bfloat16: float | None = None
    tf32: float | None = None
    float8: float | None = None
    int8: float | None = None
    float32: float = 1.0
    is_float8_fnuz: bool = False
    """Whether their float8 is `float8_e4m3fnuz`, without negative zero, and not `float8_e4m3fn`."""


VOLTA: Final = Units()
TURING: Final = Units(int8=2.0)
TURING_GEFORCE: Final = Units(int8=4.0)
"""GeForce parts of three generations accumulate in float32 at half the rate; int8 runs at the full one."""
AMPERE: Final = Units(bfloat16=1.0, tf32=0.5, int8=2.0)
AMPERE_GEFORCE: Final = Units(bfloat16=1.0, tf32=0.5, int8=4.0)
ADA: Final = Units(bfloat16=1.0, tf32=0.5, float8=2.0, int8=2.0)
"""Also Hopper, and Blackwell but for B300."""
ADA_GEFORCE: Final = Units(bfloat16=1.0, tf32=0.5, float8=2.0, int8=4.0)
"""Also GeForce Blackwell. float8 with float32 accumulation."""
BLACKWELL_ULTRA: Final = Units(bfloat16=1.0, tf32=0.5, float8=2.0)
"""Its int8 rate was cut to a fraction that published figures disagree on: left unknown."""
CDNA2: Final = Units(bfloat16=1.0, int8=1.0, float32=2.0)
CDNA3: Final = Units(bfloat16=1.0, tf32=0.5, float8=2.0, int8=2.0, is_float8_fnuz=True)
CDNA4: Final = Units(bfloat16=1.0, float8=2.0, int8=2.0)


@dataclass(frozen=True, slots=True)
class Sheet:
    """One device. `pattern` matches its whole name without the maker's; names that leave open which of several
    devices it is match all of them. `vector` is float32 outside the matrix units and `half` float16 inside them, in
    TFLOP/s; `bandwidth` is in GB/s, `l2` in MiB (of an AMD device with an Infinity Cache, that), `memory` in GiB.
    `is_checked` is whether figures of the line were seen in published copies of its document: which, and where, stands
    in PUBLISHED of tests/contract/test_data_sheets.py. The others are held against clocks and buses alone.
    """

    title: str
    pattern: str
    vector: float
    half: float
    units: Units
    bandwidth: float
    l2: float
    memory: tuple[float, ...]
    multiprocessors: int
    source: str
    is_checked: bool = False

    @property
    def vector_flops_per_s(self) -> float:
        return self.vector * _TERA

    @property
    def bytes_per_s(self) -> float:
        return self.bandwidth * _GIGA

    @property
    def l2_bytes(self) -> int:
        return round(self.l2 * _MIB)

    @property
    def memory_bytes(self) -> tuple[int, ...]:
        return tuple(round(size * _GIB) for size in self.memory)

    def matrix_flops_per_s(self, dtype: str) -> float | None:
        """The dense rate for `dtype`, as `Peak` names it; None where the device has none."""
        match dtype:
            case "float32":
                return self.vector_flops_per_s * self.units.float32
            case "float16":
                factor: float | None = 1.0
            case "bfloat16":
                factor = self.units.bfloat16
            case "tf32":
                factor = self.units.tf32
            case "float8_e4m3fn" | "float8_e4m3fnuz":
                is_own = self.units.is_float8_fnuz == dtype.endswith("fnuz")
                factor = self.units.float8 if is_own else None
            case "int8":
                factor = self.units.int8
            case _:
                factor = None
        return None if factor is None else self.half * _TERA * factor


_TURING_PAPER: Final = "NVIDIA Turing GPU architecture white paper"
_GA102_PAPER: Final = "NVIDIA Ampere GA102 GPU architecture white paper"
_ADA_PAPER: Final = "NVIDIA Ada GPU architecture white paper"
_BLACKWELL_PAPER: Final = "NVIDIA RTX Blackwell GPU architecture white paper"
_CARDS: Final = "NVIDIA GeForce graphics cards, full specifications"

CHECKED: Final = True

# A line a device, wider than the formatter would have it.
# fmt: off
SHEETS: Final = (
    Sheet("V100 SXM2", r"V100(?:-SXM2-(?:16|32)GB|-DGXS-(?:16|32)GB)?",
          15.7, 125.0, VOLTA, 900, 6, (16, 32), 80, "V100 data sheet", CHECKED),
    Sheet("V100 PCIe", r"V100(?:-PCIE-(?:16|32)GB)?", 14.0, 112.0, VOLTA, 900, 6, (16, 32), 80, "V100 data sheet"),
    Sheet("V100S", r"V100S-PCIE-32GB", 16.4, 130.0, VOLTA, 1134, 6, (32,), 80, "V100 data sheet"),
    Sheet("T4", r"T4", 8.1, 65.0, TURING, 320, 4, (16,), 40, "T4 data sheet", CHECKED),
    Sheet("A10", r"A10", 31.2, 125.0, AMPERE, 600, 6, (24,), 72, "A10 data sheet"),
    Sheet("A10G", r"A10G", 35.0, 70.0, AMPERE, 600, 6, (24,), 80, "A10G data sheet"),
    Sheet("A30", r"A30", 10.3, 165.0, AMPERE, 933, 24, (24,), 56, "A30 data sheet"),
    Sheet("A40", r"A40", 37.4, 149.7, AMPERE, 696, 6, (48,), 84, "A40 data sheet", CHECKED),
    Sheet("A100 40GB", r"A100(?:-SXM4?-40GB|-PCIE-40GB|-PG509-200)?",
          19.5, 312.0, AMPERE, 1555, 40, (40,), 108, "A100 data sheet", CHECKED),
    Sheet("A100 80GB PCIe", r"A100(?: 80GB PCIe|-PCIE-80GB)?",
          19.5, 312.0, AMPERE, 1935, 40, (80,), 108, "A100 data sheet"),
    Sheet("A100 80GB SXM", r"A100(?:-SXM4?-80GB)?",
          19.5, 312.0, AMPERE, 2039, 40, (80,), 108, "A100 data sheet", CHECKED),
    Sheet("L4", r"L4", 30.3, 121.0, ADA, 300, 48, (24,), 58, "L4 data sheet", CHECKED),
    Sheet("L40", r"L40", 90.5, 181.0, ADA, 864, 96, (48,), 142, "L40 data sheet", CHECKED),
    Sheet("L40S", r"L40S", 91.6, 362.0, ADA, 864, 96, (48,), 142, "L40S data sheet", CHECKED),
    Sheet("RTX A6000", r"RTX A6000", 38.7, 154.8, AMPERE, 768, 6, (48,), 84, _GA102_PAPER),
    Sheet("RTX 6000 Ada", r"RTX 6000 Ada Generation", 91.1, 364.2, ADA, 960, 96, (48,), 142, _ADA_PAPER),
    Sheet("RTX PRO 6000 Workstation", r"RTX PRO 6000 Blackwell(?: Workstation Edition)?",
          125.0, 500.0, ADA, 1792, 128, (96,), 188, "RTX PRO 6000 Workstation data sheet", CHECKED),
    Sheet("RTX PRO 6000 Max-Q", r"RTX PRO 6000 Blackwell(?: Max-Q Workstation Edition)?",
          110.0, 440.0, ADA, 1792, 128, (96,), 188, "RTX PRO 6000 Max-Q data sheet"),
    Sheet("RTX PRO 6000 Server", r"RTX PRO 6000 Blackwell(?: Server Edition)?",
          120.0, 480.0, ADA, 1597, 128, (96,), 188, "RTX PRO 6000 Server data sheet"),
    Sheet("H100 PCIe", r"H100(?: PCIe|-PCIE-80GB)?",
          51.2, 756.5, ADA, 2000, 50, (80,), 114, "H100 data sheet", CHECKED),
    Sheet("H100 NVL", r"H100(?: NVL)?", 60.0, 835.5, ADA, 3900, 50, (94,), 132, "H100 NVL data sheet"),
    Sheet("H100 SXM", r"H100(?: 80GB HBM3| SXM5?(?: 80GB)?|-SXM5-80GB)?",
          66.9, 989.4, ADA, 3350, 50, (80,), 132, "H100 data sheet", CHECKED),
    Sheet("H200", r"H200", 66.9, 989.4, ADA, 4800, 50, (141,), 132, "H200 data sheet", CHECKED),
    Sheet("H200 NVL", r"H200 NVL", 60.0, 835.5, ADA, 4800, 50, (141,), 132, "H200 data sheet", CHECKED),
    Sheet("H800 PCIe", r"H800(?: PCIe|-PCIE-80GB)?", 51.2, 756.5, ADA, 2000, 50, (80,), 114, "H800 data sheet"),
    Sheet("H800 SXM", r"H800(?: SXM5?(?: 80GB)?|-SXM5-80GB)?",
          66.9, 989.4, ADA, 3350, 50, (80,), 132, "H800 data sheet"),
    Sheet("H20", r"H20",
          39.5, 148.0, ADA, 4000, 60, (96,), 78, "H20 specifications (as server makers publish them)", CHECKED),
    Sheet("GH200 96GB", r"GH200(?: 480GB| 96GB HBM3)?",
          66.9, 989.4, ADA, 4000, 50, (96,), 132, "GH200 Grace Hopper data sheet", CHECKED),
    Sheet("GH200 144GB", r"GH200(?: 144G HBM3e)?",
          66.9, 989.4, ADA, 4900, 50, (144,), 132, "GH200 Grace Hopper data sheet"),
    Sheet("B200", r"B200", 75.0, 2250.0, ADA, 7700, 126, (180,), 148, "HGX B200 data sheet", CHECKED),
    Sheet("GB200", r"GB200", 80.0, 2500.0, ADA, 8000, 126, (186,), 152, "GB200 NVL72 data sheet", CHECKED),
    Sheet("B300", r"B300(?: SXM6 AC)?",
          75.0, 2250.0, BLACKWELL_ULTRA, 8000, 126, (268,), 148, "HGX B300 data sheet", CHECKED),
    Sheet("RTX 2060", r"RTX 2060", 6.4, 25.8, TURING_GEFORCE, 336, 3, (6,), 30, _CARDS, CHECKED),
    Sheet("RTX 2060 SUPER", r"RTX 2060 SUPER", 7.2, 28.7, TURING_GEFORCE, 448, 4, (8,), 34, _CARDS, CHECKED),
    Sheet("RTX 2070", r"RTX 2070", 7.5, 29.9, TURING_GEFORCE, 448, 4, (8,), 36, _TURING_PAPER),
    Sheet("RTX 2070 SUPER", r"RTX 2070 SUPER", 9.1, 36.2, TURING_GEFORCE, 448, 4, (8,), 40, _CARDS, CHECKED),
    Sheet("RTX 2080", r"RTX 2080", 10.1, 40.3, TURING_GEFORCE, 448, 4, (8,), 46, _TURING_PAPER, CHECKED),
    Sheet("RTX 2080 SUPER", r"RTX 2080 SUPER", 11.2, 44.6, TURING_GEFORCE, 496, 4, (8,), 48, _CARDS),
    Sheet("RTX 2080 Ti", r"RTX 2080 Ti", 13.4, 53.8, TURING_GEFORCE, 616, 5.5, (11,), 68, _TURING_PAPER),
    Sheet("TITAN RTX", r"TITAN RTX", 16.3, 130.5, TURING, 672, 6, (24,), 72, _CARDS),
    Sheet("RTX 3050 6GB", r"RTX 3050", 6.8, 13.5, AMPERE_GEFORCE, 168, 2, (6,), 18, _CARDS),
    Sheet("RTX 3050 8GB", r"RTX 3050", 9.1, 18.2, AMPERE_GEFORCE, 224, 2, (8,), 20, _CARDS),
    Sheet("RTX 3060 8GB", r"RTX 3060", 12.7, 25.5, AMPERE_GEFORCE, 240, 2, (8,), 28, _CARDS),
    Sheet("RTX 3060 12GB", r"RTX 3060", 12.7, 25.5, AMPERE_GEFORCE, 360, 3, (12,), 28, _CARDS),
    Sheet("RTX 3060 Ti", r"RTX 3060 Ti", 16.2, 32.4, AMPERE_GEFORCE, 448, 4, (8,), 38, _CARDS),
    Sheet("RTX 3070", r"RTX 3070", 20.3, 40.6, AMPERE_GEFORCE, 448, 4, (8,), 46, _GA102_PAPER, CHECKED),
    Sheet("RTX 3070 Ti", r"RTX 3070 Ti", 21.7, 43.5, AMPERE_GEFORCE, 608, 4, (8,), 48, _CARDS),
    Sheet("RTX 3080 10GB", r"RTX 3080", 29.8, 59.5, AMPERE_GEFORCE, 760, 5, (10,), 68, _GA102_PAPER, CHECKED),
    Sheet("RTX 3080 12GB", r"RTX 3080", 30.6, 61.3, AMPERE_GEFORCE, 912, 6, (12,), 70, _CARDS),
    Sheet("RTX 3080 Ti", r"RTX 3080 Ti", 34.1, 68.2, AMPERE_GEFORCE, 912, 6, (12,), 80, _CARDS),
    Sheet("RTX 3090", r"RTX 3090", 35.6, 71.0, AMPERE_GEFORCE, 936, 6, (24,), 82, _GA102_PAPER, CHECKED),
    Sheet("RTX 3090 Ti", r"RTX 3090 Ti", 40.0, 80.0, AMPERE_GEFORCE, 1008, 6, (24,), 84, _CARDS),
    Sheet("RTX 4060", r"RTX 4060", 15.1, 30.2, ADA_GEFORCE, 272, 24, (8,), 24, _CARDS, CHECKED),
    Sheet("RTX 4060 Ti", r"RTX 4060 Ti", 22.1, 44.1, ADA_GEFORCE, 288, 32, (8, 16), 34, _CARDS, CHECKED),
    Sheet("RTX 4070", r"RTX 4070", 29.1, 58.3, ADA_GEFORCE, 504, 36, (12,), 46, _CARDS, CHECKED),
    Sheet("RTX 4070 SUPER", r"RTX 4070 SUPER", 35.5, 71.0, ADA_GEFORCE, 504, 48, (12,), 56, _CARDS),
    Sheet("RTX 4070 Ti", r"RTX 4070 Ti", 40.1, 80.2, ADA_GEFORCE, 504, 48, (12,), 60, _CARDS, CHECKED),
    Sheet("RTX 4070 Ti SUPER", r"RTX 4070 Ti SUPER", 44.1, 88.2, ADA_GEFORCE, 672, 48, (16,), 66, _CARDS, CHECKED),
    Sheet("RTX 4080", r"RTX 4080", 48.7, 97.5, ADA_GEFORCE, 716.8, 64, (16,), 76, _ADA_PAPER),
    Sheet("RTX 4080 SUPER", r"RTX 4080 SUPER", 52.2, 104.4, ADA_GEFORCE, 736, 64, (16,), 80, _CARDS),
    Sheet("RTX 4090", r"RTX 4090", 82.6, 165.2, ADA_GEFORCE, 1008, 72, (24,), 128, _ADA_PAPER, CHECKED),
    Sheet("RTX 4090 D", r"RTX 4090 D", 73.5, 147.1, ADA_GEFORCE, 1008, 72, (24,), 114, _CARDS),
    Sheet("RTX 5060", r"RTX 5060", 19.2, 38.4, ADA_GEFORCE, 448, 32, (8,), 30, _CARDS),
    Sheet("RTX 5060 Ti", r"RTX 5060 Ti", 23.7, 47.4, ADA_GEFORCE, 448, 32, (8, 16), 36, _CARDS, CHECKED),
    Sheet("RTX 5070", r"RTX 5070", 30.9, 61.7, ADA_GEFORCE, 672, 48, (12,), 48, _BLACKWELL_PAPER),
    Sheet("RTX 5070 Ti", r"RTX 5070 Ti", 43.9, 87.9, ADA_GEFORCE, 896, 48, (16,), 70, _BLACKWELL_PAPER, CHECKED),
    Sheet("RTX 5080", r"RTX 5080", 56.3, 112.6, ADA_GEFORCE, 960, 64, (16,), 84, _BLACKWELL_PAPER),
    Sheet("RTX 5090", r"RTX 5090", 104.8, 209.5, ADA_GEFORCE, 1792, 96, (32,), 170, _BLACKWELL_PAPER, CHECKED),
    Sheet("MI210", r"MI210", 22.6, 181.0, CDNA2, 1638, 8, (64,), 104, "MI210 data sheet"),
    Sheet("one GCD of an MI250", r"(?:MI250X ?/ ?(?:AMD Instinct )?)?MI250",
          22.6, 181.0, CDNA2, 1638, 8, (64,), 104, "MI200 series data sheet, halved"),
    Sheet("one GCD of an MI250X", r"MI250X(?: ?/ ?(?:AMD Instinct )?MI250)?",
          23.9, 191.5, CDNA2, 1638, 8, (64,), 110, "MI200 series data sheet, halved"),
    Sheet("MI250 (both GCDs)", r"(?:MI250X ?/ ?(?:AMD Instinct )?)?MI250",
          45.3, 362.1, CDNA2, 3277, 16, (128,), 208, "MI200 series data sheet", CHECKED),
    Sheet("MI250X (both GCDs)", r"MI250X(?: ?/ ?(?:AMD Instinct )?MI250)?",
          47.9, 383.0, CDNA2, 3277, 16, (128,), 220, "MI200 series data sheet", CHECKED),
    Sheet("MI300X", r"MI300X(?: OAM)?(?: VF)?",
          163.4, 1307.4, CDNA3, 5300, 256, (192,), 304, "MI300X data sheet", CHECKED),
    Sheet("MI325X", r"MI325X(?: OAM)?", 163.4, 1307.4, CDNA3, 6000, 256, (256,), 304, "MI325X data sheet", CHECKED),
    Sheet("MI355X", r"MI355X(?: OAM)?", 157.3, 2516.6, CDNA4, 8000, 256, (288,), 256, "MI355X data sheet", CHECKED),
)
# fmt: on
"""Title, pattern, float32 and float16 in TFLOP/s, units, GB/s, L2 in MiB, memory in GiB, multiprocessors, source, and
whether it was checked.

The L2 of B200, GB200 and B300 is what their driver shows, since no sheet gives it.
H20: 44 TFLOP/s of float32 are published too, more than 78 multiprocessors reach at 1.98 GHz; the lower one is used.
RTX PRO 6000: the sheets give float32; float16 is four times that in every professional part of these units.
"""
