"""How often `analyze check` calls one and the same program slower, and how often it finds a true slow-down.

    python -m benchmarks.gate record [--pairs N] [--out FILE]     # real steps of this machine, two processes in turn
    python -m benchmarks.gate evaluate [--recorded FILE]          # writes benchmarks/results/ci.json and ci.md

`record` times one model in pairs of processes that run the same code, exactly as `--against` does. `evaluate` draws
comparisons from them: pairs with replacement, the sides of each swapped or not at random, turns with replacement. A
true slow-down is the head's times multiplied. What is judged is `analyzer.derive.slower.compare_turns` itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from analyzer.checking.in_turn import PROCESSES, TURNS, Side, time_in_turn
from analyzer.checking.subjects import spec_of
from analyzer.core.samples import Samples
from analyzer.core.settings import Mode
from analyzer.core.trial import Change
from analyzer.derive.seen_slowdown import seen_slowdown
from analyzer.derive.slower import P_LIMIT, STORED_FACTOR, TURN_FACTOR, compare_turns
from analyzer.progress import SilentProgress
from collectors.cpu_name import cpu_name

RESULTS: Final = Path(__file__).parent / "results"
RECORDED: Final = RESULTS / "gate_turns.json"

COMPARISONS: Final = 500
"""Issue 7 asks for so many of each kind."""

FALSE_ALARMS: Final = 0.01
FOUND: Final = 0.95
"""What issue 7 allows of the one and asks of the other."""

SLOWER: Final = (1.05, 1.25, 1.5)
MORE_TURNS: Final = (36, 144, 576)
CLAIMS: Final = 25
"""Comparisons of a program with itself that are asked how small a slow-down they could have seen."""
QUIET_NOISE: Final = (0.01, 0.03, 0.05, 0.1)
"""Standard deviations of one turn against the next, as a share, of machines with nobody else on them."""

PROCESS_NOISE: Final = 0.005
"""Of one process against the next of the same program on such a machine: code and memory lie elsewhere."""

STORED_TURNS: Final = 12
"""Of a run of sixty steps (analyzer.gate.times.TURN_STEPS)."""
STORED_NOISE: Final = (0.01, 0.1)
DAYS: Final = (0.005, 0.03)
"""Of the one process of a day against that of another, which its turns do not tell of."""

MODEL: Final = """
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(192, 192) for _ in range(8))
        self.norm = nn.LayerNorm(192)

    def forward(self, x):
        for layer in self.layers:
            x = self.norm(x + torch.relu(layer(x)))
        return x

def get_model():
    return Net().eval()

def get_inputs():
    return (torch.randn(48, 192),)
"""

Levels = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, int, float], tuple[Levels, Levels]]


@dataclass(frozen=True, slots=True)
class Rates:
    """Of `COMPARISONS` at this many turns a side: shares of each outcome. `slower` is the head's true factor."""

    noise: str
    slower: float
    turns: int
    factor: float
    called_slower: float
    called_faster: float
    called_same: float


@dataclass(frozen=True, slots=True)
class Claim:
    """`seen` is what a comparison at the turns of `--against` says that it could have seen (the median of `CLAIMS`),
    `found` the share of true slow-downs of that size which are called slower.
    """

    noise: str
    seen: float
    found: float


def main() -> None:
    parser = argparse.ArgumentParser(description="False alarms and detection of the gate on time.")
    parser.add_argument("what", choices=("record", "evaluate"))
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--recorded", "--out", type=Path, default=RECORDED)
    arguments = parser.parse_args()
    if arguments.what == "record":
        record(arguments.pairs, arguments.recorded)
    else:
        evaluate(arguments.recorded)


def record(pairs: int, out: Path) -> None:
    """The lower quartile of every turn, which is all that a comparison looks at, in ns."""
    recorded: list[list[list[int]]] = []
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "model.py").write_text(MODEL)
        side = Side(spec_of(str(folder / "model.py"), Mode.INFERENCE, "cpu", None), folder, folder)
        while len(recorded) < pairs:
            found = time_in_turn(side, side, folder, SilentProgress())
            if found.reason is not None:
                sys.exit(found.reason)
            base, head = (_levels(turns) for turns in (found.base, found.head))
            recorded += [[base[at : at + TURNS], head[at : at + TURNS]] for at in range(0, len(base), TURNS)]
    content = {"machine": cpu_name(), "date": _today(), "turns": TURNS, "pairs": recorded[:pairs]}
    out.write_text(json.dumps(content) + "\n")


