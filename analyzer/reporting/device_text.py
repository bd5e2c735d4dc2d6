"""How a report names its device: with where its peaks come from, since shares of a measured peak mean more."""

from __future__ import annotations

from typing import assert_never

from analyzer.core.device import Device, Source


def peaks_text(device: Device) -> tuple[str, ...]:
    """`peaks measured` or `peaks of the data sheet`; nothing where no peak is known."""
    if not device.peaks:
        return ()
    match device.source:
        case Source.MEASURED:
            return ("peaks measured",)
        case Source.DATA_SHEET:
            return ("peaks of the data sheet",)
        case _:
            assert_never(device.source)
