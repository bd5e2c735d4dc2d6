"""Every form that a model file may have, in the order in which they are looked for."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from analyzer.core.errors import UsageError, UserProgramError
from analyzer.core.settings import Mode, WorkloadSpec
from collectors.loading import FORMS, load_workload
from collectors.workload import NO_LOSS, NO_OPTIMIZER, Workload

Write = Callable[[str], Path]

HEAD = "import torch\nfrom torch import nn\n"
FUNCTIONS = "def get_model(): return nn.Linear(2, 3)\ndef get_inputs(): return (torch.ones(1, 2),)\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(source: str) -> Path:
        path = tmp_path / "model.py"
        path.write_text(HEAD + textwrap.dedent(source))
        return path

    return write_file


def load(path: Path, *, mode: Mode = Mode.INFERENCE, entry: str | None = None) -> Workload:
    return load_workload(WorkloadSpec(str(path), entry=entry, mode=mode, device="cpu"))


def test_form_1_is_get_model_and_get_inputs(write: Write) -> None:
    made = load(write(FUNCTIONS))
    assert made.form == "get_model() and get_inputs()"
    assert made.name == "model"
    assert made.model(*made.args).shape == (1, 3)
    assert isinstance(made.model, nn.Module)
    assert not made.model.training


def test_form_1_passes_the_device_to_whoever_has_an_argument_for_it(write: Write) -> None:
    made = load(
        write("""
        def get_model(): return lambda x, device: x
        def get_inputs(rows=2, *, device): return {"x": torch.ones(rows, device=device), "device": device}
        """)
    )
    assert made.kwargs["device"] == "cpu"
    assert made.kwargs["x"].shape == (2,)


def test_form_1_takes_any_callable_as_the_model(write: Write) -> None:
    made = load(write("def get_model(): return torch.nn.functional.relu\ndef get_inputs(): return torch.ones(2)\n"))
    assert made.model(*made.args).tolist() == [1.0, 1.0]


def test_form_2_is_a_kernelbench_file_unchanged(write: Write) -> None:
    made = load(
        write("""
        class Model(nn.Module):
            def __init__(self, in_features, out_features):
                super().__init__()
                self.linear = nn.Linear(in_features, out_features)

            def forward(self, x):
                return self.linear(x)

        def get_inputs():
            return [torch.rand(4, 5)]

        def get_init_inputs():
            return [5, 6]
        """)
    )
    assert made.form == "class Model"
    assert made.model(*made.args).shape == (4, 6)


@pytest.mark.parametrize("name", ["inputs", "example_inputs"])
def test_form_3_is_a_module_level_model_and_its_inputs(write: Write, name: str) -> None:
    made = load(write(f"model = nn.Linear(2, 2)\n{name} = (torch.ones(1, 2),)\n"))
    assert made.form == f"model and {name}"


def test_form_4_is_a_function_returning_model_and_inputs(write: Write) -> None:
    path = write(FUNCTIONS + "def small(device): return nn.Linear(7, 7), (torch.ones(1, 7, device=device),)\n")
    made = load(path, entry="small")
    assert made.form == "--entry small"
    assert made.args[0].shape == (1, 7)


def test_form_4_may_return_a_workload_with_its_own_step(write: Write) -> None:
    path = write("""
    from collectors.workload import Workload
    def twice(model, x): return model(model(x))
    def build(): return Workload.of(nn.Linear(2, 2), torch.ones(1, 2), step=twice)
    """)
    made = load(path, entry="build", mode=Mode.TRAINING)
    assert made.step is not None
    assert made.step(made.model, *made.args).shape == (1, 2)
    assert made.mode is Mode.TRAINING
    assert isinstance(made.model, nn.Module)
    assert made.model.training


def test_the_forms_are_tried_in_order(write: Write) -> None:
    path = write(FUNCTIONS + "model, inputs = nn.Linear(9, 9), (torch.ones(9),)\n")
    assert load(path).form == "get_model() and get_inputs()"


def test_without_any_form_the_message_names_all_of_them(write: Write) -> None:
    with pytest.raises(UsageError) as caught:
        load(write("def get_model(): return nn.Linear(1, 1)\n"))
    assert "get_model alone" in caught.value.message
    for form in FORMS:
        assert form in str(caught.value.hint)
    assert len(FORMS) == 5


def test_the_module_is_registered_before_it_runs_under_the_same_name_in_every_process(write: Write) -> None:
    path = write("import sys\nassert sys.modules[__name__].__file__ == __file__\n" + FUNCTIONS)
    load(path)
    names = [n for n, m in sys.modules.items() if getattr(m, "__file__", None) == str(path)]
    load(path)
    assert [n for n, m in sys.modules.items() if getattr(m, "__file__", None) == str(path)] == names
    assert len(names) == 1


def test_a_graph_break_in_the_file_compiles_because_its_module_is_registered(write: Write) -> None:
    made = load(
        write("""
        SCALE = 2.0
        def get_model():
            def model(x):
                x = x * SCALE
                torch._dynamo.graph_break()
                return x * SCALE
            return model
        def get_inputs(): return (torch.ones(2),)
        """)
    )
    torch._dynamo.reset()
    assert torch.compile(made.model, backend="eager")(*made.args).tolist() == [4.0, 4.0]


def test_siblings_are_imported_and_argv_is_the_file_alone(write: Write, tmp_path: Path) -> None:
    (tmp_path / "a_sibling.py").write_text("SIZE = 5\n")
    argv, path = list(sys.argv), list(sys.path)
    made = load(
        write("""
        import sys
        from a_sibling import SIZE
        ARGV = list(sys.argv)
        def get_model(): return nn.Linear(SIZE, 1)
        def get_inputs(): return {"input": torch.ones(SIZE), }
        assert len(sys.argv) == 1 and sys.argv[0].endswith("model.py")
        """)
    )
    assert made.kwargs["input"].shape == (5,)
    assert sys.argv == argv
    assert sys.path == [*path, str(tmp_path)]
    sys.path.remove(str(tmp_path))


def test_building_twice_gives_the_same_weights_and_leaves_the_generators_alone(write: Write) -> None:
    path = write(FUNCTIONS)
    state = torch.get_rng_state()
    first, second = load(path).model, load(path).model
    assert isinstance(first, nn.Linear)
    assert isinstance(second, nn.Linear)
    assert torch.equal(first.weight, second.weight)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_dtype_stays_as_the_file_made_it(write: Write) -> None:
    made = load(
        write("""
        def get_model(): return nn.Linear(2, 2).to(torch.bfloat16)
        def get_inputs(): return (torch.ones(1, 2, dtype=torch.bfloat16),)
        """)
    )
    assert made.model(*made.args).dtype is torch.bfloat16


def test_training_takes_loss_and_optimizer_from_the_file(write: Write) -> None:
    source = FUNCTIONS + (
        "def get_loss(): return lambda output: output.mean()\n"
        "def get_optimizer(params): return torch.optim.SGD(params, lr=0.1)\n"
    )
    made = load(write(source), mode=Mode.TRAINING)
    assert made.notes == ()
    assert made.loss is not None
    assert made.loss(torch.full((2,), 3.0)) == 3.0
    assert made.optimizer is not None
    assert isinstance(made.model, nn.Linear)
    assert made.optimizer.param_groups[0]["params"][0] is made.model.weight
    assert load(write(source)).optimizer is None


def test_training_without_them_says_so(write: Write) -> None:
    assert load(write(FUNCTIONS), mode=Mode.TRAINING).notes == (NO_LOSS, NO_OPTIMIZER)


@pytest.mark.parametrize(
    "loss",
    [
        "def get_loss(): return lambda output, x: output.sum() + x.sum()",
        "def get_loss(output, x): return output.sum() + x.sum()",
        "def get_loss(device): return lambda output, x: output.sum() + x.to(device).sum()",
    ],
)
def test_a_loss_may_want_the_inputs_or_the_device_or_be_the_loss_itself(write: Write, loss: str) -> None:
    made = load(write(f"{FUNCTIONS}{loss}\n"), mode=Mode.TRAINING)
    assert made.loss is not None
    assert made.loss(torch.ones(3)) == 5.0


@pytest.mark.parametrize(
    ("loss", "value"),
    [
        ("def get_loss(): return lambda output, y: output.sum() + y.sum()", 7.0),
        ("def get_loss(): return lambda output, *, y=None: output.sum() + y.sum()", 7.0),
        ("def get_loss(): return lambda output, **inputs: output.sum() + inputs['x'].sum()", 5.0),
        ("def get_loss(): return lambda output: output.sum()", 3.0),
        ("def get_loss(): return lambda x: x.sum()", 3.0),  # the output, whatever it is called
    ],
)
def test_a_loss_gets_named_inputs_by_name_where_it_takes_them(write: Write, loss: str, value: float) -> None:
    source = (
        "import torch\nfrom torch import nn\n"
        "class Net(nn.Module):\n    def forward(self, x, y): return x + y\n"
        "def get_model(): return Net()\n"
        "def get_inputs(): return {'x': torch.ones(2), 'y': torch.full((2,), 2.0)}\n"
    )
    made = load(write(f"{source}{loss}\n"), mode=Mode.TRAINING)
    assert made.loss is not None
    assert made.loss(torch.ones(3)) == value


def test_an_optimizer_that_wants_a_closure_is_refused_with_the_way(write: Write) -> None:
    source = FUNCTIONS + "def get_optimizer(params): return torch.optim.LBFGS(params)\n"
    with pytest.raises(UsageError, match="LBFGS runs the model several times") as caught:
        load(write(source), mode=Mode.TRAINING)
    assert "--entry" in str(caught.value.hint)
    assert load(write(source)).optimizer is None


def test_an_optimizer_may_take_the_model(write: Write) -> None:
    source = FUNCTIONS + "def get_optimizer(model): return torch.optim.SGD(model.parameters(), lr=0.1)\n"
    assert load(write(source), mode=Mode.TRAINING).optimizer is not None


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def get_model(): return 3\ndef get_inputs(): return ()\n", "a int, which cannot be called"),
        ("def get_model(): return nn.ReLU()\ndef get_inputs(): return 3\n", "of type int"),
        ("def get_model(size): return nn.ReLU()\ndef get_inputs(): return ()\n", "needs size"),
        ("get_model = 3\ndef get_inputs(): return ()\n", "get_model in .* is no function but a int"),
        ("model = 'resnet'\ninputs = ()\n", "a str, which cannot be called"),
    ],
)
def test_a_form_that_is_filled_in_wrongly_is_named(write: Write, source: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        load(write(source))


def test_an_unknown_entry_lists_the_functions_of_the_file(write: Write) -> None:
    path = write("from os.path import join\ndef build_small(): ...\ndef other(): ...\n")
    with pytest.raises(UsageError, match="no function build_smal") as caught:
        load(path, entry="build_smal")
    assert caught.value.hint == "did you mean build_small?"
    with pytest.raises(UsageError) as caught:
        load(path, entry="zzz")
    assert caught.value.hint == "its functions: build_small, other"


def test_an_entry_that_returns_something_else_is_refused(write: Write) -> None:
    with pytest.raises(UsageError, match=r"build\(\) in .* returned a Linear") as caught:
        load(write("def build(): return nn.Linear(1, 1)\n"), entry="build")
    assert "(model, inputs)" in str(caught.value.hint)


def test_the_exception_of_a_function_is_named_with_its_line(write: Write) -> None:
    path = write("""
    def helper():
        raise ValueError("no weights here")
    def get_model():
        return helper()
    def get_inputs(): return ()
    """)
    with pytest.raises(UserProgramError) as caught:
        load(path)
    line = path.read_text().splitlines().index('    raise ValueError("no weights here")') + 1
    assert caught.value.message == (
        f"calling get_model() failed at {path}:{line} in helper: ValueError: no weights here"
    )


def test_options_of_named_models_are_refused_for_a_file(write: Write) -> None:
    with pytest.raises(UsageError, match="--batch is for named models"):
        load_workload(WorkloadSpec(str(write(FUNCTIONS)), device="cpu", batch=3))


def test_every_shared_case_loads(shared_cases: Path) -> None:
    files = sorted(shared_cases.glob("*.py"))
    assert files
    path = list(sys.path)
    for file in files:
        made = load(file)
        assert callable(made.model), file.name
        assert made.args or made.kwargs, file.name
    sys.path[:] = path


def test_a_tensor_that_the_file_kept_on_the_cpu_stays_there_when_it_was_told_the_device(shared_cases: Path) -> None:
    # The cause of case 17 is a scalar left on the CPU: moving it would remove what is to be found.
    made = load(shared_cases / "17_cudagraph_cpu_scalar_input.py")
    assert made.args[1].dim() == 0
    assert made.args[1].device.type == "cpu"


VARIANTS = "def get_input_variants(device): return [(torch.ones(n, 2, device=device),) for n in (2, 3)]\n"


def test_a_file_may_have_the_inputs_of_later_calls(write: Write) -> None:
    made = load(write(FUNCTIONS + VARIANTS))
    assert [inputs.args[0].shape for inputs in made.variants] == [(2, 2), (3, 2)]
    assert made.args[0].shape == (1, 2)
    assert load(write(FUNCTIONS)).variants == ()


def test_so_may_one_whose_inputs_are_at_its_top(write: Write) -> None:
    for name in ("inputs", "example_inputs"):
        made = load(write(f"model = nn.Linear(2, 3)\n{name} = torch.ones(1, 2)\n{VARIANTS}"))
        assert [inputs.args[0].shape for inputs in made.variants] == [(2, 2), (3, 2)], name


def test_later_inputs_are_bound_to_a_loss_that_takes_them(write: Write) -> None:
    path = write(FUNCTIONS + VARIANTS + "def get_loss(): return lambda output, x: output.sum() + x.shape[0]\n")
    made = load(path, mode=Mode.TRAINING)
    zero = torch.zeros(1)
    assert [made.on(inputs).loss(zero).item() for inputs in made.variants] == [2, 3]  # type: ignore[misc]


def test_later_inputs_that_are_no_list_are_refused(write: Write) -> None:
    with pytest.raises(UsageError, match="get_input_variants"):
        load(write(FUNCTIONS + "def get_input_variants(): return torch.ones(2)\n"))


def test_an_entry_of_the_users_own_takes_no_inputs_of_another(write: Write) -> None:
    path = write(FUNCTIONS + VARIANTS + "def other(): return nn.Linear(4, 4), torch.ones(1, 4)\n")
    assert load(path, entry="other").variants == ()


def test_a_workload_of_training_that_is_run_for_inference_says_so(write: Write) -> None:
    path = write("""
        import analyzer
        def made():
            return analyzer.Workload.of(nn.Linear(2, 3), torch.ones(1, 2), mode="training")
        """)
    (note,) = load(path, entry="made").notes
    assert "--mode training" in note
    assert not any("for inference" in one for one in load(path, mode=Mode.TRAINING, entry="made").notes)
