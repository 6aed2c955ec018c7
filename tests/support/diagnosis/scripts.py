"""More broken programs, in the style of scripts that import torch: written after the detectors, and first run as they are."""

from __future__ import annotations

from .broken import Broken

TORCH = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
"""

SCRIPTS = [
    Broken(
        "a script: detach 1",
        1,
        "detach",
        TORCH
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        x = F.relu(self.conv(x)).mean((2, 3))
        x = x.detach().clone()  #!
        return self.fc(x)
net = Net()
opt = torch.optim.Adam(net.parameters())
for i in range(3):
    loss = F.cross_entropy(net(torch.randn(4, 1, 8, 8)), torch.randint(0, 2, (4,)))
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: item 1",
        1,
        "item",
        TORCH
        + """
def train():
    w = torch.randn(3, requires_grad=True)
    losses = []
    for i in range(3):
        losses.append((w[i] * 2 - 1).pow(2).item())  #!
    loss = torch.tensor(sum(losses), requires_grad=True)
    loss.backward()
    return w.grad
print(train())
""",
    ),
    Broken(
        "a script: new tensor 1",
        1,
        "new-tensor item",
        TORCH
        + """
model = nn.Linear(2, 1)
out = model(torch.ones(1, 2))
loss = torch.tensor((out - 1) ** 2)  #!
loss.backward()
""",
    ),
    Broken(
        "a script: integer op 1",
        1,
        "integer-op",
        TORCH
        + """
