"""Every line of the table of data sheets against a number that does not come from it.

Rates: multiprocessors × clock × operations a clock, of the architecture's own description (white papers of Volta,
Turing, Ampere, Ada, Hopper and Blackwell; AMD CDNA 2, 3 and 4). Bandwidth: width of the bus × rate of a pin, of the
memory's specification. A figure with sparsity would be out by 2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import pytest

from analyzer.derive.data_sheet_table import SHEETS, Sheet
from analyzer.derive.data_sheets import data_sheet

RATE_TOLERANCE: Final = 0.03
BANDWIDTH_TOLERANCE: Final = 0.03
SLOWED_TENSOR: Final = 0.86
"""Of the boost clock: what the matrix units of two power-limited boards are specified at (H100 NVL, H200 NVL)."""

MHZ: Final = 1e6


@dataclass(frozen=True, slots=True)
class Chip:
    """Operations a clock of one multiprocessor outside and inside its matrix units (float16, float32 accumulation),
    the boost clock, that of the matrix units where it is another, and the memory.
    """

    vector: int
    half: int
    boost_mhz: float
    bus_bits: int
    gbit_per_pin: float
    matrix_mhz: float | None = None


VOLTA = (128, 1024)
TURING = (128, 1024)
TURING_GEFORCE = (128, 512)
GA100 = (128, 2048)
GA10X = (256, 1024)
GEFORCE = (256, 512)
"""Ampere, Ada and Blackwell."""
HOPPER = (256, 4096)
BLACKWELL = (256, 8192)
CDNA2 = (128, 1024)
CDNA3 = (256, 2048)
CDNA4 = (256, 4096)

CHIPS: Final = {
    "V100 SXM2": Chip(*VOLTA, 1530, 4096, 1.75),
    "V100 PCIe": Chip(*VOLTA, 1380, 4096, 1.75),
    "V100S": Chip(*VOLTA, 1597, 4096, 2.214),
    "T4": Chip(*TURING, 1590, 256, 10),
    "A10": Chip(*GA10X, 1695, 384, 12.5),
    "A10G": Chip(*GEFORCE, 1710, 384, 12.5),
    "A30": Chip(*GA100, 1440, 3072, 2.43),
    "A40": Chip(*GA10X, 1740, 384, 14.5),
    "A100 40GB": Chip(*GA100, 1410, 5120, 2.43),
    "A100 80GB PCIe": Chip(*GA100, 1410, 5120, 3.024),
    "A100 80GB SXM": Chip(*GA100, 1410, 5120, 3.186),
    "L4": Chip(*GA10X, 2040, 192, 12.5),
    "L40": Chip(*GEFORCE, 2490, 384, 18),
    "L40S": Chip(*GA10X, 2520, 384, 18, matrix_mhz=2490),
    "RTX A6000": Chip(*GA10X, 1800, 384, 16),
    "RTX 6000 Ada": Chip(*GA10X, 2505, 384, 20),
    "RTX PRO 6000 Workstation": Chip(*GA10X, 2617, 512, 28),
    "RTX PRO 6000 Max-Q": Chip(*GA10X, 2288, 512, 28),
    "RTX PRO 6000 Server": Chip(*GA10X, 2490, 512, 25),
    "H100 PCIe": Chip(*HOPPER, 1755, 5120, 3.186, matrix_mhz=1620),
    "H100 NVL": Chip(*HOPPER, 1785, 6016, 5.2, matrix_mhz=SLOWED_TENSOR * 1785),
    "H100 SXM": Chip(*HOPPER, 1980, 5120, 5.24, matrix_mhz=1830),
    "H200": Chip(*HOPPER, 1980, 6144, 6.25, matrix_mhz=1830),
    "H200 NVL": Chip(*HOPPER, 1785, 6144, 6.25, matrix_mhz=SLOWED_TENSOR * 1785),
    "H800 PCIe": Chip(*HOPPER, 1755, 5120, 3.186, matrix_mhz=1620),
    "H800 SXM": Chip(*HOPPER, 1980, 5120, 5.24, matrix_mhz=1830),
    # Cut to a total processing performance of 2,368 (296 tera-operations of 8 bits), far under what its 78
    # multiprocessors could do.
    "H20": Chip(256, round(2368e12 / 16 / 78 / 1980e6), 1980, 6144, 5.2),
    "GH200 96GB": Chip(*HOPPER, 1980, 6144, 5.2, matrix_mhz=1830),
    "GH200 144GB": Chip(*HOPPER, 1980, 6144, 6.4, matrix_mhz=1830),
    "B200": Chip(*BLACKWELL, 1965, 8192, 7.5, matrix_mhz=1850),
    "GB200": Chip(*BLACKWELL, 2062, 8192, 8, matrix_mhz=2010),
    "B300": Chip(*BLACKWELL, 1965, 8192, 8, matrix_mhz=1850),
    "RTX 2060": Chip(*TURING_GEFORCE, 1680, 192, 14),
    "RTX 2060 SUPER": Chip(*TURING_GEFORCE, 1650, 256, 14),
    "RTX 2070": Chip(*TURING_GEFORCE, 1620, 256, 14),
    "RTX 2070 SUPER": Chip(*TURING_GEFORCE, 1770, 256, 14),
    "RTX 2080": Chip(*TURING_GEFORCE, 1710, 256, 14),
    "RTX 2080 SUPER": Chip(*TURING_GEFORCE, 1815, 256, 15.5),
    "RTX 2080 Ti": Chip(*TURING_GEFORCE, 1545, 352, 14),
    "TITAN RTX": Chip(*TURING, 1770, 384, 14),
    "RTX 3050 6GB": Chip(*GEFORCE, 1470, 96, 14),
    "RTX 3050 8GB": Chip(*GEFORCE, 1777, 128, 14),
    "RTX 3060 8GB": Chip(*GEFORCE, 1777, 128, 15),
    "RTX 3060 12GB": Chip(*GEFORCE, 1777, 192, 15),
    "RTX 3060 Ti": Chip(*GEFORCE, 1665, 256, 14),
    "RTX 3070": Chip(*GEFORCE, 1725, 256, 14),
    "RTX 3070 Ti": Chip(*GEFORCE, 1770, 256, 19),
    "RTX 3080 10GB": Chip(*GEFORCE, 1710, 320, 19),
    "RTX 3080 12GB": Chip(*GEFORCE, 1710, 384, 19),
    "RTX 3080 Ti": Chip(*GEFORCE, 1665, 384, 19),
    "RTX 3090": Chip(*GEFORCE, 1695, 384, 19.5),
    "RTX 3090 Ti": Chip(*GEFORCE, 1860, 384, 21),
    "RTX 4060": Chip(*GEFORCE, 2460, 128, 17),
    "RTX 4060 Ti": Chip(*GEFORCE, 2535, 128, 18),
    "RTX 4070": Chip(*GEFORCE, 2475, 192, 21),
    "RTX 4070 SUPER": Chip(*GEFORCE, 2475, 192, 21),
    "RTX 4070 Ti": Chip(*GEFORCE, 2610, 192, 21),
    "RTX 4070 Ti SUPER": Chip(*GEFORCE, 2610, 256, 21),
    "RTX 4080": Chip(*GEFORCE, 2505, 256, 22.4),
    "RTX 4080 SUPER": Chip(*GEFORCE, 2550, 256, 23),
    "RTX 4090": Chip(*GEFORCE, 2520, 384, 21),
    "RTX 4090 D": Chip(*GEFORCE, 2520, 384, 21),
    "RTX 5060": Chip(*GEFORCE, 2497, 128, 28),
    "RTX 5060 Ti": Chip(*GEFORCE, 2572, 128, 28),
    "RTX 5070": Chip(*GEFORCE, 2512, 192, 28),
    "RTX 5070 Ti": Chip(*GEFORCE, 2452, 256, 28),
    "RTX 5080": Chip(*GEFORCE, 2617, 256, 30),
    "RTX 5090": Chip(*GEFORCE, 2407, 512, 28),
    "MI210": Chip(*CDNA2, 1700, 4096, 3.2),
    "one GCD of an MI250": Chip(*CDNA2, 1700, 4096, 3.2),
    "one GCD of an MI250X": Chip(*CDNA2, 1700, 4096, 3.2),
    "MI250 (both GCDs)": Chip(*CDNA2, 1700, 8192, 3.2),
    "MI250X (both GCDs)": Chip(*CDNA2, 1700, 8192, 3.2),
    "MI300X": Chip(*CDNA3, 2100, 8192, 5.2),
    "MI325X": Chip(*CDNA3, 2100, 8192, 6),
    "MI355X": Chip(*CDNA4, 2400, 8192, 8),
}

MULTIPLES: Final = {
    # Of float16 with float32 accumulation, from the tables of operations a clock in the same papers.
    "bfloat16": {1.0},
    "tf32": {0.5},
    "float8_e4m3fn": {2.0},
    "float8_e4m3fnuz": {2.0},
    "int8": {1.0, 2.0, 4.0},
}


@dataclass(frozen=True, slots=True)
class Published:
    """Figures of a device as published copies of its data sheet have them, found by search on 2026-11-29: TFLOP/s
    outside and inside the matrix units (dense, float16 with float32 accumulation; a sparse one halved, one with float16
    accumulation of a GeForce halved again), GB/s, MiB, GB, multiprocessors. None: not found.
    """

    vector: float | None
    half: float | None
    bandwidth: float | None
    l2: float | None
    memory: int | None
    multiprocessors: int | None
    where: str


PUBLISHED: Final = {
    "V100 SXM2": Published(15.7, 125, 900, 6, None, 80, "a catalogue of GPUs on Hugging Face"),
    "T4": Published(8.141, 65.13, 320, 4, 16, 40, "fpsbench.com"),
    "A40": Published(37.42, 149.67, None, None, 48, 84, "hmc-tech.com"),
    "A100 40GB": Published(19.49, 311.87, 1555, 40, 40, 108, "sysrqmts.com, hmc-tech.com"),
    "A100 80GB SXM": Published(None, 312, 2039, 40, 80, 108, "deviceQuery of one, published; calculon's system file"),
    "L4": Published(30.29, None, 300.1, 48, 24, 58, "fpsbench.com"),
    "L40": Published(90.52, None, None, None, 48, 142, "hmc-tech.com"),
    "L40S": Published(91.61, 366.43, None, None, 48, 142, "hmc-tech.com"),
    "RTX PRO 6000 Workstation": Published(125, None, 1792, 128, 96, 188, "topcpu.net, from the launch; hmc-tech.com"),
    "H100 PCIe": Published(51.22, None, 2000, None, 80, 114, "hmc-tech.com, router-switch.com"),
    "H100 SXM": Published(66.9, 989.4, 3350, None, 80, 132, "glennklockwood.com, of the white paper"),
    "H200": Published(66.91, 989.5, 4800, None, 141, 132, "morphllm.com, of NVIDIA's page; hmc-tech.com"),
    "H200 NVL": Published(None, 835.5, 4800, None, 141, None, "morphllm.com, of NVIDIA's page"),
    "H20": Published(None, 148, 4000, 60, 96, 78, "zangshuxian.com, ke60.top"),
    "GH200 96GB": Published(None, None, 4000, None, 96, None, "nishikiout.net, of the announcement"),
    "B200": Published(75, 2250, 7700, None, 180, None, "zdszero.github.io, of NVIDIA's table"),
    "GB200": Published(80, 2500, 8000, None, 186, None, "zdszero.github.io, of NVIDIA's table"),
    "B300": Published(75, 2250, 8000, None, None, None, "glennklockwood.com, of the HGX data sheet"),
    "RTX 2060": Published(6.451, None, 336, 3, 6, 30, "topcpu.net"),
    "RTX 2060 SUPER": Published(7.181, None, 448, 4, 8, 34, "topcpu.net"),
    "RTX 2070 SUPER": Published(9.062, None, 448, 4, 8, 40, "topcpu.net"),
    "RTX 2080": Published(None, None, 448, 4, 8, 46, "tomshardware.com, gamegpu.com"),
    "RTX 3070": Published(None, 40.75, None, None, 8, 46, "gamingpcbuilder.com, of the announcement"),
    "RTX 3080 10GB": Published(
        30, 59.5, 760, None, 10, 68, "gamingpcbuilder.com and techpowerup.com, of the announcement"
    ),
    "RTX 3090": Published(35.6, 71.25, 936, 6, 24, 82, "a page of specifications by an editor of Tom's Hardware"),
    "RTX 4060": Published(15.11, None, 272, 24, 8, 24, "topcpu.net"),
    "RTX 4060 Ti": Published(22.06, None, 288, 32, 8, 34, "cputronic.com, alldbin.com"),
    "RTX 4070": Published(29, None, 504, None, 12, 46, "thefpsreview.com"),
    "RTX 4070 Ti": Published(40.09, None, 504.2, 48, 12, 60, "fpsbench.com"),
    "RTX 4070 Ti SUPER": Published(44.1, None, 672.3, 48, 16, 66, "topcpu.net"),
    "RTX 4090": Published(None, 165, 1008, None, 24, 128, "cputronic.com; a note on accelerators"),
    "RTX 5060 Ti": Published(23.7, None, 448, 32, 16, 36, "fpsbench.com"),
    "RTX 5070 Ti": Published(None, None, 896, None, 16, 70, "topcpu.net, of the launch"),
    "RTX 5090": Published(105, None, 1792, 96, 32, 170, "libertify.com, of the white paper; topcpu.net"),
    "MI250 (both GCDs)": Published(45.3, 362.1, None, None, 128, 208, "zexron.com, of AMD's table"),
    "MI250X (both GCDs)": Published(47.9, 383, 3277, 16, 128, 220, "zexron.com, of AMD's table; siliconcat.net"),
    "MI300X": Published(None, 1307.4, 5300, None, 192, 304, "a published comparison with an H200; ROCm documentation"),
    "MI325X": Published(None, None, 6000, 256, 256, 304, "unanswered.io, of AMD's page"),
    "MI355X": Published(None, None, 8000, None, 288, None, "bostonlimited, aiwiki.ai"),
}
PUBLISHED_TOLERANCE: Final = 0.015
"""Copies round, and compute from other clocks: 366 of an L40S for the sheet's 362."""


