"""Programs that do not learn as meant, with the cause: data for the tests and the benchmark of `viz.diagnose`.

A line that ends in `#!` is one where a person would put the fix; the mark is taken off before the program runs. `kinds` are the
names of the cause that are right. Every third program is held back: no detector was tuned on it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Broken:
    """A broken program: its group among the seven, what is wrong, and where."""

    name: str
    group: int
    kinds: str
    marked: str

    @property
    def program(self) -> str:
        """The program as it runs."""
        return "\n".join(line.removesuffix("#!").rstrip() for line in self.marked.strip("\n").splitlines())

    @property
    def lines(self) -> set[int]:
        """The lines, from 1, where the cause is."""
        return {number for number, line in enumerate(self.marked.strip("\n").splitlines(), 1) if line.endswith("#!")}


DATA = """\
T.manual_seed(0)
x = T.randn(16, 4)
y = x.sum(1, keepdim=True)
"""

NET = """\
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = T.nn.Linear(4, 8)
        self.second = T.nn.Linear(8, 1)

    def forward(self, x):
        return self.second(T.tanh(self.first(x)))

"""

LOOP = """\
model = Net()
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(4):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
"""

NONE = [
    Broken(
        "detach between two layers",
        1,
        "detach",
        DATA
        + """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = T.nn.Linear(4, 8)
        self.second = T.nn.Linear(8, 1)

    def forward(self, x):
        hidden = T.relu(self.first(x)).detach()  #!
        return self.second(hidden)

"""
        + LOOP,
    ),
    Broken(
        "data of a hidden value",
        1,
        "data",
        DATA
        + """
w = T.randn(4, 8, requires_grad=True)
v = T.randn(8, 1, requires_grad=True)
for _ in range(3):
    hidden = T.tanh(x @ w).data  #!
    loss = ((hidden @ v - y) ** 2).mean()
    loss.backward()
    with T.no_grad():
        for p in (w, v):
            if p.grad is not None:
                p -= 0.1 * p.grad
                p.grad = None
""",
    ),
    Broken(
        "item makes the loss a number",
        1,
        "item",
        DATA
        + """
w = T.randn(4, 1, requires_grad=True)
error = ((x @ w - y) ** 2).mean()
loss = T.tensor(error.item(), requires_grad=True)  #!
loss.backward()
print(w.grad)
""",
    ),
    Broken(
        "numpy and back again",
        1,
        "numpy",
        DATA
        + """
import numpy as np
w = T.randn(4, 1, requires_grad=True)
b = T.zeros(1, requires_grad=True)
out = (x @ w).detach().numpy()  #!
clipped = T.from_numpy(np.clip(out, -2.0, 2.0))
loss = ((clipped + b - y) ** 2).mean()
loss.backward()
print(w.grad, b.grad)
""",
    ),
    Broken(
        "losses gathered by tensor()",
        1,
        "new-tensor",
        DATA
        + """
model = T.nn.Linear(4, 1)
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
losses = []
for row, target in zip(x, y):
    losses.append((model(row) - target) ** 2)
loss = T.tensor(losses).mean()  #!
optimizer.zero_grad()
loss.backward()
optimizer.step()
""",
    ),
    Broken(
        "the encoder runs under no_grad",
        1,
        "no-grad",
        DATA
        + """
