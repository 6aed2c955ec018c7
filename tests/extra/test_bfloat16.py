"""bfloat16, held to PyTorch: values, dtypes, gradients, nodes, printed text, training; and what is refused."""

from __future__ import annotations

import copy
import pickle
import sys
from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu
from tinygrad_edu.array import dtypes

pytestmark = pytest.mark.filterwarnings("ignore")

# What the two engines give, number for number. Leaves x (3, 4), y (4), w (4, 4), s () of bfloat16, and f (3, 4) of float32.
EQUAL = [
    "x + y", "x - y", "x * y", "x / y", "x @ w", "x @ y", "x + 1", "2 - x", "x * 0.3", "0.1 / x", "x ** 2", "x ** 3", "x * f", "f - x",
    "x * s", "f * s", "x + T.arange(4)", "x * T.ones(4).half()", "x * T.tensor(0.3)", "x.exp()", "x.abs().sqrt()", "x.sin()",
    "x.tanh()", "x.sigmoid()", "x.sum()", "x.sum(0)", "x.mean(1)", "x.sum(dtype=T.float32)", "x.max()", "x.max(1)[0]", "x.amin(0)",
    "x.relu()", "T.nn.functional.gelu(x)", "T.nn.functional.silu(x)", "T.softmax(x, -1)", "T.log_softmax(x, -1)",
    "T.nn.functional.linear(x, w, y)", "T.nn.functional.cross_entropy(x, T.tensor([0, 1, 2]))", "T.bmm(x[None], w[None])",
    "T.addmm(y, x, w)", "T.einsum('ij,kj->ik', x, w)", "x.T", "x.reshape(4, 3)", "x[1]", "x[:, 1:3]", "x[[0, 0, 2]]", "T.cat([x, x * 2])",
    "T.cat([x, f])", "T.stack([x, x])", "x.unsqueeze(0).expand(2, 3, 4)", "x.masked_fill(x > 0.5, 0)", "T.where(x > 0, x, y)",
    "x.float()", "f.bfloat16()", "x.double().sum()", "x.to(T.float16)", "x.clone()", "x.flip(0)", "x.cumsum(0)",
    "x.clamp(-0.5, 0.5)", "x.tril()", "x.split(2, 1)[1]", "x.view(2, 6).chunk(2)[0]", "x.lerp(f.bfloat16(), 0.3)",
    "T.nn.functional.mse_loss(x[:2], y.expand(2, 4))", "T.nn.functional.layer_norm(x, (4,))", "T.nn.functional.pad(x, (1, 2))",
    "x.square().mean()", "(x > y).float() * x", "T.nn.functional.leaky_relu(x)", "x.log1p()", "T.outer(y, y)", "x.norm()", "x.index_select(1, T.tensor([1, 1]))",
]  # fmt: skip


def leaves(T: Any) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    made = {name: T.tensor(rng.standard_normal(shape).astype(np.float32)) for name, shape in
            {"x": (3, 4), "y": (4,), "w": (4, 4), "s": (), "f": (3, 4)}.items()}  # fmt: skip
    return {name: (t if name == "f" else t.bfloat16()).requires_grad_() for name, t in made.items()}


def seen(value: Any) -> Any:
    """A tensor as its dtype, shape and numbers; all else as text."""
    if hasattr(value, "grad_fn"):
        return str(value.dtype).split(".")[1], tuple(value.shape), value.detach().double().tolist()
    if isinstance(value, list | tuple):
        return [seen(v) for v in value]
    return str(value).replace("tinygrad_edu.", "torch.")


@pytest.mark.parametrize("expression", EQUAL)
def test_numbers_nodes_and_gradients_are_pytorchs(expression: str) -> None:
    results = []
    for T in (torch, tinygrad_edu):
        given = leaves(T)
        out = eval(expression, {"T": T, **given})
        weight = T.tensor(np.random.default_rng(3).standard_normal(tuple(out.shape)).astype(np.float32)).to(out.dtype)
        grads = T.autograd.grad(out, list(given.values()), weight, allow_unused=True)
        results.append(([seen(out), out.grad_fn.name()], [seen(g) for g in grads]))
    assert results[0] == results[1]


