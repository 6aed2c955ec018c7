"""Programs in the styles of practice that a first run missed, held to their cause and line since; with healthy ones beside them."""

from __future__ import annotations

from .broken import Broken
from .healthy import Healthy

BROKEN = [
    Broken(
        "held: recurrent weights too small beside others of a usual size",
        4,
        "vanishing",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F


class VanillaRNN(nn.Module):
    def __init__(self, n_in, n_hid, n_out):
        super().__init__()
        self.W_xh = nn.Parameter(torch.randn(n_in, n_hid) * 0.3)
        self.W_hh = nn.Parameter(torch.randn(n_hid, n_hid) * 0.02)  #!
        self.b_h = nn.Parameter(torch.zeros(n_hid))
        self.W_hy = nn.Parameter(torch.randn(n_hid, n_out) * 0.3)

    def forward(self, seq):
        h = torch.zeros(seq.size(0), self.W_hh.size(0))
        for t in range(seq.size(1)):
            h = torch.tanh(seq[:, t] @ self.W_xh + h @ self.W_hh + self.b_h)
        return h @ self.W_hy


torch.manual_seed(0)
first = torch.randint(0, 2, (64,))
seq = torch.zeros(64, 30, 2)
seq[torch.arange(64), 0, first] = 1.0

model = VanillaRNN(2, 16, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(4):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(seq), first)
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item(), model.W_xh.grad.norm().item())
""",
    ),
    Broken(
        "held: an integration with too long a step",
        4,
        "exploding",
        """
import torch
import torch.nn as nn

torch.manual_seed(2)


class LinearODE(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.A = nn.Parameter(torch.randn(dim, dim) * 0.8 - torch.eye(dim))

    def forward(self, t, x):
        return x @ self.A.t()


def odeint(f, x0, steps=50, dt=1.0):  #!
    x = x0
    traj = [x]
    for i in range(steps):
        x = x + dt * f(i * dt, x)  #!
        traj.append(x)
    return torch.stack(traj)


x0 = torch.randn(8, 4)
t = torch.linspace(0, 5, 51).reshape(-1, 1, 1)
target = x0 * torch.exp(-0.5 * t)

func = LinearODE()
optimizer = torch.optim.SGD(func.parameters(), lr=1e-3)
for it in range(4):
    optimizer.zero_grad()
    pred = odeint(func, x0)
    loss = (pred - target).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(it, loss.item(), func.A.grad.norm().item())
""",
    ),
    Broken(
        "held: a spring whose steps are too long until it overflows",
        4,
        "exploding",
        """
import torch

torch.manual_seed(0)
DT = 0.5  #!

def acceleration(pos, vel, k, c):
    return -k * pos - c * vel

def simulate(pos, vel, k, c, steps):
    out = []
    for _ in range(steps):
        acc = acceleration(pos, vel, k, c)
        vel = vel + DT * acc  #!
        pos = pos + DT * vel  #!
        out.append(pos)
    return torch.stack(out)

k_true, c_true = torch.tensor(20.0), torch.tensor(0.3)
k = torch.tensor(25.0, requires_grad=True)
c = torch.tensor(0.1, requires_grad=True)
p0, v0 = torch.ones(4), torch.zeros(4)
steps = torch.arange(1, 61) * 0.02
target = torch.cos(steps * k_true.sqrt()).unsqueeze(1).repeat(1, 4)
opt = torch.optim.Adam([k, c], lr=0.1)
for it in range(5):
    opt.zero_grad()
    traj = simulate(p0, v0, k, c, 60)
    loss = ((traj - target) ** 2).mean()
    loss.backward()
    opt.step()
    print(it, loss.item(), k.item(), c.item())
""",
    ),
    Broken(
        "held: weights drawn too wide for an explosion of the gradient alone",
        4,
        "exploding",
        """
import torch
import torch.nn as nn

torch.manual_seed(3)
layers = []
for i in range(9):
    layers += [nn.Linear(40, 40), nn.ReLU()]
model = nn.Sequential(*layers, nn.Linear(40, 1))

for p in model.parameters():
    if p.dim() > 1:
        nn.init.uniform_(p, -1, 1)  #!

optim = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(50, 40)
y = torch.randn(50, 1)
history = []
for step in range(6):
    optim.zero_grad()
    out = model(x)
    loss = nn.functional.l1_loss(out, y)
    loss.backward()
    optim.step()
    history.append(loss.item())
print(history)
""",
    ),
    Broken(
        "held: an attribute of a class keeps losses",
        6,
        "graph-grows",
        """
import torch
import torch.nn as nn

class Trainer:
    history = []

    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.crit = nn.MSELoss()

    def fit(self, x, y, epochs):
        for epoch in range(epochs):
            self.opt.zero_grad()
            loss = self.crit(self.model(x), y)
            loss.backward()
            self.opt.step()
            self.log(epoch, loss)

    def log(self, epoch, loss):
        Trainer.history.append((epoch, loss))  #!

torch.manual_seed(0)
x = torch.randn(40, 4)
y = x.sum(1, keepdim=True)
trainer = Trainer(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), 0.05)
trainer.fit(x, y, 8)
print("best", min(float(l) for _, l in Trainer.history))
""",
    ),
    Broken(
        "held: a moving center with its history",
        6,
        "state-not-detached second-backward",
        """
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

class DinoLoss(nn.Module):
    def __init__(self, dim, momentum=0.9):
        super().__init__()
        self.register_buffer("center", torch.zeros(1, dim))
        self.momentum = momentum

    def forward(self, student_out, other_out):
        p = F.log_softmax(student_out / 0.1, dim=-1)
        t = F.softmax((other_out - self.center) / 0.04, dim=-1)
        loss = -(t * p).sum(-1).mean()
        self.center = self.center * self.momentum + other_out.mean(0, keepdim=True) * (1 - self.momentum)  #!
        return loss

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 8))
criterion = DinoLoss(8)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(4):
    img = torch.randn(16, 12)
    a, b = img + 0.1 * torch.randn_like(img), img + 0.1 * torch.randn_like(img)
    loss = criterion(net(a), net(b))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
