"""Models named in place of a file: `timm:`, `torchvision:` and `hf:`, with random weights. Downloads nothing."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import torch
from torch import nn

from analyzer.core.errors import MissingExtraError, UsageError
from analyzer.core.settings import WorkloadSpec
from collectors.model_file import close_matches, display_path
from collectors.user_errors import user_error

SCHEMES: Final = ("timm:NAME", "torchvision:NAME", "hf:CONFIG_OR_FOLDER")

_DTYPES: Final = {
    "float64": torch.float64,
    "float32": torch.float32,
    "fp32": torch.float32,
    "float16": torch.float16,
    "fp16": torch.float16,
    "bfloat16": torch.bfloat16,
    "bf16": torch.bfloat16,
}

_IMAGE: Final = (3, 224, 224)
"""The ImageNet crop that nearly every classifier of timm and torchvision was trained on."""

_TORCHVISION_SHAPES: Final = {
    "detection": (3, 800, 800),
    "segmentation": (3, 520, 520),
    "video": (3, 16, 112, 112),
    "optical_flow": (3, 520, 960),
}
"""Inputs that the documentation of each family of torchvision.models gives; classifiers take `_IMAGE`."""

_TOKENS: Final = 128
"""Tokens a sequence unless `--shape` says otherwise."""


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model with random weights and inputs that suit it, on the CPU."""

    model: nn.Module
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    name: str
    notes: tuple[str, ...] = ("random weights: timings hold, results mean nothing",)


def named_scheme(target: str) -> str | None:
    """`timm`, `torchvision` or `hf` where `target` begins with one and a colon; None where it is a path."""
    scheme, colon, _ = target.partition(":")
    return scheme if colon and any(s.startswith(f"{scheme}:") for s in SCHEMES) else None


def build_named_model(spec: WorkloadSpec) -> NamedModel:
    """The named model of `spec`. `spec.shape` is that of the main input, with the batch in front or without it.

    Raises MissingExtraError where the library is not installed, UsageError for an unknown name, UserProgramError
    where the library could not build it.
    """
    scheme, _, name = spec.target.partition(":")
    if spec.batch is not None and spec.batch < 1:
        raise UsageError(f"--batch {spec.batch} is no number of inputs", hint="give 1 or more")
    if not name:
        raise UsageError(f"{spec.target} names no model", hint=f"write {' or '.join(SCHEMES)}")
    builders: dict[str, Callable[[str, WorkloadSpec], NamedModel]] = {
        "timm": _timm,
        "torchvision": _torchvision,
        "hf": _transformers,
    }
    with _offline():
        return builders[scheme](name, spec)


def _timm(name: str, spec: WorkloadSpec) -> NamedModel:
    timm = _library("timm")
    if not timm.is_model(name):
        raise _unknown("timm", name, timm.list_models())
    model = _build(spec, timm.create_model, name, pretrained=False)
    config = getattr(model, "pretrained_cfg", None) or {}
    shape = _input_shape(spec, tuple(config.get("input_size", _IMAGE)))
    return NamedModel(model, (_values(spec, shape),), {}, name=name)


def _torchvision(name: str, spec: WorkloadSpec) -> NamedModel:
    models = _library("torchvision").models
    if name not in models.list_models():
        raise _unknown("torchvision", name, models.list_models())
    builder = models.get_model_builder(name)
    accepted = inspect.signature(builder).parameters
    # `weights_backbone` is not None by default in detection and segmentation: the backbone would be downloaded.
    no_weights = {key: None for key in ("weights", "weights_backbone") if key in accepted}
    model = _build(spec, models.get_model, name, **no_weights)
    family = builder.__module__.removeprefix("torchvision.models.").partition(".")[0]
    usual = (3, 299, 299) if name == "inception_v3" else _TORCHVISION_SHAPES.get(family, _IMAGE)
    shape = _input_shape(spec, usual)
    if family == "detection":
        return NamedModel(model, (list(_values(spec, shape)),), {}, name=name)
    images = 2 if family == "optical_flow" else 1
    return NamedModel(model, tuple(_values(spec, shape) for _ in range(images)), {}, name=name)


def _transformers(name: str, spec: WorkloadSpec) -> NamedModel:
    transformers = _library("transformers")
    config = _configuration(transformers, name)
    kind = _model_class(transformers, config)
    model = _build(spec, kind, config, dtype=getattr(config, "dtype", None))
    return NamedModel(model, (), _transformers_inputs(model, config, spec), name=Path(name).stem)


def _configuration(transformers: ModuleType, name: str) -> Any:
    """The configuration in a config.json, in a folder that has one, or the default one of a model type."""
    path = Path(name)
    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        if path.is_dir():
            raise UsageError(f"{display_path(path)} has no config.json")
        if name not in transformers.CONFIG_MAPPING:
            types = list(transformers.CONFIG_MAPPING.keys())
            hint = close_matches(name, types) or "give a config.json, a folder with one, or a model type such as llama"
            raise UsageError(f"hf:{name} is no file, no folder and no model type of transformers", hint=hint)
        return transformers.CONFIG_MAPPING[name]()
    try:
        values = json.loads(file.read_text())
    except (OSError, ValueError) as exc:
        raise UsageError(f"{display_path(file)} is no configuration: {exc}") from exc
    kind = values.get("model_type") if isinstance(values, dict) else None
    if kind not in transformers.CONFIG_MAPPING:
        raise UsageError(
            f"{display_path(file)} has the model_type {kind!r}, which transformers {transformers.__version__} lacks",
            hint="a newer transformers may have it; code that comes with a checkpoint is not run",
        )
    return transformers.CONFIG_MAPPING[kind].from_dict(values)