def evaluate(recorded: Path) -> None:
    content = json.loads(recorded.read_text())
    pairs = [(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)) for a, b in content["pairs"]]
    here = _from_recorded(pairs)
    turns = PROCESSES * TURNS
    rows = [rates("recorded", here, slower, turns, TURN_FACTOR) for slower in (1.0, *SLOWER)]
    rows.append(rates("recorded", here, 1.0, turns, STORED_FACTOR))
    rows += _until_found("recorded", here)
    made = [(f"{noise:.0%}", _normal(noise)) for noise in QUIET_NOISE]
    for noise, draw in made:
        rows += [rates(noise, draw, slower, turns, TURN_FACTOR) for slower in (1.0, 1.05)]
        rows += _until_found(noise, draw) if rows[-1].called_slower < FOUND else []
    claims = [claim(noise, draw) for noise, draw in (("recorded", here), *made)]
    stored = [stored_claim(noise, between) for noise in STORED_NOISE for between in DAYS]
    found = {
        "date": _today(), "machine": content["machine"], "recorded": content["date"], "pairs": len(pairs),
        "turn_noise": _turn_noise(pairs), "p": P_LIMIT, "rates": [asdict(row) for row in rows],
        "claims": [asdict(each) for each in claims], "stored_claims": [asdict(each) for each in stored],
    }  # fmt: skip
    (RESULTS / "ci.json").write_text(json.dumps(found, indent=1) + "\n")
    said = _markdown(rows, claims, content["machine"], content["date"], pairs)
    (RESULTS / "ci.md").write_text(said + "\n".join(["", *_stored_table(stored)]) + "\n")


def _until_found(noise: str, draw: Draw) -> list[Rates]:
    """More and more turns, until a true 5 % is found; with each, the false alarms."""
    rows: list[Rates] = []
    for more in MORE_TURNS[1:]:
        rows += [rates(noise, draw, slower, more, TURN_FACTOR) for slower in (1.05, 1.0)]
        if rows[-2].called_slower >= FOUND:
            break
    return rows


def claim(noise: str, draw: Draw) -> Claim:
    """What is said of a comparison's power, held against true slow-downs of that size."""
    random = np.random.default_rng(11)
    said: list[float] = []
    for _ in range(CLAIMS):
        base, head = (_turns(side) for side in draw(random, PROCESSES * TURNS, 1.0))
        seen = seen_slowdown(base, head, TURN_FACTOR, in_turn=True, processes=PROCESSES)
        said += [seen] if seen is not None else []
    size = float(np.median(said))
    return Claim(noise, size, rates(noise, draw, 1 + size, PROCESSES * TURNS, TURN_FACTOR).called_slower)


def stored_claim(noise: float, between: float) -> Claim:
    """The same of a run that is held against stored samples: one process a side, of another day."""
    random = np.random.default_rng(11)

    def a_day(slower: float = 1.0) -> tuple[Samples, ...]:
        level = 1e7 * slower * random.normal(1.0, between)
        return _turns(level * random.normal(1.0, noise, STORED_TURNS))

    claims = (seen_slowdown(a_day(), a_day(), STORED_FACTOR, in_turn=False) for _ in range(CLAIMS))
    size = float(np.median([each for each in claims if each is not None]))
    found = [compare_turns(a_day(), a_day(1 + size), STORED_FACTOR, in_turn=False).outcome for _ in range(COMPARISONS)]
    return Claim(f"{noise:.0%}, {between:.1%} between days", size, found.count(Change.SLOWER) / COMPARISONS)


def rates(noise: str, draw: Draw, slower: float, turns: int, factor: float) -> Rates:
    random = np.random.default_rng(7)
    seen: list[Change] = []
    for _ in range(COMPARISONS):
        base, head = draw(random, turns, slower)
        seen.append(_judged(base, head, factor))
    share = {change: seen.count(change) / COMPARISONS for change in Change}
    return Rates(noise, slower, turns, factor, share[Change.SLOWER], share[Change.FASTER], share[Change.SAME])