w = torch.randn(4, requires_grad=True)
x = torch.randn(5, 4)
y = torch.tensor([1., 0, 1, 0, 1])
pred = (x @ w > 0).float()  #!
loss = ((pred - y) ** 2).mean()
loss.backward()
""",
    ),
    Broken(
        "a script: requires grad off 1",
        1,
        "requires-grad-off",
        TORCH
        + """
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
for p in model.parameters():
    p.requires_grad = False  #!
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(torch.randn(3, 4)).mean()
loss.backward()
opt.step()
""",
    ),
    Broken(
        "a script: no grad 1",
        1,
        "no-grad",
        TORCH
        + """
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
torch.set_grad_enabled(False)  #!
for _ in range(2):
    loss = model(torch.randn(3, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "a script: non leaf 1",
        1,
        "non-leaf",
        TORCH
        + """
w = torch.randn(3, requires_grad=True).to(torch.float64)  #!
loss = (w ** 2).sum()
loss.backward()
print(w.grad)
""",
    ),
    Broken(
        "a script: non leaf 2",
        1,
        "non-leaf",
        TORCH
        + """
x = torch.randn(3, requires_grad=True)
h = x * 2  #!
loss = h.sum()
loss.backward()
print(h.grad)
""",
    ),
    Broken(
        "a script: rebound 1",
        1,
        "rebound",
        TORCH
        + """
w = torch.zeros(2, requires_grad=True)
for _ in range(3):
    loss = (w - 1).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad  #!
""",
    ),
    Broken(
        "a script: unregistered 1",
        1,
        "unregistered",
        TORCH
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = {"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)}  #!
        self.out = nn.Linear(2, 1)
    def forward(self, x):
        return self.out(self.blocks["b"](self.blocks["a"](x)))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = net(torch.randn(4, 2)).pow(2).mean()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "a script: unused 1",
        1,
        "unused",
        TORCH
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 1)
        self.gate = nn.Linear(2, 1)
    def forward(self, x):
        if x.shape[0] > 100:  #!
            return self.a(x) * torch.sigmoid(self.gate(x))  #!
        return self.a(x)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = net(torch.randn(4, 2)).pow(2).mean()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "a script: dead relu 1",
        2,
        "dead-relu",
        TORCH
        + """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
with torch.no_grad():
    net[0].bias.fill_(-100.)  #!
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    loss = (net(torch.randn(16, 4)) - 1).pow(2).mean()  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: saturated 1",
        2,
        "saturated",
        TORCH
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 4)
        self.fc2 = nn.Linear(4, 1)
    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x) * 1000))  #!
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.rand(8, 4) + 1
for _ in range(3):
    loss = (net(x) - 1).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: times zero 1",
        2,
        "times-zero",
        TORCH
        + """
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    logits = net(torch.randn(5, 4))
    per = F.cross_entropy(logits, torch.randint(0, 3, (5,)), reduction="none")
    mask = torch.zeros(5)  #!
    loss = (per * mask).sum()  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: double softmax 1",
        2,
        "double-softmax",
        TORCH
        + """
net = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))  #!
crit = nn.CrossEntropyLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = crit(net(torch.randn(5, 4)), torch.randint(0, 3, (5,)))  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: double softmax 2",
        2,
        "double-softmax",
        TORCH
        + """
net = nn.Linear(4, 1)
crit = nn.BCEWithLogitsLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    p = torch.sigmoid(net(torch.randn(5, 4)))  #!
    loss = crit(p, torch.ones(5, 1))
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: flat 1",
        2,
        "flat",
        TORCH
        + """
class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4))
    def forward(self, x):
        q = torch.floor(self.w * 8) / 8  #!
        return x @ q
net = Q()
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    loss = net(torch.randn(5, 4)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: equal units 1",
        2,
        "equal-units",
        TORCH
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 6)
        self.b = nn.Linear(6, 1)
        nn.init.ones_(self.a.weight)  #!
        nn.init.zeros_(self.a.bias)
        nn.init.ones_(self.b.weight)  #!
    def forward(self, x):
        return self.b(torch.relu(self.a(x)))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.001)
for _ in range(3):
    loss = (net(torch.randn(5, 4)) - 1).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: log of zero 1",
        3,
        "log-of-zero",
        TORCH
        + """
p = torch.tensor([0.0, 0.5, 0.5], requires_grad=True)
loss = -(p * torch.log(p)).sum()  #!
loss.backward()
""",
    ),
    Broken(
        "a script: zero by zero 1",
        3,
        "zero-by-zero",
        TORCH
        + """
w = torch.randn(3, requires_grad=True)
v = torch.zeros(3)
cos = (w @ v) / (w.norm() * v.norm())  #!
loss = 1 - cos
loss.backward()
""",
    ),
    Broken(
        "a script: overflow 1",
        3,
        "overflow",
        TORCH
        + """
lin = nn.Linear(3, 1)
opt = torch.optim.SGD(lin.parameters(), lr=0.1)
x = torch.full((2, 3), 1e4)
rate = torch.exp(lin(x).abs() * 10)  #!
loss = rate.mean()
opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: where 1",
        3,
        "where",
        TORCH
        + """
x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
y = torch.where(x == 0, torch.zeros_like(x), torch.log(x))  #!
y.sum().backward()
print(x.grad)
""",
    ),
    Broken(
        "a script: sqrt at zero 1",
        3,
        "sqrt-at-zero norm-at-zero",
        TORCH
        + """
net = nn.Linear(2, 2, bias=False)
nn.init.zeros_(net.weight)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(torch.ones(3, 2))
loss = torch.sqrt((out ** 2).sum(dim=1)).mean()  #!
opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: vanishing 1",
        4,
        "vanishing",
        TORCH
        + """
layers = []
for _ in range(20):
    layers += [nn.Linear(8, 8), nn.Sigmoid()]  #!
net = nn.Sequential(*layers, nn.Linear(8, 1))  #!
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = (net(torch.randn(4, 8)) - 1).pow(2).mean()  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: exploding 1",
        4,
        "exploding",
        TORCH
        + """
rnn = nn.RNNCell(4, 8, nonlinearity="relu")
with torch.no_grad():
    rnn.weight_hh.mul_(10)  #!
opt = torch.optim.SGD(rnn.parameters(), lr=1e-20)
for _ in range(2):
    h = torch.zeros(2, 8)
    for t in range(20):
        h = rnn(torch.ones(2, 4), h)  #!
    loss = h.mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: not in optimizer 1",
        5,
        "not-in-optimizer stale-optimizer",
        TORCH
        + """
net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net[2] = nn.Linear(4, 1)  #!
for _ in range(3):
    loss = net(torch.randn(3, 2)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: no zero grad 1",
        5,
        "no-zero-grad",
        TORCH
        + """
w = torch.zeros(2, requires_grad=True)
for _ in range(4):
    loss = (w - 1).pow(2).sum()
    loss.backward()  #!
    with torch.no_grad():
        w -= 0.1 * w.grad  #!
""",
    ),
    Broken(
        "a script: rate too large 1",
        5,
        "rate-too-large",
        TORCH
        + """
w = torch.tensor(0.0, requires_grad=True)
lr = 5.0  #!
for _ in range(30):
    loss = (w * 3 - 1) ** 2
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad  #!
    w.grad = None
""",
    ),
    Broken(
        "a script: eval mode 1",
        5,
        "eval-mode",
        TORCH
        + """
net = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.5), nn.Linear(4, 1))
opt = torch.optim.Adam(net.parameters())
net.eval()  #!
for _ in range(3):
    loss = net(torch.randn(3, 2)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: broadcast loss 1",
        5,
        "broadcast-loss",
        TORCH
        + """
net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters())
crit = nn.L1Loss()
x, y = torch.randn(8, 3), torch.randn(8)
for _ in range(3):
    pred = net(x).squeeze(1)
    loss = crit(pred, y.unsqueeze(1))  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: wrong dim 1",
        5,
        "wrong-dim",
        TORCH
        + """
net = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=0))  #!
crit = nn.NLLLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = crit(net(torch.randn(5, 4)), torch.randint(0, 3, (5,)))  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: unused labels 1",
        5,
        "unused-labels",
        TORCH
        + """
x, y = torch.randn(8, 3), torch.randn(8, 1)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(x).pow(2).mean()  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: graph grows 1",
        6,
        "graph-grows",
        TORCH
        + """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
def train():
    running = 0.0
    logs = {"loss": []}
    for _ in range(4):
        loss = net(torch.randn(8, 3)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        running = running + loss  #!
    return running
train()
""",
    ),
    Broken(
        "a script: graph grows 2",
        6,
        "graph-grows",
        TORCH
        + """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
def train():
    losses = []
    for _ in range(4):
        loss = net(torch.randn(8, 3)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        losses.append(loss)  #!
    return losses
train()
""",
    ),
    Broken(
        "a script: state not detached 1",
        6,
        "state-not-detached",
        TORCH
        + """
lstm = nn.LSTM(3, 4)
head = nn.Linear(4, 1)
opt = torch.optim.Adam(list(lstm.parameters()) + list(head.parameters()))
hidden = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))
for _ in range(3):
    out, hidden = lstm(torch.randn(5, 2, 3), hidden)  #!
    loss = head(out).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "a script: in place 1",
        6,
        "in-place",
        TORCH
        + """
x = torch.randn(3, requires_grad=True)
y = torch.sigmoid(x)
y[0] = 0.0  #!
y.sum().backward()
""",
    ),
    Broken(
        "a script: in place 2",
        6,
        "in-place",
        TORCH
        + """
net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
a = net(torch.randn(3, 2)).mean()
b = net(torch.randn(3, 2)).pow(2).mean()
opt.zero_grad()
a.backward()
opt.step()  #!
b.backward()
""",
    ),
    Broken(
        "a script: second backward 1",
        6,
        "second-backward",
        TORCH
        + """
net = nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
emb = torch.tanh(net(torch.ones(1, 2)))  #!
for _ in range(2):
    loss = (emb ** 2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "a script: wrong backward 1",
        7,
        "wrong-backward",
        TORCH
        + """
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)
    @staticmethod
    def backward(ctx, g):  #!
        x, = ctx.saved_tensors
        return g * (g > 0).float()  #!
w = torch.randn(6, requires_grad=True)
loss = (MyReLU.apply(w) * torch.tensor([1., -1, 2, -2, 3, -3])).sum()
loss.backward()
""",
    ),
    Broken(
        "a script: reversed 1",
        7,
        "reversed",
        TORCH
        + """
net = nn.Linear(3, 1)
for _ in range(5):
    net.zero_grad()
    loss = (net(torch.ones(4, 3)) - 2).pow(2).mean()
    loss.backward()
    for p in net.parameters():
        p.data += 0.05 * p.grad  #!
""",
    ),
    Broken(
        "a script: data write 1",
        7,
        "data-write",
        TORCH
        + """
w = torch.randn(3, requires_grad=True)
y = w * w
w.data.zero_()  #!
y.sum().backward()
print(w.grad)
""",
    ),
    Broken(
        "a script: used twice 1",
        7,
        "used-twice",
        TORCH
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 4)
        self.fc2 = nn.Linear(4, 4)
        self.fc3 = nn.Linear(4, 4)
    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc2(x)  #!
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(torch.randn(3, 4)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "a script: never steps 1",
        5,
        "never-steps",
        TORCH
        + """
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    opt.zero_grad()
    loss = net(torch.ones(3, 4)).pow(2).mean()
    loss.backward()  #!
""",
    ),
    Broken(
        "a script: dropout active 1",
        5,
        "dropout-active",
        TORCH
        + """
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.95), nn.Linear(16, 1))  #!
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    opt.zero_grad()
    loss = net(torch.ones(3, 4)).pow(2).mean()  #!
    loss.backward()
    opt.step()
""",
    ),
]