TRAINING = {
    "an MLP and SGD": """
model = T.nn.Sequential(T.nn.Linear(8, 32), T.nn.ReLU(), T.nn.Linear(32, 32)).to(T.bfloat16)
optimizer = T.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True)
x, y = T.randn(32, 8).bfloat16(), T.arange(32)
for _ in range(5):
    optimizer.zero_grad()
    loss = T.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
out = [*model.parameters()]
""",
    "clipped gradients and AdamW": """
model = T.nn.Sequential(T.nn.Linear(8, 32), T.nn.GELU(), T.nn.Linear(32, 32)).bfloat16()
optimizer = T.optim.AdamW(model.parameters(), lr=0.01, amsgrad=True)
x, y = T.randn(32, 8).bfloat16(), T.randn(32, 32).bfloat16()
for _ in range(5):
    optimizer.zero_grad()
    loss = T.nn.functional.mse_loss(model(x), y)
    loss.backward()
    norm = T.nn.utils.clip_grad_norm_(model.parameters(), 0.05)
    optimizer.step()
out = [loss, norm, *model.parameters(), optimizer.state_dict()["state"][0]["exp_avg_sq"]]
""",
    "attention by hand": """
emb, qkv = T.nn.Embedding(20, 16).bfloat16(), T.nn.Linear(16, 48).bfloat16()
q, k, v = [t.view(4, 8, 2, 8).transpose(1, 2) for t in qkv(emb(T.arange(32).view(4, 8) % 20)).split(16, 2)]
scores = ((q @ k.transpose(-2, -1)) * 8**-0.5).masked_fill(T.tril(T.ones(8, 8)) == 0, float("-inf"))
out = (T.softmax(scores, -1) @ v).transpose(1, 2).contiguous().view(4, 8, 16)
out.float().square().sum().backward()
out = [out, qkv.weight.grad, qkv.bias.grad]
""",
    "MultiheadAttention": """
attention, x = T.nn.MultiheadAttention(8, 2, batch_first=True).bfloat16(), T.randn(2, 5, 8).bfloat16()
y, weights = attention(x, x, x)
y.sum().backward()
out = [y, weights, attention.in_proj_weight.grad]
""",
    "second derivatives": """
x = T.tensor([0.3, 0.7], dtype=T.bfloat16, requires_grad=True)
(g,) = T.autograd.grad((x**3 + x.tanh()).sum(), x, create_graph=True)
(h,) = T.autograd.grad(g.sum(), x)
out = [g, h, g.grad_fn.name()]
""",
    "hooks and retained gradients": """
seen, x = [], T.ones(3, dtype=T.bfloat16, requires_grad=True)
y = x * 2
y.register_hook(lambda g: seen.append(str(g.dtype)) or g * 3)
y.retain_grad()
z = (y * T.tensor([1.0, 2.0, 3.0])).sum()
z.backward()
out = [x.grad, y.grad, z, seen, x.float().grad_fn.name(), z.grad_fn.next_functions[0][0].name()]
""",
    "a Function": """
class Exp(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]
x = T.tensor([0.3, 0.7], dtype=T.bfloat16, requires_grad=True)
Exp.apply(x).sum().backward()
out = [x.grad]
""",
    "writes in place": """
x = T.ones(3, 4, dtype=T.bfloat16, requires_grad=True)
y = x * 1.1
y.mul_(2.3)
y[0] = 5
y[:, 1] += T.tensor(0.3)
y.add_(T.ones(4) * 0.1)
y.view(-1)[3:].sub_(0.7)
y.sum().backward()
a = T.zeros(3, dtype=T.bfloat16)
a.fill_(0.3).clamp_(max=0.2).lerp_(T.ones(3, dtype=T.bfloat16), 0.1).addcmul_(a, a, value=0.3)
out = [y, x.grad, a]
""",
    "running statistics": """
m, x = T.nn.BatchNorm1d(3).bfloat16(), T.arange(12.0).view(4, 3).bfloat16()
m(x)
out = [m.running_mean, m.num_batches_tracked, m.eval()(x)]
""",
    "random numbers": """
a = T.randn(24, dtype=T.bfloat16), T.rand(5, dtype=T.bfloat16), T.empty(17).bfloat16().normal_(1, 2), T.zeros(5).bfloat16().uniform_(-1, 3)
out = [*a, T.randn(24).half(), T.empty(24).half().normal_(), T.nn.functional.dropout(T.ones(8).bfloat16(), 0.3), T.nn.Linear(4, 5, dtype=T.bfloat16).weight]
out.append(T.multinomial(T.softmax(T.randn(9, 65).bfloat16(), -1), 1))
""",
    "printed": """
x = T.tensor([1.5, 2, 3e-5], dtype=T.bfloat16, requires_grad=True)
out = [repr(x), repr(x * 2), repr(x.sum()), repr(T.zeros(2, 3).bfloat16()), x.type(), x.element_size(), x.tolist(), x[0].item()]
out += [x.is_floating_point(), T.promote_types(T.bfloat16, T.float16), T.result_type(x, 1.5), T.result_type(x, T.ones(2)), T.finfo(T.bfloat16)]
out = [[str(o) for o in out]]
""",
    "errors": """
x, out = T.ones(2, 2, dtype=T.bfloat16), []
for call in (lambda: x.numpy(), lambda: x @ T.ones(2, 2), lambda: np.asarray(x), lambda: x.fill_(1e39), lambda: x.add_(1j) if False else T.arange(2).add_(x[0])):
    try:
        call()
    except Exception as error:
        out.append([type(error).__name__, str(error).split(".")[0][:50]])
""",
}  # fmt: skip