@pytest.fixture(params=SHEETS, ids=lambda sheet: sheet.title)
def sheet(request: pytest.FixtureRequest) -> Sheet:
    found: Sheet = request.param
    return found


def test_every_line_has_its_independent_number_and_no_two_lines_one_title() -> None:
    titles = [sheet.title for sheet in SHEETS]
    assert sorted(titles) == sorted(CHIPS)
    assert len(set(titles)) == len(titles)


def test_the_lines_marked_as_checked_are_those_of_which_something_was_found() -> None:
    assert {sheet.title for sheet in SHEETS if sheet.is_checked} == set(PUBLISHED)


@pytest.mark.parametrize("title", sorted(PUBLISHED))
def test_a_checked_line_says_what_the_copies_of_its_document_say(title: str) -> None:
    (own,) = [sheet for sheet in SHEETS if sheet.title == title]
    found = PUBLISHED[title]
    assert any(figure is not None for figure in (found.vector, found.half, found.bandwidth))
    for ours, theirs in ((own.vector, found.vector), (own.half, found.half), (own.bandwidth, found.bandwidth)):
        assert theirs is None or ours == pytest.approx(theirs, rel=PUBLISHED_TOLERANCE)
    assert found.l2 in (None, own.l2)
    assert found.memory is None or found.memory in own.memory
    assert found.multiprocessors in (None, own.multiprocessors)


