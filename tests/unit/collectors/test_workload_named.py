"""Models named in place of a file. transformers is the real one; timm and torchvision are strict doubles."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.errors import ExitCode, MissingExtraError, UsageError, UserProgramError
from analyzer.core.settings import Mode, WorkloadSpec
from collectors.loading import load_workload
from collectors.named_models import named_scheme

TINY_BERT = {
    "model_type": "bert",
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "vocab_size": 50,
    "max_position_embeddings": 40,
}
TINY_LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "dtype": "bfloat16",
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "vocab_size": 50,
}
TINY_T5 = {"model_type": "t5", "d_model": 16, "num_layers": 1, "num_heads": 2, "d_kv": 8, "d_ff": 32, "vocab_size": 50}
TINY_VIT = {
    "model_type": "vit",
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "image_size": 32,
    "patch_size": 16,
}


class Images(nn.Module):
    """Takes images of one size and refuses others."""

    pretrained_cfg = {"input_size": (3, 16, 16)}  # noqa: RUF012

    def __init__(self, size: int = 16) -> None:
        super().__init__()
        self.linear = nn.Linear(3 * size * size, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x.flatten(1))


def load(target: str, **options: Any) -> Any:
    return load_workload(WorkloadSpec(target, device="cpu", **options))


def write(folder: Path, values: dict[str, Any]) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(values))
    return path


@pytest.fixture
def timm(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    names = ["tiny_net", "tiny_net_384", "huge_net"]

    def create_model(name: str, *, pretrained: bool) -> nn.Module:
        assert pretrained is False
        if name == "huge_net":
            raise RuntimeError("this one cannot be built")
        return Images()

    module = ModuleType("timm")
    module.is_model = lambda name: name in names  # type: ignore[attr-defined]
    module.list_models = lambda: list(names)  # type: ignore[attr-defined]
    module.create_model = create_model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "timm", module)
    return module


@pytest.fixture
def torchvision(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    def classifier(*, weights: object = "IMAGENET") -> nn.Module:
        assert weights is None
        return nn.Flatten()

    def detector(*, weights: object = None, weights_backbone: object = "IMAGENET") -> nn.Module:
        assert weights is None
        assert weights_backbone is None
        return nn.Identity()

    classifier.__module__ = "torchvision.models.mobilenet"
    detector.__module__ = "torchvision.models.detection.faster_rcnn"
    builders = {"tiny_net": classifier, "detector": detector}
    models = SimpleNamespace(
        list_models=lambda: list(builders),
        get_model_builder=builders.__getitem__,
        get_model=lambda name, **options: builders[name](**options),
    )
    module = ModuleType("torchvision")
    module.models = models  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torchvision", module)
    return module


def test_a_scheme_is_told_from_a_path() -> None:
    assert named_scheme("timm:resnet18") == "timm"
    assert named_scheme("hf:/some/folder") == "hf"
    assert named_scheme("model.py") is None
    assert named_scheme("C:/model.py") is None
    assert named_scheme("tim:resnet18") is None


@pytest.mark.usefixtures("timm")
def test_timm_gives_the_input_size_that_the_model_names() -> None:
    made = load("timm:tiny_net", batch=3)
    assert made.args[0].shape == (3, 3, 16, 16)
    assert made.model(*made.args).shape == (3, 2)
    assert "random weights" in made.notes[0]
    assert made.form == "named model"


@pytest.mark.usefixtures("timm")
def test_shape_may_have_the_batch_in_front_or_not() -> None:
    assert load("timm:tiny_net", shape=(3, 16, 16), batch=2).args[0].shape == (2, 3, 16, 16)
    assert load("timm:tiny_net", shape=(5, 3, 16, 16)).args[0].shape == (5, 3, 16, 16)
    with pytest.raises(UsageError, match="disagree"):
        load("timm:tiny_net", shape=(5, 3, 16, 16), batch=2)
    with pytest.raises(UsageError, match="is like batchx3x16x16"):
        load("timm:tiny_net", shape=(16,))


@pytest.mark.usefixtures("timm")
def test_dtype_is_that_of_the_weights_and_of_the_inputs() -> None:
    made = load("timm:tiny_net", dtype="bfloat16")
    assert made.args[0].dtype is torch.bfloat16
    assert made.model.linear.weight.dtype is torch.bfloat16
    with pytest.raises(UsageError, match="no such dtype: int8"):
        load("timm:tiny_net", dtype="int8")


@pytest.mark.usefixtures("timm", "torchvision")
@pytest.mark.parametrize("library", ["timm", "torchvision"])
def test_an_unknown_name_gets_close_matches(library: str) -> None:
    with pytest.raises(UsageError, match=f"{library} has no model tiny_nett") as caught:
        load(f"{library}:tiny_nett")
    assert "tiny_net" in str(caught.value.hint)


@pytest.mark.usefixtures("timm")
def test_what_the_library_raises_is_told_as_a_failure_of_the_model() -> None:
    with pytest.raises(UserProgramError, match=r"building timm:huge_net failed .*this one cannot be built"):
        load("timm:huge_net")


@pytest.mark.usefixtures("torchvision")
def test_torchvision_never_loads_weights_not_even_of_a_backbone() -> None:
    assert load("torchvision:tiny_net").args[0].shape == (1, 3, 224, 224)
    images = load("torchvision:detector", batch=2, shape=(3, 8, 8)).args[0]
    assert [image.shape for image in images] == [(3, 8, 8), (3, 8, 8)]


@pytest.mark.parametrize("library", ["timm", "torchvision", "transformers"])
def test_a_missing_library_is_named_with_its_install_line(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, library, raising=False)
    monkeypatch.setattr("collectors.named_models.importlib.import_module", _raise_missing)
    scheme = "hf" if library == "transformers" else library
    with pytest.raises(MissingExtraError, match=f"{library} is not installed") as caught:
        load(f"{scheme}:something")
    assert caught.value.hint == f"pip install {library}"
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_library_that_does_not_go_with_this_torch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.setattr("collectors.named_models.importlib.import_module", fail)
    with pytest.raises(UsageError, match="nms does not exist") as caught:
        load("torchvision:resnet18")
    assert f"goes with torch {torch.__version__}" in str(caught.value.hint)


def test_a_configuration_gives_the_head_that_its_type_has(tmp_path: Path) -> None:
    for values, kind, batch in ((TINY_BERT, "BertForMaskedLM", None), (TINY_LLAMA, "LlamaForCausalLM", 2)):
        path = write(tmp_path, values)
        made = load(f"hf:{path}", batch=batch, shape=(6,))
        assert type(made.model).__name__ == kind
        assert made.kwargs["input_ids"].shape == (batch or 1, 6)
        with torch.no_grad():
            assert made.model(**made.kwargs).logits.shape == (batch or 1, 6, 50)


def test_a_folder_stands_for_its_configuration_and_its_dtype_is_kept(tmp_path: Path) -> None:
    write(tmp_path, TINY_LLAMA)
    assert next(load(f"hf:{tmp_path}").model.parameters()).dtype is torch.bfloat16
    made = load(f"hf:{tmp_path}", dtype="float32")
    assert next(made.model.parameters()).dtype is torch.float32
    assert made.kwargs["use_cache"] is False


def test_the_number_of_tokens_stays_within_what_the_model_can_place(tmp_path: Path) -> None:
    assert load(f"hf:{write(tmp_path, TINY_BERT)}").kwargs["input_ids"].shape == (1, 40)


def test_an_encoder_decoder_and_an_image_model_get_their_own_inputs(tmp_path: Path) -> None:
    both = load(f"hf:{write(tmp_path, TINY_T5)}", batch=2, shape=(5,))
    assert both.kwargs["decoder_input_ids"].shape == (2, 1)
    image = load(f"hf:{write(tmp_path, TINY_VIT)}")
    assert image.kwargs["pixel_values"].shape == (1, 3, 32, 32)
    for made in (both, image):
        with torch.no_grad():
            made.model(**made.kwargs)


def test_training_of_a_named_model_says_that_it_has_no_loss(tmp_path: Path) -> None:
    made = load(f"hf:{write(tmp_path, TINY_BERT)}", mode=Mode.TRAINING)
    assert len(made.notes) == 3
    assert made.model.training


@pytest.mark.parametrize(
    ("values", "says"),
    [("{", "is no configuration"), ('{"model_type": "nonesuch"}', "has the model_type 'nonesuch'"), ("[]", "None")],
)
def test_a_bad_configuration_is_named(tmp_path: Path, values: str, says: str) -> None:
    (tmp_path / "config.json").write_text(values)
    with pytest.raises(UsageError, match=says):
        load(f"hf:{tmp_path}")


def test_what_is_neither_file_nor_folder_nor_type_is_refused_without_asking_a_hub(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file, no folder and no model type") as caught:
        load("hf:lama")
    assert "llama" in str(caught.value.hint)
    with pytest.raises(UsageError, match=r"has no config\.json"):
        load(f"hf:{tmp_path}")
    with pytest.raises(UsageError, match="names no model"):
        load("hf:")


@pytest.mark.parametrize("before", [None, "0"])
def test_the_hub_is_switched_off_during_the_load_alone(
    before: str | None, timm: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str | None] = []
    if before is None:
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    else:
        monkeypatch.setenv("HF_HUB_OFFLINE", before)
    monkeypatch.setattr(
        timm, "create_model", lambda *_, **__: seen.append(os.environ.get("HF_HUB_OFFLINE")) or Images()
    )
    load("timm:tiny_net")
    assert seen == ["1"]
    assert os.environ.get("HF_HUB_OFFLINE") == before


def _raise_missing(name: str) -> None:
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
