"""`autocast("cpu")`, held to PyTorch: what runs in which type, the casts in the graph, gradients, training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu
import viz

pytestmark = pytest.mark.filterwarnings("ignore")

PROGRAMS = {
    "an MLP": """
m = T.nn.Sequential(T.nn.Linear(8, 32), T.nn.ReLU(), T.nn.LayerNorm(32), T.nn.Linear(32, 32))
o = T.optim.SGD(m.parameters(), lr=0.1)
x = T.randn(16, 8)
y = T.arange(16)
for i in range(3):
    o.zero_grad()
    with T.autocast("cpu", dtype=DT):
        h = m(x)
        l = T.nn.functional.cross_entropy(h, y)
    l.backward()
    o.step()
out = [h, l, *m.parameters(), names(l), [str(p.grad.dtype) for p in m.parameters()]]
""",
    "each list, nesting, the cache of casts": """
w = T.randn(4, 4).requires_grad_()
x = T.randn(3, 4)
with T.autocast("cpu", dtype=DT):
    a = x @ w
    b = a @ w
    c = T.mm(b, w.detach())
    d = T.cat([a, x])
    e = T.stack([a, b])
    f = a + x
    g = a.softmax(-1)
    h = a.exp()
    i = a.sum()
    j = T.prod(a, 1)
    k = (a @ w).float().pow(2).mean()
    q = T.einsum("ij,kj->ik", x, w)
    r = T.baddbmm(T.zeros(1, 3, 4), x[None], w[None])
    s = T.nn.functional.mse_loss(a, x)
    t = T.addmm(x, x, w)
    u = T.nn.functional.l1_loss(a, x)
    v = w.trace()
    z = T.tensordot(x, w, 1)
    aa = x.double() @ w.double()
    bb = T.mv(w, x[0])
    cc = T.dot(x[0], x[1])
    dd = T.outer(x[0], x[1])
    ee = T.nn.functional.gelu(a)
    with T.autocast("cpu", enabled=False):
        ff = x @ w
        en = T.is_autocast_enabled("cpu")
    gg = x @ w
    st = [T.is_autocast_enabled("cpu"), str(T.get_autocast_dtype("cpu")), en]
hh = x @ w
ll = k + s + gg.float().sum() + i.float()
ll.backward()
out = [
    a,
    b,
    c,
    d,
    e,
    f,
    g,
    h,
    i,
    j,
    k,
    q,
    r,
    s,
    t,
    u,
    v,
    z,
    aa,
    bb,
    cc,
    dd,
    ee,
    ff,
    gg,
    hh,
    w.grad,
    st,
    names(ll),
    [T.is_autocast_enabled("cpu"), str(T.get_autocast_dtype("cpu"))],
    names(d),
    names(j),
]
""",
    "convolutions": """
m = T.nn.Sequential(
    T.nn.Conv2d(1, 4, 3, padding=1),
    T.nn.BatchNorm2d(4),
    T.nn.ReLU(),
    T.nn.MaxPool2d(2),
    T.nn.ConvTranspose2d(4, 2, 2),
    T.nn.PReLU(),
    T.nn.AdaptiveAvgPool2d(1),
    T.nn.Flatten(),
    T.nn.Linear(2, 3),
)
x = T.randn(4, 1, 8, 8)
with T.autocast("cpu", dtype=DT):
    h = m(x)
    l = h.square().mean()
l.backward()
out = [h, l, m[8].weight.grad, m[0].weight.grad.dtype == T.float32, names(l), m[1].running_mean]
""",
    "a transformer layer": """
m = T.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
x = T.randn(2, 5, 8)
with T.autocast("cpu", dtype=DT):
    o = m(x)
    l = (o * T.arange(8.0)).sum()
l.backward()
out = [o, l, m.linear1.weight.grad]
""",
    "GRU": """
m = T.nn.GRU(4, 5)
x = T.randn(3, 2, 4)
with T.autocast("cpu", dtype=DT):
    o, _ = m(x)
