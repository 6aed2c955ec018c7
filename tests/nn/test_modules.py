"""Modules beside PyTorch's: the same weights give the same outputs, gradients, names and text."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from support.op_table import _flat

import tinygrad_edu

ENGINES = (tinygrad_edu, torch)

# For the shapes (or integer arrays) that a module is called with: modules.
BY_INPUTS = {
    "(2, 4)": """nn.Linear(4, 3); nn.LayerNorm(4, bias=False); nn.RMSNorm(4);
    nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 2), nn.Softmax(dim=1)))""",
    "(2, 5, 4)": "nn.Linear(4, 3, bias=False)",
    "(2, 3, 7)": "nn.Conv1d(3, 4, 3, padding=1)",
    "(2, 3, 6, 6)": """nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False);
    nn.Conv2d(3, 4, 3, padding=1, padding_mode='circular')""",
    "(2, 4, 5, 5)": "nn.Conv2d(4, 4, (3, 1), groups=2, padding='same')",
    "(2, 2, 5)": "nn.Conv1d(2, 3, 4, padding='same', padding_mode='circular')",
    "(2, 2, 5, 6)": "nn.Conv2d(2, 3, (4, 3), padding='same', padding_mode='reflect', dilation=(1, 2))",
    "(2, 2, 5, 5)": "nn.Conv2d(2, 3, 3, padding='valid', padding_mode='replicate')",
    "(2, 3, 4, 4)": """nn.ConvTranspose2d(3, 2, 3, stride=2, output_padding=1); nn.BatchNorm2d(3, momentum=None);
    nn.BatchNorm2d(3, affine=False, track_running_stats=False); nn.InstanceNorm2d(3, affine=True); nn.ZeroPad2d(1);
    nn.ReflectionPad2d(1); nn.ReplicationPad2d(1); nn.CircularPad2d(1)""",
    "np.array([[0, 1], [4, 1]])": "nn.Embedding(5, 3, padding_idx=0)",
    "(6, 3)": "nn.BatchNorm1d(3)",
    "(0, 3)": "nn.BatchNorm1d(3, momentum=0.3)",
    "(2, 3, 5)": "nn.InstanceNorm1d(3, track_running_stats=True)",
    "(3, 5)": "nn.InstanceNorm1d(3)",
    "(2, 2, 2, 2, 2)": "nn.InstanceNorm3d(2, affine=True)",
    "(3, 2, 2, 2, 2)": "nn.BatchNorm3d(2)",
    "(2, 3, 4)": """nn.LayerNorm((3, 4)); nn.Flatten();
    nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True);
    nn.Upsample(size=5, mode='linear', align_corners=True); nn.ZeroPad1d((1, 2)); nn.ReflectionPad1d((1, 2));
    nn.ReplicationPad1d((1, 2)); nn.CircularPad1d((1, 2)); nn.ConstantPad2d((1, 0, 2, 1), -3.5)""",
    "(2, 4, 3, 3)": "nn.GroupNorm(2, 4)",
    "(2, 3, 6)": "nn.MaxPool1d(2); nn.AvgPool1d(2)",
    "(2, 3, 5, 5)": """nn.MaxPool2d(3, stride=1, padding=1); nn.AvgPool2d(2, ceil_mode=True);
    nn.AdaptiveAvgPool2d((2, 3))""",
    "(3, 4)": "nn.Unflatten(1, (2, 2))",
    "(2, 3)": """nn.Identity(); nn.Dropout(0.0); nn.RNNCell(3, 4); nn.LSTMCell(3, 4); nn.GRUCell(3, 4);
    nn.ConstantPad1d((0, 2), 1.5); nn.PReLU(3)""",
    "(5, 2, 3)": """nn.RNN(3, 4, 2); nn.RNN(3, 4, nonlinearity='relu', bidirectional=True);
    nn.LSTM(3, 4, bidirectional=True, bias=False); nn.GRU(3, 4, 2, bidirectional=True)""",
    "(2, 5, 3)": "nn.LSTM(3, 4, 2, batch_first=True)",
    "(5, 3)": "nn.LSTM(3, 4)",
    "(5, 0, 3)": "nn.LSTM(3, 4, num_layers=1)",
    "(3,)": "nn.RNNCell(3, 4, nonlinearity='relu')",
    "(5, 2, 4), (3, 2, 4), (3, 2, 4)": "nn.MultiheadAttention(4, 2)",
    "(2, 3, 4), (2, 3, 4), (2, 3, 4)": "nn.MultiheadAttention(4, 2, batch_first=True, bias=False)",
    "(3, 2, 4)": """nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, activation='gelu', norm_first=True);
    nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 2, nn.LayerNorm(4), False)""",
    "(2, 3, 4, 5)": "nn.Unfold(2, stride=2, padding=1)",
    "(2, 12, 6)": "nn.Fold((4, 5), (2, 3), dilation=1, padding=(0, 1), stride=2)",
    "(2, 3, 2, 3)": "nn.Upsample(scale_factor=2); nn.Upsample(size=(5, 7), mode='nearest')",
    "(2, 3, 4, 3)": "nn.Upsample(scale_factor=(1.5, 2.5), mode='bilinear')",
    "(1, 2, 3, 3, 3)": "nn.ZeroPad3d(1); nn.ReflectionPad3d(1); nn.ReplicationPad3d(1); nn.CircularPad3d(1)",
    "(1, 2, 2, 2)": "nn.ConstantPad3d(1, 2.0)",
    "(3, 4), (3, 4)": "nn.MSELoss('sum'); nn.BCEWithLogitsLoss(None, False); nn.L1Loss(reduce=False)",
    "(3, 4), (3, 4), np.array([1, -1, 1])": "nn.CosineEmbeddingLoss(0.1)",
    "(3, 4), np.ones((3, 4), np.int64)": "nn.PoissonNLLLoss()",
    "(3, 4), np.full((3, 4), 2)": "nn.PoissonNLLLoss(full=True)",
    "(3, 4), (3, 4), np.array([[0.5], [1e-09], [2.0]])": "nn.GaussianNLLLoss(full=True)",
}
SPLIT = {inputs: re.sub(r"\s+", " ", codes).split("; ") for inputs, codes in BY_INPUTS.items()}
MODULES = {code: eval(f"[{inputs}]", {"np": np}) for inputs, codes in SPLIT.items() for code in codes}
ACTIVATIONS = """ReLU(); ReLU6(); LeakyReLU(0.2); ELU(); SELU(); GELU(); GELU(approximate='tanh'); SiLU(); Mish();
Sigmoid(); Tanh(); Softplus(); LogSigmoid(); Hardtanh(); Hardswish(); Softsign(); GLU(); Softmax(1); LogSoftmax(1)"""
MODULES |= {f"nn.{code}": [(3, 4)] for code in ACTIVATIONS.replace("\n", " ").split("; ")}


def _made(T: Any, code: str) -> Any:
    """The module in float64, with weights that NumPy draws."""
    module, rng = eval(code, {"nn": T.nn}).double(), np.random.default_rng(0)
    with T.no_grad():
        for p in module.parameters():
            p.copy_(T.tensor(rng.standard_normal(tuple(p.shape))))
    return module


def _inputs(T: Any, shapes: list[Any]) -> list[Any]:
    rng = np.random.default_rng(1)
    made = [s if isinstance(s, np.ndarray) else rng.standard_normal(s) for s in shapes]
    return [T.tensor(a).requires_grad_() if a.dtype.kind == "f" else T.tensor(a) for a in made]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", MODULES)
def test_a_module_has_the_outputs_gradients_names_and_text_of_pytorch(code: str) -> None:
    seen = []
    for T in ENGINES:
        module, inputs = _made(T, code), _inputs(T, MODULES[code])
        outputs = [o for o in _flat(module(*inputs)) if o is not None]
        rng = np.random.default_rng(2)
        sum((o * T.tensor(rng.standard_normal(tuple(o.shape)))).sum() for o in outputs).backward()
        arrays = [o.detach().numpy() for o in outputs]
        arrays += [t.grad.numpy() for t in inputs if t.requires_grad]
        arrays += [p.grad.numpy() for p in module.parameters()]
        arrays += [np.asarray(v, np.float64) for v in module.state_dict().values()]
        text = repr(module).replace("NonDynamicallyQuantizableLinear", "Linear")
        seen.append((arrays, list(module.state_dict()), text))
    (ours, our_names, our_text), (theirs, their_names, their_text) = seen
    assert our_names == their_names
    assert our_text == their_text
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.outer
@pytest.mark.parametrize("result", ["the outputs", "the last state", "the last cell"])
def test_a_layer_of_an_lstm_has_its_derivatives_of_both_orders(result: str) -> None:
    T = tinygrad_edu
    layer = T.nn.LSTM(2, 2, bidirectional=True).double()
    inputs = [t.double().requires_grad_() for t in (T.randn(3, 2, 2), T.randn(2, 2, 2), T.randn(2, 2, 2))]

    def run(x: Any, hidden: Any, cell: Any, *_: Any) -> Any:
        outputs, (last_hidden, last_cell) = layer(x, (hidden, cell))
        return {"the outputs": outputs, "the last state": last_hidden, "the last cell": last_cell}[result]

    weights = [p for name, p in layer.named_parameters() if name.startswith("weight")]
    # The weights move in place under the numerical check.
    assert T.autograd.gradcheck(run, (*inputs, *weights))
    assert T.autograd.gradgradcheck(run, (*inputs, *weights), fast_mode=True)


REFUSED = """nn.BatchNorm1d(2, eps=0.0)(T.ones(2, 2)); nn.BatchNorm1d(3)(T.ones(2, 2)); nn.BatchNorm2d(3)(T.ones(2, 3));
nn.Conv2d(3, 2, 3, groups=0); nn.Conv2d(3, 2, 3, groups=2); nn.Conv2d(3, 2, 3, padding='half');
nn.Conv2d(3, 2, 3, padding='same', stride=2); nn.Conv2d(3, 2, 3, padding_mode='mirror');
nn.ConvTranspose1d(3, 2, 3, padding_mode='reflect'); nn.ConvTranspose1d(1, 1, 3, 2)(T.ones(1, 1, 4), output_size=(12,));
nn.CircularPad1d(1)(T.ones(2, 3, 4, 5)); nn.CircularPad3d(1)(T.ones(2, 3)); nn.Dropout(1.5);
nn.Embedding(2, 3, padding_idx=2); nn.Embedding(2, 3)(T.tensor([2])); nn.GroupNorm(3, 4); nn.LayerNorm(3)(T.ones(2, 2));
nn.Linear(2, 2).to(T.int64); nn.Linear(2, 2).to(speed=1); nn.Linear(2, 2)(T.ones(2, 3));
nn.Linear(2, 2)(T.ones(2, 2).double()); nn.Linear(2, 2).load_state_dict([1]); nn.Linear(2, 2).train(1);
nn.ModuleList([1]); nn.Sequential(T.relu); nn.Sequential(nn.ReLU())[1]; nn.Sequential(nn.ReLU()).get_submodule('1');
nn.Module()(1); nn.Linear(1, 1).nothing; nn.MultiheadAttention(5, 2);
nn.MultiheadAttention(4, 2)(*[T.ones(2, 2, 3)] * 3); nn.TransformerEncoderLayer(4, 2, 8, activation='x');
nn.RNN(3, 2, nonlinearity='x'); nn.RNNCell(3, 2, nonlinearity='x')(T.ones(2, 3)); nn.GRU(3, 2, num_layers=0);
nn.GRU(3, 2, dropout=2.0); nn.GRU(3, 2, bias=1); nn.GRU(3, 2, proj_size=1); nn.GRU(3.0, 2); nn.LSTM(3, 0);
nn.LSTM(3, 4)(T.ones(0, 2, 3)); nn.LSTM(3, 4)(T.ones(2, 2, 2, 3)); nn.LSTM(3, 4)(T.ones(2, 2, 4));
nn.LSTM(3, 4)(T.ones(2, 2, 3).double()); nn.LSTM(3, 4)(T.ones(2, 2, 3), (T.ones(1, 2, 4), T.ones(1, 3, 4)));
nn.LSTMCell(3, 2)(T.ones(2, 2, 3)); nn.GRUCell(3, 2)(T.ones(2, 3), T.ones(2, 2, 2, 2));
nn.GRUCell(3, 2)(T.ones(2, 3), T.ones(3, 2)); nn.CrossEntropyLoss(T.ones(2))(T.ones(2, 3), T.tensor([0, 1]));
nn.CrossEntropyLoss(ignore_index=1)(T.ones(2, 3), T.ones(2, 3));
nn.NLLLoss(T.ones(3).double())(T.ones(2, 3), T.tensor([0, 1])); nn.BCELoss()(T.ones(2) * 2, T.ones(2));
nn.init.xavier_uniform_(T.ones(3)); nn.init.calculate_gain('leaky_relu', 'x');
nn.utils.rnn.pack_padded_sequence(T.ones(3, 2), [1, 3]); nn.utils.rnn.pack_padded_sequence(T.ones(3, 2), [3, 0]);
nn.utils.rnn.pack_padded_sequence(T.ones(3, 2), [3]);
nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([T.ones(3)]), total_length=2)"""


def test_what_cannot_be_made_or_computed_raises_what_pytorch_raises() -> None:
    for code in REFUSED.replace("\n", " ").split("; "):
        kinds = []
        for T in ENGINES:
            with pytest.raises(Exception) as error:
                eval(code, {"nn": T.nn, "T": T})
            kinds.append(error.type)
        assert kinds[0] is kinds[1], code


def test_a_parameter_cannot_be_made_from_a_non_tensor() -> None:
    for given in ([1.0, 2.0], np.ones(2), 1.0):
        with pytest.raises(TypeError, match="a Parameter holds a Tensor"):
            tinygrad_edu.nn.Parameter(given)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_packed_sequences_end_where_they_are_cut(kind: str, in_order: bool, bidirectional: bool) -> None:
    def program(T: Any) -> list[Any]:
        T.manual_seed(0)
        rnn = T.nn.utils.rnn  # a dropout of all: what else is drawn depends on PyTorch's processor
        layer = getattr(T.nn, kind)(3, 4, 2, bidirectional=bidirectional, batch_first=True, dropout=float(in_order))
        x, h, c = T.randn(4, 5, 3).requires_grad_(), *T.randn(2, 4 if bidirectional else 2, 4, 4)
        lengths = [5, 3, 3, 1] if in_order else [3, 1, 5, 3]
        packed = rnn.pack_padded_sequence(x, T.tensor(lengths), batch_first=True, enforce_sorted=in_order)
        out, last = layer(packed, (h, c) if kind == "LSTM" else h)
        padded, found = rnn.pad_packed_sequence(out, batch_first=True, padding_value=-1.0, total_length=6)
        results = [out.data, padded, *(last if kind == "LSTM" else [last])]
        sum((r * T.randn(*r.shape)).sum() for r in results).backward()
        orders = [T.tensor(padded.is_contiguous()), *(o for o in packed[1:] if o is not None)]
        return [*results, found, *orders, x.grad, *(p.grad for p in layer.parameters())]

    for a, b in zip(*map(program, ENGINES), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_loading_counts_as_a_write_and_names_what_is_missing_unknown_or_of_another_shape() -> None:
    for T in ENGINES:
        layer, weight, bias = T.nn.Linear(2, 3), T.zeros(3, 2), T.zeros(3)
        loss = (layer.weight * layer.weight).sum()
        layer.load_state_dict(layer.state_dict())
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
        for phrase, state in {
            'Missing key\\(s\\) in state_dict: "bias"': {"weight": weight},
            'Unexpected key\\(s\\) in state_dict: "more"': {"weight": weight, "bias": bias, "more": T.zeros(1)},
            "size mismatch for weight": {"weight": T.zeros(2, 2), "bias": bias},
        }.items():
            with pytest.raises(RuntimeError, match=phrase):
                layer.load_state_dict(state)
        keys = layer.load_state_dict({"weight": weight, "more": T.zeros(1)}, strict=False)
        assert (keys.missing_keys, keys.unexpected_keys) == (["bias"], ["more"])


@pytest.mark.parametrize("T", ENGINES, ids=lambda T: T.__name__)
def test_a_module_refuses_what_pytorch_refuses(T: Any) -> None:
    early = type("Early", (T.nn.Module,), {"__init__": lambda self: setattr(self, "layer", T.nn.Linear(1, 1))})
    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        early()
    for name, value in {"weight": T.zeros(1), "bias": T.nn.ReLU(), "running_mean": 3}.items():
        with pytest.raises(TypeError, match="cannot assign"):
            setattr(T.nn.BatchNorm1d(1), name, value)
    with pytest.raises(TypeError):
        T.nn.Linear(2, 2).to("cpu", True)


CONTAINERS = """nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1)]); nn.ModuleList();
nn.ModuleList([nn.ReLU()]).append(nn.Tanh()).extend([nn.Tanh()]) + nn.ModuleList([nn.ReLU()]);
after(nn.ModuleList([nn.ReLU(), nn.Tanh()]), "pop", 0); after(nn.ModuleList([nn.ReLU()]), "insert", 0, nn.Tanh());
nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Linear(1, 2))[1:]; nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh());
nn.ModuleDict({"a": nn.Linear(1, 2), "b": nn.ReLU()}); nn.ModuleDict([["a", nn.ReLU()], ["b", nn.Tanh()]]);
after(nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()}), "pop", "a"); after(nn.ModuleDict({"a": nn.ReLU()}), "clear")"""


def _after(module: Any, method: str, *args: Any) -> Any:
    getattr(module, method)(*args)
    return module


def test_a_container_holds_and_shows_what_pytorch_s_does() -> None:
    for code in CONTAINERS.replace("\n", " ").split("; "):
        ours, theirs = (eval(code, {"nn": T.nn, "after": _after}) for T in ENGINES)
        assert repr(ours) == repr(theirs)
        assert list(ours.state_dict()) == list(theirs.state_dict())
        assert len(ours) == len(theirs)


def test_the_gradient_of_batch_norm_is_right_whatever_the_order_in_memory() -> None:
    # For a batch of 1 PyTorch 2.13 gives a wrong one on the CPU: docs/differences.md.
    T = tinygrad_edu
    T.manual_seed(0)
    x, narrow, wide = (T.randn(*shape, dtype=T.float64) for shape in ((1, 8, 6, 6), (1, 4, 4), (1, 4, 4, 36)))

    def program(x: Any) -> Any:
        parts = T.nn.functional.batch_norm(x, None, None, training=True).reshape(1, 2, 4, 36)
        return T.einsum("bhkn,bkv->bhvn", parts, narrow) + T.einsum("bhkn,bkvn->bhvn", parts, wide)

    assert T.autograd.gradcheck(program, x.requires_grad_())