""",
    ),
    Broken(
        "held: an evaluation that keeps its outputs",
        6,
        "graph-grows",
        """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(120, 6)
Y = (X.sum(1) > 0).float().unsqueeze(1)
train = DataLoader(TensorDataset(X[:80], Y[:80]), batch_size=20, shuffle=True)
valid = DataLoader(TensorDataset(X[80:], Y[80:]), batch_size=8)
model = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 1))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
bce = nn.BCEWithLogitsLoss()

def evaluate():
    model.eval()
    outputs = {"logits": [], "labels": []}
    for xb, yb in valid:
        outputs["logits"].append(model(xb))  #!
        outputs["labels"].append(yb)
    return outputs

results = []
for epoch in range(4):
    model.train()
    for xb, yb in train:
        opt.zero_grad()
        loss = bce(model(xb), yb)
        loss.backward()
        opt.step()
    results.append(evaluate())
acc = (torch.cat(results[-1]["logits"]) > 0).float().eq(torch.cat(results[-1]["labels"])).float().mean()
print(acc.item())
""",
    ),
    Broken(
        "held: the input is saved where the result was meant",
        7,
        "wrong-backward",
        """
import torch
import torch.nn as nn

class SigmoidFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = 1 / (1 + torch.exp(-x))
        ctx.save_for_backward(x)  #!
        return y

    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y * (1 - y)

class Gate(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d, d)
        self.b = nn.Linear(d, d)

    def forward(self, x):
        return SigmoidFn.apply(self.a(x)) * self.b(x)

torch.manual_seed(0)
model = nn.Sequential(Gate(6), Gate(6), nn.Linear(6, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(40, 6), torch.randn(40, 1)
for i in range(5):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "held: tanh saves its input",
        7,
        "wrong-backward",
        """
import torch
class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(x)  #!
        return y
    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * (1 - y ** 2)
torch.manual_seed(0)
w = torch.randn(4, 1, requires_grad=True)
for _ in range(3):
    x = torch.randn(8, 4)
    loss = (Tanh.apply(x @ w) - 0.5).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad.zero_()
""",
    ),
    Broken(
        "held: a bound made small in place of large",
        7,
        "reversed",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F

class VAE(nn.Module):
    def __init__(self, d=16, z=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 24), nn.ReLU(), nn.Linear(24, d))

    def elbo(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        log_px = -F.binary_cross_entropy_with_logits(self.dec(z), x, reduction="none").sum(1)
        kl = 0.5 * (mu ** 2 + logvar.exp() - 1 - logvar).sum(1)
        return (log_px - kl).mean()

torch.manual_seed(0)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-2)
data = (torch.rand(128, 16) > 0.5).float()
for epoch in range(6):
    for i in range(0, 128, 32):
        loss = vae.elbo(data[i:i + 32])  #!
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
""",
    ),
    Broken(
        "held: an average that holds the model's own tensors",
        7,
        "alias",
        """
import torch
import torch.nn as nn

class EMA:
    def __init__(self, model, decay=0.99):
        self.decay = decay
        self.shadow = {k: v for k, v in model.state_dict().items()}  #!

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)

    def copy_to(self, model):
        model.load_state_dict(self.shadow)

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
ema = EMA(model)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(64, 4)
y = x.prod(1, keepdim=True)
for step in range(8):
    loss = (model(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model)
ema.copy_to(model)
print((model(x) - y).pow(2).mean().item())
""",
    ),
    Broken(
        "held: two weight decays from two random starts",
        7,
        "unseeded",
        """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

g = torch.Generator().manual_seed(7)
X = torch.randn(64, 5, generator=g)
Y = X.sum(1, keepdim=True)

def build():
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))  #!