@pytest.mark.parametrize("program", TRAINING.values(), ids=TRAINING)
def test_a_program_gives_pytorchs_numbers(program: str) -> None:
    results = []
    for T in (torch, tinygrad_edu):
        T.manual_seed(0)
        names: dict[str, Any] = {"T": T, "np": np}
        exec(program, names)
        results.append(seen(names["out"]))
    assert results[0] == results[1]


def test_it_is_copied_and_pickled() -> None:
    t = tinygrad_edu.tensor([1.5, 2.5], dtype=tinygrad_edu.bfloat16)
    for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert other.dtype is tinygrad_edu.bfloat16 and other.tolist() == [1.5, 2.5]


def ones(*shape: int) -> Any:
    return tinygrad_edu.ones(*shape, dtype=tinygrad_edu.bfloat16)


@pytest.mark.parametrize(
    "call",
    [
        lambda T: T.linalg.svd(ones(2, 2)),
        lambda T: T.linalg.inv(ones(2, 2)),
        lambda T: T.nn.LSTM(2, 2).bfloat16()(ones(3, 1, 2)),
        lambda T: T.distributions.Normal(ones(2), ones(2)).sample(),
        lambda T: T.distributions.Categorical(logits=ones(2)),
        lambda T: T.fft.fft(ones(4)),
        lambda T: T.nn.init.trunc_normal_(ones(4, 4)),
        lambda T: T.nn.init.orthogonal_(ones(4, 4)),
        lambda T: T.optim.RMSprop([_with_gradient()]).step(),
        lambda T: _dual(T),
        lambda T: T.multinomial(ones(3), 2),
        lambda T: T.set_default_dtype(T.bfloat16),
        lambda T: T.cdist(ones(2, 2), ones(2, 2)),
        lambda T: T.lgamma(ones(2)),
        lambda T: ones(2).exponential_(),
    ],
)
def test_what_is_not_checked_is_refused_by_a_sentence(call: Any) -> None:
    with pytest.raises(NotImplementedError, match="bfloat16"):
        call(tinygrad_edu)


def _dual(T: Any) -> Any:
    forward_ad = T.autograd.forward_ad
    with forward_ad.dual_level():
        return forward_ad.make_dual(ones(2), ones(2)).exp()


def _with_gradient() -> Any:
    w = ones(2).requires_grad_()
    w.sum().backward()
    return w


def test_without_ml_dtypes_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(NotImplementedError, match=r"pip install 'tinygrad-edu\[bfloat16\]'"):
        dtypes._BFloat16().numpy  # noqa: B018 - it is loaded when it is asked for