def test_the_h20_takes_the_lower_of_two_published_float32_rates() -> None:
    (own,) = [sheet for sheet in SHEETS if sheet.title == "H20"]
    assert own.vector < 44
    assert own.matrix_flops_per_s("int8") == pytest.approx(296e12)
    assert own.matrix_flops_per_s("tf32") == pytest.approx(74e12)


def test_the_rate_outside_matrix_units_is_that_of_its_clock(sheet: Sheet) -> None:
    chip = CHIPS[sheet.title]
    expected = sheet.multiprocessors * chip.vector * chip.boost_mhz * MHZ
    assert sheet.vector_flops_per_s == pytest.approx(expected, rel=RATE_TOLERANCE)


def test_the_dense_rate_is_that_of_its_clock(sheet: Sheet) -> None:
    chip = CHIPS[sheet.title]
    expected = sheet.multiprocessors * chip.half * (chip.matrix_mhz or chip.boost_mhz) * MHZ
    assert sheet.matrix_flops_per_s("float16") == pytest.approx(expected, rel=RATE_TOLERANCE)


def test_other_dtypes_are_whole_multiples(sheet: Sheet) -> None:
    half = sheet.matrix_flops_per_s("float16") or 0.0
    for dtype, allowed in MULTIPLES.items():
        rate = sheet.matrix_flops_per_s(dtype)
        assert rate is None or any(rate == pytest.approx(half * factor) for factor in allowed), dtype
    assert sheet.matrix_flops_per_s("float64") is None