def run(weight_decay):
    model = build()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=weight_decay)
    loader = DataLoader(TensorDataset(X, Y), batch_size=16, shuffle=True)
    for epoch in range(3):
        for xb, yb in loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(xb), yb)
            loss.backward()
            opt.step()
    return loss.item()

results = {wd: run(wd) for wd in (0.0, 0.1)}  #!
print("best weight decay:", min(results, key=results.get))
""",
    ),
    Broken(
        "held: an actor that makes the critic's answer small",
        7,
        "reversed",
        """
import torch
from torch import nn
torch.manual_seed(0)
actor, critic = nn.Linear(3, 1), nn.Linear(4, 1)
ao, co = torch.optim.Adam(actor.parameters(), 1e-3), torch.optim.Adam(critic.parameters(), 1e-2)
for it in range(20):
    s, a = torch.randn(64, 3), torch.rand(64, 1) * 2 - 1
    r = -(a - s[:, :1]).pow(2)
    q_loss = (critic(torch.cat([s, a], 1)) - r).pow(2).mean()
    co.zero_grad(); q_loss.backward(); co.step()
    pi_loss = critic(torch.cat([s, torch.tanh(actor(s))], 1)).mean()  #!
    ao.zero_grad(); pi_loss.backward(); ao.step()
""",
    ),
    Broken(
        "held: labels mixed in by another order than inputs",
        5,
        "shuffled-apart",
        """
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(0)
torch.manual_seed(0)


def moons(n):
    t = rng.uniform(0, np.pi, n)
    y = rng.integers(0, 2, n)
    x = np.stack([np.cos(t) * (1 - 2 * y) + y, np.sin(t) * (1 - 2 * y) + 0.5 * y], 1)
    return (x + 0.05 * rng.normal(size=x.shape)).astype(np.float32), y


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(2, width), nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def mixup(x, y, alpha=0.4):
    lam = float(rng.beta(alpha, alpha))
    perm = torch.randperm(len(x))
    mixed = lam * x + (1 - lam) * x[perm]
    return mixed, y, y[torch.randperm(len(x))], lam  #!


def mixup_loss(logits, ya, yb, lam):
    return lam * F.cross_entropy(logits, ya) + (1 - lam) * F.cross_entropy(logits, yb)


x, y = moons(160)
x, y = torch.from_numpy(x), torch.from_numpy(y)
x = (x - x.mean(0)) / x.std(0)
train_x, train_y, test_x, test_y = x[:128], y[:128], x[128:], y[128:]
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, [2, 3], 0.1)
for epoch in range(4):
    net.train()
    for i in range(0, 128, 32):
        xb, ya, yb, lam = mixup(train_x[i:i + 32], train_y[i:i + 32])
        loss = mixup_loss(net(xb), ya, yb, lam)
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    net.eval()
    with torch.no_grad():
        acc = (net(test_x).argmax(1) == test_y).float().mean().item()
    print(epoch, loss.item(), acc)
""",
    ),
    Broken(
        "held: weights too wide inside one recurrent layer",
        4,
        "vanishing saturated exploding",
        """
import torch
import torch.nn as nn

torch.manual_seed(0)
rnn = nn.RNN(4, 32, batch_first=True)
head = nn.Linear(32, 1)
for name, p in rnn.named_parameters():
    if "weight" in name:
        nn.init.normal_(p, 0.0, 1.5)  #!
