"""Processes that decode chunks of one file side by side."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from collectors.readers.chunks import whole_parts
from collectors.readers.columns import Part


@dataclass(frozen=True, slots=True)
class DecodingPool:
    width: int
    executor: ProcessPoolExecutor

    def submit(self, text: bytes) -> Future[list[Part] | None]:
        return self.executor.submit(whole_parts, text)


@contextmanager
def decoding_pool(width: int) -> Iterator[DecodingPool | None]:
    """`width` processes; None for fewer than two, which a process of its own would only slow down.

    They are spawned: a fork would copy whatever threads and devices the caller has open. So a script that calls this
    needs the usual `if __name__ == "__main__":`.
    """
    if width < 2:
        yield None
        return
    with ProcessPoolExecutor(width, mp_context=multiprocessing.get_context("spawn")) as executor:
        try:
            yield DecodingPool(width, executor)
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
