"""The text of `analyze explain RULE`: the rule's own docstring. There is no second copy of it anywhere."""

from __future__ import annotations

from analyzer.core.errors import UsageError
from analyzer.core.spelling import did_you_mean
from analyzer.rules import RULES


def explain(rule_id: str) -> str:
    """The rule's id, title and sections, in lines of at most 80 columns.

    Raises UsageError for an unknown id; the hint names the nearest one, or all.
    """
    wanted = rule_id.strip().replace("-", "_").lower()
    rule = next((rule for rule in RULES if rule.id == wanted), None)
    if rule is None:
        known = [rule.id for rule in RULES]
        hint = did_you_mean(wanted, known) or f"the rules are {', '.join(known)}"
        raise UsageError(f"there is no rule {rule_id!r}", hint=hint)
    return f"{rule.id}: {rule.doc.strip()}\n"


def list_rules() -> str:
    """Every rule with its title, a line each."""
    width = max(len(rule.id) for rule in RULES)
    return "".join(f"{rule.id:<{width}}  {rule.title}\n" for rule in RULES)