optimizer = torch.optim.Adam(list(rnn.parameters()) + list(head.parameters()), lr=1e-3)
for it in range(4):
    x = torch.randn(8, 30, 4)
    y = x[:, 0, :1]
    out, h = rnn(x)
    loss = nn.functional.mse_loss(head(out[:, -1]), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(it, loss.item())
""",
    ),
    Broken(
        "held: an encoder that caches its answers",
        6,
        "second-backward graph-grows",
        """
import torch
import torch.nn as nn

class CachedEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 4))
        self.cache = {}

    def forward(self, key, x):
        if key not in self.cache:
            self.cache[key] = self.net(x)  #!
        return self.cache[key]

torch.manual_seed(0)
enc, head = CachedEncoder(), nn.Linear(4, 1)
opt = torch.optim.Adam([*enc.parameters(), *head.parameters()])
docs = {i: torch.randn(3, 5) for i in range(4)}
for epoch in range(2):
    for key, x in docs.items():
        score = head(enc(key, x)).mean()
        loss = (score - key) ** 2
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    ),
    Broken(
        "held: a layer that works in place behind tanh",
        6,
        "in-place",
        """
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(4, 16),
    nn.Tanh(),
    nn.Dropout(0.0),
    nn.LeakyReLU(0.1, inplace=True),  #!
    nn.Linear(16, 1),
)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
x, y = torch.randn(20, 4), torch.randn(20, 1)
for epoch in range(3):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "held: a backward for each loss of a dict",
        6,
        "second-backward",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F

class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
        self.cls = nn.Linear(12, 3)
        self.reg = nn.Linear(12, 1)

    def forward(self, x):
        z = self.trunk(x)
        return self.cls(z), self.reg(z)

torch.manual_seed(0)
model = Multi()
opt = torch.optim.Adam(model.parameters())
weights = {"cls": 1.0, "reg": 0.5}
for it in range(3):
    x = torch.randn(16, 6)
    c, r = model(x)
    losses = {"cls": F.cross_entropy(c, torch.randint(0, 3, (16,))), "reg": F.mse_loss(r[:, 0], x[:, 0])}
    opt.zero_grad()
    for name, loss in losses.items():
        (weights[name] * loss).backward()  #!
    opt.step()
""",
    ),
    Broken(
        "held: hooks that turn gradients round",
        7,
        "reversed",
        """
import torch
import torch.nn as nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
head = nn.Linear(12, 1)

def scale_hook(scale):
    return lambda grad: -scale * grad  #!

for p in backbone.parameters():
    p.register_hook(scale_hook(0.5))  #!
opt = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.05)
x = torch.randn(80, 6)
y = x[:, :1] - x[:, 1:2]
for epoch in range(6):
    loss = nn.functional.mse_loss(head(backbone(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
""",
    ),
    Broken(
        "held: a loss function without its minus",
        7,
        "reversed",
        """
import torch
import torch.nn as nn

def soft_cross_entropy(logits, soft_targets, T=2.0):
    logp = torch.log_softmax(logits / T, dim=1)
    return (soft_targets * logp).sum(dim=1).mean() * T * T  #!

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 4)).requires_grad_(False)
student = nn.Linear(5, 4)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for it in range(8):
    x = torch.randn(32, 5)
    p = torch.softmax(teacher(x) / 2.0, dim=1)
    loss = soft_cross_entropy(student(x), p)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, loss.item())
""",
    ),
    Broken(
        "held: two rates of dropout, the second after an evaluation",
        7,
        "unseeded",
        """
import torch
import torch.nn as nn

def fit(dropout):
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(dropout), nn.Linear(32, 1))  #!
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(10):
        loss = nn.functional.mse_loss(model(X), Y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(XV), YV).item()

g = torch.Generator().manual_seed(0)
X, XV = torch.randn(50, 4, generator=g), torch.randn(20, 4, generator=g)
Y, YV = X[:, :1] * 2, XV[:, :1] * 2
without = fit(0.0)  #!
with_dropout = fit(0.3)  #!
print("dropout helps:", with_dropout < without)
""",
    ),
    Broken(
        "held: an attention whose scores are multiplied where they should be divided",
        2,
        "saturated",
        """
import math
import torch
import torch.nn as nn

class SelfAttention(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.h, self.dk = heads, d_model // heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).split(C, dim=2)
        q = q.view(B, T, self.h, self.dk).transpose(1, 2)
        k = k.view(B, T, self.h, self.dk).transpose(1, 2)
        v = v.view(B, T, self.h, self.dk).transpose(1, 2)
        att = q @ k.transpose(-2, -1) * self.dk  #!
        att = att.softmax(-1)  #!
        y = (att @ v).transpose(1, 2).reshape(B, T, C)
        return self.proj(y)

class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = SelfAttention(d, h)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        x = x + self.att(self.ln1(x))
        return x + self.mlp(self.ln2(x))

torch.manual_seed(1337)
vocab, d = 27, 64
emb = nn.Embedding(vocab, d)
blocks = nn.Sequential(Block(d, 2), Block(d, 2))
head = nn.Linear(d, vocab)
params = [*emb.parameters(), *blocks.parameters(), *head.parameters()]
opt = torch.optim.AdamW(params, lr=3e-4)
for it in range(5):
    idx = torch.randint(0, vocab, (8, 17))
    logits = head(blocks(emb(idx[:, :-1])))
    loss = nn.functional.cross_entropy(logits.reshape(-1, vocab), idx[:, 1:].reshape(-1))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    print(it, loss.item())
""",
    ),
    Broken(
        "held: tanh layers with a gain of 6, in a differential equation",
        2,
        "saturated exploding",
        """
import torch
import torch.nn as nn

def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight, gain=6.0)  #!
        nn.init.zeros_(m.bias)

class PINN(nn.Module):
    def __init__(self, width=40, depth=5):
        super().__init__()
        layers = [nn.Linear(1, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)
        self.net.apply(init_weights)

    def forward(self, t):
        return self.net(t)

torch.manual_seed(0)
net = PINN()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
t = torch.linspace(0, 1, 60).view(-1, 1).requires_grad_()
for it in range(4):
    u = net(t)
    du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    residual = (du + 2 * u).pow(2).mean()
    boundary = (u[0] - 1.0).pow(2).mean()
    loss = residual + boundary
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, loss.item())
""",
    ),
    Broken(
        "held: a VAE of pictures from 0 to 255",
        4,
        "exploding",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F

class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(12, 64), nn.ReLU())
        self.mu, self.logvar = nn.Linear(64, 4), nn.Linear(64, 4)
        self.dec = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 12))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        std = torch.exp(0.5 * logvar)  #!
        z = mu + torch.randn_like(std) * std
        return self.dec(z), mu, logvar

