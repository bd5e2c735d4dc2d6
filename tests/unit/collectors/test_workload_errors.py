"""An exception of the user's program becomes one sentence that names their line."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._inductor.exc import CppCompileError

from analyzer.core.errors import UserProgramError
from analyzer.core.graphs import SourceLine
from collectors.user_errors import RUN_WITHOUT_ARGUMENTS, describe, is_out_of_memory, user_error
from collectors.user_module import import_user_module
from collectors.workload import Workload

SOURCE = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x)  # here
"""


@pytest.fixture
def wrong(tmp_path: Path) -> tuple[Path, nn.Module]:
    path = tmp_path / "model.py"
    path.write_text(SOURCE)
    return path, import_user_module(path).Model()


def message(path: Path, model: object, doing: str = "running the model") -> str:
    assert callable(model)
    with pytest.raises(RuntimeError) as caught:
        model(torch.ones(2, 5))
    return user_error(caught.value, root=path, doing=doing).message


def test_inputs_of_a_wrong_shape_name_the_innermost_line_of_the_user(wrong: tuple[Path, nn.Module]) -> None:
    path, model = wrong
    assert message(path, model) == (
        f"running the model failed at {path}:11 in forward: "
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x5 and 4x4)"
    )


def test_an_error_keeps_its_line_on_its_way_out_of_a_process(wrong: tuple[Path, nn.Module]) -> None:
    path, model = wrong
    with pytest.raises(RuntimeError) as caught:
        model(torch.ones(2, 5))
    error = pickle.loads(pickle.dumps(user_error(caught.value, root=path, doing="running the model")))
    assert error.where == SourceLine(str(path), 11, "forward")


def test_a_module_that_is_missing_is_the_error_of_the_line_that_imports_it(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import torch\nimport not_there_at_all\n")
    with pytest.raises(UserProgramError) as caught:
        import_user_module(path)
    assert caught.value.where == SourceLine(str(path), 2, "<module>")


@pytest.mark.filterwarnings("ignore")
def test_the_same_under_compile_names_the_same_line_without_dynamos_advice(wrong: tuple[Path, nn.Module]) -> None:
    path, model = wrong
    torch._dynamo.reset()
    told = message(path, torch.compile(model, backend="eager"))
    assert told.startswith(f"running the model failed at {path}:11 in forward: RuntimeError: ")
    assert "FakeTensor" not in told
    assert "TORCHDYNAMO" not in told


def test_the_root_may_be_a_folder(wrong: tuple[Path, nn.Module]) -> None:
    path, model = wrong
    assert f"{path}:11" in message(path.parent, model)


def test_without_a_line_of_the_users_the_innermost_line_outside_torch_is_named(tmp_path: Path) -> None:
    told = message(tmp_path / "other.py", nn.Linear(4, 4))
    assert "test_workload_errors.py" in told
    assert "nn/modules" not in told


def test_an_error_of_ours_keeps_its_words(tmp_path: Path) -> None:
    ours = UserProgramError("the model hung", hint="look")
    assert user_error(ours, root=tmp_path, doing="x") is ours


def test_out_of_memory_is_recognised_wherever_it_came_from(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)
    on_gpu = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity")
    wrapped = RuntimeError("backend failed")
    wrapped.__cause__ = on_gpu
    for exc, told in ((caught.value, "can't allocate memory"), (on_gpu, "CUDA out of memory"), (MemoryError(), "")):
        assert is_out_of_memory(exc)
        error = user_error(exc, root=tmp_path, doing="trying fused")
        assert error.message.startswith("out of memory while trying fused")
        assert told in error.message
        assert "smaller batch" in str(error.hint)
    assert is_out_of_memory(wrapped)
    assert not is_out_of_memory(RuntimeError("shapes cannot be multiplied"))


def test_a_cycle_of_causes_ends() -> None:
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert not is_out_of_memory(first)


def test_a_long_message_is_cut_and_an_empty_one_is_its_type() -> None:
    assert describe(ValueError()) == "ValueError"
    assert describe(ValueError("two\n  lines")) == "ValueError: two lines"
    assert len(describe(ValueError("x" * 10_000))) < 700


def test_a_workload_made_by_its_fields_is_told_of_the_way_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(TypeError) as caught:
        Workload(model=nn.Linear(2, 2), inputs=(torch.ones(1, 2),))  # type: ignore[call-arg]
    assert "Workload.of(model, inputs" in str(user_error(caught.value, root=tmp_path, doing="x").hint)


@pytest.mark.parametrize("model", [nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2))])
def test_an_optimizer_that_wants_parameters_and_is_given_the_model_is_told_how(
    model: nn.Module, tmp_path: Path
) -> None:
    with pytest.raises(TypeError) as caught:
        torch.optim.SGD(model, lr=0.1)  # type: ignore[arg-type]
    said = user_error(caught.value, root=tmp_path, doing="calling get_optimizer(model)")
    assert "call its argument params" in str(said.hint)
    assert user_error(caught.value, root=tmp_path, doing="running the model").hint is None


def test_what_argparse_refused_is_told_with_what_to_do(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--size', required=True)\np.parse_args([])"
    )
    with pytest.raises(UserProgramError) as caught:
        import_user_module(path)
    assert caught.value.message.endswith("model.py:4: SystemExit: the following arguments are required: --size")
    assert caught.value.hint == RUN_WITHOUT_ARGUMENTS
    assert "--size" in capfd.readouterr().err


def test_leaving_where_the_file_is_not_imported_has_no_hint_of_imports(tmp_path: Path) -> None:
    assert user_error(SystemExit(3), root=tmp_path, doing="calling get_model()").hint is None


def test_without_any_line_the_file_is_named_and_what_the_step_was_given(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.touch()
    error = user_error(RuntimeError("no data"), root=path, doing="calling model.to('cpu')", given="it gave [8, 63]")
    assert error.message == f"calling model.to('cpu') failed in {path}: RuntimeError: no data"
    assert error.hint == "it gave [8, 63]"


def test_what_is_known_of_an_error_goes_before_what_the_step_was_given(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(3, requires_grad=True).backward()  # type: ignore[no-untyped-call]
    error = user_error(caught.value.with_traceback(None), root=tmp_path, doing="a step", given="it gave [3]")
    assert error.hint == "a loss is one number: return its mean or sum"


def test_of_a_failed_compiler_the_error_is_told_and_not_the_command() -> None:
    said = "a.h:1: warning: unused\na.cpp:15:37: error: 'at::vec' has not been declared\n  15 | using"
    failed = CppCompileError(["g++", "a.cpp", "-D", "X" * 2000], said)
    assert describe(failed) == "C++ compile error: a.cpp:15:37: error: 'at::vec' has not been declared"
    assert describe(CppCompileError(["g++"], "killed")) == "C++ compile error: killed"
