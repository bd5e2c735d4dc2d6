"""The tables of torch's own reasons: a test a line."""

from __future__ import annotations

import pytest

from analyzer.rules.remedies import GUARD_OTHERWISE, GUARDS, SKIP_OTHERWISE, SKIPS, guard_text, is_resize, remedy

CONV = "tensor 'self._modules['conv']._parameters['weight']' size mismatch at index 2. expected 5, actual 3"

GUARD_CASES = [
    (CONV, "modules of one class"),
    ("tensor 'x' size mismatch at index 0. expected 3, actual 4", "mark_dynamic"),
    ("tensor 'x' rank mismatch. expected 1, actual 2", "number of dimensions"),
    ("tensor 'x' stride mismatch at index 1. expected 1, actual 4", "contiguous"),
    ("tensor 'x' dtype mismatch. expected Float, actual Double", "same dtype"),
    ("tensor 'x' device mismatch. expected cuda:0, actual cpu", "same device"),
    ("tensor 'x' requires_grad mismatch. expected requires_grad=0", "require gradients"),
    ("tensor 'x' dispatch key set mismatch. expected A, actual B", "inference tensors"),
    ("GLOBAL_STATE changed: grad_mode ", "gradient mode"),
    ("len(self.cache) == 3", "length"),
    ("not self.cache", "length"),
    ("L['x'].size()[0] == 16", "mark_dynamic"),
    ("___check_type_id(k, 139701776634368), type=<class 'float'>", "same type"),
    ("___check_obj_id(fn, 139701776634368)", "same object"),
    ("s.n == 0", "buffer"),
]

SKIP_CASES = [
    ("skipping cudagraphs due to mutated inputs (2 instances). Found from : ...", "in place"),
    ("skipping cudagraphs due to cpu device (arg1_1). Found from : ...", "on the CPU"),
    ("cudagraph partition due to cpu ops", "on the CPU"),
    ("skipping cudagraphs due to multiple devices: cuda:0, cuda:1", "one GPU"),
    ("skipping cudagraphs due to cpp wrapper enabled", "C++ wrapper"),
    ("skipping cudagraph due to function 0 exceeding max re-recording limit (=128) on cudagraph node 1", "address"),
    ("graph with symbolic shapes inputs and config.triton.cudagraph_skip_dynamic_graphs=True.", "fixed shapes"),
    ("cudagraph partition due to dynamic shape ops", "fixed shapes"),
    ("index_put_ fallback with boolean indexing is not compatible with CUDA graphs", "mask"),
    ("cudagraph partition due to unbacked binding ops", "mask"),
    ("cudagraph partition due to DeviceCopy ops", "copy between"),
    ("control flow operator: torch.cond.", "torch.cond"),
    ("cudagraph partition due to Conditional ops", "torch.cond"),
    ("sparsity not handled. Please file issue for sparse inference weights.", "sparse"),
    ("disabling cudagraphs due to incompatible op aten.nonzero_static.default", "operator"),
    ("cudagraph partition due to CUDAGraph-unsafe custom ops", "operator"),
]


@pytest.mark.parametrize(("guard", "words"), GUARD_CASES)
def test_each_guard_has_its_remedy(guard: str, words: str) -> None:
    assert words in remedy(guard, GUARDS, GUARD_OTHERWISE)


@pytest.mark.parametrize(("reason", "words"), SKIP_CASES)
def test_each_refusal_has_its_remedy(reason: str, words: str) -> None:
    assert words in remedy(reason, SKIPS, SKIP_OTHERWISE)


def test_every_line_of_the_tables_has_a_test() -> None:
    for table, cases in ((GUARDS, GUARD_CASES), (SKIPS, SKIP_CASES)):
        hit = {next(i for i, (pattern, _) in enumerate(table) if pattern.search(text)) for text, _ in cases}
        assert hit == set(range(len(table)))


@pytest.mark.parametrize("text", ["", "something new in torch 3", "\x1b[31m" * 100])
def test_what_no_line_knows_gets_the_general_remedy(text: str) -> None:
    assert remedy(text, GUARDS, GUARD_OTHERWISE) == GUARD_OTHERWISE
    assert remedy(text, SKIPS, SKIP_OTHERWISE) == SKIP_OTHERWISE


@pytest.mark.parametrize(
    ("guard", "text"),
    [
        (
            "self.calls == 7 # self.calls += 1 # ork/net.py:26 in forward (HINT: torch.compile considers integers)",
            "self.calls == 7 (for “self.calls += 1”)",
        ),
        ("rate == 0.02 # (_dynamo/output_graph.py:3375 in remove_tensorify_specialized_graphargs)", "rate == 0.02"),
        ("x == 1 # home/ada/net.py:3 in forward", "x == 1"),
        (
            "___as_tensor(rate).item() == 0.08 # (unknown source ___as_tensor(rate).item(), please file a bug)",
            "___as_tensor(rate).item() == 0.08",
        ),
        (
            "len(seen) == 5 # hook(lambda o: seen) # ada/net.py:3 in <lambda>",
            "len(seen) == 5 (for “hook(lambda o: seen)”)",
        ),
        ("tensor 'x' size mismatch at index 1. expected 37, actual 52", None),
        ("word == 'a # b'", None),
    ],
)
def test_a_guard_is_said_without_torchs_path_and_hint(guard: str, text: str | None) -> None:
    assert guard_text(guard) == (text or guard)


@pytest.mark.parametrize(
    ("guard", "is_of_inputs"), [("tensor 'x' size mismatch at index 1. expected 37, actual 52", True), (CONV, False)]
)
def test_a_modules_own_tensor_of_another_size_is_no_input_to_be_padded(guard: str, is_of_inputs: bool) -> None:
    assert is_resize(guard) is is_of_inputs
    assert ("pad the inputs" in remedy(guard, GUARDS, GUARD_OTHERWISE)) is is_of_inputs
