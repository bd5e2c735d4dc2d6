"""What of a model came compiled runs as it is written while it is analyzed, and is then as it was."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from collectors.compiled_parts import COMPILED_NOTE, CompiledParts
from tests.workloads import Mlp, a_workload


def test_a_model_that_was_not_compiled_is_left_as_it_is_without_a_word() -> None:
    work = a_workload()
    assert CompiledParts(work).workload is work


def test_what_torch_compile_gave_is_unwrapped_and_said() -> None:
    model = Mlp()
    work = a_workload(model)
    found = CompiledParts(replace(work, model=torch.compile(model))).workload
    assert found.model is model
    assert found.notes == (*work.notes, COMPILED_NOTE)


def test_what_was_compiled_in_place_runs_as_written_until_it_is_put_back() -> None:
    model = nn.Sequential(Mlp(), nn.ReLU())
    model.compile()
    model[0].compile()
    made, inner = model._compiled_call_impl, model[0]._compiled_call_impl
    parts = CompiledParts(a_workload(model))
    assert model._compiled_call_impl is made, "nothing is taken before it is asked for"
    parts.run_as_written()
    parts.run_as_written()
    assert (model._compiled_call_impl, model[0]._compiled_call_impl) == (None, None)
    parts.put_back()
    parts.put_back()
    assert model._compiled_call_impl is made
    assert model[0]._compiled_call_impl is inner
    (note,) = [one for one in parts.workload.notes if "compiled in place" in one]
    assert note.startswith("the model, 0 came compiled in place")


def test_a_compiled_layer_is_named_since_eager_runs_it_so() -> None:
    model = nn.Sequential(nn.ReLU(), torch.compile(Mlp()))
    (note,) = [one for one in CompiledParts(a_workload(model)).workload.notes if "came compiled" in one]
    assert "(1)" in note


def test_of_many_parts_a_few_are_named_and_the_rest_counted() -> None:
    model = nn.Sequential(*(torch.compile(nn.ReLU()) for _ in range(5)))
    (note,) = [one for one in CompiledParts(a_workload(model)).workload.notes if "came compiled" in one]
    assert "0, 1, 2 and 2 more" in note
