"""A feature that is not built is refused by a sentence that names it, wherever a program meets it."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tinygrad_edu as T

COMPLEX = "not built for complex tensors|the only complex types here are|it returns complex numbers"
SPARSE = "only sparse tensors in coordinate format|not built for sparse tensors"
QUANTIZED = "quantized tensors are not built"
CPU_ALONE = "computes only on the CPU"


def ones() -> Any:
    return T.ones(2)


def linear() -> Any:
    return T.nn.Linear(1, 1)


def refused(pattern: str, *programs: Callable[[], Any]) -> list[Any]:
    return [pytest.param(program, pattern, id=f"{pattern[:7]}-{n}") for n, program in enumerate(programs)]


REFUSED = [
    *refused(
        COMPLEX,
        lambda: T.complex32,
        lambda: T.chalf,
        lambda: ones().half() * 1j,
        lambda: ones() ** 1j,
        lambda: T.tensor(1j).max(),
        lambda: T.tensor([1j, 2.0]).sort(),
        lambda: T.tensor([1j]) < 2,
        lambda: ones().softmax(0, dtype=complex),
        lambda: T.nn.functional.relu(T.tensor([1j])),
        lambda: T.linalg.eigh(T.eye(2, dtype=complex)),
        lambda: T.nn.init.orthogonal_(T.zeros(2, 2, dtype=complex)),
        lambda: T.optim.LBFGS([T.zeros(2, dtype=complex, requires_grad=True)]),
        lambda: T.linalg.eig,
    ),
    *refused(
        SPARSE,
        lambda: T.sparse_csr_tensor([0, 1], [0], [1.0]),
        lambda: T.sparse.spdiags,
        lambda: T.eye(2).to_sparse().exp(),
        lambda: T.eye(2).to_sparse()[0],
        lambda: T.relu(T.eye(2).to_sparse()),
        lambda: T.eye(2).to_sparse() + 1,
        lambda: T.eye(2).to_sparse().sum(0),
        lambda: T.sparse_coo_tensor([[0]], [1.0], requires_grad=True),
        lambda: T.sparse_coo_tensor([[0]], [[1.0]]),
        lambda: T.zeros(2, layout=torch.sparse_coo),
        lambda: T.rand(2, layout=torch.sparse_csr),
        lambda: ones().to_sparse_csr(),
        lambda: ones().coalesce(),
        lambda: T.optim.SparseAdam,
    ),
    *refused(
        "no data!",
        lambda: linear().to("meta")(T.ones(1, 1)),
        lambda: linear().to("meta").to("cpu"),
        lambda: linear().to("meta").weight.tolist(),
        lambda: linear().to("meta").weight + 1,
    ),
    *refused(
        QUANTIZED,
        lambda: T.quantize_per_tensor(ones(), 0.1, 0, T.qint8),
        lambda: T.zeros(2, dtype=torch.qint8),
        lambda: ones().to(torch.quint8),
        lambda: ones().dequantize(),
        lambda: T.nn.quantized,
        lambda: T.quantization,
        lambda: T.ao,
    ),
    *refused(
        CPU_ALONE,
        lambda: ones().to(T.device("cuda:1")),
        lambda: T.tensor(1.0, device="mps"),
        lambda: T.zeros(2, device="cuda"),
        lambda: T.empty(2, device="meta"),
        lambda: T.eye(2, device=0),
        lambda: T.arange(3, device="cuda"),
        lambda: T.as_tensor([1.0], device="cuda"),
        lambda: T.ones_like(ones(), device="cuda"),
        lambda: ones().new_ones(2, device="cuda"),
        lambda: T.rand(2, device="cuda"),
        lambda: T.randperm(2, device="cuda"),
        lambda: T.Generator(device="cuda"),
        lambda: ones().to("cuda"),
        lambda: ones().to(0),
        lambda: ones().to(device="cuda"),
        lambda: ones().to("cuda", T.float64),
        lambda: ones().to(torch.device("cuda")),
        lambda: ones().cuda(),
        lambda: ones().pin_memory(),
        lambda: linear().cuda(),
        lambda: linear().to("cuda"),
        lambda: T.nn.Linear(1, 1, device="cuda"),
        lambda: T.nn.LSTM(1, 1, device="cuda"),
        lambda: T.nn.GRUCell(1, 1, device="cuda"),
        lambda: T.nn.Conv2d(1, 1, 1, device="cuda"),
        lambda: T.nn.BatchNorm1d(2, device="cuda"),
        lambda: T.nn.LayerNorm(2, device="cuda"),
        lambda: T.nn.Embedding(2, 2, device="cuda"),
        lambda: T.nn.MultiheadAttention(2, 1, device="cuda"),
        lambda: T.nn.PReLU(device="cuda"),
        lambda: T.cuda.synchronize,
        lambda: T.set_default_device("cuda"),
        lambda: T.nn.DistributedDataParallel,
    ),
    *refused(
        "not built here|one process|downloaded|not shared",
        lambda: T.export,
        lambda: T.fx,
        lambda: T.distributed.init_process_group("gloo"),
        lambda: T.distributed.DeviceMesh("cpu", [0]),
        lambda: T.onnx.export(linear(), ones(), "model.onnx"),
        lambda: T.hub.load("pytorch/vision", "resnet18"),
        lambda: T.multiprocessing.spawn(ones),
        lambda: T.nn.parallel.DistributedDataParallel(linear()),
        lambda: T.special.airy_ai,
        lambda: T.histogramdd,
    ),
    *refused("numpy.linalg", lambda: T.linalg.ldl_factor, lambda: ones().geqrf),
    *refused("share memory", lambda: ones().expand(2, 2).detach().as_strided((2, 2), (0, 1))),
    *refused(
        "float64, float32, float16 and bfloat16",
        lambda: T.zeros(2, dtype=T.uint16),
    ),
]


@pytest.mark.parametrize(("program", "pattern"), REFUSED)
def test_a_sentence_names_it_and_says_what_to_do(program: Callable[[], Any], pattern: str) -> None:
    with pytest.raises((TypeError, NotImplementedError, AttributeError), match=pattern) as refusal:
        program()
    assert any(
        advice in str(refusal.value)
        for advice in ("PyTorch", "work with", "supported", "clone", "mask", "eave it out", "Use", "Write", "use ")
    )


@pytest.mark.parametrize(
    ("module", "phrase"),
    [
        ("nn.attention.bias", "a mask"), ("nn.attention.flex_attention", "a mask"), ("_C", "TYPE_CHECKING"), ("utils._pytree", "private"),
        ("cuda.nvtx", "Leave the device out"), ("nested", "Leave it out"), ("utils.swap_tensors", "It has"),
    ],
)  # fmt: skip
def test_an_import_of_what_is_absent_is_an_import_error_that_says_so(module: str, phrase: str) -> None:
    with pytest.raises(ImportError, match=phrase):
        importlib.import_module(f"tinygrad_edu.{module}")


def test_a_program_that_looks_for_a_device_finds_the_cpu() -> None:
    found = [kind for kind in ("cuda", "mps", "xpu", "accelerator") if getattr(T, kind).is_available()]
    assert found == []
    assert T.cuda.device_count() == 0
    T.cuda.manual_seed_all(0)
    assert T.ones(2, device="cpu").to("cpu").device == T.device("cpu")


@pytest.mark.parametrize(
    "call",
    [
        lambda E, t: t.to(E.float64),
        lambda E, t: t.to("cpu", E.float64),
        lambda E, t: t.to(device="cpu", dtype=E.float64),
        lambda E, t: t.to(E.device("cpu")),
        lambda E, t: t.to(E.device("cpu"), E.float64, False, True),
        lambda E, t: t.to(E.ones(1, dtype=E.float64)),
        lambda E, t: t.to(E.float32, False, True),
        lambda E, t: t.to(None, E.float64),
        lambda E, t: t.to(E.float32),
    ],
)
def test_each_way_to_call_to_gives_the_dtype_and_a_copy_or_not_as_pytorch(call: Callable[[Any, Any], Any]) -> None:
    def outcome(E: Any) -> tuple[str, bool]:
        t = E.ones(2)
        moved = call(E, t)
        return str(moved.dtype).rpartition(".")[2], moved is t

    assert outcome(T) == outcome(torch)


def test_the_layout_is_strided_and_may_be_asked_for() -> None:
    assert T.zeros(2, layout=T.strided).layout is T.strided


def test_an_unknown_name_is_an_ordinary_attribute_error() -> None:
    for place in (T, T.nn, T.optim, T.linalg, T.ones(1), linear()):
        with pytest.raises(AttributeError, match="no_such_thing"):
            _ = place.no_such_thing  # type: ignore[attr-defined]
        assert not hasattr(place, "no_such_thing")


def test_a_tensor_without_the_names_still_copies_and_pickles() -> None:
    t = T.tensor([1.0, 2.0], requires_grad=True)
    assert pickle.loads(pickle.dumps(t)).tolist() == [1.0, 2.0]


def test_older_constructors_make_what_pytorch_makes() -> None:
    def made(E: Any) -> list[Any]:
        tensors = [
            E.FloatTensor([1, 2]), E.FloatTensor(2, 3).zero_(), E.DoubleTensor([0.5]), E.LongTensor([[1, 2]]),
            E.LongTensor(2).zero_(), E.BoolTensor([True, False]), E.FloatTensor(), E.FloatTensor(E.ones(2, 3).size()).zero_(),
            E.LongTensor(1).new(2, 1).zero_(), E.DoubleTensor(1).new([0.5]), E.ones(2).new(E.ones(1).size()).zero_(),
            E.zeros_like(E.ones(1), memory_format=E.preserve_format).contiguous(memory_format=E.contiguous_format),
        ]  # fmt: skip
        return [(str(t.dtype).rpartition(".")[2], t.tolist()) for t in tensors]

    assert made(T) == made(torch)


def test_settings_of_speed_and_reproducibility_may_stay_in_a_program() -> None:
    T.backends.cudnn.deterministic = True
    T.backends.cudnn.benchmark = False
    cudnn = importlib.import_module("tinygrad_edu.backends.cudnn")
    assert cudnn is T.backends.cudnn
    T.use_deterministic_algorithms(True, warn_only=True)
    T.set_num_threads(1)
    T.set_float32_matmul_precision("high")
    assert T.get_num_threads() == 1
    assert not T.backends.mps.is_available() and not T.backends.cuda.is_built()
    assert T.backends.cudnn.deterministic is True
    assert (T.pi, T.inf, T.newaxis) == (torch.pi, torch.inf, torch.newaxis)