def criterion(recon, x, mu, logvar):
    mse = F.mse_loss(recon, x, reduction="sum") / x.size(0)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / x.size(0)  #!
    return mse + kld

torch.manual_seed(42)
data = torch.randint(0, 256, (64, 12)).float()  #!
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
for epoch in range(4):
    running = 0.0
    for batch in data.split(16):
        recon, mu, logvar = vae(batch)
        loss = criterion(recon, batch, mu, logvar)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
    print(epoch, running)
""",
    ),
    Broken(
        "held: two views, and their similarity made small",
        7,
        "reversed",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F

class Encoder(nn.Module):
    def __init__(self, dim=10, proj=8):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.projector = nn.Linear(32, proj)
        self.predictor = nn.Sequential(nn.Linear(proj, 16), nn.ReLU(), nn.Linear(16, proj))

    def forward(self, a, b):
        za, zb = self.projector(self.backbone(a)), self.projector(self.backbone(b))
        return self.predictor(za), self.predictor(zb), za.detach(), zb.detach()

def augment(x):
    return x + 0.1 * torch.randn_like(x)

torch.manual_seed(0)
model = Encoder()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
data = torch.randn(128, 10)
for epoch in range(4):
    for batch in data.split(32):
        p1, p2, z1, z2 = model(augment(batch), augment(batch))
        loss = 0.5 * (F.cosine_similarity(p1, z2).mean() + F.cosine_similarity(p2, z1).mean())  #!
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
""",
    ),
    Broken(
        "held: two activations compared without a seed",
        7,
        "unseeded",
        """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

def make_data(n=80):
    torch.manual_seed(123)
    x = torch.rand(n, 2) * 2 - 1
    y = (x.pow(2).sum(1, keepdim=True) < 0.5).float()
    return TensorDataset(x, y)

class Experiment:
    def __init__(self, name, activation, dataset):
        self.name = name
        self.net = nn.Sequential(nn.Linear(2, 16), activation(), nn.Linear(16, 1))  #!
        self.loader = DataLoader(dataset, batch_size=20, shuffle=True)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-2)

    def run(self, epochs=3):
        crit = nn.BCEWithLogitsLoss()
        for _ in range(epochs):
            for xb, yb in self.loader:
                self.opt.zero_grad()
                loss = crit(self.net(xb), yb)
                loss.backward()
                self.opt.step()
        return loss.item()

data = make_data()
scores = {}
for act in (nn.ReLU, nn.Tanh):
    exp = Experiment(act.__name__, act, data)  #!
    scores[exp.name] = exp.run()
winner = min(scores, key=scores.get)
print("better activation:", winner)
""",
    ),
    Broken(
        "held: a Wasserstein generator without its minus",
        7,
        "reversed",
        """
import torch
import torch.nn as nn

torch.manual_seed(0)
gen = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
g_opt = torch.optim.RMSprop(gen.parameters(), lr=5e-5)
c_opt = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
for it in range(4):
    for _ in range(3):
        real = torch.randn(32, 2) + 2
        fake = gen(torch.randn(32, 3)).detach()
        c_loss = critic(fake).mean() - critic(real).mean()
        c_opt.zero_grad()
        c_loss.backward()
        c_opt.step()
        for p in critic.parameters():
            p.data.clamp_(-0.1, 0.1)
    g_loss = critic(gen(torch.randn(32, 3))).mean()  #!
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
""",
    ),
    Broken(
        "held: penalties kept in a dataclass",
        6,
        "graph-grows",
        """
import torch
import torch.nn as nn
from dataclasses import dataclass, field

@dataclass
class History:
    loss: list = field(default_factory=list)
    reg: list = field(default_factory=list)

class Trainer:
    def __init__(self, model):
        self.model, self.hist = model, History()
        self.opt = torch.optim.Adam(model.parameters())

    def l2(self):
        return sum(p.pow(2).sum() for p in self.model.parameters())

    def step(self, x, y):
        out = self.model(x)
        data_loss = nn.functional.l1_loss(out, y)
        reg = 1e-4 * self.l2()
        self.opt.zero_grad()
        (data_loss + reg).backward()
        self.opt.step()
        self.hist.loss.append(data_loss.item())
        self.hist.reg.append(reg)  #!

torch.manual_seed(0)
tr = Trainer(nn.Linear(5, 1))
for i in range(10):
    tr.step(torch.randn(16, 5), torch.randn(16, 1))
print(tr.hist.loss[-1])
""",
    ),
    Broken(
        "held: losses kept in a namespace",
        6,
        "graph-grows",
        """
import torch
import torch.nn as nn
from types import SimpleNamespace

torch.manual_seed(0)
log = SimpleNamespace(losses=[], norms=[])
net = nn.Sequential(nn.Linear(4, 8), nn.ELU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters())
for i in range(8):
    x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    log.losses.append(loss)  #!
""",
    ),
    Broken(
        "held: one tower for users and items, with Adagrad",
        7,
        "used-twice",
        """
import torch
import torch.nn as nn

class TwoTower(nn.Module):
    def __init__(self, d_user=6, d_item=6, h=8):
        super().__init__()
        self.user = nn.Linear(d_user, h)
        self.item = nn.Linear(d_item, h)

    def forward(self, u, i):
        a = torch.relu(self.user(u))
        b = torch.relu(self.user(i))  #!
        return (a * b).sum(1)

torch.manual_seed(0)
m = TwoTower()
opt = torch.optim.Adagrad(m.parameters(), lr=0.05)
for step in range(5):
    u, i = torch.rand(64, 6), torch.rand(64, 6)
    y = (u[:, 0] > i[:, 0]).float()
    loss = nn.functional.binary_cross_entropy_with_logits(m(u, i), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "held: one ready-made block in all places of a transformer",
        7,
        "used-twice",
        """
import torch
import torch.nn as nn

class TinyTransformer(nn.Module):
    def __init__(self, vocab=20, d=32, depth=4):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(torch.zeros(1, 12, d))
        block = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True)  #!
        self.blocks = nn.ModuleList(block for _ in range(depth))  #!
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab)

    def forward(self, idx):
        x = self.tok(idx) + self.pos[:, :idx.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

torch.manual_seed(0)
model = TinyTransformer()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    seq = torch.randint(0, 20, (8, 13))
    logits = model(seq[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), seq[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
""",
    ),
]

HEALTHY = [
    Healthy(
        "held: an adversarial autoencoder with two optimizers for its encoder",
        """
import torch
from torch import nn
torch.manual_seed(0)
enc, dec, disc = nn.Linear(6, 2), nn.Linear(2, 6), nn.Linear(2, 1)
opt_ae = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)
opt_gen = torch.optim.Adam(enc.parameters(), lr=1e-3)
opt_disc = torch.optim.Adam(disc.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(4):
    x = torch.randn(16, 6)
    rec = nn.functional.mse_loss(dec(enc(x)), x)
    opt_ae.zero_grad()
    rec.backward()
    opt_ae.step()
    real, fake = disc(torch.randn(16, 2)), disc(enc(x).detach())
    d_loss = bce(real, torch.ones(16, 1)) + bce(fake, torch.zeros(16, 1))
    opt_disc.zero_grad()
    d_loss.backward()
    opt_disc.step()
    g_loss = bce(disc(enc(x)), torch.ones(16, 1))
    opt_gen.zero_grad()
    g_loss.backward()
    opt_gen.step()
""",
    ),
    Healthy(
        "held: a spring with short steps",
        """
import torch

torch.manual_seed(0)
DT = 0.02

def acceleration(pos, vel, k, c):
    return -k * pos - c * vel

def simulate(pos, vel, k, c, steps):
    out = []
    for _ in range(steps):
        acc = acceleration(pos, vel, k, c)
        vel = vel + DT * acc
        pos = pos + DT * vel
        out.append(pos)
    return torch.stack(out)

k_true, c_true = torch.tensor(20.0), torch.tensor(0.3)
k = torch.tensor(25.0, requires_grad=True)
c = torch.tensor(0.1, requires_grad=True)
p0, v0 = torch.ones(4), torch.zeros(4)
steps = torch.arange(1, 61) * 0.02
target = torch.cos(steps * k_true.sqrt()).unsqueeze(1).repeat(1, 4)
opt = torch.optim.Adam([k, c], lr=0.1)
for it in range(5):
    opt.zero_grad()
    traj = simulate(p0, v0, k, c, 60)
    loss = ((traj - target) ** 2).mean()
    loss.backward()
    opt.step()
    print(it, loss.item(), k.item(), c.item())
""",
    ),
    Healthy(
        "held: two weight decays from one seed",
        """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

g = torch.Generator().manual_seed(7)
X = torch.randn(64, 5, generator=g)
Y = X.sum(1, keepdim=True)

def build():
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))

def run(weight_decay):
    torch.manual_seed(0)
    model = build()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=weight_decay)
    loader = DataLoader(TensorDataset(X, Y), batch_size=16, shuffle=True)
    for epoch in range(3):
        for xb, yb in loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(xb), yb)
            loss.backward()
            opt.step()
    return loss.item()

