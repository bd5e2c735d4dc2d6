"""Torch's settings, and the CPUs of this process."""

from __future__ import annotations

import os

import pytest
import torch

from collectors.environment import parse_quota, read_environment


def test_it_reads_what_torch_was_set_to() -> None:
    with torch.autograd.set_detect_anomaly(True):
        assert read_environment().is_anomaly_mode
    assert not read_environment().is_anomaly_mode


def test_tf32_is_allowed_under_high_precision() -> None:
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    try:
        found = read_environment()
    finally:
        torch.backends.cuda.matmul.fp32_precision = before
    assert found.allows_tf32
    # The older setting still says otherwise; torch then refuses to name a precision.
    assert found.matmul_precision is None


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux only")
def test_the_affinity_mask_is_counted_and_not_the_machine() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert read_environment().affinity_cpus == 1
    finally:
        os.sched_setaffinity(0, before)


def test_the_smaller_limit_is_what_can_be_used() -> None:
    found = read_environment()
    assert found.usable_cpus is not None
    assert found.usable_cpus <= (found.affinity_cpus or 0)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("200000 100000\n", 2.0),
        ("50000 100000", 0.5),
        ("max 100000\n", None),
        ("-1 100000", None),
        ("100000 0", None),
        ("", None),
        ("1 2 3", None),
        ("\x00", None),
    ],
)
def test_a_quota_is_read_as_cpus(text: str, cpus: float | None) -> None:
    assert parse_quota(text) == cpus


@pytest.mark.parametrize(
    ("capabilities", "dtypes"),
    [
        ({"architecture": "x86_64", "avx2": True, "avx512_bf16": False, "amx_tile": False}, ()),
        ({"architecture": "x86_64", "avx512_bf16": True, "amx_bf16": True}, ("bfloat16",)),
        ({"architecture": "x86_64", "avx512_bf16": True, "avx512_fp16": True}, ("bfloat16", "float16")),
        ({"architecture": "aarch64", "neon": True, "fp16_arith": True, "bf16": False}, ("float16",)),
        ({}, None),
    ],
)
def test_the_half_types_are_those_with_instructions(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, object], dtypes: tuple[str, ...] | None
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert read_environment().cpu_half_dtypes == dtypes


def test_torch_compile_is_off_where_either_switch_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHDYNAMO_DISABLE", raising=False)
    assert read_environment().is_compile_disabled is False
    with torch._dynamo.config.patch(disable=True):
        assert read_environment().is_compile_disabled
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    assert read_environment().is_compile_disabled