def _judged(base: Levels, head: Levels, factor: float) -> Change:
    processes = max(1, base.size // TURNS)
    return compare_turns(_turns(base), _turns(head), factor, in_turn=True, processes=min(processes, PROCESSES)).outcome


def _from_recorded(pairs: Sequence[tuple[Levels, Levels]]) -> Draw:
    def draw(random: np.random.Generator, turns: int, slower: float) -> tuple[Levels, Levels]:
        base, head = [], []
        for _ in range(max(1, turns // TURNS)):
            sides = pairs[random.integers(len(pairs))]
            left, right = sides if random.random() < 0.5 else sides[::-1]
            drawn = random.integers(0, left.size, TURNS)
            base.append(left[drawn])
            head.append(right[drawn] * slower)
        return np.concatenate(base), np.concatenate(head)

    return draw


def _normal(noise: float) -> Draw:
    def draw(random: np.random.Generator, turns: int, slower: float) -> tuple[Levels, Levels]:
        sides = []
        for factor in (1.0, slower):
            processes = np.repeat(random.normal(1.0, PROCESS_NOISE, max(1, turns // TURNS)), TURNS)
            sides.append(1e7 * factor * processes * random.normal(1.0, noise, processes.size))
        return sides[0], sides[1]

    return draw


def _turn_noise(pairs: Sequence[tuple[Levels, Levels]]) -> float:
    """The standard deviation of the logarithm of head over base, turn by turn; the median pair."""
    return round(float(np.median([np.std(np.log(b / a)) for a, b in pairs])), 3)


def _levels(turns: Sequence[Samples]) -> list[int]:
    return [int(np.percentile(turn.array(), 25)) for turn in turns]


def _turns(levels: Levels) -> tuple[Samples, ...]:
    return tuple(Samples((int(level),)) for level in levels)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _markdown(
    rows: Sequence[Rates], claims: Sequence[Claim], machine: str, recorded: str, pairs: Sequence[tuple[Levels, Levels]]
) -> str:
    here = [row for row in rows if row.noise == "recorded"]
    quiet = [row for row in rows if row.noise != "recorded"]
    turns = PROCESSES * TURNS
    worst = max(row.called_slower for row in rows if row.slower == 1.0)
    loudest = [row.noise for row in quiet if row.slower == 1.05 and row.turns == turns and row.called_slower >= FOUND]
    noise = _turn_noise(pairs)
    lines = [
        "# The gate on time: false alarms and detection",
        "",
        f"Measured {_today()} by `python -m benchmarks.gate evaluate`, {COMPARISONS} comparisons a row. SLOWER needs a "
        f"factor of {TURN_FACTOR} (sides in turn) or {STORED_FACTOR} (stored samples), and p < {P_LIMIT} of the "
        f"Mann-Whitney test over turns. `--against` takes {turns} turns a side: {PROCESSES} pairs of processes, "
        f"{TURNS} turns of up to sixty steps each.",
        "",
        f"- **False alarms**: at most {worst:.1%} of {COMPARISONS} comparisons of a program with itself, in any row "
        f"(allowed: {FALSE_ALARMS:.0%}).",
        f"- **A true 5 %, {turns} turns a side**: {FOUND:.0%} are found where a turn varies by up to "
        f"{loudest[-1] if loudest else 'less than was tried'}; the next table has the turns that more noise needs.",
        f"- Head over base of two turns in a row varied by {noise:.0%} (median pair) where the noise was recorded: the "
        "machine was shared. What is not found is called noisy or is within the interval of the factor; how often it "
        "was called the same stands in the tables.",
        "- A pass says how small a slow-down it could have seen (`a slow-down of 12 % or more would most likely have "
        "been found`), by the noise of its own turns: the last columns hold that against true slow-downs of that size.",
        "- asv's factor of 1.1 on both would find no slow-down of 5 % at all: it holds for stored samples only.",
        "",
        f"## The turns that find {FOUND:.0%} of true 5 %, and what a pass says it could have seen",
        "",
        *_needed_table(rows, claims),
        "",
        f"## Noise recorded on {machine}, {recorded}: {len(pairs)} pairs of processes",
        "",
        *_table(here),
        "",
        f"## Made noise: normal, and {PROCESS_NOISE:.1%} between processes of one program",
        "",
        *_table(quiet),
    ]
    return "\n".join(lines) + "\n"


def _needed_table(rows: Sequence[Rates], claims: Sequence[Claim]) -> list[str]:
    lines = [
        f"| noise of a turn | turns a side for a true 5 % | seen with {PROCESSES * TURNS} turns | found of that size |",
        "|" + "---|" * 4,
    ]
    for each in claims:
        own = [row for row in rows if row.noise == each.noise and row.slower == 1.05]
        enough = [row.turns for row in own if row.called_slower >= FOUND]
        needed = str(enough[0]) if enough else f"more than {max(row.turns for row in own)}"
        lines.append(f"| {each.noise} | {needed} | {each.seen:.1%} and more | {each.found:.1%} |")
    return lines


def _stored_table(claims: Sequence[Claim]) -> list[str]:
    lines = [
        "## What a pass against stored samples says it could have seen",
        "",
        f"Made noise, {STORED_TURNS} turns of one process a side, factor {STORED_FACTOR}. How much one day differs "
        f"from another no samples tell: a pass takes it to be {STORED_FACTOR - 1:.0%}.",
        "",
        "| noise of a turn | seen | found of that size |",
        "|" + "---|" * 3,
    ]
    return lines + [f"| {each.noise} | {each.seen:.1%} and more | {each.found:.1%} |" for each in claims]


def _table(rows: Sequence[Rates]) -> list[str]:
    head = "| noise of a turn | head is | turns a side | factor | called slower | called faster | called the same |"
    return [
        head,
        "|" + "---|" * 7,
        *(
            f"| {row.noise} | {row.slower:.2f}× | {row.turns} | {row.factor} | {row.called_slower:.1%} | "
            f"{row.called_faster:.1%} | {row.called_same:.1%} |"
            for row in rows
        ),
    ]


if __name__ == "__main__":
    main()