results = {wd: run(wd) for wd in (0.0, 0.1)}
print("best weight decay:", min(results, key=results.get))
""",
    ),
    Healthy(
        "held: two rates of dropout from one seed",
        """
import torch
import torch.nn as nn

def fit(dropout):
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(dropout), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(10):
        loss = nn.functional.mse_loss(model(X), Y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(XV), YV).item()

g = torch.Generator().manual_seed(0)
X, XV = torch.randn(50, 4, generator=g), torch.randn(20, 4, generator=g)
Y, YV = X[:, :1] * 2, XV[:, :1] * 2
torch.manual_seed(0)
without = fit(0.0)
torch.manual_seed(0)
with_dropout = fit(0.3)
print("dropout helps:", with_dropout < without)
""",
    ),
    Healthy(
        "held: a differential equation by autograd.grad",
        """
import torch
import torch.nn as nn

def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight, gain=nn.init.calculate_gain("tanh"))
        nn.init.zeros_(m.bias)

class PINN(nn.Module):
    def __init__(self, width=40, depth=5):
        super().__init__()
        layers = [nn.Linear(1, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)
        self.net.apply(init_weights)

    def forward(self, t):
        return self.net(t)

torch.manual_seed(0)
net = PINN()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
t = torch.linspace(0, 1, 60).view(-1, 1).requires_grad_()
for it in range(4):
    u = net(t)
    du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    residual = (du + 2 * u).pow(2).mean()
    boundary = (u[0] - 1.0).pow(2).mean()
    loss = residual + boundary
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, loss.item())
""",
    ),
    Healthy(
        "held: REINFORCE with rewards of 1 and -1",
        """