encoder = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.ReLU())
head = T.nn.Linear(8, 1)
optimizer = T.optim.Adam(list(encoder.parameters()) + list(head.parameters()), lr=0.01)
for _ in range(3):
    with T.no_grad():  #!
        features = encoder(x)
    loss = ((head(features) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "a decorated forward pass",
        1,
        "no-grad",
        DATA
        + """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = T.nn.Linear(4, 4)
        self.head = T.nn.Linear(4, 1)

    @T.no_grad()  #!
    def features(self, x):
        return T.tanh(self.body(x))

    def forward(self, x):
        return self.head(self.features(x))

"""
        + LOOP,
    ),
    Broken(
        "inference mode left on for an embedding",
        1,
        "inference-mode",
        """
T.manual_seed(1)
table = T.randn(5, 3, requires_grad=True)
w = T.randn(3, 1, requires_grad=True)
words = T.tensor([0, 2, 4])
with T.inference_mode():  #!
    vectors = table[words] * 2
vectors = vectors.clone()
loss = (vectors @ w).pow(2).mean()
loss.backward()
print(table.grad, w.grad)
""",
    ),
    Broken(
        "accuracy as the loss",
        1,
        "integer-op",
        """
T.manual_seed(0)
x = T.randn(12, 4)
labels = T.arange(12) % 3
model = T.nn.Linear(4, 3)
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
guess = model(x).argmax(dim=1)  #!
loss = (guess != labels).float().mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
""",
    ),
    Broken(
        "weights that never asked for a gradient",
        1,
        "requires-grad-off",
        DATA
        + """
w = T.randn(4, 1)  #!
b = T.zeros(1)  #!
loss = ((x @ w + b - y) ** 2).mean()
loss.backward()
""",
    ),
    Broken(
        "an update that makes a new tensor",
        1,
        "rebound",
        DATA
        + """
w = T.randn(4, 1, requires_grad=True)
for _ in range(3):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    w = w - 0.1 * w.grad  #!
""",
    ),
    Broken(
        "layers in a plain list",
        1,
        "unregistered",
        DATA
        + """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [T.nn.Linear(4, 4) for _ in range(2)]  #!
        self.head = T.nn.Linear(4, 1)

    def forward(self, x):
        for layer in self.layers:
            x = T.tanh(layer(x))
        return self.head(x)

"""
        + LOOP,
    ),
    Broken(
        "a branch that is never taken",
        1,
        "unused",
        DATA
        + """
class Net(T.nn.Module):
    def __init__(self, deep=False):
        super().__init__()
        self.deep = deep
        self.inner = T.nn.Linear(4, 4)
        self.head = T.nn.Linear(4, 1)

    def forward(self, x):
        if self.deep:  #!
            x = T.tanh(self.inner(x))  #!
        return self.head(x)

"""
        + LOOP,
    ),
    Broken(
        "the gradient of a scaled weight",
        1,
        "non-leaf",
        DATA
        + """
w = T.randn(4, 1, requires_grad=True) * 0.1  #!
loss = ((x @ w - y) ** 2).mean()
loss.backward()
print(w.grad)
""",
    ),
    Broken(
        "a policy gradient through sampled numbers",
        1,
        "item",
        """
T.manual_seed(0)
policy = T.nn.Linear(3, 2)
optimizer = T.optim.Adam(policy.parameters(), lr=0.01)
states = T.randn(5, 3)
rewards = [1.0, 0.0, 2.0, 1.0, -1.0]
objective = 0.0
for state, reward in zip(states, rewards):
    log_prob = T.log_softmax(policy(state), dim=0)
    objective = objective - log_prob[0].item() * reward  #!
loss = T.tensor(objective)
optimizer.zero_grad()
loss.backward()
optimizer.step()
""",
    ),
    Broken(
        "everything is frozen, the new head too",
        1,
        "requires-grad-off",
        DATA
        + """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = T.nn.Linear(4, 8)
        self.head = T.nn.Linear(8, 1)

    def forward(self, x):
        return self.head(T.relu(self.body(x)))

model = Net()
model.head = T.nn.Linear(8, 1)
for p in model.parameters():
    p.requires_grad_(False)  #!
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
""",
    ),
]

