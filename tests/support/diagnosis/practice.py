"""Programs as practitioners write them, in which a first run missed the cause or its line, and what was meant."""

from __future__ import annotations

from .broken import Broken
from .healthy import Healthy

BROKEN = [
    Broken(
        "practice: forgot to unfreeze after warm-up",
        1,
        "requires-grad-off",
        """
import torch
import torch.nn as nn

def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad = flag

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
head = nn.Linear(8, 2)
x, y = torch.randn(16, 8), torch.randint(0, 2, (16,))
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
set_trainable(body, False)  #!
for epoch in range(5):
    opt.zero_grad()
    nn.functional.cross_entropy(head(body(x)), y).backward()
    opt.step()
print([p.grad for p in body.parameters()])
""",
    ),
    Broken(
        "practice: bias so negative that all relus are dead",
        2,
        "dead-relu",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 16)
        self.b = nn.Linear(16, 16)
        self.c = nn.Linear(16, 1)
        self.reset()

    def reset(self):
        for m in (self.a, self.b, self.c):
            nn.init.xavier_uniform_(m.weight)
            nn.init.zeros_(m.bias)
        nn.init.constant_(self.b.bias, -20.0)  #!

    def forward(self, x):
        return self.c(torch.relu(self.b(torch.relu(self.a(x)))))

net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.randn(20, 4)
y = x[:, :1] * 3
for step in range(5):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "practice: hidden units all begin at the same number",
        2,
        "equal-units",
        """
import torch
torch.manual_seed(0)
w1 = torch.full((4, 8), 0.5).requires_grad_()  #!
b1 = torch.zeros(8, requires_grad=True)
w2 = torch.full((8, 1), 0.5).requires_grad_()  #!
x = torch.randn(30, 4)
y = torch.sin(x[:, :1]) + x[:, 1:2] ** 2
for epoch in range(10):
    loss = ((torch.tanh(x @ w1 + b1) @ w2 - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (w1, b1, w2):
            p -= 0.05 * p.grad
            p.grad.zero_()
""",
    ),
    Broken(
        "practice: clip norm to a tiny number",
        5,
        "rate-too-small",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
rnn = nn.RNN(3, 8, batch_first=True); out = nn.Linear(8, 1)
params = list(rnn.parameters()) + list(out.parameters())
opt = torch.optim.SGD(params, lr=0.05)
x = torch.randn(10, 5, 3); y = x[:, :, 0].sum(1, keepdim=True)
for it in range(8):
    h, _ = rnn(x)
    loss = nn.functional.mse_loss(out(h[:, -1]), y)
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, max_norm=1e-8)  #!
    opt.step()
""",
    ),
    Broken(
        "practice: shuffled by RandomState",
        5,
        "shuffled-apart",
        """
