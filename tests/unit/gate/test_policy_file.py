"""[tool.graphbound] as read: every mistake is named, with the nearest that would be right."""

from __future__ import annotations

import pytest

from analyzer.core.errors import UsageError
from analyzer.core.gate import GateLevel
from analyzer.core.policy import Policy, Preset
from analyzer.gate.gates import GATES
from analyzer.gate.policy_file import read_policy
from analyzer.gate.policy_text import policy_text


def read(text: str, *, is_project: bool = True) -> Policy | None:
    return read_policy(text, "pyproject.toml", "/p", is_project=is_project)


def policy(text: str) -> Policy:
    found = read(f"[tool.graphbound]\n{text}")
    assert found is not None
    return found


def refused(text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        policy(text)
    return caught.value


def test_a_project_without_the_table_has_no_policy() -> None:
    assert read("[tool.ruff]\nline-length = 120\n") is None


def test_an_empty_table_is_the_recommended_preset() -> None:
    assert policy("").preset is Preset.RECOMMENDED
    assert policy("").gates == ()


def test_a_file_of_its_own_may_carry_the_tables_name_or_not() -> None:
    for text in ('preset = "strict"\n', '[tool.graphbound]\npreset = "strict"\n'):
        found = read(text, is_project=False)
        assert found is not None
        assert found.preset is Preset.STRICT


def test_levels_and_limits_are_read_in_their_units() -> None:
    found = policy(
        """
        models = ["a.py", "b.py"]
        [tool.graphbound.gates]
        graph_breaks = ["error", {max = 3}]
        kernels = "off"
        step_time = ["error", {max = "12.5 ms", margin = 0.05}]
        peak_memory = ["warn", {max = "4 GiB"}]
        starved_share = ["warn", {max = "30 %"}]
        plan_coverage = ["error", {min = 0.9}]
        [tool.graphbound.model."b.py"]
        plan = "plans/b.json"
        gates = {graph_breaks = ["error", {max = 5}]}
        """
    )
    assert found.models == ("a.py", "b.py")
    settings = {gate.id: found.named(gate.id, "a.py") for gate in GATES}
    assert settings["graph_breaks"] is not None
    assert settings["graph_breaks"].most == 3
    assert settings["graph_breaks"].is_asked
    assert settings["kernels"] is not None
    assert settings["kernels"].level is GateLevel.OFF
    assert settings["step_time"] is not None
    assert (settings["step_time"].most, settings["step_time"].margin) == (12_500_000, 0.05)
    assert settings["peak_memory"] is not None
    assert settings["peak_memory"].most == 4 * 2**30
    assert settings["starved_share"] is not None
    assert settings["starved_share"].most == pytest.approx(0.3)
    assert settings["plan_coverage"] is not None
    assert settings["plan_coverage"].least == 0.9
    assert settings["recompiles"] is None
    own = found.named("graph_breaks", "b.py")
    assert own is not None
    assert own.most == 5
    assert (found.plan("b.py"), found.plan("a.py")) == ("plans/b.json", None)


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ('presets = "strict"', "there is no 'presets'", "did you mean preset?"),
        ('preset = "stict"', "preset is 'stict'", "did you mean strict?"),
        ('[tool.graphbound.gates]\ngraph_brakes = "warn"', "no 'graph_brakes' in gates", "did you mean graph_breaks?"),
        ('[tool.graphbound.gates]\ngraph_breaks = "eror"', "gates.graph_breaks is 'eror'", "did you mean error?"),
        ('[tool.graphbound.gates]\ngraph_breaks = ["error", {mx = 1}]', "there is no 'mx'", "did you mean max?"),
        ('[tool.graphbound.gates]\nplan_coverage = ["error", {max = 1}]', "takes no max", "held to a min"),
        ('[tool.graphbound.gates]\nstep_time = ["error", {max = 12}]', "a time like", None),
        ('[tool.graphbound.gates]\nstep_time = ["error", {max = "12 GB"}]', "a time like", None),
        ('[tool.graphbound.gates]\ngraph_breaks = ["error", {max = true}]', "a number from 0", None),
        ('[tool.graphbound.gates]\ngraph_breaks = ["error", {max = -1}]', "a number from 0", None),
        ('[tool.graphbound.gates]\ngraph_breaks = ["error", {max = inf}]', "a number from 0", None),
        ('[tool.graphbound.gates]\ngraph_breaks = ["error", {margin = "x"}]', "a share like", None),
        ("[tool.graphbound.gates]\ngraph_breaks = 3", "must be", None),
        ('models = "a.py"', "a list like", None),
        ("baseline = 3", "the path of a file", None),
        ('[tool.graphbound.model."a.py"]\ngate = 1', "there is no 'gate'", "did you mean gates?"),
        ('model = "a.py"', "a table", None),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_what_would_be_right(text: str, said: str, hint: str | None) -> None:
    error = refused(text)
    assert said in error.message
    assert error.message.startswith("pyproject.toml")
    if hint is not None:
        assert error.hint is not None
        assert hint in error.hint


def test_what_is_no_toml_is_told() -> None:
    assert "is no TOML" in refused("preset = ").message


def test_the_policy_that_init_writes_is_read_as_what_it_is() -> None:
    found = read(policy_text(Policy(), ["models/a b.py", 'q"uo\\te.py', "a.py (training)"]), is_project=False)
    assert found is not None
    assert found.models == ("models/a b.py", 'q"uo\\te.py')
    assert found.gates == (), "its gates are comments: what is not written follows the preset"


def test_every_gate_of_the_written_policy_can_be_taken_out_of_its_comment() -> None:
    text = policy_text(Policy(), [])
    lines = [line.removeprefix("# ") for line in text.partition("[tool.graphbound.gates]\n")[2].splitlines()]
    found = read("[tool.graphbound.gates]\n" + "\n".join(lines))
    assert found is not None
    assert [named.gate for named in found.gates] == [gate.id for gate in GATES]


def test_a_table_whose_name_is_nearly_ours_is_a_slip_and_no_policy() -> None:
    for slip in ("graphbond", "graphboudn", "graph-bound", "Graphbound"):
        with pytest.raises(UsageError, match=rf"\[tool.{slip}\] is no table") as caught:
            read_policy(f'[tool.{slip}]\nmodels = ["net.py"]\n', "pyproject.toml", ".", is_project=True)
        assert caught.value.hint == "did you mean [tool.graphbound]?"
    others = "[tool.graphviz]\n[tool.ruff]\n[tool.outbound]\n"
    assert read_policy(others, "pyproject.toml", ".", is_project=True) is None
