"""PyTorch on a GPU beside the core on the CPU: values come back for the table, both sides are timed."""

import numpy as np
import pytest
import torch

import viz

no_gpu = not torch.cuda.is_available()
pytestmark = [pytest.mark.cuda, pytest.mark.skipif(no_gpu, reason="needs a CUDA GPU that this PyTorch can use")]


def test_both_engines_agree_and_both_are_timed_with_what_the_program_is_given():
    numbers = {"x": torch.tensor([1.0, 2.0]), "a": np.ones(2)}
    comparison = viz.compare("w = T.tensor(3.0, requires_grad=True)\n(w * x * a).sum().backward()", "cuda", numbers)
    assert comparison.agree, repr(comparison)
    assert comparison.theirs.tensors["w"]["grad"]["data"] == pytest.approx(3.0)
    assert comparison.timing is not None
    assert "PyTorch on CUDA" in repr(comparison)


def test_the_explorer_moves_pytorch_to_the_gpu_and_back_and_random_numbers_are_the_same_in_every_run():
    program = "w = T.randn(3, requires_grad=True)\nL = (w * w).sum()\nL.backward()"
    explorer = viz.explore(program, state={"device": "cuda"})
    assert explorer.result["sides"][1]["title"].endswith("GPU")
    first = explorer._recordings["torch"].tensors["w"]["value"]["data"]
    explorer.state = {"device": "cuda", "retain_grad": ["L"]}
    assert explorer._recordings["torch"].tensors["w"]["value"]["data"] == first
    namespace, lines = {}, explorer.result["codes"]["torch"]
    try:
        exec("\n".join(lines["before"] + lines["lines"]), namespace)
    finally:
        torch.set_default_device(None)
    assert namespace["w"].grad.is_cuda
    explorer.state = {"device": "cpu"}
    assert explorer.result["sides"][1]["title"].endswith("CPU")


def test_running_out_of_memory_is_a_sentence_in_its_place():
    program = "a = T.tensor(1.0)\nb = T.ones(1 << 50)\nc = a + b"
    recording = viz.record(program, "torch", device="cuda")
    assert recording.error["line"] == 2
    assert recording.error["message"].startswith("CUDA out of memory")
    side = viz.explore(program, state={"device": "cuda"}).result["sides"][1]
    assert side["error"]["explanation"] or side["error"]["message"]