import numpy as np
import torch
import torch.nn as nn
rng = np.random.RandomState(3)
X = rng.randn(60, 4).astype("float32")
Y = (X.sum(1) > 0).astype("int64")
rng.shuffle(X)  #!
x, y = torch.from_numpy(X), torch.from_numpy(Y)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(5):
    for k in range(0, 60, 20):
        loss = nn.functional.cross_entropy(net(x[k:k + 20]), y[k:k + 20])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: best state loaded every step",
        5,
        "alias rate-too-small made-anew stale-optimizer",
        """
import copy
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
start = copy.deepcopy(net.state_dict())
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(20, 4); y = x.prod(1, keepdim=True)
for epoch in range(6):
    net.load_state_dict(start)  #!
    loss = ((net(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "practice: softmax over dim 0 in an attention pooling",
        5,
        "wrong-dim",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class AttnPool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 1)
        self.fc = nn.Linear(d, 3)
    def forward(self, x):                       # (batch, time, d)
        a = torch.softmax(self.score(x), dim=0)  #!
        return self.fc((a * x).sum(1))
net = AttnPool(6)
opt = torch.optim.Adam(net.parameters(), 1e-2)
x = torch.randn(12, 7, 6); y = torch.randint(0, 3, (12,))
for _ in range(4):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: log_softmax on the batch with nll",
        5,
        "wrong-dim",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
class Clf(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(16, 10), nn.ReLU(), nn.Linear(10, 5))
        self.out = nn.LogSoftmax(dim=0)  #!
    def forward(self, x):
        return self.out(self.net(x))
def run(epochs=3):
    c = Clf()
    o = torch.optim.SGD(c.parameters(), lr=0.1)
    img, lab = torch.randn(25, 4, 4), torch.randint(0, 5, (25,))
    for _ in range(epochs):
        o.zero_grad()
        F.nll_loss(c(img), lab).backward()
        o.step()
run()
""",
    ),
    Broken(
        "practice: model copied after the optimizer got its parameters",
        5,
        "stale-optimizer",
        """
import copy
import torch
import torch.nn as nn
torch.manual_seed(0)

def prepare(model):
    return copy.deepcopy(model)  #!

net = nn.Linear(5, 2)
opt = torch.optim.Adam(net.parameters(), lr=0.1)
net = prepare(net)
x, y = torch.randn(16, 5), torch.randint(0, 2, (16,))
losses = []
for i in range(5):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    losses.append(loss.item())
""",
    ),
    Broken(
        "practice: loss weights appended as numbers in a comprehension",
        1,
        "item",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
nets = nn.ModuleList(nn.Linear(3, 1) for _ in range(3))
opt = torch.optim.SGD(nets.parameters(), lr=0.1)
x, y = torch.randn(10, 3), torch.randn(10, 1)
for epoch in range(3):
    per_net = [((n(x) - y) ** 2).mean() for n in nets]
    best = min(per_net, key=lambda l: l.item())
    rest = sum(l.item() for l in per_net if l is not best)  #!
    loss = best + 0.1 * rest
    opt.zero_grad(); loss.backward(); opt.step()
for n in nets: print(n.weight.grad)
""",
    ),
    Broken(
        "practice: parameters registered as buffers",
        1,
        "requires-grad-off",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
class Scale(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("gain", torch.ones(d))  #!
        self.lin = nn.Linear(d, d)
    def forward(self, x):
        return self.lin(x) * self.gain
net = Scale(4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(10, 4)
for _ in range(3):
    loss = F.mse_loss(net(x), x)
    opt.zero_grad(); loss.backward(); opt.step()
print(net.gain.grad)
""",
    ),
    Broken(
        "practice: gate initialised to zero on both factors",
        2,
        "times-zero equal-units",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class LoRA(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base = base
        for p in base.parameters(): p.requires_grad_(False)
        self.A = nn.Parameter(torch.zeros(r, base.in_features))  #!
        self.B = nn.Parameter(torch.zeros(base.out_features, r))  #!
    def forward(self, x):
        return self.base(x) + x @ self.A.t() @ self.B.t()
net = LoRA(nn.Linear(5, 3))
opt = torch.optim.Adam([net.A, net.B], lr=0.01)
x, y = torch.randn(12, 5), torch.randn(12, 3)
for _ in range(3):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: tanh of large pre-activations from a big init",
        2,
        "saturated",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
def init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, std=300.0)  #!
        nn.init.zeros_(m.bias)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
net.apply(init)
opt = torch.optim.SGD(net.parameters(), lr=1e-9)
x, y = torch.randn(20, 4), torch.randn(20, 1)
for _ in range(3):
    loss = (net(x) - y).abs().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: dataclass config, dead relu after a huge first step",
        2,
        "dead-relu rate-too-large",
        """
from dataclasses import dataclass
import torch
import torch.nn as nn

@dataclass
class Config:
    hidden: int = 16
    lr: float = 100.0  #!
    steps: int = 6

cfg = Config()
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 1), nn.ReLU())
nn.init.constant_(net[2].bias, 1.0)
opt = torch.optim.SGD(net.parameters(), lr=cfg.lr)  #!
x = torch.rand(32, 3)
y = x.sum(1, keepdim=True)
for _ in range(cfg.steps):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "practice: optimizer over tensors that need no gradient",
        1,
        "requires-grad-off",
        """
import torch
torch.manual_seed(0)
X = torch.randn(40, 3)
y = X @ torch.tensor([1.0, -1.0, 2.0]) + 0.5
w = torch.zeros(3)  #!
b = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([w, b], lr=0.1)
for epoch in range(5):
    opt.zero_grad()
    loss = torch.mean((X @ w + b - y) ** 2)
    loss.backward()
    opt.step()
print(w, b)
""",
    ),
    Broken(
        "practice: soft target update through state dict with gradients cut in the critic",
        1,
        "no-grad",
        """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt_a = torch.optim.Adam(actor.parameters(), 1e-3); opt_c = torch.optim.Adam(critic.parameters(), 1e-3)
for t in range(4):
    s, r = torch.randn(10, 3), torch.randn(10, 1)
    with torch.no_grad():
        a = actor(s)
    q = critic(torch.cat([s, a], 1))
    opt_c.zero_grad(); F.mse_loss(q, r).backward(); opt_c.step()
    with torch.no_grad():  #!
        pi = actor(s)
    loss_a = -critic(torch.cat([s, pi], 1)).mean()
    opt_a.zero_grad(); loss_a.backward(); opt_a.step()
""",
    ),
    Broken(
        "practice: int cast of coordinates for a crop",
        1,
        "integer-op item",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
loc = nn.Linear(64, 1)
cls = nn.Linear(16, 2)
opt = torch.optim.SGD(list(loc.parameters()) + list(cls.parameters()), lr=0.1)
x, y = torch.randn(5, 64), torch.randint(0, 2, (5,))
for epoch in range(3):
    opt.zero_grad()
    total = 0.0
    for xi, yi in zip(x, y):
        start = int(torch.sigmoid(loc(xi)) * 48)  #!
        total = total + nn.functional.cross_entropy(cls(xi[start:start + 16])[None], yi[None])
    total.backward()
    opt.step()
""",
    ),
    Broken(
        "practice: new parameter each forward",
        1,
        "made-anew not-in-optimizer new-tensor unregistered stale-optimizer",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        scale = nn.Parameter(torch.ones(4))  #!
        return self.lin(x) * scale
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(8, 4)
for _ in range(4):
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: early return before the second branch",
        1,
        "unused",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class TwoStage(nn.Module):
    def __init__(self, use_refine=False):
        super().__init__()
        self.coarse = nn.Linear(6, 3)
        self.refine = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))
        self.use_refine = use_refine
    def forward(self, x):
        y = self.coarse(x)
        if not self.use_refine:  #!
            return y
        return y + self.refine(y)
net = TwoStage()
opt = torch.optim.Adam(net.parameters())
x, t = torch.randn(10, 6), torch.randn(10, 3)
for step in range(3):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), t).backward()
    opt.step()
for n, p in net.named_parameters():
    print(n, p.grad is None)
""",
    ),
    Broken(
        "practice: loss weight annealed from zero and never rises",
        2,
        "times-zero",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 4); self.dec = nn.Linear(2, 6); self.aux = nn.Linear(6, 2)
    def forward(self, x):
        mu, lv = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.dec(z), mu, lv, self.aux(x)
net = VAE()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
x = torch.randn(12, 6); c = torch.randint(0, 2, (12,))
for epoch in range(4):
    beta = epoch // 10  #!
    rec, mu, lv, aux = net(x)
    kl = -0.5 * (1 + lv - mu ** 2 - lv.exp()).mean()
    loss = (rec - x).pow(2).mean() + 0.1 * kl + beta * nn.functional.cross_entropy(aux, c)  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: hook that zeroes the gradients",
        5,
        "zero rate-too-small times-zero zero-before-step",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
for p in net.parameters():
    p.register_hook(lambda g: g * 0)  #!
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
for _ in range(4):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: multi-head softmax over heads",
        5,
        "wrong-dim",
        """
