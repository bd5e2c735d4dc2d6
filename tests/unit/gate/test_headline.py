"""The first line of a check."""

from __future__ import annotations

import re
from dataclasses import replace

from analyzer.core.gate import GateLevel, GateResult, GateStatus, GateUnit
from analyzer.core.graphs import SourceLine
from analyzer.gate.headline import gate_headline
from analyzer.gate.judge import judge
from analyzer.reporting.check_text import check_text
from analyzer.reporting.remarks import gate_remarks
from analyzer.reporting.repository import Repository
from tests.gate_results import a_check, a_model_gate
from tests.gates import Lines, a_case, a_model_report, a_policy
from tests.reports import at

CAUSE = "Tensor.item() needs the value on the host"


def headline(*models: object, against: str | None = "main") -> str:
    return gate_headline(models, Lines(), against)  # type: ignore[arg-type]


def test_the_cause_goes_before_what_follows_from_it() -> None:
    judged = judge(a_case(a_model_report(breaks=1), a_model_report()))
    assert headline(judged).startswith("1 new graph break: up to +0.80 ms a step, gptlite.py:57 (and ")


def test_of_several_models_the_worst_is_named() -> None:
    fine = judge(a_case())
    bad = replace(judge(a_case(a_model_report(breaks=1), a_model_report())), name="other.py")
    assert headline(fine, bad).startswith("other.py: 1 new graph break")


def test_a_model_that_did_not_run_goes_before_everything() -> None:
    bad = judge(a_case(a_model_report(breaks=1), a_model_report()))
    assert "could not be checked" in headline(bad, replace(bad, name="b.py", error="it died"))


def test_without_anything_to_hold_it_against_it_says_so() -> None:
    # Whether this run becomes the baseline is told by a note: on a runner what it writes is thrown away.
    assert headline(judge(a_case()), against=None) == "nothing to compare with yet: there is no baseline of it"


def test_a_warning_is_named_where_nothing_failed() -> None:
    case = a_case(a_model_report(breaks=1), a_model_report(), policy=a_policy("off", graph_breaks="warn"))
    assert headline(judge(case)).startswith("1 new graph break")


def test_quiet_it_names_what_it_was_held_against() -> None:
    assert headline(judge(a_case(a_model_report(), a_model_report()))) == "nothing is past its limit, against main"


def test_what_is_better_than_a_commit_has_no_file_to_accept() -> None:
    better = judge(a_case(a_model_report(), a_model_report(breaks=1)))
    assert gate_headline([better], Lines(), "main", has_new_file=True).endswith("of it is better: accept the new file")
    assert re.fullmatch(r"nothing is past its limit, against main, and \d of it is better", headline(better))


def test_a_pass_with_warnings_or_gains_says_what_may_have_gone_unseen_too() -> None:
    untold = a_check("step_time", GateStatus.NOT_COMPARED, unit=GateUnit.NS, baseline=1.0)
    for status in (GateStatus.PASSED, GateStatus.WARNED, GateStatus.IMPROVED):
        checks = (a_check("graphs", status, level=GateLevel.WARN), untold)
        assert headline(a_model_gate(checks=checks)).endswith("; a slow-down may have gone unseen"), status
    failed = headline(a_model_gate(checks=(a_check("graphs"), untold)))
    assert "unseen" not in failed, "what failed is to be mended before times are asked for"


def test_in_a_terminal_sentences_are_folded_and_commands_are_not() -> None:
    judged = judge(a_case(a_model_report(breaks=4), a_model_report()))
    command = f"analyze check {'m' * 90}.py"
    result = GateResult(headline(judged), (judged,), "main", notes=("a word " * 60,), command=command)
    lines = check_text(result, 80).splitlines()
    assert [line for line in lines if len(line) > 80] == [f"again: {command}"]
    whole = check_text(result)
    assert " ".join(whole.split()) == " ".join(" ".join(lines).split())
    assert f"note: {'a word ' * 60}".strip() in whole, "and nothing of a note is cut"


def test_in_a_narrow_terminal_a_sentence_stands_below_its_gate() -> None:
    judged = judge(a_case(a_model_report(breaks=4), a_model_report()))
    result = GateResult(headline(judged), (judged,), "main", command="analyze check m.py")
    lines = check_text(result, 40).splitlines()
    assert all(len(line) <= 40 or len(line.split()) == 1 for line in lines), "a long word is to be copied"
    assert "  FAILED    graph_breaks" in lines
    assert "".join(check_text(result).split()) == "".join(" ".join(lines).split()), "and nothing is lost"


def test_the_text_tells_one_remedy_once_and_says_how_to_run_it_again() -> None:
    judged = judge(a_case(a_model_report(breaks=1), a_model_report()))
    result = GateResult(headline(judged), (judged,), "main", "{}", "values.json", ("a note",), "analyze check m.py")
    text = check_text(result)
    assert text.startswith("FAILED: 1 new graph break")
    assert text.count("→ keep it a tensor") == 1
    assert text.count(f"{CAUSE}\n") == 1, "several numbers have one cause"
    assert "note: a note" in text
    assert "accept the new values: analyze check m.py --init" in text
    assert text.endswith("again: analyze check m.py\n")


def test_a_terminal_and_a_code_host_say_the_same_of_a_check() -> None:
    judged = judge(a_case(a_model_report(breaks=1), a_model_report()))
    text = check_text(GateResult("1 new", (judged,), "main"))
    gated = [remark for remark in gate_remarks(GateResult("1 new", (judged,), "main"), Repository()) if remark.is_gated]
    assert gated
    for remark in gated:
        for sentence in remark.message.split(". "):
            assert sentence.removeprefix("Also: ").split("; ")[0].rstrip(".") in text


def test_a_changed_line_of_a_graph_that_grew_is_named() -> None:
    before = a_model_report()
    grown = replace(
        before.graphs[0], kernels_per_step=300.0, source=(at("/home/ada/gptlite.py:41"), at("/home/ada/gptlite.py:44"))
    )
    case = a_case(replace(before, graphs=(grown,)), before)
    judged = judge(replace(case, changed=(SourceLine("/home/ada/gptlite.py", 44), SourceLine("/home/ada/x.py", 41))))
    (check,) = judged.failures
    assert check.where == at("/home/ada/gptlite.py:44")
    assert "holds the changed line gptlite.py:44" in check.message
