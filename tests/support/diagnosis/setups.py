"""Programs of usual training set-ups (RL, VAE, meta-learning, contrastive): what a first run on them missed, and what was meant."""

from __future__ import annotations

from .broken import Broken
from .healthy import Healthy

BROKEN = [
    Broken(
        "setup: a stateful model keeps its state in an attribute",
        6,
        "state-not-detached",
        """
import torch
from torch import nn
class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)
        self.state = (torch.zeros(2, 4), torch.zeros(2, 4))
    def forward(self, xs):
        h, c = self.state
        for x in xs:
            h, c = self.cell(x, (h, c))
        self.state = (h, c)  #!
        return h
torch.manual_seed(0)
model = Stateful()
opt = torch.optim.Adam(model.parameters())
for i in range(3):
    loss = model(torch.randn(4, 2, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "setup: a Function's factor is wrong in part",
        7,
        "wrong-backward",
        """
import torch
class Huber(torch.autograd.Function):
    @staticmethod
    def forward(ctx, pred, target, delta):
        diff = pred - target
        ctx.save_for_backward(diff)
        ctx.delta = delta
        return torch.where(diff.abs() < delta, 0.5 * diff ** 2, delta * (diff.abs() - 0.5 * delta))
    @staticmethod
    def backward(ctx, grad_out):
        diff, = ctx.saved_tensors
        d = torch.where(diff.abs() < ctx.delta, diff, torch.sign(diff))  #!
        return grad_out * d, -grad_out * d, None
torch.manual_seed(0)
w = torch.randn(3, 1, requires_grad=True)
x = torch.randn(50, 3)
y = x @ torch.tensor([[1.0], [-2.0], [5.0]])
for i in range(2):
    Huber.apply(x @ w, y, 2.0).mean().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
""",
    ),
    Broken(
        "setup: a target network by copy.copy",
        7,
        "alias",
        """
import copy
import torch
from torch import nn
torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
q_target = copy.copy(q)  #!
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for step in range(4):
    s, s2, r = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
    with torch.no_grad():
        goal = r + 0.99 * q_target(s2).max(1).values
    loss = nn.functional.smooth_l1_loss(q(s).max(1).values, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 2:
        q_target.load_state_dict(q.state_dict())
""",
    ),
    Broken(
        "setup: a VAE samples without the parameters",
        1,
        "no-grad",
        """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
x = torch.rand(16, 6)
for epoch in range(3):
    mu, logvar = encoder(x).chunk(2, -1)
    q = torch.distributions.Normal(mu, (0.5 * logvar).exp())
    z = q.sample()  #!
    kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1).mean()
    loss = F.mse_loss(decoder(z), x) + 0.1 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "setup: PPO without its minus",
        7,
        "reversed",
        """
import torch
from torch import nn
from torch.distributions import Categorical
torch.manual_seed(0)
actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-2)
s, a, ret = torch.randn(16, 3), torch.randint(0, 2, (16,)), torch.randn(16)
with torch.no_grad():
    old = Categorical(logits=actor(s)).log_prob(a)
    adv = ret - critic(s).squeeze(-1)
for epoch in range(3):
    dist = Categorical(logits=actor(s))
    ratio = torch.exp(dist.log_prob(a) - old)
    clipped = torch.clamp(ratio, 0.8, 1.2) * adv
    policy_loss = torch.min(ratio * adv, clipped).mean()  #!
    value_loss = (ret - critic(s).squeeze(-1)).pow(2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "setup: inner steps of MAML cut from the meta parameters",
        1,
        "detach",
        """
import torch
import torch.nn.functional as F
torch.manual_seed(0)
params = [torch.randn(4, 1, requires_grad=True), torch.zeros(1, requires_grad=True)]
meta = torch.optim.Adam(params, lr=1e-2)
for it in range(3):
    meta.zero_grad()
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    inner = F.mse_loss(x @ params[0] + params[1], y)
    grads = torch.autograd.grad(inner, params, create_graph=True)
    fast = [(p - 0.1 * g).detach().requires_grad_() for p, g in zip(params, grads)]  #!
    F.mse_loss(x @ fast[0] + fast[1], y).backward()
    meta.step()
""",
    ),
    Broken(
        "setup: a target network is given the memory of the online one",
        7,
        "alias",
        """
import torch
from torch import nn
torch.manual_seed(0)
online, target = nn.Linear(3, 2), nn.Linear(3, 2)
opt = torch.optim.Adam(online.parameters(), lr=1e-2)
for i in range(4):
    if i % 2 == 0:
        for tp, p in zip(target.parameters(), online.parameters()):
            tp.data = p.data  #!
    s, s2 = torch.randn(8, 3), torch.randn(8, 3)
    with torch.no_grad():
        y = s.sum(1) + 0.9 * target(s2).max(1).values
    loss = (online(s).max(1).values - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "setup: the divergence of a VAE with its sign turned",
        7,
        "reversed",
        """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
x = torch.rand(16, 6)
for epoch in range(3):
    mu, logvar = encoder(x).chunk(2, -1)
    z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
    rec = F.mse_loss(decoder(z), x, reduction="sum") / 16
    kld = 0.5 * torch.sum(1 + logvar - mu ** 2 - logvar.exp()) / 16  #!
    loss = rec + kld
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "setup: weights too large, gradients by autograd.grad alone",
        4,
        "exploding",
        """
import torch
torch.manual_seed(0)
Ws = [torch.randn(40, 40, requires_grad=True) for _ in range(9)]  #!
x, y = torch.randn(8, 40), torch.randn(8, 40)
for it in range(2):
    h = x
    for W in Ws:
        h = (h @ W).relu()
    loss = ((h - y) ** 2).mean()
    grads = torch.autograd.grad(loss, Ws)
    with torch.no_grad():
        for W, g in zip(Ws, grads):
            W -= 1e-16 * g
""",
    ),
    Broken(
        "setup: forget gates that begin closed",
        4,
        "vanishing",
        """
import torch
from torch import nn
torch.manual_seed(0)
class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.x2h, self.h2h = nn.Linear(2, 24), nn.Linear(8, 24)
        with torch.no_grad():
            self.x2h.bias[:8] = -6.0  #!
    def forward(self, xs):
        h = torch.zeros(4, 8)
        for x in xs:
            f, i, g = (self.x2h(x) + self.h2h(h)).chunk(3, -1)
            h = torch.sigmoid(f) * h + torch.sigmoid(i) * torch.tanh(g)
        return h
net, head = Gated(), nn.Linear(8, 1)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-3)
for step in range(2):
    xs = torch.randn(20, 4, 2)
    loss = (head(net(xs)) - xs[0, :, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "setup: a meter that keeps what it is fed",
        6,
        "graph-grows",
        """
import torch
from torch import nn
class Meter:
    def __init__(self):
        self.values = []
    def update(self, value):
        self.values.append(value)
torch.manual_seed(0)
model, meter = nn.Linear(3, 1), Meter()
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(4):
    x = torch.randn(8, 3)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    meter.update(loss)  #!
""",
    ),
    Broken(
        "setup: the discriminator's loss goes back through the generator",
        6,
        "second-backward",
        """
import torch
from torch import nn
torch.manual_seed(0)
G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for step in range(2):
    real, fake = torch.randn(4, 3), G(torch.randn(4, 2)).tanh()
    loss_g = (D(fake) - 1).pow(2).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    opt_d.zero_grad()
    loss_d = (D(real) - 1).pow(2).mean()
    loss_d = loss_d + D(fake).pow(2).mean()  #!
    loss_d.backward()
    opt_d.step()
""",
    ),
    Broken(
        "setup: one of two critics is left out of their optimizer",
        5,
        "not-in-optimizer",
        """
import torch
from torch import nn
torch.manual_seed(0)
actor, q1, q2 = nn.Linear(2, 1), nn.Linear(3, 1), nn.Linear(3, 1)
pi_opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
q_opt = torch.optim.Adam(q1.parameters(), lr=1e-2)  #!
critics = [*q1.parameters(), *q2.parameters()]
for step in range(3):
    o, a, backup = torch.randn(8, 2), torch.randn(8, 1), torch.randn(8, 1)
    x = torch.cat([o, a], 1)
    q_loss = (q1(x) - backup).pow(2).mean() + (q2(x) - backup).pow(2).mean()
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()
    for p in critics:
        p.requires_grad_(False)
    x = torch.cat([o, actor(o)], 1)
    pi_loss = -torch.min(q1(x), q2(x)).mean()
    pi_opt.zero_grad()
    pi_loss.backward()
    pi_opt.step()
    for p in critics:
        p.requires_grad_(True)
""",
    ),
    Broken(
        "setup: a new head after a first training, the old optimizer",
        5,
        "stale-optimizer",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 3)
    def forward(self, x):
        return self.head(torch.relu(self.body(x)))
def fit(y):
    for epoch in range(2):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(16, 4)
fit(x[:, :3].argmax(1))
net.head = nn.Linear(8, 2)  #!
fit((x[:, 0] > 0).long())
""",
    ),
    Broken(
        "setup: validation adds up losses with their graphs",
        6,
        "graph-grows",
        """
import torch
from torch import nn
torch.manual_seed(0)
model, criterion = nn.Linear(4, 1), nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(24, 4)
y = x.sum(1, keepdim=True)
for epoch in range(2):
    opt.zero_grad()
    criterion(model(x[:12]), y[:12]).backward()
    opt.step()
    total = 0
    for i in range(12, 24, 4):
        total += criterion(model(x[i:i + 4]), y[i:i + 4])  #!
    print(float(total))
""",
    ),
    Broken(
        "setup: recurrent weights too large inside one op",
        4,
        "exploding",
        """
import torch
from torch import nn
torch.manual_seed(0)
rnn, out = nn.RNN(3, 12, nonlinearity="relu"), nn.Linear(12, 1)
nn.init.eye_(rnn.weight_hh_l0)
rnn.weight_hh_l0.data.mul_(1.9)  #!
opt = torch.optim.SGD([*rnn.parameters(), *out.parameters()], lr=1e-16)
for step in range(2):
    x = torch.randn(30, 4, 3)
    loss = (out(rnn(x)[0][-1]) - x.sum(0)[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "setup: retain_graph for a picture that is detached there",
        6,
        "retain-graph",
        """
import torch
from torch import nn
torch.manual_seed(0)
G, D = nn.Linear(4, 3), nn.Linear(3, 1)
opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
for i in range(2):
    fake = G(torch.randn(8, 4))
    loss_d = (D(torch.randn(8, 3)) - 1).pow(2).mean() + D(fake.detach()).pow(2).mean()
    opt_d.zero_grad()
    loss_d.backward(retain_graph=True)  #!
    opt_d.step()
    loss_g = (D(fake) - 1).pow(2).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
""",
    ),
    Broken(
        "setup: a logger of scalars keeps one with its graph",
        6,
        "graph-grows",
        """
import torch
from torch import nn
from collections import deque
class Logger:
    def __init__(self):
        self.data = {}
    def add(self, **scalars):
        for name, value in scalars.items():
            self.data.setdefault(name, deque(maxlen=10)).append(value)
torch.manual_seed(0)
model, logger = nn.Linear(3, 1), Logger()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(3):
    error = (model(torch.randn(8, 3)) - 1).pow(2).mean()
    size = model.weight.pow(2).sum()
    opt.zero_grad()
    (error + 0.1 * size).backward()
    opt.step()
    logger.add(error=error.item(), size=size)  #!
""",
    ),
    Broken(
        "setup: a divergence is subtracted",
        7,
        "reversed",
        """
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
torch.manual_seed(0)
enc, dec = nn.Linear(6, 4), nn.Linear(2, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
x = torch.rand(8, 6)
for it in range(2):
    mu, s = enc(x).chunk(2, -1)
    q = Normal(mu, nn.functional.softplus(s))
    nll = (dec(q.rsample()) - x).pow(2).sum(-1).mean()
    kl = kl_divergence(q, Normal(0.0, 1.0)).sum(-1).mean()
    loss = nll - kl  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "setup: a clamp whose backward knows one bound",
        7,
        "wrong-backward",
        """
import torch
class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cap):
        ctx.save_for_backward(x)
        return x.clamp(0, cap)
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        mask = (x > 0).float()  #!
        return g * mask, None
torch.manual_seed(0)
w = torch.randn(6, 6, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.05)
for _ in range(2):
    loss = (Clipped.apply(torch.randn(20, 6) @ w, 1.0) - 0.5).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "setup: a target that is the online network, and is loaded from it",
        7,
        "alias",
        """
import torch
from torch import nn
torch.manual_seed(0)
class DQN:
    def __init__(self):
        self.online = nn.Linear(4, 2)
        self.target = self.online  #!
        self.opt = torch.optim.Adam(self.online.parameters(), lr=1e-3)
    def learn(self):
        s, s2, r = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
        with torch.no_grad():
            y = r + 0.99 * self.target(s2).max(1).values
        loss = (self.online(s).max(1).values - y).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
agent = DQN()
for i in range(4):
    agent.learn()
    if i % 2:
        agent.target.load_state_dict(agent.online.state_dict())
""",
    ),
    Broken(
        "setup: two optimizers compared from one seed",
        7,
        "unseeded",
        """
import torch
torch.manual_seed(0)
x = torch.randn(40, 5)
y = x.sum(1, keepdim=True).sin()
def run(make):
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))  #!
    opt = make(model.parameters())
    for _ in range(3):
        loss = (model(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()
print(run(lambda p: torch.optim.SGD(p, lr=0.05)))
print(run(lambda p: torch.optim.Adam(p, lr=0.01)))
""",
    ),
    Broken(
        "setup: a root mean square that overflows in half precision",
        3,
        "half-range",
        """
import torch
torch.manual_seed(0)
weight = torch.ones(8, requires_grad=True)
x = (torch.randn(4, 8) * 2000).half()
opt = torch.optim.SGD([weight], lr=0.1)
for _ in range(3):
    square = x.pow(2).mean(-1, keepdim=True)  #!
    out = x * torch.rsqrt(square + 1e-6) * weight.half()
    loss = (out.float() - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
]

HEALTHY = [
    Healthy(
        "setup: a policy gradient whose returns are numbers of either sign",
        """
import torch
from torch import nn
from torch.distributions import Categorical
torch.manual_seed(0)
policy = nn.Linear(4, 2)
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(3):
    logps, rewards = [], []
    for t in range(4):
        state = torch.randn(4)
        pi = Categorical(logits=policy(state))
        action = pi.sample()
        logps.append(pi.log_prob(action))
        rewards.append(float(action == int(state[0] > 0)))
    returns = torch.tensor(rewards)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = sum(-logp * value for logp, value in zip(logps, returns))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "setup: a bias before batch norm, whose gradient is nothing but rounding",
        """
import torch
from torch import nn
torch.manual_seed(0)
layers = []
for i in range(7):
    layers += [nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU()]
net = nn.Sequential(*layers, nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(2):
    x = torch.randn(16, 8)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "setup: pairs that a generator shuffles",
        """
import random
import torch
from torch import nn
import torch.nn.functional as F
class Batches:
    def __init__(self):
        self.pairs = []
        for i in range(12):
            src = [random.random() for _ in range(3)]
            self.pairs.append((src, int(src[0] > 0.5)))
    def __iter__(self):
        random.shuffle(self.pairs)
        for i in range(0, 12, 4):
            chunk = self.pairs[i:i + 4]
            yield torch.tensor([s for s, _ in chunk]), torch.tensor([t for _, t in chunk])
random.seed(0)
torch.manual_seed(0)
net = nn.Linear(3, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for src, tgt in Batches():
    loss = F.cross_entropy(net(src), tgt)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "setup: a contrastive loss numbers the rows of its own batch",
        """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(6, 4)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
data = torch.randn(32, 6)
order = torch.randperm(32)
for i in range(0, 32, 8):
    x = data[order[i:i + 8]]
    a, b = F.normalize(net(x)), F.normalize(net(x + 0.1 * torch.randn_like(x)))
    loss = F.cross_entropy(a @ b.T / 0.5, torch.arange(8))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "setup: a policy loss below zero that falls",
        """
import torch
from torch.distributions import Categorical
torch.manual_seed(0)
logits = torch.zeros(3, requires_grad=True)
pays = torch.tensor([0.1, 0.3, 0.9])
opt = torch.optim.Adam([logits], lr=0.1)
for episode in range(8):
    dist = Categorical(logits=logits.expand(64, 3))
    action = dist.sample()
    reward = torch.bernoulli(pays[action])
    loss = -(dist.log_prob(action) * (reward - reward.mean())).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "setup: a leaf made by way of another",
        """
import torch
torch.manual_seed(0)
w = (torch.randn(5, 3) * 0.3).requires_grad_().to(torch.float64).detach().requires_grad_()
x = torch.randn(20, 5, dtype=torch.float64)
for _ in range(4):
    loss = (x @ w - x[:, :3]).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
""",
    ),
]