def test_the_bandwidth_is_that_of_its_bus(sheet: Sheet) -> None:
    chip = CHIPS[sheet.title]
    expected = chip.bus_bits / 8 * chip.gbit_per_pin * 1e9
    assert sheet.bytes_per_s == pytest.approx(expected, rel=BANDWIDTH_TOLERANCE)


def test_the_last_cache_is_small_against_memory(sheet: Sheet) -> None:
    assert 2 * 2**20 <= sheet.l2_bytes <= min(sheet.memory_bytes) / 100


def test_it_names_its_source(sheet: Sheet) -> None:
    assert re.search(r"data sheet|white paper|specifications", sheet.source)


def test_it_is_found_by_its_pattern_with_its_own_size_only(sheet: Sheet) -> None:
    """Given memory and multiprocessors, no other device of the table has the same name."""
    names = [name for name in NAMES if re.fullmatch(sheet.pattern, name)]
    assert names, "no name in NAMES is matched"
    for name in names:
        found = data_sheet(name, sheet.memory_bytes[0], sheet.multiprocessors)
        assert found is not None
        assert found.peak("float16") is not None


NAMES: Final = tuple(
    dict.fromkeys(
        [
            *(sheet.title for sheet in SHEETS),
            "V100-SXM2-32GB",
            "V100-PCIE-16GB",
            "V100S-PCIE-32GB",
            "A100-SXM4-40GB",
            "A100-SXM4-80GB",
            "RTX 6000 Ada Generation",
            "RTX PRO 6000 Blackwell Workstation Edition",
            "RTX PRO 6000 Blackwell Max-Q Workstation Edition",
            "RTX PRO 6000 Blackwell Server Edition",
            "H100 80GB HBM3",
            "H800",
            "GH200 480GB",
            "GH200 144G HBM3e",
            "RTX 3050",
            "RTX 3060",
            "RTX 3080",
            "MI250",
            "MI250X",
        ]
    )
)
