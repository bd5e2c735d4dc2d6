"""Data sheets by the names that drivers give."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from analyzer.core.device import VECTOR, Device, Source
from analyzer.derive.data_sheets import data_sheet

GIB = 2**30


def _sheet(name: str, memory_bytes: int | None = None, sm_count: int | None = None) -> Device:
    found = data_sheet(name, memory_bytes, sm_count)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "bfloat16", "gigabytes_per_s"),
    [
        ("NVIDIA A10", 125, 600),
        ("NVIDIA A10G", 70, 600),
        ("NVIDIA A30", 165, 933),
        ("NVIDIA A40", 149.7, 696),
        ("NVIDIA A100-SXM4-40GB", 312, 1555),
        ("A100-SXM4-40GB", 312, 1555),
        ("NVIDIA A100-PG509-200", 312, 1555),
        ("NVIDIA A100-PCIE-40GB", 312, 1555),
        ("NVIDIA A100-SXM4-80GB", 312, 2039),
        ("NVIDIA A100 80GB PCIe", 312, 1935),
        ("NVIDIA L4", 121, 300),
        ("NVIDIA L40", 181, 864),
        ("NVIDIA L40S", 362, 864),
        ("NVIDIA RTX A6000", 154.8, 768),
        ("NVIDIA RTX 6000 Ada Generation", 364.2, 960),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 500, 1792),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 440, 1792),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 480, 1597),
        ("NVIDIA H100 80GB HBM3", 989.4, 3350),
        ("NVIDIA H100 PCIe", 756.5, 2000),
        ("NVIDIA H100 NVL", 835.5, 3900),
        ("NVIDIA H200", 989.4, 4800),
        ("NVIDIA H200 NVL", 835.5, 4800),
        ("NVIDIA H800 PCIe", 756.5, 2000),
        ("NVIDIA H20", 148, 4000),
        ("NVIDIA GH200 480GB", 989.4, 4000),
        ("NVIDIA GH200 144G HBM3e", 989.4, 4900),
        ("NVIDIA B200", 2250, 7700),
        ("NVIDIA GB200", 2500, 8000),
        ("NVIDIA B300 SXM6 AC", 2250, 8000),
        ("NVIDIA GeForce RTX 3090", 71, 936),
        ("GeForce RTX 3060 Ti", 32.4, 448),
        ("NVIDIA GeForce RTX 4090", 165.2, 1008),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", 88.2, 672),
        ("NVIDIA GeForce RTX 5090", 209.5, 1792),
        ("AMD Instinct MI210", 181, 1638),
        ("AMD Instinct MI300X", 1307.4, 5300),
        ("AMD Instinct MI325X", 1307.4, 6000),
        ("AMD Instinct MI355X", 2516.6, 8000),
    ],
)
def test_a_name_finds_its_own_device(name: str, bfloat16: float, gigabytes_per_s: float) -> None:
    found = _sheet(name)
    assert found.peak("bfloat16") == pytest.approx(bfloat16 * 1e12)
    assert found.memory_bytes_per_s == found.read_bytes_per_s == pytest.approx(gigabytes_per_s * 1e9)
    assert (found.name, found.source) == (name, Source.DATA_SHEET)
    (note,) = found.notes
    assert note.startswith("dense figures of: ")


@pytest.mark.parametrize(
    ("name", "float16", "gigabytes_per_s"),
    [
        ("Tesla V100-SXM2-16GB", 125, 900),
        ("Tesla V100-SXM2-32GB", 125, 900),
        ("Tesla V100-DGXS-32GB", 125, 900),
        ("Tesla V100-PCIE-16GB", 112, 900),
        ("Tesla V100S-PCIE-32GB", 130, 1134),
        ("Tesla T4", 65, 320),
        ("NVIDIA GeForce RTX 2080 Ti", 53.8, 616),
        ("NVIDIA TITAN RTX", 130.5, 672),
    ],
)
def test_a_device_without_bfloat16_has_no_such_peak(name: str, float16: float, gigabytes_per_s: float) -> None:
    found = _sheet(name)
    assert found.peak("float16") == pytest.approx(float16 * 1e12)
    assert found.memory_bytes_per_s == pytest.approx(gigabytes_per_s * 1e9)
    for dtype in ("bfloat16", "tf32", "float8_e4m3fn"):
        assert found.peak(dtype) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "NVIDIA",
        "ARTEMIS",
        "H1000",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
        "GRID A100-10C",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 2080 with Max-Q Design",
        "Quadro RTX 6000",
        "AMD Instinct MI300A",
        "Not an NVIDIA H200",
        "NVIDIA H200\nNVIDIA H100",
        "AMD EPYC",
    ],
)
def test_what_is_not_in_the_table_stays_unknown(name: str) -> None:
    assert data_sheet(name) is None


def test_an_h100_of_unknown_form_takes_the_lowest_figures_and_says_so() -> None:
    found = _sheet("NVIDIA H100")
    lowest = _sheet("NVIDIA H100 PCIe")
    assert found.peaks == lowest.peaks
    assert found.memory_bytes_per_s == lowest.memory_bytes_per_s
    assert "may be H100 PCIe or H100 NVL or H100 SXM" in found.notes[0]
    assert "lowest" in found.notes[0]


def test_memory_and_multiprocessors_tell_devices_of_one_name_apart() -> None:
    assert _sheet("NVIDIA H100", 94 * GIB, 132).peaks == _sheet("NVIDIA H100 NVL").peaks
    assert _sheet("NVIDIA H100", 85_029_158_912, 132).peaks == _sheet("NVIDIA H100 80GB HBM3").peaks
    assert len(_sheet("NVIDIA H100", sm_count=132).notes) == 2
    assert _sheet("NVIDIA GeForce RTX 3080", 12 * GIB).memory_bytes_per_s == 912e9
    assert _sheet("NVIDIA GeForce RTX 3080").memory_bytes_per_s == 760e9


def test_one_gcd_of_an_mi250x_is_told_from_both() -> None:
    one, both = _sheet("AMD Instinct MI250X", 64 * GIB, 110), _sheet("AMD Instinct MI250X", 128 * GIB, 220)
    assert both.peak("float16") == pytest.approx(2 * (one.peak("float16") or 0))
    assert both.memory_bytes_per_s == pytest.approx(2 * (one.memory_bytes_per_s or 0), rel=1e-3)
    assert _sheet("AMD Instinct MI250X").peaks == one.peaks
    assert _sheet("AMD Instinct MI250X / MI250", sm_count=104).peaks == _sheet("AMD Instinct MI250", sm_count=104).peaks


@pytest.mark.parametrize(
    ("memory_bytes", "sm_count"), [(None, 66), (40 * GIB, None), (10 * GIB, 16)], ids=["half", "less memory", "slice"]
)
def test_a_part_of_a_device_is_not_the_device(memory_bytes: int | None, sm_count: int | None) -> None:
    assert data_sheet("NVIDIA H100 80GB HBM3", memory_bytes, sm_count) is None


def test_no_launch_cost_is_claimed() -> None:
    found = _sheet("NVIDIA H200", 150_109_880_320, 132)
    costs = (found.launch_ns, found.launch_gap_ns, found.kernel_gap_ns, found.replay_ns, found.empty_kernel_ns)
    assert costs == (None,) * 5
    assert (found.empty_op_ns, found.l2_bytes_per_s) == (None, None)
    assert (found.memory_bytes, found.l2_bytes) == (150_109_880_320, 50 * 2**20)


def test_the_float8_of_an_mi300x_is_the_one_without_negative_zero() -> None:
    found = _sheet("AMD Instinct MI300X")
    assert found.peak("float8_e4m3fn") is None
    assert found.peak("float8_e4m3fnuz") == pytest.approx(2614.9e12, rel=1e-3)
    assert _sheet("AMD Instinct MI355X").peak("float8_e4m3fn") == pytest.approx(5033e12, rel=1e-3)


def test_float32_in_and_outside_matrix_units_differ_where_they_do() -> None:
    mi210, h100 = _sheet("AMD Instinct MI210"), _sheet("NVIDIA H100 80GB HBM3")
    assert mi210.peak("float32") == pytest.approx(2 * (mi210.peak(VECTOR) or 0))
    assert h100.peak("float32") == h100.peak(VECTOR)


def test_the_devices_of_real_traces_are_in_the_table() -> None:
    folder = Path(__file__).resolve().parents[4] / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip("the traces of others are not in the repository")
    found: dict[str, tuple[int, int]] = {}
    for path in sorted(folder.rglob("*.json.gz")):
        # The properties stand at the beginning of a file, except where its writer sorted the keys.
        with gzip.open(path, "rt", errors="replace") as file:
            head = file.read(20_000)
        for entry in re.findall(r'\{[^{}]*"totalGlobalMem"[^{}]*\}', head):
            name, memory, multiprocessors = (
                re.search(rf'"{key}":\s*"?([^",}}]*)', entry) for key in ("name", "totalGlobalMem", "numSms")
            )
            if name and memory and multiprocessors and name[1]:
                found[name[1]] = int(memory[1]), int(multiprocessors[1])
    assert len(found) >= 8
    for name, (memory_bytes, sm_count) in found.items():
        assert len(_sheet(name, memory_bytes, sm_count).notes) == 1, name