def _model_class(transformers: ModuleType, config: Any) -> Callable[..., nn.Module]:
    """The class that the configuration names, else the first head that its type has: masked, causal, none."""
    for architecture in getattr(config, "architectures", None) or ():
        if (named := getattr(transformers, architecture, None)) is not None:
            return _checked_class(named)
    heads = ("MODEL_FOR_MASKED_LM_MAPPING", "MODEL_FOR_CAUSAL_LM_MAPPING")
    for mapping_name in () if getattr(config, "is_encoder_decoder", False) else heads:
        mapping = getattr(transformers, mapping_name)
        if type(config) in mapping:
            return _checked_class(mapping[type(config)])
    if type(config) not in transformers.MODEL_MAPPING:
        raise UsageError(f"transformers has no model for {type(config).__name__}", hint="add architectures to it")
    return _checked_class(transformers.MODEL_MAPPING[type(config)])


def _checked_class(found: Any) -> Callable[..., nn.Module]:
    first: Callable[..., nn.Module] = found[0] if isinstance(found, tuple | list) else found
    return first


def _transformers_inputs(model: nn.Module, config: Any, spec: WorkloadSpec) -> dict[str, Any]:
    main = str(getattr(model, "main_input_name", "input_ids"))
    accepted = inspect.signature(model.forward).parameters
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    inputs: dict[str, Any] = {}
    if main == "input_ids":
        length = min(_TOKENS, getattr(text, "max_position_embeddings", _TOKENS))
        inputs[main] = _tokens(text, _input_shape(spec, (length,)))
    elif main == "pixel_values":
        size = getattr(config, "image_size", None) or _IMAGE[-1]
        height, width = (size, size) if isinstance(size, int) else tuple(size)
        shape = _input_shape(spec, (getattr(config, "num_channels", 3), height, width))
        inputs[main] = _values(spec, shape, like=model)
    elif spec.shape is not None:
        inputs[main] = _values(spec, spec.shape, like=model)
    else:
        raise UsageError(f"{spec.target} takes {main}, whose shape is not known", hint="give it with --shape")
    if "decoder_input_ids" in accepted:
        inputs["decoder_input_ids"] = _tokens(text, (inputs[main].shape[0], 1))
    if "use_cache" in accepted:
        # A cache grows with every call: each step would have other shapes than the last.
        inputs["use_cache"] = False
    return inputs


def _input_shape(spec: WorkloadSpec, usual: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the main input with its batch, where `usual` is one input without."""
    given = spec.shape or usual
    if len(given) == len(usual):
        return (spec.batch or 1, *given)
    if len(given) != len(usual) + 1:
        wanted = "x".join(("batch", *(str(n) for n in usual)))
        raise UsageError(f"--shape has {len(given)} sizes, and the input of {spec.target} is like {wanted}")
    if spec.batch not in (None, given[0]):
        raise UsageError(f"--batch {spec.batch} and --shape, which begins with {given[0]}, disagree")
    return given


def _tokens(config: Any, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.randint(0, int(config.vocab_size), shape)


def _values(spec: WorkloadSpec, shape: tuple[int, ...], *, like: nn.Module | None = None) -> torch.Tensor:
    made = next(like.parameters()).dtype if like is not None else torch.float32
    return torch.randn(shape).to(_dtype(spec) or made)


def _build(
    spec: WorkloadSpec, make: Callable[..., Any], *args: Any, dtype: torch.dtype | None = None, **kwargs: Any
) -> Any:
    """What `make` builds, in the dtype of `--dtype`, else in `dtype`, else as it comes."""
    wanted = _dtype(spec) or dtype
    try:
        model = make(*args, **kwargs)
    except Exception as exc:
        raise user_error(exc, root=Path.cwd(), doing=f"building {spec.target}") from exc
    return model.to(wanted) if wanted is not None else model


def _dtype(spec: WorkloadSpec) -> torch.dtype | None:
    if spec.dtype is None:
        return None
    if spec.dtype not in _DTYPES:
        raise UsageError(f"no such dtype: {spec.dtype}", hint=f"choose one of {', '.join(_DTYPES)}")
    return _DTYPES[spec.dtype]


def _unknown(library: str, name: str, names: list[str]) -> UsageError:
    hint = close_matches(name, names) or f"{library} has {len(names)} models, {', '.join(names[:3])} among them"
    return UsageError(f"{library} has no model {name}", hint=hint)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] != name:
            raise UsageError(f"{name} is installed but lacks {exc.name}", hint=f"pip install {exc.name}") from exc
        raise MissingExtraError(f"{name} is not installed", hint=f"pip install {name}") from exc
    except Exception as exc:
        # torchvision beside a torch that it was not built for: RuntimeError "operator torchvision::nms does not exist".
        raise UsageError(
            f"{name} is installed but cannot be imported: {exc}",
            hint=f"install the {name} that goes with torch {torch.__version__}",
        ) from exc


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = before
