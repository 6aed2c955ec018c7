"""Programs as people post them on forums, whole scripts that import torch: losses of the wrong kind, wrong signs, rows out of pairs."""

from __future__ import annotations

from .broken import Broken
from .healthy import Healthy

BROKEN = [
    Broken(
        "forum: a scale read by item() while it is 1",
        1,
        "item",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 16)
        self.fc2 = nn.Linear(16, 1)
    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))
def penalty(m):
    return sum(float(p.pow(2).sum().item()) for p in m.parameters())
scale = torch.tensor(1.0, requires_grad=True)
model = Regressor()
opt = torch.optim.SGD(list(model.parameters()) + [scale], lr=0.01)
x = torch.randn(32, 3)
y = x.sum(1, keepdim=True)
for step in range(5):
    opt.zero_grad()
    out = model(x) * scale.item()  #!
    loss = ((out - y) ** 2).mean()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: a hidden state kept, with retain_graph",
        6,
        "state-not-detached",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class CharRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(5, 12)
        self.out = nn.Linear(12, 5)
    def forward(self, x, h):
        y, h = self.gru(x, h)
        return self.out(y), h
net = CharRNN()
opt = torch.optim.Adam(net.parameters())
h = torch.zeros(1, 2, 12)
for chunk in range(4):
    x = torch.randn(6, 2, 5)
    t = torch.randint(0, 5, (12,))
    opt.zero_grad()
    y, h = net(x, h)  #!
    loss = nn.functional.cross_entropy(y.reshape(-1, 5), t)
    loss.backward(retain_graph=True)
    opt.step()
""",
    ),
    Broken(
        "forum: a GAN's picture not detached for the discriminator",
        6,
        "second-backward",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
D = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
og = torch.optim.Adam(G.parameters(), lr=2e-4)
od = torch.optim.Adam(D.parameters(), lr=2e-4)
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
for it in range(3):
    real = torch.randn(16, 2) + 3
    fake = G(torch.randn(16, 4))
    od.zero_grad()
    d_loss = bce(D(real), ones) + bce(D(fake), zeros)  #!
    d_loss.backward()  #!
    od.step()
    og.zero_grad()
    g_loss = bce(D(fake), ones)
    g_loss.backward()  #!
    og.step()
""",
    ),
    Broken(
        "forum: NLLLoss on raw scores",
        5,
        "wrong-loss",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class TextNet(nn.Module):
    def __init__(self, vocab=30, dim=8, classes=3):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab, dim)
        self.fc = nn.Linear(dim, classes)
    def forward(self, ids):
        return self.fc(self.embedding(ids))
net = TextNet()
criterion = nn.NLLLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.5)
ids = torch.randint(0, 30, (16, 5))
labels = torch.randint(0, 3, (16,))
for epoch in range(5):
    opt.zero_grad()
    output = net(ids)
    loss = criterion(output, labels)  #!
    loss.backward()
    opt.step()
    print(loss.item())
