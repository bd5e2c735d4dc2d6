"""The words of a Chrome trace file: events and names as JSON text, one a line. Knows no timeline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

TEXT_LIMIT: Final = 16_384
"""Characters of a name or value in a file: some eight times the longest kernel name seen (trace quirk 40). A name of a
megabyte on each of a million rows would make a file that nothing opens."""
CUT: Final = "… (cut)"


def text(value: str) -> str:
    """A JSON string, in ASCII; what is no character of any text (half a surrogate pair) becomes `?`."""
    shown = value if len(value) <= TEXT_LIMIT else value[: TEXT_LIMIT - len(CUT)] + CUT
    return json.dumps(shown.encode("utf-8", "replace").decode())


def micros(ns: int) -> str:
    """Nanoseconds, not negative, as the microseconds that the format counts in, exactly."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def args_text(args: Mapping[str, Any]) -> str:
    """The fields of `args` without their braces; texts inside are cut like names."""
    return ",".join(f"{text(name)}:{_value(value)}" for name, value in args.items())


def _value(value: Any) -> str:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return f"{{{args_text(value)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_value, value))}]"
    return json.dumps(value)


def event(name: str, category: str, place: tuple[int, int], window_ns: tuple[int, int], args: Mapping[str, Any]) -> str:
    """A row of its own, from start to end in ns, on a process and thread."""
    (pid, tid), (start, end) = place, window_ns
    return (
        f'{{"ph":"X","cat":{text(category)},"name":{text(name)},"pid":{pid},"tid":{tid},"ts":{micros(start)},'
        f'"dur":{micros(end - start)},"args":{{{args_text(args)}}}}}'
    )


def process(pid: int, name: str, order: int) -> list[str]:
    """Names a process, and says where it stands from the top."""
    return [_meta("process_name", pid, 0, {"name": name}), _meta("process_sort_index", pid, 0, {"sort_index": order})]


def thread(place: tuple[int, int], name: str, order: int) -> list[str]:
    """The same of a track of a process."""
    return [
        _meta("thread_name", *place, {"name": name}),
        _meta("thread_sort_index", *place, {"sort_index": order}),
    ]


def _meta(what: str, pid: int, tid: int, args: Mapping[str, Any]) -> str:
    return f'{{"ph":"M","name":"{what}","pid":{pid},"tid":{tid},"ts":0,"args":{{{args_text(args)}}}}}'