out = [o]
""",
    "an embedding and losses": """
m = T.nn.Embedding(5, 4)
l = T.nn.Linear(4, 5, bias=False)
with T.autocast("cpu", dtype=DT):
    h = l(m(T.tensor([1, 2, 1])))
    p = T.nn.functional.log_softmax(h, -1)
    z = T.nn.functional.nll_loss(p, T.tensor([0, 1, 2]))
    y = T.nn.functional.binary_cross_entropy_with_logits(h, T.ones(3, 5))
    k = T.nn.functional.kl_div(p, p.exp())
    s = T.nn.functional.smooth_l1_loss(h, T.ones(3, 5))
    pad = T.nn.functional.pad(h[None], (1, 1), mode="reflect")
    pc = T.nn.functional.pad(h, (1, 1))
    dr = T.nn.functional.dropout(h, 0.5)
    no = h.norm()
    va = h.var()
    to = h.topk(2)[0]
(z + y + k + s).backward()
out = [h, p, z, y, k, s, pad, pc, dr, no, va, to, m.weight.grad, l.weight.grad]
""",
    "its forms": """
@T.autocast("cpu", dtype=DT)
def f(x, w):
    return x @ w


w = T.ones(2, 2, requires_grad=True)
a = f(w, w)
with T.no_grad():
    with T.autocast("cpu", dtype=DT):
        b = w @ w
with T.autocast("cpu", dtype=DT):
    with T.no_grad():
        c = w @ w
    d = w @ w
with T.autocast("cpu", dtype=DT, cache_enabled=False):
    e = w @ w
with T.amp.autocast("cpu", dtype=DT):
    g = T.nn.functional.linear(w, w)
    bw = (w @ w).sum()
    bw.backward()
out = [a, b, c, d, e, g, w.grad, names(a), d.requires_grad, names(e), names(d)]
""",
    "custom_fwd and custom_bwd": """
r = []


class F(T.autograd.Function):
    @staticmethod
    @T.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        r.append(T.is_autocast_enabled("cpu"))
        return x.mm(w)

    @staticmethod
    @T.amp.custom_bwd(device_type="cpu")
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        r.append(T.is_autocast_enabled("cpu"))
        return g.mm(w.t()), x.t().mm(g)


class G(T.autograd.Function):
    @staticmethod
    @T.amp.custom_fwd(device_type="cpu", cast_inputs=T.float32)
    def forward(ctx, x):
        r.append(str(x.dtype))
        r.append(T.is_autocast_enabled("cpu"))
        return x * 2

    @staticmethod
    @T.amp.custom_bwd(device_type="cpu")
    def backward(ctx, g):
        r.append(str(g.dtype))
        return g * 2


x = T.randn(3, 4).requires_grad_()
w = T.randn(4, 4).requires_grad_()
with T.autocast("cpu", dtype=DT):
    y = F.apply(x, w)
    z = G.apply(y)
z.float().sum().backward()
out = [y, z, x.grad, w.grad, r]
""",
    "GradScaler": """
m = T.nn.Linear(8, 32)
o = T.optim.AdamW(m.parameters(), lr=0.01)
s = T.amp.GradScaler("cpu", init_scale=256.0)
x = T.randn(16, 8)
r = []
for i in range(3):
    o.zero_grad()
    with T.autocast(device_type="cpu", dtype=DT):
        l = T.nn.functional.mse_loss(m(x), T.ones(16, 32))
    s.scale(l).backward()
    s.unscale_(o)
    T.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    s.step(o)
    s.update()
    r.append(s.get_scale())
out = [l, *m.parameters(), r]
""",
    "checkpoint": """
m = T.nn.Linear(4, 4)
x = T.randn(3, 4).requires_grad_()
with T.autocast("cpu", dtype=DT):
    y = T.utils.checkpoint.checkpoint(lambda t: m(t).relu(), x, use_reentrant=False)