import torch, math
import torch.nn as nn
torch.manual_seed(0)
class MHA(nn.Module):
    def __init__(self, d=8, h=2):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d); self.h = h; self.out = nn.Linear(d, 4)
    def forward(self, x):
        B, T, D = x.shape
        q, k, v = (t.view(B, T, self.h, D // self.h).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        att = (q @ k.transpose(-2, -1) / math.sqrt(D // self.h)).softmax(dim=1)  #!
        return self.out((att @ v).transpose(1, 2).reshape(B, T, D).mean(1))
net = MHA(); opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
x, y = torch.randn(6, 5, 8), torch.randint(0, 4, (6,))
for _ in range(3):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: phase compared with the wrong word",
        1,
        "no-grad",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = {p: (torch.randn(12, 4), torch.randint(0, 2, (12,))) for p in ("training", "val")}
for epoch in range(2):
    for phase in ("training", "val"):
        x, y = data[phase]
        opt.zero_grad()
        with torch.set_grad_enabled(phase == "train"):  #!
            loss = nn.functional.cross_entropy(net(x), y)
        if phase == "training":
            loss.backward()
            opt.step()
""",
    ),
    Broken(
        "practice: top-k indices become the output",
        1,
        "integer-op",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(5, 1)
        self.bias = nn.Parameter(torch.zeros(3))
    def forward(self, items):
        s = self.score(items).squeeze(-1)
        top = s.topk(3, dim=1)
        return top.indices.float() + self.bias  #!
net = Ranker()
opt = torch.optim.Adam(net.parameters(), lr=0.05)
items, want = torch.randn(6, 8, 5), torch.randn(6, 3)
for _ in range(3):
    loss = (net(items) - want).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: parameters as a plain tuple of tensors",
        1,
        "unregistered requires-grad-off",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Poly(nn.Module):
    def __init__(self, order):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1))
        self.coef = torch.randn(order) * 0.1  #!
    def forward(self, x):
        return self.bias + sum(c * x ** (i + 1) for i, c in enumerate(self.coef))
net = Poly(3)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.linspace(-1, 1, 30); y = 2 * x - x ** 3
for _ in range(5):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(net.coef.grad)
""",
    ),
    Broken(
        "practice: hardtanh on a target scale of hundreds",
        2,
        "clamp dead-relu saturated",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
with torch.no_grad():
    net[2].bias.fill_(50.0)
act = nn.Hardtanh(-1, 1)  #!
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.randn(10, 2); y = 50 + x[:, :1]
for _ in range(3):
    loss = (act(net(x)) - y).abs().mean()  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: masked positions are the only ones that count",
        2,
        "times-zero",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
lin = nn.Linear(5, 5)
opt = torch.optim.SGD(lin.parameters(), lr=0.1)
def masked_mse(p, t, m):
    return ((p - t) ** 2 * m).sum() / m.numel()
for _ in range(3):
    x = torch.randn(6, 5)
    keep = torch.rand(6, 5) > 1.0  #!
    loss = masked_mse(lin(x), x, keep.float())
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: plateau scheduler watches the loss for a maximum",
        5,
        "rate-too-small",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", factor=0.01, patience=0)  #!
x = torch.randn(40, 4); y = x @ torch.tensor([[1.], [2.], [0.], [-1.]])
for epoch in range(10):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    plateau.step(loss.item())
""",
    ),
    Broken(
        "practice: step named but not called",
        5,
        "never-steps",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in [(torch.randn(5, 3), torch.randn(5, 1)) for _ in range(4)]:
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step  #!
""",
    ),
    Broken(
        "practice: validation loss is the one that goes back",
        5,
        "wrong-loss never-steps unused",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(4, 1); ema = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(20, 4), torch.randn(20, 1)
for _ in range(4):
    loss = nn.functional.mse_loss(net(x), y)
    loss_ema = nn.functional.mse_loss(ema(x), y)
    opt.zero_grad()
    loss_ema.backward()  #!
    opt.step()
""",
    ),
    Broken(
        "practice: adam with lr of 3",
        5,
        "rate-too-large",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
def build(hidden=32, lr=3.0):  #!
    net = nn.Sequential(nn.Linear(5, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))
    return net, torch.optim.Adam(net.parameters(), lr=lr)  #!
net, opt = build()
x = torch.randn(40, 5); y = x.pow(2).sum(1, keepdim=True)
for i in range(12):
    loss = ((net(x) - y) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: optimizer made before the weights are replaced by a loaded tensor",
        5,
        "stale-optimizer",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
saved = {k: torch.randn_like(v) for k, v in net.state_dict().items()}
net[0].weight = nn.Parameter(saved["0.weight"])  #!
x, y = torch.randn(10, 4), torch.randn(10, 1)
for _ in range(4):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: where with sqrt of a negative branch",
        3,
        "where",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Soft(nn.Module):
    def forward(self, x):
        pos = torch.sqrt(x)  #!
        return torch.where(x > 0, pos, 0.1 * x)  #!
net = nn.Sequential(nn.Linear(4, 6), Soft(), nn.Linear(6, 1))
opt = torch.optim.Adam(net.parameters())
for _ in range(2):
    loss = net(torch.randn(9, 4)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: optimizer over a copy",
        5,
        "stale-optimizer not-in-optimizer",
        """
import copy
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
opt = torch.optim.SGD(copy.deepcopy(net).parameters(), lr=0.1)  #!
for _ in range(4):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: swapped gradients of a call with many numbers",
        7,
        "wrong-backward",
        """
import torch
torch.manual_seed(0)

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * a, grad * b  #!

w = torch.randn(5000, requires_grad=True)
v = torch.randn(5000, requires_grad=True)
for _ in range(2):
    loss = (Product.apply(w, v) - 1).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (w, v):
            p -= 0.1 * p.grad
            p.grad = None
""",
    ),
    Broken(
        "practice: recurrent weights with a gain",
        4,
        "exploding",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
rnn = nn.RNN(1, 12, nonlinearity="relu", batch_first=True)
readout = nn.Linear(12, 1)
nn.init.orthogonal_(rnn.weight_hh_l0, gain=3.0)  #!
opt = torch.optim.SGD([*rnn.parameters(), *readout.parameters()], lr=1e-12)
for _ in range(3):
    x = torch.rand(8, 40, 1)
    loss = (readout(rnn(x)[0][:, -1]) - x.mean(1)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: sigmoid of raw pixels",
        2,
        "saturated",
        """
import torch
import torch.nn as nn
torch.manual_seed(8)
class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(36, 20)
        self.fc2 = nn.Linear(20, 4)
    def forward(self, x):
        h = torch.sigmoid(self.fc1(x))  #!
        return self.fc2(h)
images = torch.randint(0, 256, (64, 36)).float()  #!
labels = torch.randint(0, 4, (64,))
model = MLP()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(8):
    for i in range(0, 64, 16):
        opt.zero_grad()
        nn.functional.cross_entropy(model(images[i:i + 16]), labels[i:i + 16]).backward()
        opt.step()
""",
    ),
    Broken(
        "practice: attention scores not scaled",
        2,
        "saturated",
        """
import torch
import torch.nn as nn
torch.manual_seed(9)
class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False), nn.Linear(d, d)
        for lin in (self.q, self.k):
            nn.init.normal_(lin.weight, std=1.0)  #!
        self.out = nn.Linear(d, 2)
    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(-2, -1)  #!
        att = scores.softmax(-1)  #!
        return self.out((att @ self.v(x)).mean(1))
net = Attention(32)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(5):
    x, y = torch.randn(4, 6, 32), torch.randint(0, 2, (4,))
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: padding mask inverted in pooled sentence vector",
        2,
        "times-zero",
        """
import torch
import torch.nn as nn
torch.manual_seed(11)
class Sentence(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 8, padding_idx=0)
        self.fc = nn.Linear(8, 2)
    def forward(self, ids):
        mask = (ids == 0).float().unsqueeze(-1)  #!
        h = self.emb(ids) * mask  #!
        return self.fc(h.sum(1) / mask.sum(1).clamp(min=1))
model = Sentence()
opt = torch.optim.Adam(model.parameters(), lr=0.01)
ids = torch.randint(1, 30, (16, 6))
ids[:, 4:] = 0
y = torch.randint(0, 2, (16,))
for step in range(5):
    loss = nn.functional.cross_entropy(model(ids), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: reconstruction trained against itself instead of the clean image",
        5,
        "unused-labels",
        """
import torch
import torch.nn as nn
torch.manual_seed(24)
class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(9, 16), nn.ReLU(), nn.Linear(16, 9))
    def forward(self, x): return self.f(x)
clean = torch.rand(40, 9)
noisy = clean + 0.3 * torch.randn_like(clean)
model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for i in range(0, 40, 10):
        x, target = noisy[i:i + 10], clean[i:i + 10]
        out = model(x)
        loss = nn.functional.mse_loss(out, x)  #!
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: weight decay that eats the weights",
        5,
        "weight-decay",
        """
import torch
import torch.nn as nn
torch.manual_seed(25)
net = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=5.0)  #!
x = torch.randn(50, 5); y = (x[:, :1] - x[:, 1:2])
for epoch in range(20):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: sorted inputs",
        5,
        "shuffled-apart",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
x = torch.rand(40, 1) * 6
y = torch.sin(x) + 0.1 * torch.randn(40, 1)
x, _ = torch.sort(x, dim=0)  #!
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(6):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: layernorm over one feature",
        2,
        "zero",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.LayerNorm(1))  #!
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(32, 4); y = x.sum(1, keepdim=True)
for _ in range(5):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: quantised activations with floor in a function",
        2,
        "flat",
        """
import torch
import torch.nn as nn
torch.manual_seed(15)
def quantise(x, levels=16):
    lo, hi = x.min().detach(), x.max().detach()
    q = torch.floor((x - lo) / (hi - lo) * (levels - 1))  #!
    return q / (levels - 1) * (hi - lo) + lo
enc, dec = nn.Linear(10, 4), nn.Linear(4, 10)
opt = torch.optim.Adam([{"params": enc.parameters()}, {"params": dec.parameters(), "lr": 1e-2}], lr=1e-3)
for _ in range(4):
    x = torch.randn(12, 10)
    loss = nn.functional.mse_loss(dec(quantise(enc(x))), x)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: actor and critic share one optimiser's step but the other is zeroed",
        5,
        "no-zero-grad",
        """
import torch
import torch.nn as nn
torch.manual_seed(22)
class Agent:
    def __init__(self):
        self.actor, self.critic = nn.Linear(3, 1), nn.Linear(4, 1)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
    def update(self, s, a, r):
        q = self.critic(torch.cat([s, a], 1))
        critic_loss = nn.functional.mse_loss(q, r)
        self.actor_opt.zero_grad()  #!
        critic_loss.backward()  #!
        self.critic_opt.step()
        actor_loss = -self.critic(torch.cat([s, torch.tanh(self.actor(s))], 1)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
agent = Agent()
for _ in range(5):
    agent.update(torch.randn(8, 3), torch.randn(8, 1), torch.randn(8, 1))
""",
    ),
    Broken(
        "practice: maml-like inner loop with updated weights as tensors",
        1,
        "new-tensor item detach data",
        """
import torch
import torch.nn.functional as F
torch.manual_seed(3)
w = torch.randn(1, 3, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
meta = torch.optim.SGD([w, b], lr=0.01)
def inner(w, b, x, y, lr=0.1):
    loss = F.mse_loss(F.linear(x, w, b), y)
    gw, gb = torch.autograd.grad(loss, (w, b))
    fast_w = torch.tensor((w - lr * gw).tolist())  #!
    fast_b = b - lr * gb
    return fast_w, fast_b
for it in range(4):
    xs, ys = torch.randn(5, 3), torch.randn(5, 1)
    fw, fb = inner(w, b, xs, ys)
    loss = F.mse_loss(F.linear(xs, fw, fb), ys)
    meta.zero_grad(); loss.backward(); meta.step()
""",
    ),
    Broken(
        "practice: attribute tensors in a plain class made learnable, wrong list",
        5,
        "not-in-optimizer",
        """
import torch
torch.manual_seed(4)
class LSTMCell:
    def __init__(self, n_in, n):
        def make(*s): return (torch.randn(*s) * 0.1).requires_grad_()
        self.Wx, self.Wh = make(n_in, 4 * n), make(n, 4 * n)
        self.b = torch.zeros(4 * n, requires_grad=True)
        self.n = n
    def params(self):
        return [self.Wx, self.b]  #!
    def __call__(self, x, h, c):
        i, f, g, o = (x @ self.Wx + h @ self.Wh + self.b).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
cell = LSTMCell(2, 5)
opt = torch.optim.Adam(cell.params(), lr=1e-2)  #!
for step in range(4):
    h = c = torch.zeros(3, 5)
    for t in range(6):
        h, c = cell(torch.randn(3, 2), h, c)
    loss = (h.sum(1) - 1).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: geometric mean of signed values by power",
        3,
        "sqrt-at-zero log-of-zero not-finite",
        """
import torch
import torch.nn as nn
torch.manual_seed(15)
class GeM(nn.Module):
    def __init__(self, p=3.0):
        super().__init__()
        self.p = nn.Parameter(torch.tensor(p))
    def forward(self, x):
        return x.pow(self.p).mean(-1).pow(1 / self.p)  #!
net = nn.Sequential(nn.Conv1d(2, 4, 3), GeM(), nn.Linear(4, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(3):
    loss = net(torch.randn(6, 2, 10)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: model swapped for a fresh one by reset",
        5,
        "stale-optimizer made-anew",
        """
import torch
import torch.nn as nn
torch.manual_seed(19)
class Experiment:
    def __init__(self):
        self.build()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
    def build(self):
        self.model = nn.Linear(3, 1)
    def run(self, steps):
        self.build()  #!
        for _ in range(steps):
            x = torch.randn(8, 3)
            loss = (self.model(x) - x.sum(1, keepdim=True)).pow(2).mean()
            self.opt.zero_grad(); loss.backward(); self.opt.step()
Experiment().run(4)
""",
    ),
    Broken(
        "practice: targets all from the first sample by a stale index",
        5,
        "unused-labels shuffled-apart",
        """
import torch
import torch.nn as nn
torch.manual_seed(24)
X = torch.randn(30, 4); y = X.sum(1, keepdim=True)
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.05)
for epoch in range(3):
    perm = torch.randperm(30)
    for i in range(0, 30, 10):
        idx = perm[i:i + 10]
        pred = net(X[idx])
        loss = nn.functional.mse_loss(pred, y[i:i + 10])  #!
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: model reloaded at each epoch start",
        5,
        "made-anew stale-optimizer",
        """
import torch
import torch.nn as nn
torch.manual_seed(19)
def build(): return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
x = torch.randn(20, 4); y = x[:, :1]
for epoch in range(5):
    torch.manual_seed(0)
    model = build()  #!
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)  #!
    for _ in range(2):
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
    print(epoch, loss.item())
""",
    ),
    Broken(
        "practice: classes compared by MSE of argmax-free label ids",
        5,
        "wrong-loss",
        """
import torch
import torch.nn as nn
torch.manual_seed(20)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
x = torch.randn(60, 5); labels = torch.randint(0, 7, (60,))
for epoch in range(3):
    for i in range(0, 60, 20):
        out = net(x[i:i + 20]).squeeze(1)
        loss = torch.mean((out - labels[i:i + 20].float()) ** 2)  #!
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: q-values of next state via max then item list",
        1,
        "item new-tensor",
        """
import random
from collections import deque
import torch
import torch.nn as nn
torch.manual_seed(1); random.seed(1)
class DQN:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 2))
        self.memory = deque(maxlen=100)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.gamma = 0.9
    def remember(self, *t): self.memory.append(t)
    def replay(self, n):
        batch = random.sample(self.memory, n)
        preds, targets = [], []
        for s, a, r, s2 in batch:
            with torch.no_grad():
                t = r + self.gamma * self.q(s2).max().item()
            preds.append(self.q(s)[a].item())  #!
            targets.append(t)
        loss = nn.functional.mse_loss(torch.tensor(preds, requires_grad=True), torch.tensor(targets))  #!
        self.opt.zero_grad(); loss.backward(); self.opt.step()
agent = DQN()
for i in range(20):
    agent.remember(torch.randn(3), random.randrange(2), random.random(), torch.randn(3))
    if i >= 8: agent.replay(4)
""",
    ),
    Broken(
        "practice: encoder frozen by eval and no_grad in a property",
        1,
        "no-grad",
        """
import torch
import torch.nn as nn
torch.manual_seed(2)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(10, 4), nn.Embedding(10, 4)
        self.bias = nn.Parameter(torch.zeros(1))
    @property
    def item_matrix(self):
        with torch.no_grad():  #!
            return nn.functional.normalize(self.item.weight, dim=1)
    def forward(self, u):
        return self.user(u) @ self.item_matrix.T + self.bias
m = Model()
opt = torch.optim.Adagrad(m.parameters(), lr=0.1)
for _ in range(4):
    u, i = torch.randint(0, 10, (16,)), torch.randint(0, 10, (16,))
    loss = nn.functional.cross_entropy(m(u), i)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: adam with a rate of one",
        5,
        "rate-too-large",
        """
import torch
import torch.nn as nn
torch.manual_seed(18)
class Trainer:
    def __init__(self, model, **kw):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), **kw)
        self.history = []
    def fit(self, x, y, epochs):
        for _ in range(epochs):
            loss = nn.functional.mse_loss(self.model(x), y)
            self.opt.zero_grad(); loss.backward(); self.opt.step()
            self.history.append(loss.item())
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
x = torch.randn(40, 4)
tr = Trainer(net, lr=10.0)  #!
tr.fit(x, x.sum(1, keepdim=True), 8)
""",
    ),
    Broken(
        "practice: inner optimiser's state kept in numpy physics",
        1,
        "numpy",
        """
import numpy as np
import torch
torch.manual_seed(3)
mass = torch.tensor(1.0, requires_grad=True)
spring = torch.tensor(2.0, requires_grad=True)
opt = torch.optim.Adam([mass, spring], lr=0.05)
def simulate(m, k, n=8):
    x, v, xs = torch.tensor(1.0), torch.tensor(0.0), []
    for _ in range(n):
        a = -(k * x) / float(np.asarray(m.detach()))  #!
        v = v + 0.1 * a
        x = x + 0.1 * v
        xs.append(x)
    return torch.stack(xs)
target = torch.cos(torch.arange(8) * 0.1)
for _ in range(4):
    opt.zero_grad()
    loss = (simulate(mass, spring) - target).square().mean()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "practice: lstm gate weights of constant",
        2,
        "equal-units",
        """
import torch
import torch.nn as nn
torch.manual_seed(9)
class RNNLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(7, 5)
        self.cell = nn.RNNCell(5, 8)
        self.out = nn.Linear(8, 7)
        for name, p in self.cell.named_parameters():
            nn.init.constant_(p, 0.1 if "weight" in name else 0.0)  #!
        nn.init.constant_(self.out.weight, 0.2)  #!
    def forward(self, ids):
        h = torch.zeros(ids.size(1), 8)
        logits = []
        for tok in ids:
            h = self.cell(self.emb(tok), h)
            logits.append(self.out(h))
        return torch.stack(logits)
net = RNNLM()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    ids = torch.randint(0, 7, (6, 4))
    loss = nn.functional.cross_entropy(net(ids[:-1]).flatten(0, 1), ids[1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: generator step zeroes its own gradient after backward",
        5,
        "zero-before-step",
        """
import torch
import torch.nn as nn
torch.manual_seed(14)
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
sp = nn.functional.softplus
def zero():
    for o in (og, od):
        o.zero_grad()
for _ in range(4):
    real, z = torch.randn(6, 3), torch.randn(6, 2)
    d_loss = sp(-D(real)).mean() + sp(D(G(z).detach())).mean()
    zero(); d_loss.backward(); od.step()
    g_loss = sp(-D(G(z))).mean()
    g_loss.backward()  #!
    zero()  #!
    og.step()
""",
    ),
    Broken(
        "practice: target of wrong rank in binary loss by hand",
        5,
        "broadcast-loss",
        """
import torch
import torch.nn as nn
torch.manual_seed(15)
class Logistic(nn.Module):
    def __init__(self): super().__init__(); self.w = nn.Linear(3, 1)
    def forward(self, x): return self.w(x)
m = Logistic()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
x = torch.randn(32, 3); y = (x[:, 0] > 0).float()
for _ in range(4):
    z = m(x)
    loss = (torch.relu(z) - z * y + torch.log1p(torch.exp(-z.abs()))).mean()  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: a Parameter around computed weights",
        1,
        "new-tensor",
        """
import torch
from torch import nn
import torch.nn.functional as F

class HyperLinear(nn.Module):
    # a linear layer whose weight comes from a code
    def __init__(self, d_in, d_out, d_code):
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        self.gen = nn.Sequential(nn.Linear(d_code, 32), nn.Tanh(), nn.Linear(32, d_in * d_out))
        self.scale = nn.Parameter(torch.ones(d_out))

    def forward(self, x, code):
        w = self.gen(code).view(self.d_out, self.d_in)
        w = nn.Parameter(w)  #!
        return F.linear(x, w) * self.scale

torch.manual_seed(0)
net = HyperLinear(6, 3, 4)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
codes = torch.randn(5, 4)
X = torch.randn(5, 20, 6)
Y = torch.randint(0, 3, (5, 20))
for epoch in range(3):
    for task in range(5):
        logits = net(X[task], codes[task])
        loss = F.cross_entropy(logits, Y[task])
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    ),
    Broken(
        "practice: layers kept by a lambda",
        1,
        "unregistered",
        """
import torch
from torch import nn

class Adapted(nn.Module):
    def __init__(self, base, dim, rank=4):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        down = nn.Linear(dim, rank)
        up = nn.Linear(rank, dim)
        self.adapter = lambda h: up(torch.relu(down(h)))  #!
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.base(x)
        return self.out(h + self.adapter(h)).squeeze(-1)

def train(model, x, y, steps=4):
    opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=3e-3)
    losses = []
    for _ in range(steps):
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses

torch.manual_seed(0)
base = nn.Sequential(nn.Linear(5, 12), nn.ReLU())
print(train(Adapted(base, 12), torch.randn(40, 5), torch.randn(40)))
""",
    ),
    Broken(
        "practice: whole division, which refuses",
        2,
        "flat",
        """
import torch
import torch.nn as nn

class FakeQuant(nn.Module):
    def __init__(self, step=0.05):
        super().__init__()
        self.step = step
    def forward(self, x):
        return (x // self.step) * self.step  #!

class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(8, 32)
        self.q = FakeQuant()
        self.l2 = nn.Linear(32, 4)
    def forward(self, x):
        return self.l2(self.q(torch.tanh(self.l1(x))))

torch.manual_seed(0)
net = QNet()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(50, 8)
y = torch.randint(0, 4, (50,))
for i in range(5):
    loss = nn.CrossEntropyLoss()(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "practice: a penalty on the weights that outweighs the data",
        5,
        "weight-decay",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)

net = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
X = torch.randn(120, 10)
y = X[:, :3].argmax(1)
LAMBDA = 10.0  #!
for epoch in range(12):
    for xb, yb in zip(X.split(40), y.split(40)):
        data_loss = nn.functional.cross_entropy(net(xb), yb)
        reg = sum((p ** 2).sum() for p in net.parameters())
        loss = data_loss + LAMBDA * reg  #!
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    ),
    Broken(
        "practice: view() in place of a transpose",
        5,
        "wrong-dim",
        """
import torch
import torch.nn as nn

class Tagger(nn.Module):
    def __init__(self, vocab=30, tags=5):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.rnn = nn.GRU(16, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, tags)
        self.tags = tags
    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        scores = self.out(h)
        B, T, C = scores.shape
        return scores.view(B, C, T)  #!

torch.manual_seed(0)
model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
ids = torch.randint(0, 30, (8, 7))
tags = ids % 5
for epoch in range(5):
    loss = nn.functional.cross_entropy(model(ids), tags)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(epoch, round(loss.item(), 3))
""",
    ),
    Broken(
        "practice: a penalty that throws the weights around",
        5,
        "weight-decay",
        """
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(40, 4); y = x.sum(1, keepdim=True)
for _ in range(8):
    penalty = sum((p ** 2).sum() for p in net.parameters())
    loss = nn.functional.mse_loss(net(x), y) + 30.0 * penalty  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "practice: weights of two tasks read by tolist()",
        1,
        "item",
        """
import torch
import torch.nn as nn

class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(16, 1), nn.Linear(16, 1)])
        self.log_vars = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.trunk(x)
        return [head(h) for head in self.heads]

    def loss(self, outs, targets):
        weights = torch.exp(-self.log_vars).tolist()  #!
        total = 0.0
        for i, (o, t) in enumerate(zip(outs, targets)):
            total = total + weights[i] * nn.functional.mse_loss(o, t)
        return total

torch.manual_seed(0)
m = MultiTask()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
x = torch.randn(24, 6)
ys = [torch.randn(24, 1), torch.randn(24, 1)]
for _ in range(4):
    loss = m.loss(m(x), ys)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "practice: an image that clamp() replaces",
        1,
        "non-leaf",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)

features = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1))
for p in features.parameters():
    p.requires_grad_(False)

def gram(f):
    f = f.flatten(2)
    return f @ f.transpose(1, 2) / f.shape[-1]

style = torch.rand(1, 3, 8, 8)
target = gram(features(style))
image = torch.rand(1, 3, 8, 8, requires_grad=True)
opt = torch.optim.Adam([image], lr=0.02)
for step in range(4):
    opt.zero_grad()
    image = image.clamp(0, 1)  #!
    loss = (gram(features(image)) - target).pow(2).sum()
    loss.backward(retain_graph=True)
    opt.step()
    print(step, loss.item(), image.grad)
""",
    ),
    Broken(
        "practice: heads joined without swapping them back",
        5,
        "wrong-dim",
        """
import torch
import torch.nn as nn

class HeadedAttention(nn.Module):
    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.heads = heads
    def forward(self, x):
        B, T, D = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(B, T, self.heads, D // self.heads).transpose(1, 2) for t in (q, k, v))
        att = torch.softmax(q @ k.transpose(-2, -1) / (D // self.heads) ** 0.5, dim=-1)
        y = (att @ v).reshape(B, T, D)  #!
        return self.out(y)

torch.manual_seed(0)
attn = HeadedAttention()
emb, head = nn.Embedding(20, 16), nn.Linear(16, 20)
params = [*attn.parameters(), *emb.parameters(), *head.parameters()]
opt = torch.optim.AdamW(params, lr=3e-3)
tok = torch.randint(0, 20, (4, 7))
for _ in range(4):
    logits = head(attn(emb(tok)))
    loss = nn.functional.cross_entropy(logits[:, :-1].reshape(-1, 20), tok[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
]

HEALTHY = [
    Healthy(
        "practice: a cache of two keys",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
cache, losses = {}, []
for step in range(8):
    cache[step % 2] = net(torch.randn(5, 3))
    loss = cache[step % 2].pow(2).mean()
    losses.append(loss.item())
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Healthy(
        "practice: relative positions, shifted by a view",
        """
import torch, torch.nn as nn
torch.manual_seed(0)
q, k = nn.Linear(8, 8), nn.Linear(8, 8)
opt = torch.optim.SGD([*q.parameters(), *k.parameters()], lr=.01)
x = torch.randn(2, 5, 8); y = torch.randn(2, 5, 4)
for _ in range(3):
    s = q(x) @ k(torch.randn(4, 8)).t()
    p = torch.cat([torch.zeros(2, 5, 1), s], 2).view(2, 5, 5)[:, :, 1:]
    opt.zero_grad(); (p - y).pow(2).mean().backward(); opt.step()
""",
    ),
    Healthy(
        "practice: a weight made once from another",
        """
import torch, torch.nn as nn
torch.manual_seed(0)
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 3)
        self.dec = nn.Linear(3, 4)
        self.dec.weight = nn.Parameter(self.enc.weight.t())
    def forward(self, x): return self.dec(torch.tanh(self.enc(x)))
m = Tied(); opt = torch.optim.SGD(m.parameters(), lr=.1)
x = torch.randn(6, 4)
for _ in range(3):
    opt.zero_grad(); (m(x) - x).pow(2).mean().backward(); opt.step()
""",
    ),
    Healthy(
        "practice: a fixed network behind a loss in a lambda",
        """
import torch, torch.nn as nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.g = nn.Linear(4, 4)
        self.loss = lambda a, b: (features(a) - features(b)).pow(2).mean()
    def forward(self, x): return self.g(x)
f = nn.Linear(4, 3)
m = Net(f); opt = torch.optim.SGD(m.parameters(), lr=.1)
x = torch.randn(6, 4)
for _ in range(3):
    opt.zero_grad(); m.loss(m(x), x * 2).backward(); opt.step()
""",
    ),
    Healthy(
        "practice: patches, groups and heads by views",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)

def patches(x, p):  # (N, C, H, W) to (N, H/p * W/p, p * p * C)
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // p, p, w // p, p).permute(0, 2, 4, 3, 5, 1)
    return x.reshape(n, -1, p * p * c)

def group_norm(x, groups):
    n, c, h, w = x.shape
    x = x.view(n, groups, -1)
    x = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)
    return x.view(n, c, h, w)

conv, q, k, v = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(32, 12), nn.Linear(32, 12), nn.Linear(32, 12)
head = nn.Linear(12, 2)
opt = torch.optim.Adam([p for m in (conv, q, k, v, head) for p in m.parameters()], lr=1e-3)
x, y = torch.randn(5, 3, 4, 4), torch.randint(0, 2, (5,))
for _ in range(4):
    t = patches(group_norm(conv(x), 4), 2)
    a, b, c = (m(t).view(5, 4, 3, 4).transpose(1, 2).reshape(15, 4, 4) for m in (q, k, v))
    z = (torch.softmax(a @ b.mT / 2, -1) @ c).view(5, 3, 4, 4).transpose(1, 2).reshape(5, 4, 12)
    loss = nn.functional.cross_entropy(head(z.mean(1)), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
]

FIXES = [  # what is wrong, the program, and words of the fix that fits it
    (
        "a step between two passes",
        """
import torch, torch.nn as nn
torch.manual_seed(0)
actor, critic = nn.Linear(3, 2), nn.Linear(2, 1)
a_opt, c_opt = torch.optim.SGD(actor.parameters(), lr=.1), torch.optim.SGD(critic.parameters(), lr=.1)
for _ in range(2):
    act = actor(torch.randn(5, 3))
    q = critic(act)
    c_loss = (q - 1).pow(2).mean()
    a_loss = -q.mean()
    c_opt.zero_grad(); c_loss.backward(retain_graph=True); c_opt.step()
    a_opt.zero_grad()
    a_loss.backward()
    a_opt.step()
""",
        "Step after both passes",
    ),
    (
        "the angle of equal directions",
        """
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=.1)
x = torch.randn(6, 4)
for _ in range(2):
    a = nn.functional.normalize(net(x), dim=1)
    angle = torch.acos(a @ a.t())
    opt.zero_grad(); angle.mean().backward(); opt.step()
""",
        "x.clamp(-1 + 1e-6, 1 - 1e-6)",
    ),
    (
        "an index from a learned shift",
        """
import torch, torch.nn as nn
torch.manual_seed(0)
class Warp(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.tensor(1.3))
        self.gain = nn.Parameter(torch.ones(10))
    def forward(self, x):
        at = (torch.arange(10) + self.shift).clamp(0, 9).long()
        return (x * self.gain)[:, at]
m = Warp(); opt = torch.optim.SGD(m.parameters(), lr=.1)
x, y = torch.randn(8, 10), torch.randn(8, 10)
for _ in range(3):
    opt.zero_grad(); (m(x) - y).pow(2).mean().backward(); opt.step()
""",
        "An index has no slope",
    ),
    (
        "attention over one place",
        """
import torch, torch.nn as nn
torch.manual_seed(0)
class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.score, self.out = nn.Linear(6, 1), nn.Linear(6, 2)
    def forward(self, x):
        w = torch.softmax(self.score(x), dim=-1)
        return self.out((w * x).sum(1))
m = Pool(); opt = torch.optim.SGD(m.parameters(), lr=.1)
x, y = torch.randn(8, 5, 6), torch.randint(0, 2, (8,))
for _ in range(3):
    opt.zero_grad(); nn.functional.cross_entropy(m(x), y).backward(); opt.step()
""",
        "the dimension of the places",
    ),
    (
        "a criterion that learns",
        """
import torch, torch.nn as nn
torch.manual_seed(0)
class Center(nn.Module):
    def __init__(self):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(3, 4))
    def forward(self, f, y): return (f - self.centers[y]).pow(2).mean()
model, criterion = nn.Linear(5, 4), Center()
opt = torch.optim.SGD(model.parameters(), lr=.1)
x, y = torch.randn(8, 5), torch.randint(0, 3, (8,))
for _ in range(3):
    opt.zero_grad(); criterion(model(x), y).backward(); opt.step()
""",
        "[*model.parameters(), *criterion.parameters()]",
    ),
]