import torch
import torch.nn as nn
from torch.distributions import Categorical

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
        self.saved_log_probs = []
        self.rewards = []

    def act(self, state):
        dist = Categorical(logits=self.net(state))
        a = dist.sample()
        self.saved_log_probs.append(dist.log_prob(a))
        return a.item()

def finish_episode(policy, opt, gamma=0.9):
    R, returns = 0.0, []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    loss = torch.stack([-lp * ret for lp, ret in zip(policy.saved_log_probs, returns)]).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]

torch.manual_seed(1)
policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(4):
    state = torch.randn(3)
    for t in range(6):
        action = policy.act(state)
        policy.rewards.append(1.0 if (state[0] > 0) == bool(action) else -1.0)
        state = 0.9 * state + 0.3 * torch.randn(3)
    finish_episode(policy, opt)
""",
    ),
    Healthy(
        "held: two views, and their similarity made large",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F

class Encoder(nn.Module):
    def __init__(self, dim=10, proj=8):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.projector = nn.Linear(32, proj)
        self.predictor = nn.Sequential(nn.Linear(proj, 16), nn.ReLU(), nn.Linear(16, proj))

    def forward(self, a, b):
        za, zb = self.projector(self.backbone(a)), self.projector(self.backbone(b))
        return self.predictor(za), self.predictor(zb), za.detach(), zb.detach()

def augment(x):
    return x + 0.1 * torch.randn_like(x)

torch.manual_seed(0)
model = Encoder()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
data = torch.randn(128, 10)
for epoch in range(4):
    for batch in data.split(32):
        p1, p2, z1, z2 = model(augment(batch), augment(batch))
        loss = -0.5 * (F.cosine_similarity(p1, z2).mean() + F.cosine_similarity(p2, z1).mean())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
""",
    ),
    Healthy(
        "held: two activations from one seed",
        """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

def make_data(n=80):
    torch.manual_seed(123)
    x = torch.rand(n, 2) * 2 - 1
    y = (x.pow(2).sum(1, keepdim=True) < 0.5).float()
    return TensorDataset(x, y)

class Experiment:
    def __init__(self, name, activation, dataset):
        torch.manual_seed(0)
        self.name = name
        self.net = nn.Sequential(nn.Linear(2, 16), activation(), nn.Linear(16, 1))
        self.loader = DataLoader(dataset, batch_size=20, shuffle=True)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-2)

    def run(self, epochs=3):
        crit = nn.BCEWithLogitsLoss()
        for _ in range(epochs):
            for xb, yb in self.loader:
                self.opt.zero_grad()
                loss = crit(self.net(xb), yb)
                loss.backward()
                self.opt.step()
        return loss.item()

data = make_data()
scores = {}
for act in (nn.ReLU, nn.Tanh):
    exp = Experiment(act.__name__, act, data)
    scores[exp.name] = exp.run()
winner = min(scores, key=scores.get)
print("better activation:", winner)
""",
    ),
    Healthy(
        "held: a Wasserstein generator",
        """
import torch
import torch.nn as nn

torch.manual_seed(0)
gen = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
g_opt = torch.optim.RMSprop(gen.parameters(), lr=5e-5)
c_opt = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
for it in range(4):
    for _ in range(3):
        real = torch.randn(32, 2) + 2
        fake = gen(torch.randn(32, 3)).detach()
        c_loss = critic(fake).mean() - critic(real).mean()
        c_opt.zero_grad()
        c_loss.backward()
        c_opt.step()
        for p in critic.parameters():
            p.data.clamp_(-0.1, 0.1)
    g_loss = -critic(gen(torch.randn(32, 3))).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
""",
    ),
    Healthy(
        "held: an energy and a generator that work against each other",
        """
import torch
import torch.nn as nn

torch.manual_seed(0)
gen = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
energy = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
g_opt = torch.optim.Adam(gen.parameters(), lr=1e-4)
e_opt = torch.optim.Adam(energy.parameters(), lr=1e-4)
for it in range(5):
    real, fake = torch.randn(32, 2) + 2, gen(torch.randn(32, 3))
    e_loss = energy(real).mean() - energy(fake.detach()).mean()
    e_opt.zero_grad()
    e_loss.backward()
    e_opt.step()
    g_loss = energy(fake).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
""",
    ),
]