""",
    ),
    Broken(
        "forum: MSELoss on class numbers",
        5,
        "wrong-loss",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
x = torch.randn(60, 4)
labels = torch.randint(0, 3, (60,))
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
mse = nn.MSELoss()
for epoch in range(5):
    opt.zero_grad()
    out = net(x).squeeze(1)
    loss = mse(out, labels.float())  #!
    loss.backward()
    opt.step()
    acc = (out.round() == labels).float().mean()
    print(loss.item(), acc.item())
""",
    ),
    Broken(
        "forum: labels shuffled apart from their inputs",
        5,
        "shuffled-apart",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
X = torch.randn(100, 4)
y = (X.sum(1) > 0).long()
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
def batches(size):
    xs = X[torch.randperm(len(X))]
    ys = y[torch.randperm(len(y))]  #!
    for i in range(0, len(xs), size):
        yield xs[i:i + size], ys[i:i + size]
for epoch in range(2):
    for xb, yb in batches(25):
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    ),
    Broken(
        "forum: a clamp through .data in forward",
        7,
        "data-write",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(4, 8)
        self.l2 = nn.Linear(8, 1)
    def forward(self, x):
        h = torch.tanh(self.l1(x))
        h.data = h.data.clamp(-0.5, 0.5)  #!
        return self.l2(h * h)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x, y = torch.randn(30, 4), torch.randn(30, 1)
for _ in range(4):
    opt.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: a log-likelihood made smaller",
        7,
        "reversed",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
def log_likelihood(x, mu, log_sigma):
    return (-0.5 * ((x - mu) / log_sigma.exp()) ** 2 - log_sigma).mean()
class Gaussian(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Parameter(torch.zeros(()))
        self.log_sigma = nn.Parameter(torch.zeros(()))
g = Gaussian()
opt = torch.optim.SGD(g.parameters(), lr=0.05)
data = torch.randn(200) * 2 + 5
for i in range(6):
    opt.zero_grad()
    loss = log_likelihood(data, g.mu, g.log_sigma)  #!
    loss.backward()  #!
    opt.step()
""",
    ),
    Broken(
        "forum: one block in a comprehension",
        7,
        "used-twice",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
block = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
model = nn.Sequential(*[block for _ in range(3)], nn.Linear(8, 1))  #!
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(20, 8)
y = torch.randn(20, 1)
for epoch in range(3):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: BCELoss on scores",
        5,
        "wrong-loss",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
criterion = nn.BCELoss()
opt = torch.optim.Adam(model.parameters())
x = torch.randn(20, 4)
y = (x[:, :1] > 0).float()
for _ in range(3):
    opt.zero_grad()
    loss = criterion(model(x), y)  #!
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: labels of -1 and 1 in a binary cross-entropy",
        5,
        "wrong-loss",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

x = torch.randn(30, 3)
y = torch.sign(x.sum(1, keepdim=True))
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.5)
for epoch in range(6):
    logits = net(x)
    loss = F.binary_cross_entropy_with_logits(logits, y)  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: KLDivLoss on probabilities",
        5,
        "wrong-loss",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

teacher = nn.Linear(5, 4)
student = nn.Linear(5, 4)
for q in teacher.parameters():
    q.requires_grad_(False)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
kl = nn.KLDivLoss(reduction="batchmean")
x = torch.randn(16, 5)
for i in range(5):
    s = F.softmax(student(x), dim=1)  #!
    t = F.softmax(teacher(x), dim=1)
    loss = kl(s, t)  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: REINFORCE without its minus",
        7,
        "reversed",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters(), lr=0.01)
for episode in range(5):
    states = torch.randn(20, 4)
    logp = torch.log_softmax(policy(states), dim=1)
    actions = torch.multinomial(logp.exp().detach(), 1)
    rewards = torch.rand(20) + 0.5
    chosen = logp.gather(1, actions).squeeze(1)
    loss = (chosen * rewards).mean()  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: minus a cross-entropy",
        7,
        "reversed",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(32, 6), torch.randint(0, 3, (32,))
def compute_loss(out, y):
    return -F.cross_entropy(out, y)  #!
for epoch in range(5):
    opt.zero_grad()
    loss = compute_loss(net(x), y)  #!
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: a warm-up that divides whole numbers",
        5,
        "rate-too-small",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

net = nn.Linear(4, 1)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, s // 1000))  #!
for i in range(5):
    loss = net(torch.randn(10, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
""",
    ),
    Broken(
        "forum: an optimizer made for each step",
        5,
        "made-anew",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

net = nn.Linear(5, 1)
x, y = torch.randn(20, 5), torch.randn(20, 1)
for step in range(5):
    opt = torch.optim.Adam(net.parameters(), lr=0.01)  #!
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: a model made for each step",
        5,
        "made-anew",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

x, y = torch.randn(20, 5), torch.randn(20, 1)
for epoch in range(4):
    net = nn.Linear(5, 1)  #!
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(epoch, loss.item())
""",
    ),
    Broken(
        "forum: a hook that turns gradients round",
        7,
        "reversed",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
for q in net.parameters():
    q.register_hook(lambda g: -g)  #!
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(20, 4), torch.randn(20, 1)
for _ in range(6):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: an error maximised",
        7,
        "reversed",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05, maximize=True)  #!
x, y = torch.randn(20, 4), torch.randn(20, 1)
for _ in range(6):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: gradients negated before the step",
        7,
        "reversed",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(20, 4), torch.randn(20, 1)
for _ in range(6):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    for q in net.parameters():
        q.grad.mul_(-1)  #!
    opt.step()
""",
    ),
    Broken(
        "forum: one layer appended in a loop",
        7,
        "used-twice",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

class Deep(nn.Module):
    def __init__(self, n):
        super().__init__()
        layer = nn.Linear(6, 6)
        layers = []
        for _ in range(n):
            layers.append(layer)
            layers.append(nn.ReLU())
        self.net = nn.Sequential(*layers)  #!
        self.out = nn.Linear(6, 1)
    def forward(self, x):
        return self.out(self.net(x))
net = Deep(3)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(3):
    loss = net(torch.randn(8, 6)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: Parameters in a plain list",
        1,
        "unregistered",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

class Poly(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.coeffs = [nn.Parameter(torch.randn(1)) for _ in range(n)]  #!
        self.bias = nn.Parameter(torch.zeros(1))
    def forward(self, x):
        return sum(c * x ** i for i, c in enumerate(self.coeffs)) + self.bias
m = Poly(3)
opt = torch.optim.SGD(m.parameters(), lr=1e-2)
x = torch.linspace(-1, 1, 20)
for _ in range(4):
    loss = F.mse_loss(m(x), torch.sin(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: a Sigmoid within a wrapped Sequential",
        2,
        "double-softmax",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1), nn.Sigmoid())  #!
    def forward(self, x):
        return self.net(x)
d = D()
opt = torch.optim.Adam(d.parameters(), lr=2e-4)
crit = nn.BCEWithLogitsLoss()
for _ in range(3):
    real, fake = torch.randn(8, 4), torch.randn(8, 4) + 2
    loss = crit(d(real), torch.ones(8, 1)) + crit(d(fake), torch.zeros(8, 1))  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: a softmax over a row that is masked throughout",
        3,
        "zero-by-zero",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

def attend(q, k, v, mask):
    s = (q @ k.transpose(-2, -1)).masked_fill(mask == 0, float("-inf"))
    return torch.softmax(s, dim=-1) @ v  #!
proj = nn.Linear(4, 12)
opt = torch.optim.Adam(proj.parameters())
mask = torch.ones(2, 3, 3)
mask[1, 2] = 0
for _ in range(2):
    q, k, v = proj(torch.randn(2, 3, 4)).chunk(3, dim=-1)
    loss = attend(q, k, v, mask).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "forum: a trainer that is handed net.eval()",
        5,
        "eval-mode frozen-batch-norm",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

class Trainer:
    def __init__(self, net):
        self.net = net.eval()  #!
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
    def train(self, n):
        for _ in range(n):
            x = torch.randn(16, 4) * 5 + 3
            loss = F.mse_loss(self.net(x), x[:, :1])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
Trainer(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))).train(4)
""",
    ),
    Broken(
        "forum: one of two critics used for both",
        7,
        "used-twice",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        self.q2 = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    def forward(self, x):
        a = self.q1(x)
        b = self.q1(x)  #!
        return a, b
net = Twin()
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    x, y = torch.randn(6, 4), torch.randn(6, 1)
    a, b = net(x)
    loss = F.mse_loss(a, y) + F.mse_loss(b, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
]

HEALTHY = [
    Healthy(
        "forum: mixup",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    order = torch.randperm(24)
    share = 0.7
    mixed = share * x + (1 - share) * x[order]
    out = net(mixed)
    loss = share * F.cross_entropy(out, y) + (1 - share) * F.cross_entropy(out, y[order])
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "forum: one order for inputs and labels",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    for rows in torch.randperm(24).split(8):
        loss = F.cross_entropy(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    ),
    Healthy(
        "forum: nll_loss on log_softmax, kl_div on logarithms",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))
net, teacher = nn.Linear(4, 3), nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    logp = F.log_softmax(net(x), dim=1)
    with torch.no_grad():
        goal = F.softmax(teacher(x), dim=1)
    loss = F.nll_loss(logp, y) + F.kl_div(logp, goal, reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "forum: REINFORCE with its minus",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))
policy = nn.Linear(4, 2)
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for _ in range(4):
    logp = F.log_softmax(policy(x), dim=1)
    actions = torch.multinomial(logp.exp().detach(), 1)
    rewards = torch.rand(24)
    loss = -(logp.gather(1, actions).squeeze(1) * rewards).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "forum: a density whose loss falls below zero",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))
mu = nn.Parameter(torch.zeros(4))
log_sigma = nn.Parameter(torch.zeros(4))
opt = torch.optim.Adam([mu, log_sigma], lr=0.3)
data = torch.randn(50, 4) * 0.01 + 0.5
for _ in range(8):
    loss = (log_sigma + 0.5 * ((data - mu) / log_sigma.exp()) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "forum: a Wasserstein critic",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))
critic, G = nn.Linear(4, 1), nn.Linear(2, 4)
oc = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
og = torch.optim.RMSprop(G.parameters(), lr=1e-3)
for _ in range(4):
    fake = G(torch.randn(24, 2))
    loss_c = critic(fake.detach()).mean() - critic(x).mean()
    oc.zero_grad()
    loss_c.backward()
    oc.step()
    loss_g = -critic(fake).mean()
    og.zero_grad()
    loss_g.backward()
    og.step()
""",
    ),
    Healthy(
        "forum: a new optimizer for each stage",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
for rate in (0.1, 0.01, 0.001):
    opt = torch.optim.SGD(net.parameters(), lr=rate)
    for _ in range(3):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    ),
    Healthy(
        "forum: counts as amounts, gradients clipped by a hook",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))
counts = torch.randint(0, 2, (24, 1))
net = nn.Linear(4, 1)
for q in net.parameters():
    q.register_hook(lambda g: g.clamp(-1, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for _ in range(6):
    loss = F.mse_loss(net(x), counts.float())
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
]