y.float().sum().backward()
out = [y, x.grad, m.weight.grad]
""",
    "reentrant checkpoint": """
m = T.nn.Linear(4, 4)
x = T.randn(3, 4).requires_grad_()
with T.autocast("cpu", dtype=DT):
    y = T.utils.checkpoint.checkpoint(lambda t: m(t).relu(), x, use_reentrant=True)
y.float().sum().backward()
out = [y, x.grad, m.weight.grad]
""",
    "attention": """
m = T.nn.MultiheadAttention(8, 2, batch_first=True)
x = T.randn(2, 5, 8)
with T.autocast("cpu", dtype=DT):
    o, w = m(x, x, x)
    o2, _ = m(x, x, x, need_weights=False)
    q = T.nn.functional.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], is_causal=True)
    q2 = T.nn.functional.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], attn_mask=T.zeros(5, 5))
(o.float().sum() + o2.float().sum()).backward()
out = [o, w, o2, q, q2, m.in_proj_weight.grad, m.out_proj.bias.grad]
""",
    "warnings": """
import warnings

with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    with T.autocast("cpu", dtype=T.float64):
        a = T.ones(2, 2) @ T.ones(2, 2)
    with T.autocast("cpu", enabled=False):
        b = T.ones(2, 2) @ T.ones(2, 2)
out = [
    a,
    b,
    [str(v.message)[:60] for v in w],
    [str(T.get_autocast_dtype("cuda")), T.is_autocast_enabled(), T.amp.is_autocast_available("cpu")],
]
""",
}

# float16 rounds after each step of an op here; the sums of bfloat16 that PyTorch rounds on the way are on the page of differences.
NEAR = {"bfloat16": 2.0**-7, "float16": 2.0**-9}


def names(t: Any) -> list[str]:
    """The names of the nodes that lead to `t`, breadth first."""
    found, waiting = [], [t.grad_fn]
    while waiting:
        node = waiting.pop(0)
        if node is not None and node not in found:
            found.append(node)
            waiting += [following for following, _ in node.next_functions]
    return [node.name() for node in found]


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_runs_in_pytorchs_types(program: str, dtype: str) -> None:
    results = []
    for T in (torch, tinygrad_edu):
        T.manual_seed(0)
        given: dict[str, Any] = {"T": T, "DT": getattr(T, dtype), "names": names}
        exec(program, given)
        results.append(given["out"])
    for theirs, ours in zip(*results, strict=True):
        if not hasattr(theirs, "grad_fn"):
            assert str(ours).replace("tinygrad_edu.", "torch.") == str(theirs)
            continue
        assert (str(ours.dtype).split(".")[1], tuple(ours.shape)) == (
            str(theirs.dtype).split(".")[1],
            tuple(theirs.shape),
        )
        x, y = (t.detach().double().numpy() for t in (ours, theirs))
        np.testing.assert_allclose(x, y, rtol=0, atol=NEAR[dtype] * (2 * np.abs(y).max() + 1e-30))


@pytest.mark.parametrize(
    "call",
    [
        lambda T: T.nn.LSTM(2, 2)(T.ones(3, 1, 2)),
        lambda T: T.linalg.matrix_power(T.eye(2), 3),
        lambda T: T.cov(T.ones(2, 2)),
    ],
)
def test_what_would_run_in_part_in_lower_precision_is_refused(call: Any) -> None:
    with tinygrad_edu.autocast("cpu"), pytest.raises(NotImplementedError, match="autocast"):
        call(tinygrad_edu)
    assert not tinygrad_edu.is_autocast_enabled("cpu")


def test_it_is_drawn_and_compared() -> None:
    def program(T: Any) -> None:
        w, x = T.ones(2, 2, requires_grad=True), T.ones(2, 2)
        with T.autocast("cpu", dtype=T.bfloat16):
            loss = T.nn.functional.mse_loss(x @ w, x)
        loss.backward()

    assert viz.compare(program).agree
