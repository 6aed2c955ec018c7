"""Programs in the style of questions to a forum, continued: what a first run on them missed, and what was meant."""

from __future__ import annotations

from .broken import Broken
from .healthy import Healthy

BROKEN = [
    Broken(
        "thread: policy softmax with huge logits saturates",
        2,
        "saturated",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(4, 16)
        self.l2 = nn.Linear(16, 3)
    def forward(self, s):
        h = torch.tanh(self.l1(s))
        return torch.softmax(self.l2(h) * 1e4, dim=-1)  #!
policy = Policy()
opt = torch.optim.SGD(policy.parameters(), lr=0.1)
states = torch.randn(32, 4)
want = torch.randint(0, 3, (32,))
for ep in range(4):
    p = policy(states)
    loss = ((p - torch.nn.functional.one_hot(want, 3).float()) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "thread: deep linear chain shrinks",
        4,
        "vanishing",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Deep(nn.Module):
    def __init__(self, depth=20, width=16):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        for l in self.layers:
            nn.init.normal_(l.weight, std=0.02)  #!
            nn.init.zeros_(l.bias)
        self.out = nn.Linear(width, 1)
    def forward(self, x):
        for l in self.layers:
            x = torch.tanh(l(x))
        return self.out(x)
net = Deep()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
x = torch.randn(32, 16)
y = x.sum(1, keepdim=True)
for _ in range(3):
    loss = ((net(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "thread: rnn cell weights too large explode over time",
        4,
        "exploding",
        """
import torch
torch.manual_seed(0)
T_ = 40
W = (torch.randn(10, 10) * 1.2).requires_grad_()  #!
U = torch.randn(3, 10, requires_grad=True)
V = torch.randn(10, 1, requires_grad=True)
opt = torch.optim.SGD([W, U, V], lr=1e-3)
xs = torch.randn(T_, 4, 3)
y = torch.randn(4, 1)
for ep in range(2):
    h = torch.zeros(4, 10)
    for t in range(T_):
        h = torch.relu(xs[t] @ U + h @ W)
    loss = ((h @ V - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "thread: sigmoid mlp deep in Sequential",
        4,
        "vanishing",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
blocks = []
for i in range(12):
    blocks += [nn.Linear(20, 20), nn.Sigmoid()]  #!
model = nn.Sequential(*blocks, nn.Linear(20, 3))
crit = nn.CrossEntropyLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(50, 20), torch.randint(0, 3, (50,))
for ep in range(4):
    opt.zero_grad()
    loss = crit(model(x), y)
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "thread: optimizer built before head replaced",
        5,
        "stale-optimizer",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.fc = nn.Linear(16, 10)
    def forward(self, x):
        return self.fc(self.features(x))
model = Backbone()
for p in model.features.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)
model.fc = nn.Linear(16, 2)  #!
x, y = torch.randn(24, 8), torch.randint(0, 2, (24,))
for epoch in range(4):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "thread: zero_grad on the wrong optimizer in GAN",
        5,
        "no-zero-grad",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
D = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
optG = torch.optim.Adam(G.parameters(), lr=1e-3)
optD = torch.optim.Adam(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for it in range(5):
    real = torch.randn(16, 2) + 3
    fake = G(torch.randn(16, 2))
    optD.zero_grad()
    lossD = bce(D(real), torch.ones(16, 1)) + bce(D(fake.detach()), torch.zeros(16, 1))
    lossD.backward()
    optD.step()
    optD.zero_grad()
    lossG = bce(D(fake), torch.ones(16, 1))
    lossG.backward()  #!
    optG.step()  #!
""",
    ),
    Broken(
        "thread: q learning target broadcast",
        5,
        "broadcast-loss",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target_q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target_q.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
gamma = 0.99
for it in range(4):
    s, s2 = torch.randn(32, 4), torch.randn(32, 4)
    a = torch.randint(0, 2, (32, 1))
    r = torch.randn(32)
    done = torch.zeros(32)
    qsa = q(s).gather(1, a)
    with torch.no_grad():
        y = r + gamma * (1 - done) * target_q(s2).max(1).values
    loss = ((qsa - y) ** 2).mean()  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "thread: lbfgs closure without zero_grad",
        5,
        "no-zero-grad",
        """
import torch
torch.manual_seed(0)
w = torch.zeros(3, 1, requires_grad=True)
x = torch.randn(30, 3)
y = x @ torch.tensor([[1.0], [2.0], [-1.0]])
opt = torch.optim.LBFGS([w], lr=0.5, max_iter=5)
def closure():
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()  #!
    return loss
for i in range(3):
    opt.step(closure)
""",
    ),
    Broken(
        "thread: custom sigmoid backward forgets s(1-s)",
        7,
        "wrong-backward",
        """
import torch
class MySigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = 1 / (1 + torch.exp(-x))
        ctx.save_for_backward(out)
        return out
    @staticmethod
    def backward(ctx, g):
        out, = ctx.saved_tensors
        return g * (1 - out)  #!
torch.manual_seed(0)
w = torch.randn(4, 1, requires_grad=True)
x = torch.randn(20, 4)
y = (x[:, :1] > 0).float()
opt = torch.optim.SGD([w], lr=0.5)
for i in range(5):
    p = MySigmoid.apply(x @ w)
    loss = ((p - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "thread: targets shuffled by numpy but not inputs",
        7,
        "shuffled-apart",
        """
import numpy as np
import torch
import torch.nn as nn
torch.manual_seed(0)
np.random.seed(0)
X = np.random.randn(64, 3).astype("float32")
Y = (X.sum(1) > 0).astype("int64")
np.random.shuffle(X)  #!
X, Y = torch.from_numpy(X), torch.from_numpy(Y)
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for ep in range(5):
    loss = nn.functional.cross_entropy(net(X), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "thread: hook that returns negative gradient",
        7,
        "reversed",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class GRL(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x
    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None  #!
feat = nn.Linear(4, 8)
clf = nn.Linear(8, 2)
opt = torch.optim.SGD([*feat.parameters(), *clf.parameters()], lr=0.1)
x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
for i in range(4):
    f = torch.relu(feat(x))
    out = clf(GRL.apply(f, 1.0))  #!
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "thread: copy of weights into functional call loses graph",
        1,
        "data",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
hyper = nn.Linear(3, 8)
opt = torch.optim.Adam(hyper.parameters(), lr=1e-2)
x = torch.randn(16, 2)
y = x.sum(1, keepdim=True)
z = torch.randn(3)
main = nn.Linear(2, 4)
out = nn.Linear(4, 1)
for i in range(3):
    w = hyper(z).view(4, 2)
    main.weight.data.copy_(w)  #!
    loss = ((out(torch.tanh(main(x))) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "thread: all zeros initialisation of both layers",
        2,
        "equal-units",
        """
import torch
torch.manual_seed(0)
W1 = torch.zeros(4, 6, requires_grad=True)  #!
b1 = torch.zeros(6, requires_grad=True)
W2 = torch.zeros(6, 1, requires_grad=True)  #!
b2 = torch.zeros(1, requires_grad=True)
x = torch.randn(30, 4)
y = (x[:, :1] > 0).float()
for i in range(5):
    h = torch.tanh(x @ W1 + b1)
    p = torch.sigmoid(h @ W2 + b2)
    loss = -(y * p.log() + (1 - y) * (1 - p).log()).mean()
    loss.backward()
    with torch.no_grad():
        for q in (W1, b1, W2, b2):
            q -= 0.5 * q.grad
            q.grad.zero_()
""",
    ),
    Broken(
        "thread: list of predictions for epoch metrics",
        6,
        "graph-grows",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
losses = []
for ep in range(3):
    for i in range(2):
        x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        losses += [loss]  #!
    print(sum(losses) / len(losses))
""",
    ),
    Broken(
        "thread: alias target net",
        7,
        "alias",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
q_target = q  #!
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for i in range(4):
    s, s2, r, a = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8), torch.randint(0, 2, (8, 1))
    with torch.no_grad():
        t = r + 0.9 * q_target(s2).max(1).values
    loss = nn.functional.mse_loss(q(s).gather(1, a).squeeze(1), t)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: best weights by reference",
        7,
        "alias",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.3)
best, best_state = float("inf"), None
for i in range(6):
    x = torch.randn(8, 4)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if loss.item() < best:
        best = loss.item()
        best_state = net.state_dict()  #!
    else:
        opt.step()
net.load_state_dict(best_state)
""",
    ),
    Broken(
        "thread: two loaders shuffle",
        7,
        "shuffled-apart",
        """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
torch.manual_seed(0)
x = torch.randn(32, 4)
y = (x.sum(1) > 0).long()
lx = DataLoader(x, batch_size=8, shuffle=True)  #!
ly = DataLoader(y, batch_size=8, shuffle=True)  #!
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for ep in range(2):
    for xb, yb in zip(lx, ly):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: reinforce without the minus with Categorical-like",
        7,
        "reversed",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
pi = nn.Linear(4, 3)
opt = torch.optim.Adam(pi.parameters(), lr=1e-2)
for ep in range(4):
    s = torch.randn(16, 4)
    logits = pi(s)
    logp = logits - logits.logsumexp(-1, keepdim=True)
    a = torch.multinomial(logp.exp(), 1)
    adv = torch.randn(16)
    loss = (logp.gather(1, a).squeeze(1) * adv).mean()  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: error subtracted from a penalty",
        7,
        "reversed",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(32, 4); y = x.sum(1, keepdim=True)
for i in range(6):
    err = nn.functional.mse_loss(net(x), y)
    reg = sum(p.pow(2).sum() for p in net.parameters())
    loss = 1e-3 * reg - err  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: segmentation BCE channel dim broadcast",
        5,
        "broadcast-loss",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Conv2d(3, 1, 3, padding=1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.rand(4, 3, 8, 8)
m = (torch.rand(4, 8, 8) > 0.5).float()
for i in range(3):
    p = torch.sigmoid(net(x))
    loss = ((p - m) ** 2).mean()  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: param in both optimizers of a gan",
        7,
        "held-twice",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
od = torch.optim.Adam(D.parameters(), lr=1e-3)
og = torch.optim.Adam(list(G.parameters()) + list(D.parameters()), lr=1e-3)  #!
bce = nn.functional.binary_cross_entropy_with_logits
for i in range(4):
    real, fake = torch.randn(8, 3), G(torch.randn(8, 2))
    ld = bce(D(real), torch.ones(8, 1)) + bce(D(fake.detach()), torch.zeros(8, 1))
    od.zero_grad(); ld.backward(); od.step()
    lg = bce(D(fake), torch.ones(8, 1))
    og.zero_grad(); lg.backward(); og.step()
""",
    ),
    Broken(
        "thread: dropout twice same mask seed differs runs",
        7,
        "unseeded",
        """
import torch
import torch.nn as nn
def run(width):
    net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1))  #!
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(0)
    x = torch.randn(32, 4, generator=g)
    y = x.sum(1, keepdim=True)
    for _ in range(4):
        loss = (net(x) - y).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    return loss.item()
results = {}
for dropout in ("a", "b"):
    results[dropout] = run(8)  #!
print(results)
""",
    ),
    Broken(
        "thread: weights filled with the same value in conv",
        2,
        "equal-units",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
conv = nn.Conv2d(1, 4, 3)
conv.weight.data = torch.full_like(conv.weight, 0.1)  #!
conv.bias.data.zero_()
fc = nn.Linear(4, 2)
nn.init.constant_(fc.weight, 0.5)  #!
opt = torch.optim.SGD([*conv.parameters(), *fc.parameters()], lr=0.1)
x, y = torch.rand(12, 1, 8, 8), torch.randint(0, 2, (12,))
for i in range(5):
    h = torch.relu(conv(x)).mean((2, 3))
    loss = nn.functional.cross_entropy(fc(h), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: transformer stack without residual and norm small init",
        4,
        "vanishing",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
    def forward(self, x):
        a = torch.softmax(self.q(x) @ self.k(x).transpose(-2, -1) / x.shape[-1] ** 0.5, -1)
        return torch.tanh(self.o(a @ self.v(x)))  #!
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer(8) for _ in range(12))
        self.head = nn.Linear(8, 2)
    def forward(self, x):
        for l in self.layers:
            x = l(x)  #!
        return self.head(x.mean(1))
net = Net()
opt = torch.optim.Adam(net.parameters())
x, y = torch.randn(4, 5, 8), torch.randint(0, 2, (4,))
for i in range(3):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: gan generator backward retain needed missing",
        6,
        "second-backward",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
oG, oD = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for i in range(2):
    fake = torch.tanh(G(torch.randn(4, 2)))
    d = D(fake).mean() - D(torch.randn(4, 3)).mean()  #!
    oD.zero_grad()
    d.backward()
    g = -D(fake).mean()
    oG.zero_grad()
    g.backward()
    oG.step()
    oD.step()
""",
    ),
    Broken(
        "thread: normalise weights through data after forward",
        7,
        "data-write",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
proto = nn.Parameter(torch.randn(5, 4))
enc = nn.Linear(6, 4)
opt = torch.optim.SGD([proto, *enc.parameters()], lr=0.1)
x, y = torch.randn(12, 6), torch.randint(0, 5, (12,))
for i in range(3):
    logits = enc(x) @ proto.t()
    proto.data /= proto.data.norm(dim=1, keepdim=True)  #!
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: two runs only the loader differs",
        7,
        "unseeded",
        """
import copy
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
base = nn.Linear(4, 1)
x = torch.randn(64, 4)
ds = TensorDataset(x, x.sum(1, keepdim=True))
def fit(lr):
    net = copy.deepcopy(base)
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    for xb, yb in DataLoader(ds, batch_size=16, shuffle=True):  #!
        loss = (net(xb) - yb).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    return loss.item()
print(fit(0.01), fit(0.02))
""",
    ),
    Broken(
        "thread: python random shuffle of labels list",
        7,
        "shuffled-apart",
        """
import random
import torch
import torch.nn as nn
torch.manual_seed(0)
random.seed(0)
xs = [torch.randn(4) for _ in range(20)]
ys = [int(x.sum() > 0) for x in xs]
random.shuffle(ys)  #!
X, Y = torch.stack(xs), torch.tensor(ys)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.5)
for i in range(5):
    loss = nn.functional.cross_entropy(net(X), Y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: self attribute plain tensor not Parameter",
        1,
        "unregistered",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)
        self.alpha = torch.ones(1, requires_grad=True)  #!
    def forward(self, x):
        return self.alpha * self.fc(x)
m = Scale()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
x = torch.randn(8, 4)
for i in range(3):
    loss = (m(x) - 1).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: max pool over padding of large constant",
        2,
        "times-zero",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
conv = nn.Conv1d(1, 3, 3)
fc = nn.Linear(3, 2)
opt = torch.optim.SGD([*conv.parameters(), *fc.parameters()], lr=0.1)
x, y = torch.randn(10, 1, 8), torch.randint(0, 2, (10,))
for i in range(3):
    h = conv(x)
    h = torch.cat([h, torch.full((10, 3, 2), 50.0)], dim=2)  #!
    p = h.max(dim=2).values  #!
    loss = nn.functional.cross_entropy(fc(p), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: one output softmax classifier",
        2,
        "saturated",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 1), nn.Softmax(dim=1))  #!
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(10, 4), torch.randint(0, 2, (10, 1)).float()
for i in range(3):
    loss = nn.functional.binary_cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: parameters re-created by to-double replaced",
        5,
        "stale-optimizer",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net.weight = nn.Parameter(net.weight.detach().clone() * 0.5)  #!
x = torch.randn(16, 3); y = x.sum(1, keepdim=True)
for i in range(4):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: momentum buffer of graph: loss appended with tuple",
        6,
        "graph-grows",
        """
import torch
import torch.nn as nn
from collections import deque
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
recent = deque(maxlen=100)
for i in range(5):
    x = torch.randn(8, 3)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    recent.append((i, loss))  #!
""",
    ),
    Broken(
        "thread: in-place add to leaf that requires grad",
        6,
        "in-place",
        """
import torch
w = torch.randn(3, requires_grad=True)
x = torch.randn(5, 3)
loss = (x @ w).pow(2).mean()
loss.backward()
w -= 0.1 * w.grad  #!
""",
    ),
    Broken(
        "thread: test permuted separately",
        7,
        "shuffled-apart",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
x = torch.randn(40, 3); y = x.sum(1, keepdim=True)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for ep in range(3):
    for i in range(0, 40, 10):
        xb = x[torch.randperm(40)][i:i + 10]  #!
        yb = y[torch.randperm(40)][i:i + 10]  #!
        loss = (net(xb) - yb).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: list comprehension of the same Linear ModuleList",
        7,
        "used-twice",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Heads(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        head = nn.Linear(4, 4)
        self.heads = nn.ModuleList()
        for _ in range(n):
            self.heads.append(head)  #!
        self.out = nn.Linear(12, 2)
    def forward(self, x):
        return self.out(torch.cat([torch.relu(h(x)) for h in self.heads], 1))
m = Heads()
opt = torch.optim.Adam(m.parameters())
x, y = torch.randn(10, 4), torch.randint(0, 2, (10,))
for i in range(3):
    loss = nn.functional.cross_entropy(m(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: tower of relu with small hand made weights",
        4,
        "vanishing",
        """
import torch
torch.manual_seed(0)
Ws = []
for i in range(10):
    W = torch.rand(12, 12) * 0.02  #!
    W.requires_grad_()
    Ws.append(W)
x = torch.rand(5, 12)
opt = torch.optim.SGD(Ws, lr=0.1)
for s in range(3):
    h = x
    for W in Ws:
        h = torch.relu(h @ W)
    loss = (h.sum() - 1) ** 2
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: recurrent state of an env model kept across episodes",
        6,
        "state-not-detached",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
cell, out = nn.LSTMCell(2, 4), nn.Linear(4, 2)
opt = torch.optim.Adam([*cell.parameters(), *out.parameters()])
def rollout(state):
    h, c = state
    loss = 0
    for t in range(3):
        h, c = cell(torch.randn(5, 2), (h, c))
        loss = loss + out(h).pow(2).mean()
    return loss, (h, c)
state = (torch.zeros(5, 4), torch.zeros(5, 4))
for ep in range(3):
    loss, state = rollout(state)  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "thread: tied by accident: copies a layer reference in init",
        7,
        "used-twice",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc1 = nn.Linear(4, 4)
        self.enc2 = self.enc1  #!
        self.out = nn.Linear(8, 1)
    def forward(self, a, b):
        return self.out(torch.cat([torch.relu(self.enc1(a)), torch.relu(self.enc2(b))], 1))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
a, b = torch.randn(8, 4), torch.randn(8, 4)
for i in range(3):
    loss = (net(a, b) - 1).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: unrolled optimisation with too large inner rate",
        4,
        "exploding",
        """
import torch
torch.manual_seed(0)
A = torch.diag(torch.tensor([1.0, 5.0, 9.0]))
x0 = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([x0], lr=1e-30)
for outer in range(2):
    x = x0
    for k in range(20):
        x = x - 1.0 * (A @ x)  #!
    loss = x.pow(2).sum()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "thread: rnn agent keeps hidden in self",
        6,
        "state-not-detached",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 6)
        self.pi = nn.Linear(6, 2)
        self.h = torch.zeros(1, 6)
    def act(self, s):
        self.h = self.cell(s, self.h)  #!
        return torch.log_softmax(self.pi(self.h), -1)
agent = Agent()
opt = torch.optim.Adam(agent.parameters(), lr=1e-3)
try:
    for ep in range(3):
        total = 0
        for t in range(4):
            lp = agent.act(torch.randn(1, 3))
            total = total - lp[0, 0] * 1.0
        opt.zero_grad()
        total.backward()
        opt.step()
except RuntimeError as e:
    print(e)
""",
    ),
]

HEALTHY = [
    Healthy(
        "thread: DANN gradient reversal",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)
    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.alpha, None
feat, cls, dom = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 2)
opt = torch.optim.SGD([*feat.parameters(), *cls.parameters(), *dom.parameters()], lr=0.05)
xs, ys, xt = torch.randn(16, 4), torch.randint(0, 3, (16,)), torch.randn(16, 4) + 1
d = torch.cat([torch.zeros(16), torch.ones(16)]).long()
for i in range(4):
    fs, ft = torch.relu(feat(xs)), torch.relu(feat(xt))
    loss = nn.functional.cross_entropy(cls(fs), ys)
    loss = loss + nn.functional.cross_entropy(dom(GradReverse.apply(torch.cat([fs, ft]), 0.5)), d)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Healthy(
        "thread: PPO clipped objective",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
pi, v = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2)), nn.Linear(4, 1)
opt = torch.optim.Adam([*pi.parameters(), *v.parameters()], lr=3e-3)
s = torch.randn(64, 4); a = torch.randint(0, 2, (64, 1)); ret = torch.randn(64)
with torch.no_grad():
    old = torch.log_softmax(pi(s), -1).gather(1, a).squeeze(1)
for ep in range(4):
    logp = torch.log_softmax(pi(s), -1)
    lp = logp.gather(1, a).squeeze(1)
    val = v(s).squeeze(1)
    adv = (ret - val).detach()
    ratio = (lp - old).exp()
    pg = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
    ent = -(logp.exp() * logp).sum(1).mean()
    loss = pg + 0.5 * (ret - val).pow(2).mean() - 0.01 * ent
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Healthy(
        "thread: SimSiam stop gradient",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
f, h = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8)), nn.Linear(8, 8)
opt = torch.optim.SGD([*f.parameters(), *h.parameters()], lr=0.05)
X = torch.randn(32, 6)
def D(p, z):
    return -nn.functional.cosine_similarity(p, z.detach(), dim=-1).mean()
for i in range(4):
    z1, z2 = f(X + 0.1 * torch.randn_like(X)), f(X + 0.1 * torch.randn_like(X))
    loss = D(h(z1), z2) / 2 + D(h(z2), z1) / 2
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Healthy(
        "thread: soft actor critic like entropy",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
pi = nn.Linear(4, 3); q = nn.Linear(4, 3)
op, oq = torch.optim.Adam(pi.parameters()), torch.optim.Adam(q.parameters())
for it in range(4):
    s, r = torch.randn(16, 4), torch.randn(16)
    a = torch.randint(0, 3, (16, 1))
    lq = (q(s).gather(1, a).squeeze(1) - r).pow(2).mean()
    oq.zero_grad(); lq.backward(); oq.step()
    lp = torch.log_softmax(pi(s), -1)
    loss = (lp.exp() * (0.2 * lp - q(s).detach())).sum(1).mean()
    op.zero_grad(); loss.backward(); op.step()
""",
    ),
    Healthy(
        "thread: numpy permutation of both",
        """
import numpy as np
import torch
import torch.nn as nn
torch.manual_seed(0)
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3)).astype("float32")
Y = (X.sum(1) > 0).astype("int64")
net = nn.Linear(3, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for ep in range(3):
    order = rng.permutation(len(X))
    for i in range(0, 40, 10):
        idx = order[i:i + 10]
        xb, yb = torch.from_numpy(X[idx]), torch.from_numpy(Y[idx])
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Healthy(
        "thread: minimax adversarial training with minus",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
feat, cls, adv = nn.Linear(4, 6), nn.Linear(6, 2), nn.Linear(6, 2)
o1 = torch.optim.SGD([*feat.parameters(), *cls.parameters()], lr=0.05); o2 = torch.optim.SGD(adv.parameters(), lr=0.05)
x, y, d = torch.randn(20, 4), torch.randint(0, 2, (20,)), torch.randint(0, 2, (20,))
ce = nn.functional.cross_entropy
for i in range(4):
    o2.zero_grad(); ce(adv(feat(x).detach()), d).backward(); o2.step()
    h = feat(x)
    loss = ce(cls(h), y) - 0.1 * ce(adv(h), d)
    o1.zero_grad(); loss.backward(); o1.step()
""",
    ),
    Healthy(
        "thread: best checkpoint with deepcopy",
        """
import copy
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
best, state = 1e9, None
for i in range(6):
    x = torch.randn(8, 4)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if loss.item() < best:
        best, state = loss.item(), copy.deepcopy(net.state_dict())
net.load_state_dict(state)
""",
    ),
    Healthy(
        "thread: ensemble of three",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
x = torch.randn(30, 3); y = x.sum(1, keepdim=True)
nets = [nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)) for _ in range(3)]
for net in nets:
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(4):
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    print(torch.stack([net(x) for net in nets]).mean(0).shape)
""",
    ),
]
