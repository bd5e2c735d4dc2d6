"""`analyze explain NAME`: what a finding, a verdict, a budget's part or a gate of `analyze check` means, how it is
measured, and when it is wrong."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING, Final

from analyzer.commands.command import Command
from analyzer.commands.output import print_text
from analyzer.core.errors import ExitCode, UsageError
from analyzer.core.spelling import did_you_mean

WIDTH: Final = 80
"""Columns, as of the other explanations."""

if TYPE_CHECKING:
    from analyzer.gate.reading import Gate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="*",
        help="a verdict, a part of a budget, the id of a finding or of a gate; without one, all are listed",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    name = " ".join(arguments.name)
    print_text(explained(name) if name else listed())
    return ExitCode.OK


def explained(name: str) -> str:
    """The explanation of a word of a report, a rule or a gate. Raises UsageError, which names the nearest or all."""
    # The rules bring numpy: `analyze --help` does without.
    from analyzer.gate.gates import GATES
    from analyzer.reporting.words import WORDS, plain_name, word
    from analyzer.rules import RULES
    from analyzer.rules.explain import explain

    found = word(name)
    if found is not None:
        return f"{found.id}: {found.doc.strip()}\n"
    wanted = plain_name(name)
    if any(rule.id == wanted for rule in RULES):
        return explain(wanted)
    gate = next((gate for gate in GATES if gate.id == wanted), None)
    if gate is not None:
        return _of_gate(gate)
    known = [*(plain_name(w.id) for w in WORDS), *(rule.id for rule in RULES), *(gate.id for gate in GATES)]
    hint = did_you_mean(wanted, known) or f"there are {', '.join(known)}"
    raise UsageError(f"there is no verdict, part, finding or gate {name!r}", hint=hint)


def _of_gate(gate: Gate) -> str:
    # As above.
    from analyzer.gate.explanations import explanation

    lines = [f"{gate.id}, a gate of `analyze check`:", f"  {gate.doc}", ""]
    told = explanation(gate.id)
    for title, text in (("How it is held", told.how), ("When it is wrong", told.wrong)):
        lines += [title, *textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  "), ""]
    lines.append(f"By default: {gate.recommended.value}.")
    lines += [f"The findings that explain it: {', '.join(gate.rules)}."] if gate.rules else []
    return "\n".join([*lines, "Set it under [tool.graphbound.gates].", ""])


def listed() -> str:
    """Every word, every rule and every gate with its title, a line each."""
    # As above.
    from analyzer.gate.gates import GATES
    from analyzer.reporting.words_host import HOST_WORDS
    from analyzer.reporting.words_parts import PART_WORDS
    from analyzer.reporting.words_path import PATH_WORDS
    from analyzer.reporting.words_search import SEARCH_WORDS
    from analyzer.reporting.words_verdicts import VERDICT_WORDS
    from analyzer.rules.explain import list_rules

    groups = (
        ("Verdicts", VERDICT_WORDS),
        ("Parts of a budget", PART_WORDS),
        ("What the host does while the device is starved", HOST_WORDS),
        ("What a recording waited for", PATH_WORDS),
        ("The search for a plan", SEARCH_WORDS),
    )
    width = max(len(word.id) for _, words in groups for word in words)
    texts = [f"{title}\n" + "".join(f"  {w.id:<{width}}  {w.title}\n" for w in words) for title, words in groups]
    rules = "".join(f"  {line}\n" for line in list_rules().splitlines())
    wide = max(len(gate.id) for gate in GATES)
    gates = "".join(f"  {gate.id:<{wide}}  {gate.doc}\n" for gate in GATES)
    return "\n".join([*texts, f"Findings\n{rules}", f"Gates of `analyze check`\n{gates}"])


COMMAND: Final = Command(
    name="explain",
    summary="what a verdict, a part of a budget, a finding or a gate means, and what to do about it",
    add_arguments=add_arguments,
    run=run,
)
