"""A sentence answers a name that is not built, wherever a program meets it; a setting of speed may stay."""

import importlib
import pkgutil
from typing import Any

import pytest
import torch

import tinygrad_edu as T
from tinygrad_edu.array import absent

PLACES = """
nn nn.functional nn.init nn.utils nn.utils.rnn optim optim.lr_scheduler linalg autograd autograd.functional
distributions utils utils.data utils.checkpoint func jit
"""
HERE = """
autograd.function autograd.variable backends.cudnn distributions.categorical distributions.kl distributions.normal
nn.modules nn.modules.conv nn.modules.loss nn.modules.module nn.parameter nn.utils.clip_grad optim.adam
optim.optimizer optim.sgd overrides utils.data.dataloader utils.data.dataset utils.data.sampler
"""


def place(package: str, name: str) -> Any:
    return importlib.import_module(f"{package}.{name}".rstrip("."))


@pytest.mark.parametrize("name", ["", *PLACES.split(), "Tensor", "Module"])
def test_each_public_name_of_pytorch_is_here_or_answered_by_the_sentence(name: str) -> None:
    made = {"Tensor": (torch.Tensor, T.ones(2, 2)), "Module": (torch.nn.Linear, T.nn.Linear(1, 1))}
    theirs, ours = made[name] if name in made else (place("torch", name), place("tinygrad_edu", name))
    unanswered = []
    for each in [one for one in getattr(theirs, "__all__", None) or dir(theirs) if not one.startswith("_")]:
        try:
            getattr(ours, each)
        except AttributeError as error:
            if f"{each!r}" not in str(error) or absent.SMALL not in str(error):
                unanswered.append(each)
    assert unanswered == []


def test_no_name_of_the_table_is_here() -> None:
    names = [name for names in absent.SUBJECTS.values() for name in names.split()]
    assert len(names) == len(set(names))
    built = [name for name in names if name in T.ops.functions or hasattr(T.Tensor, name) or hasattr(T, name)]
    assert all(isinstance(getattr(T, name), (T.dtype, absent.Device)) for name in built), "which a program may mention"
    assert set(dir(T.ones(1))).isdisjoint(names) and "matmul" in dir(T.ones(1))


@pytest.mark.parametrize(
    ("program", "subject"),
    [
        ("T.fft.fft(t)", "Fourier transforms are not built"),
        ("t.to_sparse()", "sparse tensors .* are not built"),
        ("T.optim.LBFGS([t])", "rare optimizers"),
        ("T.linalg.svd(t)", "NumPy|numpy"),
        ("T.quantize_per_tensor(t, 0.1, 0, T.qint8)", "quantized tensors"),
        ("T.zeros(2, dtype=T.bfloat16)", "use float16"),
        ("t.to(T.qint8)", "quantized tensors"),
        ("t.to(torch.complex64)", "complex numbers"),
        ("T.zeros(2, layout=torch.sparse_coo)", "sparse tensors"),
        ("T.zeros(2, pin_memory=True)", "other devices than the CPU"),
    ],
)
def test_the_sentence_names_the_subject(program: str, subject: str) -> None:
    kinds = {"dtype=": NotImplementedError, "layout=": NotImplementedError, "pin_": NotImplementedError}
    kinds |= {"torch.": TypeError}
    kind = next((kind for part, kind in kinds.items() if part in program), AttributeError)
    with pytest.raises(kind, match=subject) as refusal:
        eval(program, {"T": T, "torch": torch, "t": T.ones(2)})
    assert absent.SMALL in str(refusal.value)


MODULES = [one.name for one in pkgutil.iter_modules(torch.__path__) if one.name[0] != "_"]
REFUSED = """
export quantization ao package nn.quantized masked nested _inductor _C _dynamo distributed.fsdp utils._pytree
"""


@pytest.mark.parametrize("module", sorted({*MODULES, *REFUSED.split()}))
def test_each_module_of_pytorch_can_be_imported_or_is_answered_by_the_sentence(module: str) -> None:
    try:
        importlib.import_module(f"tinygrad_edu.{module}")
        assert module not in REFUSED.split()
    except ImportError as error:
        assert absent.SMALL in str(error)


@pytest.mark.parametrize("module", HERE.split())
def test_a_module_that_programs_import_can_be_imported(module: str) -> None:
    assert importlib.import_module(f"tinygrad_edu.{module}") is not None


STATEMENTS = ["from tinygrad_edu.nn import NoSuchLayer", "import tinygrad_edu.export"]
STATEMENTS += ["from tinygrad_edu.nn.functional import no_such_function", "from tinygrad_edu.optim import SparseAdam"]
STATEMENTS += ["from tinygrad_edu.linalg import eig", "from tinygrad_edu.utils.data import DataPipe"]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_name_that_is_imported_is_answered_by_the_same_sentence(statement: str) -> None:
    with pytest.raises(ImportError, match=absent.SMALL):
        exec(statement)


def test_a_name_that_is_spelt_almost_right_is_asked_about_and_an_unknown_one_is_absent() -> None:
    for ours, typo, meant in ((T, "zeroes", "zeros"), (T.nn, "linear", "Linear"), (T.optim, "Addam", "Adam")):
        with pytest.raises(AttributeError, match=f"Did you mean {meant}\\?"):
            getattr(ours, typo)
    for ours in (T, T.nn, T.optim, T.linalg, T.ones(1), T.nn.Linear(1, 1)):
        with pytest.raises(AttributeError, match="no_such_thing"):
            getattr(ours, "no_such_thing")  # noqa: B009 - a type checker knows that it is not there
        assert not hasattr(ours, "no_such_thing")


OTHERS = """t.to(T.device("cuda:1")); T.tensor(1.0, device="mps"); T.eye(2, device=0); T.ones_like(t, device="cuda")
t.cuda(); T.Generator(device="cuda"); t.to("cuda", T.float64); t.to(torch.device("cuda")); T.nn.Linear(1, 1).cuda()
T.cuda.synchronize; T.nn.Linear(1, 1).to("cuda"); T.nn.LSTM(1, 1, device="cuda"); T.set_default_device("cuda")"""


@pytest.mark.parametrize("program", OTHERS.replace("\n", ";").split(";"))
def test_a_device_other_than_the_cpu_is_refused(program: str) -> None:
    with pytest.raises((NotImplementedError, AttributeError, RuntimeError), match="computes only on the CPU"):
        eval(program.strip(), {"T": T, "torch": torch, "t": T.ones(2)})


def test_settings_of_devices_speed_and_reproducibility_may_stay_in_a_program() -> None:
    assert not any(getattr(T, kind).is_available() for kind in ("cuda", "mps", "xpu", "accelerator"))
    T.cuda.manual_seed_all(0)
    assert T.cuda.device_count() == 0 and T.ones(2, device="cpu").device == T.device("cpu")
    T.backends.cudnn.deterministic, T.backends.cudnn.benchmark = True, False
    assert importlib.import_module("tinygrad_edu.backends.cudnn") is T.backends.cudnn
    T.use_deterministic_algorithms(True, warn_only=True)
    T.set_num_threads(1)
    T.set_float32_matmul_precision("high")
    assert T.get_num_threads() == 1 and not T.backends.mps.is_available() and not T.backends.cuda.is_built()