ZERO = [
    Broken(
        "a bias that kills every relu",
        2,
        "dead-relu",
        DATA
        + """
first = T.nn.Linear(4, 8)
second = T.nn.Linear(8, 1)
T.nn.init.constant_(first.bias, -20.0)  #!
optimizer = T.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
for _ in range(3):
    hidden = T.relu(first(x))  #!
    loss = ((second(hidden) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "a sigmoid of pixels from 0 to 255",
        2,
        "saturated",
        """
T.manual_seed(0)
x = T.rand(8, 6) * 255
y = (x.mean(1, keepdim=True) > 127).float()
w = T.ones(6, 4, requires_grad=True)
v = T.randn(4, 1, requires_grad=True)
for _ in range(3):
    hidden = T.sigmoid(x @ w)  #!
    loss = T.nn.functional.binary_cross_entropy_with_logits(hidden @ v, y)
    loss.backward()
    with T.no_grad():
        for p in (w, v):
            p -= 0.1 * p.grad
            p.grad = None
""",
    ),
    Broken(
        "softmax over one class",
        2,
        "saturated",
        DATA
        + """
model = T.nn.Linear(4, 1)
optimizer = T.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    p = T.softmax(model(x), dim=1)  #!
    loss = ((p - (y > 0).float()) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "a clamp that the outputs never reach",
        2,
        "clamp",
        DATA
        + """
model = T.nn.Linear(4, 1)
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    out = T.clamp(model(x) + 50.0, 0.0, 1.0)  #!
    loss = ((out - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "a mask of zeros",
        2,
        "times-zero",
        """
T.manual_seed(0)
tokens = T.randn(4, 6, 3)
lengths = T.tensor([0, 0, 0, 0])
target = T.randn(4, 6)
w = T.randn(3, requires_grad=True)
mask = (T.arange(6)[None, :] < lengths[:, None]).float()  #!
for _ in range(3):
    scores = tokens @ w
    loss = ((scores - target) ** 2 * mask).sum()  #!
    loss.backward()
    with T.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
""",
    ),
    Broken(
        "all weights begin at the same number",
        2,
        "equal-units",
        DATA
        + """
model = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.Tanh(), T.nn.Linear(8, 1))
for p in model.parameters():
    T.nn.init.constant_(p, 0.1)  #!
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "softmax before cross_entropy",
        2,
        "double-softmax",
        """
T.manual_seed(0)
x = T.randn(12, 4)
labels = T.arange(12) % 3

class Classifier(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = T.nn.Linear(4, 3)

    def forward(self, x):
        return T.softmax(self.fc(x), dim=1)  #!

model = Classifier()
optimizer = T.optim.SGD(model.parameters(), lr=0.5)
for _ in range(3):
    loss = T.nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "round in the middle",
        2,
        "flat",
        DATA
        + """
w = T.randn(4, 1, requires_grad=True)
for _ in range(3):
    steps = T.round(x @ w)  #!
    loss = ((steps - y) ** 2).mean()
    loss.backward()
    with T.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
""",
    ),
    Broken(
        "a hard decision by sign",
        2,
        "flat",
        """
T.manual_seed(0)
points = T.randn(20, 2)
side = T.sign(points[:, :1] - points[:, 1:])

def decide(w, points):
    return T.sign(points @ w)  #!

w = T.randn(2, 1, requires_grad=True)
optimizer = T.optim.SGD([w], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = (decide(w, points) - side).abs().mean()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "a loss weight of zero",
        2,
        "times-zero",
        DATA
        + """
model = T.nn.Linear(4, 1)
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
weight = 0
for epoch in range(3):
    error = ((model(x) - y) ** 2).mean()
    loss = weight * error  #!
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
]

NAN = [
    Broken(
        "the root of zero",
        3,
        "sqrt-at-zero",
        DATA
        + """
w = T.zeros(4, 1, requires_grad=True)
distance = T.sqrt(((x @ w) ** 2).sum())  #!
loss = distance + (w - 1).pow(2).sum()
loss.backward()
print(w.grad)
""",
    ),
    Broken(
        "the log of zero",
        3,
        "log-of-zero",
        """
T.manual_seed(0)
logits = T.tensor([[200.0, 0.0], [0.0, 300.0]], requires_grad=True)
target = T.tensor([[0.0, 1.0], [1.0, 0.0]])
p = T.softmax(logits, dim=1)
loss = -(target * T.log(p)).sum()  #!
loss.backward()
print(logits.grad)
""",
    ),
    Broken(
        "a mean over nothing",
        3,
        "zero-by-zero",
        """
T.manual_seed(0)
x = T.randn(3, 5, 2)
keep = T.tensor([[1.0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]])
w = T.randn(2, requires_grad=True)
optimizer = T.optim.SGD([w], lr=0.1)
for _ in range(2):
    scores = x @ w
    means = (scores * keep).sum(1) / keep.sum(1)  #!
    loss = means.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "a distance of a point to itself",
        3,
        "norm-at-zero sqrt-at-zero",
        """
T.manual_seed(0)
points = T.randn(4, 2)
shift = T.zeros(2, requires_grad=True)
optimizer = T.optim.SGD([shift], lr=0.1)
for _ in range(2):
    moved = points + shift
    gaps = (moved - points).pow(2).sum(1).sqrt()  #!
    loss = gaps.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "exp of large logits",
        3,
        "overflow",
        """
T.manual_seed(0)
x = T.randn(6, 4) * 100

def softmax(z):
    e = T.exp(z)  #!
    return e / e.sum(1, keepdim=True)

w = T.randn(4, 3, requires_grad=True)
p = softmax(x @ w)
loss = ((p - 1 / 3) ** 2).mean()
loss.backward()
print(w.grad)
""",
    ),
    Broken(
        "where hides the root of a negative number",
        3,
        "where sqrt-at-zero",
        """
T.manual_seed(0)
x = T.tensor([-1.0, 0.0, 4.0], requires_grad=True)
safe = T.where(x > 0, T.sqrt(x), T.zeros_like(x))  #!
loss = safe.sum()
loss.backward()
print(loss, x.grad)
""",
    ),
    Broken(
        "squares in half precision",
        3,
        "half-range overflow",
        """
T.manual_seed(0)
x = (T.arange(8) * 40.0).to(T.float16)
w = T.ones(8, requires_grad=True)
h = w.to(T.float16) * x
loss = (h ** 2).sum()  #!
loss.float().backward()
print(w.grad)
""",
    ),
    Broken(
        "a table with a hole in it",
        3,
        "not-finite-input",
        """
T.manual_seed(0)
rows = [[1.0, 2.0], [3.0, float("nan")], [5.0, 6.0]]
x = T.tensor(rows)  #!
y = T.tensor([[1.0], [2.0], [3.0]])
model = T.nn.Linear(2, 1)
optimizer = T.optim.SGD(model.parameters(), lr=0.01)
for _ in range(2):
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "divided by a deviation of zero",
        3,
        "zero-by-zero",
        """
T.manual_seed(0)
x = T.ones(8, 3)
x[:, 0] = T.randn(8)
model = T.nn.Linear(3, 1)

def scaled(x):
    centred = x - x.mean(0)
    return centred / centred.std(0)  #!

loss = (model(scaled(x)) ** 2).mean()
loss.backward()
print(model.weight.grad)
""",
    ),
    Broken(
        "a norm in the loss of a Siamese pair",
        3,
        "norm-at-zero",
        """
T.manual_seed(0)
encoder = T.nn.Linear(3, 2)
optimizer = T.optim.Adam(encoder.parameters(), lr=0.01)
a = T.randn(5, 3)
b = a.clone()
for _ in range(2):
    apart = encoder(a) - encoder(b)
    distance = T.linalg.norm(apart, dim=1)  #!
    loss = distance.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
]

SIZES = [
    Broken(
        "sixteen sigmoids deep",
        4,
        "vanishing",
        DATA
        + """
class Deep(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = T.nn.ModuleList([T.nn.Linear(4, 4) for _ in range(16)])
        self.head = T.nn.Linear(4, 1)

    def forward(self, x):
        for layer in self.layers:
            x = T.sigmoid(layer(x))  #!
        return self.head(x)

model = Deep()
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "a recurrence that doubles",
        4,
        "exploding",
        """
T.manual_seed(0)
w = (T.eye(4) * 3.0).requires_grad_()  #!
u = T.randn(4, 4, requires_grad=True)
xs = T.randn(24, 2, 4)
h = T.zeros(2, 4)
for x in xs:
    h = h @ w + x @ u  #!
loss = h.pow(2).mean()
loss.backward()
print(w.grad.norm(), u.grad.norm())
""",
    ),
    Broken(
        "weights a tenth of what they should be",
        4,
        "vanishing",
        DATA
        + """
weights = [(T.randn(4, 4) * 0.02).requires_grad_() for _ in range(10)]  #!
head = T.randn(4, 1, requires_grad=True)
optimizer = T.optim.SGD([*weights, head], lr=0.1)
for _ in range(3):
    h = x
    for w in weights:
        h = T.tanh(h @ w)  #!
    loss = ((h @ head - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "wide layers drawn from a unit normal",
        4,
        "exploding",
        """
T.manual_seed(0)
x = T.randn(8, 32)
layers = []
for _ in range(10):
    layer = T.nn.Linear(32, 32)
    T.nn.init.normal_(layer.weight, std=1.0)  #!
    layers += [layer, T.nn.ReLU()]
model = T.nn.Sequential(*layers, T.nn.Linear(32, 1))
optimizer = T.optim.SGD(model.parameters(), lr=1e-12)
for _ in range(2):
    loss = model(x).pow(2).mean()  #!
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "a recurrence that forgets",
        4,
        "vanishing",
        """
T.manual_seed(0)

class Cell(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = T.nn.Linear(3, 6)
        self.state = T.nn.Linear(6, 6)

    def forward(self, x, h):
        return T.sigmoid(self.inner(x) + self.state(h))  #!

cell = Cell()
start = T.nn.Parameter(T.zeros(2, 6))
optimizer = T.optim.SGD([*cell.parameters(), start], lr=0.1)
xs = T.randn(20, 2, 3)
for _ in range(2):
    h = start
    for x in xs:
        h = cell(x, h)
    loss = h.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "a residual branch that is never scaled",
        4,
        "exploding",
        """
T.manual_seed(0)

class Block(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = T.nn.Linear(8, 8)

    def forward(self, x):
        return x + 4.0 * self.fc(x)  #!

model = T.nn.Sequential(*[Block() for _ in range(12)])
x = T.randn(4, 8)
optimizer = T.optim.SGD(model.parameters(), lr=1e-9)
for _ in range(2):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
]

LEARNS_NOT = [
    Broken(
        "the optimizer has only the head",
        5,
        "not-in-optimizer",
        DATA
        + NET
        + """
model = Net()
optimizer = T.optim.Adam(model.second.parameters(), lr=0.01)  #!
for _ in range(3):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "the head is replaced after the optimizer was made",
        5,
        "stale-optimizer not-in-optimizer",
        DATA
        + NET
        + """
model = Net()
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
model.second = T.nn.Linear(8, 1)  #!
for _ in range(3):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "gradients that add up",
        5,
        "no-zero-grad",
        DATA
        + NET
        + """
model = Net()
optimizer = T.optim.SGD(model.parameters(), lr=0.01)
for _ in range(4):
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()  #!
    optimizer.step()
""",
    ),
    Broken(
        "zeroed between backward and step",
        5,
        "zero-before-step",
        DATA
        + NET
        + """
model = Net()
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.zero_grad()  #!
    optimizer.step()
""",
    ),
    Broken(
        "a step before each backward",
        5,
        "step-before-backward zero-before-step",
        DATA
        + NET
        + """
model = Net()
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    optimizer.step()  #!
    loss.backward()
""",
    ),
    Broken(
        "a rate of ten",
        5,
        "rate-too-large",
        DATA
        + """
model = T.nn.Linear(4, 1)
optimizer = T.optim.SGD(model.parameters(), lr=10.0)  #!
for _ in range(8):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "a rate of a billionth",
        5,
        "rate-too-small",
        DATA
        + NET
        + """
model = Net()
optimizer = T.optim.SGD(model.parameters(), lr=1e-9)  #!
for _ in range(5):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "evaluation mode is never left",
        5,
        "eval-mode",
        DATA
        + """
model = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.BatchNorm1d(8), T.nn.ReLU(), T.nn.Dropout(0.2), T.nn.Linear(8, 1))
optimizer = T.optim.SGD(model.parameters(), lr=0.05)

def validate():
    model.eval()  #!
    with T.no_grad():
        return ((model(x) - y) ** 2).mean().item()

for _ in range(3):
    print(validate())
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "a vector against a column",
        5,
        "broadcast-loss",
        """
T.manual_seed(0)
x = T.randn(16, 4)
y = x.sum(1)
model = T.nn.Linear(4, 1)
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    optimizer.zero_grad()
    loss = T.nn.functional.mse_loss(model(x), y)  #!
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "a difference of a column and a vector",
        5,
        "broadcast-loss",
        """
T.manual_seed(0)
x = T.randn(16, 4)
y = x.sum(1)
w = T.randn(4, 1, requires_grad=True)
for _ in range(3):
    guess = x @ w
    loss = ((guess - y) ** 2).mean()  #!
    loss.backward()
    with T.no_grad():
        w -= 0.05 * w.grad
    w.grad = None
""",
    ),
    Broken(
        "probabilities over the batch",
        5,
        "wrong-dim",
        """
T.manual_seed(0)
x = T.randn(12, 4)
labels = T.arange(12) % 3
model = T.nn.Linear(4, 3)
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    logs = T.log_softmax(model(x), dim=0)  #!
    loss = T.nn.functional.nll_loss(logs, labels)
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "the labels are not looked at",
        5,
        "unused-labels",
        """
T.manual_seed(0)
x = T.randn(16, 4)
labels = T.randn(16, 1)
model = T.nn.Linear(4, 1)
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    out = model(x)
    target = out.detach()
    loss = T.nn.functional.mse_loss(out, target)  #!
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "the generator's optimizer holds the discriminator",
        5,
        "not-in-optimizer",
        """
T.manual_seed(0)
G = T.nn.Linear(2, 4)
D = T.nn.Linear(4, 1)
opt_d = T.optim.Adam(D.parameters(), lr=1e-3)
opt_g = T.optim.Adam(D.parameters(), lr=1e-3)  #!
bce = T.nn.functional.binary_cross_entropy_with_logits
for _ in range(3):
    real, z = T.randn(8, 4), T.randn(8, 2)
    opt_d.zero_grad()
    loss_d = bce(D(real), T.ones(8, 1)) + bce(D(G(z).detach()), T.zeros(8, 1))
    loss_d.backward()
    opt_d.step()
    opt_g.zero_grad()
    loss_g = bce(D(G(z)), T.ones(8, 1))
    loss_g.backward()
    opt_g.step()
""",
    ),
]

MEMORY = [
    Broken(
        "the sum of losses keeps every graph",
        6,
        "graph-grows",
        DATA
        + NET
        + """
model = Net()
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
total = 0
for _ in range(5):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    total += loss  #!
print(total / 5)
""",
    ),
    Broken(
        "a list of losses",
        6,
        "graph-grows",
        DATA
        + NET
        + """
model = Net()
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
history = []
for _ in range(5):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    history.append(loss)  #!
""",
    ),
    Broken(
        "a state that is never detached",
        6,
        "state-not-detached",
        """
T.manual_seed(0)
cell = T.nn.RNNCell(3, 4)
head = T.nn.Linear(4, 1)
optimizer = T.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.05)
h = T.zeros(2, 4)
for _ in range(4):
    x, y = T.randn(2, 3), T.randn(2, 1)
    h = cell(x, h)  #!
    loss = ((head(h) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "retain_graph for a graph that nobody needs again",
        6,
        "retain-graph",
        DATA
        + NET
        + """
model = Net()
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward(retain_graph=True)  #!
    optimizer.step()
""",
    ),
    Broken(
        "the features are computed once, before the loop",
        6,
        "second-backward state-not-detached",
        DATA
        + """
encoder = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.Tanh())
head = T.nn.Linear(8, 1)
optimizer = T.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.05)
features = encoder(x)  #!
for _ in range(3):
    loss = ((head(features) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "backward twice",
        6,
        "second-backward",
        DATA
        + """
w = T.randn(4, 1, requires_grad=True)
loss = ((x @ w - y) ** 2).mean()
loss.backward()
print(w.grad.norm())
loss.backward()  #!
""",
    ),
    Broken(
        "a write on what exp keeps",
        6,
        "in-place",
        DATA
        + """
w = T.randn(4, 1, requires_grad=True)
for _ in range(2):
    grown = T.exp(x @ w * 0.1)
    grown += 1  #!
    loss = ((grown - y) ** 2).mean()
    loss.backward()
    with T.no_grad():
        w -= 0.01 * w.grad
        w.grad = None
""",
    ),
    Broken(
        "a running average of features",
        6,
        "graph-grows",
        DATA
        + """
model = T.nn.Linear(4, 1)
optimizer = T.optim.Adam(model.parameters(), lr=0.01)
average = T.zeros(1)
for _ in range(4):
    out = model(x)
    loss = ((out - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average = 0.9 * average + 0.1 * out.mean()  #!
""",
    ),
    Broken(
        "retain_graph in place of detach",
        6,
        "state-not-detached",
        """
T.manual_seed(0)
w = (T.eye(3) * 0.5).requires_grad_()
h = T.ones(1, 3)
for step in range(4):
    h = T.tanh(h @ w)  #!
    loss = (h - 0.3).pow(2).sum()
    loss.backward(retain_graph=True)
    w.grad = None
""",
    ),
]

SILENT = [
    Broken(
        "a write through data between forward and backward",
        7,
        "data-write",
        DATA
        + """
w = T.randn(4, 1, requires_grad=True)
hidden = T.exp(x @ w * 0.1)
hidden.data.mul_(2.0)  #!
loss = ((hidden - y) ** 2).mean()
loss.backward()
print(w.grad)
""",
    ),
    Broken(
        "a Function that forgets the factor",
        7,
        "wrong-backward",
        """
class Cube(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad):  #!
        (x,) = ctx.saved_tensors
        return grad * x ** 2  #!

T.manual_seed(0)
w = T.randn(5, requires_grad=True)
loss = Cube.apply(w).sum()
loss.backward()
print(w.grad)
""",
    ),
    Broken(
        "a Function whose gradient points the other way",
        7,
        "wrong-backward reversed",
        """
class Square(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):  #!
        (x,) = ctx.saved_tensors
        return -2 * x * grad  #!

T.manual_seed(0)
w = T.randn(5, requires_grad=True)
for _ in range(3):
    loss = Square.apply(w).sum()
    loss.backward()
    with T.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
""",
    ),
    Broken(
        "the step goes uphill",
        7,
        "reversed",
        DATA
        + """
w = T.zeros(4, 1, requires_grad=True)
for _ in range(4):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    with T.no_grad():
        w += 0.05 * w.grad  #!
    w.grad = None
""",
    ),
    Broken(
        "one layer twice, the other never",
        7,
        "used-twice",
        DATA
        + """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = T.nn.Linear(4, 8)
        self.one = T.nn.Linear(8, 8)
        self.two = T.nn.Linear(8, 8)
        self.head = T.nn.Linear(8, 1)

    def forward(self, x):
        x = T.tanh(self.enter(x))
        x = T.tanh(self.one(x))
        x = T.tanh(self.one(x))  #!
        return self.head(x)

"""
        + LOOP,
    ),
    Broken(
        "a wrong gradient for the second input",
        7,
        "wrong-backward",
        """
class Scale(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x, k)
        return x * k

    @staticmethod
    def backward(ctx, grad):  #!
        x, k = ctx.saved_tensors
        return grad * k, None  #!

T.manual_seed(0)
x = T.randn(6, requires_grad=True)
k = T.tensor(2.0, requires_grad=True)
loss = Scale.apply(x, k).pow(2).sum()
loss.backward()
print(x.grad, k.grad)
""",
    ),
    Broken(
        "weights changed through data before they are used backward",
        7,
        "data-write",
        DATA
        + """
w = T.randn(4, 4, requires_grad=True)
v = T.randn(4, 1, requires_grad=True)
for _ in range(2):
    hidden = T.tanh(x @ w)
    loss = ((hidden @ v - y) ** 2).mean()
    v.data.clamp_(-0.1, 0.1)  #!
    loss.backward()
    with T.no_grad():
        for p in (w, v):
            p -= 0.1 * p.grad
            p.grad = None
""",
    ),
]

BROKEN = [*NONE, *ZERO, *NAN, *SIZES, *LEARNS_NOT, *MEMORY, *SILENT]
HELD = BROKEN[2::3]
