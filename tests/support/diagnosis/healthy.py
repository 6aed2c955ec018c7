"""Programs that are right, in styles that look like a mistake: none of them may get a finding that is called certain.

Every third program is held back, as in `broken`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Healthy:
    """A program that does what its author means."""

    name: str
    program: str


DATA = """\
T.manual_seed(0)
x = T.randn(16, 4)
y = x.sum(1, keepdim=True)
mse = T.nn.functional.mse_loss
"""

NET = """\
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = T.nn.Linear(4, 8)
        self.head = T.nn.Linear(8, 1)

    def forward(self, x):
        return self.head(T.relu(self.body(x)))

model = Net()
"""

STEP = """\
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

HEALTHY = [
    Healthy(
        "a plain loop",
        DATA
        + NET
        + """
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(4):
    loss = mse(model(x), y)
"""
        + STEP,
    ),
    Healthy(
        "an update by hand",
        DATA
        + """
w = T.randn(4, 1, requires_grad=True)
b = T.zeros(1, requires_grad=True)
for _ in range(4):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    with T.no_grad():
        for p in (w, b):
            p -= 0.1 * p.grad
            p.grad.zero_()
""",
    ),
    Healthy(
        "an update through data",
        DATA
        + """
w = T.randn(4, 1, requires_grad=True)
for _ in range(4):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    w.data -= 0.1 * w.grad.data
    w.grad = None
""",
    ),
    Healthy(
        "the body is frozen on purpose",
        DATA
        + NET
        + """
for p in model.body.parameters():
    p.requires_grad_(False)
optimizer = T.optim.SGD(model.head.parameters(), lr=0.05)
for _ in range(4):
    loss = mse(model(x), y)
"""
        + STEP,
    ),
    Healthy(
        "a frozen body, all parameters given to the optimizer",
        DATA
        + NET
        + """
model.body.requires_grad_(False)
optimizer = T.optim.Adam(model.parameters(), lr=0.01)
for _ in range(4):
    loss = mse(model(x), y)
"""
        + STEP,
    ),
    Healthy(
        "only what requires grad is given to the optimizer",
        DATA
        + NET
        + """
for name, p in model.named_parameters():
    if name.startswith("body"):
        p.requires_grad = False
optimizer = T.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05, momentum=0.9)
for _ in range(4):
    loss = mse(model(x), y)
"""
        + STEP,
    ),
    Healthy(
        "features of a fixed network under no_grad",
        DATA
        + """
backbone = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.Tanh())
head = T.nn.Linear(8, 1)
backbone.eval()
optimizer = T.optim.SGD(head.parameters(), lr=0.05)
for _ in range(4):
    with T.no_grad():
        features = backbone(x)
    loss = mse(head(features), y)
"""
        + STEP,
    ),
    Healthy(
        "a target network",
        """
import copy
T.manual_seed(0)
online = T.nn.Sequential(T.nn.Linear(3, 8), T.nn.ReLU(), T.nn.Linear(8, 2))
target = copy.deepcopy(online)
optimizer = T.optim.Adam(online.parameters(), lr=1e-2)
for step in range(4):
    state, after = T.randn(8, 3), T.randn(8, 3)
    action = T.arange(8) % 2
    reward = T.randn(8)
    q = online(state).gather(1, action[:, None]).squeeze(1)
    with T.no_grad():
        goal = reward + 0.9 * target(after).max(dim=1)[0]
    loss = T.nn.functional.smooth_l1_loss(q, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2 == 1:
        target.load_state_dict(online.state_dict())
""",
    ),
    Healthy(
        "a target network that follows slowly",
        """
import copy
T.manual_seed(0)
online = T.nn.Linear(3, 2)
target = copy.deepcopy(online)
optimizer = T.optim.SGD(online.parameters(), lr=0.05)
for step in range(4):
    s = T.randn(8, 3)
    goal = target(s).detach() * 0.9 + 0.1
    loss = ((online(s) - goal) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with T.no_grad():
        for a, b in zip(target.parameters(), online.parameters()):
            a.mul_(0.99).add_(b, alpha=0.01)
""",
    ),
    Healthy(
        "a GAN with detach",
        """
T.manual_seed(0)
G = T.nn.Sequential(T.nn.Linear(2, 8), T.nn.ReLU(), T.nn.Linear(8, 4))
D = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.LeakyReLU(0.2), T.nn.Linear(8, 1))
opt_g = T.optim.Adam(G.parameters(), lr=1e-3)
opt_d = T.optim.Adam(D.parameters(), lr=1e-3)
bce = T.nn.functional.binary_cross_entropy_with_logits
for _ in range(3):
    real, z = T.randn(8, 4), T.randn(8, 2)
    fake = G(z)
    opt_d.zero_grad()
    loss_d = bce(D(real), T.ones(8, 1)) + bce(D(fake.detach()), T.zeros(8, 1))
    loss_d.backward()
    opt_d.step()
    opt_g.zero_grad()
    loss_g = bce(D(fake), T.ones(8, 1))
    loss_g.backward()
    opt_g.step()
""",
    ),
    Healthy(
        "a GAN whose generator comes first",
        """
T.manual_seed(0)
G = T.nn.Linear(2, 4)
D = T.nn.Linear(4, 1)
opt_g = T.optim.SGD(G.parameters(), lr=1e-2)
opt_d = T.optim.SGD(D.parameters(), lr=1e-2)
soft = T.nn.functional.softplus
for _ in range(4):
    z, real = T.randn(8, 2), T.randn(8, 4)
    opt_g.zero_grad()
    loss_g = soft(-D(G(z))).mean()
    loss_g.backward()
    opt_g.step()
    opt_d.zero_grad()
    with T.no_grad():
        fake = G(z)
    loss_d = (soft(D(fake)) + soft(-D(real))).mean()
    loss_d.backward()
    opt_d.step()
""",
    ),
    Healthy(
        "gradients of four parts of a batch added up",
        DATA
        + NET
        + """
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    optimizer.zero_grad()
    for a, b in zip(x.split(4), y.split(4)):
        loss = mse(model(a), b) / 4
        loss.backward()
    optimizer.step()
""",
    ),
    Healthy(
        "a step every second batch",
        DATA
        + NET
        + """
optimizer = T.optim.AdamW(model.parameters(), lr=0.01)
for step in range(6):
    loss = mse(model(x), y) / 2
    loss.backward()
    if (step + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
    ),
    Healthy(
        "zeroed at the end of each step",
        DATA
        + NET
        + """
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(4):
    mse(model(x), y).backward()
    optimizer.step()
    model.zero_grad()
""",
    ),
    Healthy(
        "a recurrence cut off on purpose",
        """
T.manual_seed(0)
cell = T.nn.RNNCell(3, 4)
head = T.nn.Linear(4, 1)
optimizer = T.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.05)
stream, goals = T.randn(12, 2, 3), T.randn(12, 2, 1)
h = T.zeros(2, 4)
for start in range(0, 12, 4):
    h = h.detach()
    loss = 0
    for t in range(start, start + 4):
        h = cell(stream[t], h)
        loss = loss + ((head(h) - goals[t]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Healthy(
        "an LSTM whose state is detached in place",
        """
T.manual_seed(0)
lstm = T.nn.LSTM(3, 5)
head = T.nn.Linear(5, 1)
optimizer = T.optim.Adam([*lstm.parameters(), *head.parameters()], lr=0.01)
state = None
for _ in range(3):
    xs, ys = T.randn(4, 2, 3), T.randn(4, 2, 1)
    out, state = lstm(xs, state)
    state = tuple(each.detach() for each in state)
    loss = ((head(out) - ys) ** 2).mean()
"""
        + STEP,
    ),
    Healthy(
        "a masked loss",
        """
T.manual_seed(0)
tokens, target = T.randn(4, 6, 3), T.randn(4, 6)
lengths = T.tensor([6, 2, 3, 1])
w = T.nn.Parameter(T.randn(3))
optimizer = T.optim.SGD([w], lr=0.1)
mask = (T.arange(6)[None, :] < lengths[:, None]).float()
for _ in range(3):
    loss = ((tokens @ w - target) ** 2 * mask).sum() / mask.sum()
"""
        + STEP,
    ),
    Healthy(
        "attention with a mask of minus infinity",
        """
T.manual_seed(0)
q = T.nn.Linear(4, 4)
k = T.nn.Linear(4, 4)
v = T.nn.Linear(4, 4)
optimizer = T.optim.Adam([*q.parameters(), *k.parameters(), *v.parameters()], lr=0.01)
x = T.randn(2, 5, 4)
future = T.triu(T.ones(5, 5), diagonal=1) > 0
for _ in range(3):
    scores = q(x) @ k(x).transpose(1, 2) / 2.0
    scores = scores.masked_fill(future, float("-inf"))
    out = T.softmax(scores, dim=-1) @ v(x)
    loss = ((out - x) ** 2).mean()
"""
        + STEP,
    ),
    Healthy(
        "dropout, and evaluation in between",
        DATA
        + """
model = T.nn.Sequential(T.nn.Linear(4, 16), T.nn.ReLU(), T.nn.Dropout(0.5), T.nn.Linear(16, 1))
optimizer = T.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    model.train()
    loss = mse(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with T.no_grad():
        print(mse(model(x), y).item())
""",
    ),
    Healthy(
        "a rate that warms up",
        DATA
        + NET
        + """
optimizer = T.optim.AdamW(model.parameters(), lr=1e-3)
schedule = T.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 1000))
for _ in range(4):
    optimizer.zero_grad()
    loss = mse(model(x), y)
    loss.backward()
    optimizer.step()
    schedule.step()
""",
    ),
    Healthy(
        "a cosine schedule",
        DATA
        + NET
        + """
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
schedule = T.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)
history = []
for _ in range(5):
    optimizer.zero_grad()
    loss = mse(model(x), y)
    loss.backward()
    optimizer.step()
    schedule.step()
    history.append(loss.item())
""",
    ),
    Healthy(
        "an exponential average of the weights",
        DATA
        + NET
        + """
import copy
average = copy.deepcopy(model)
for p in average.parameters():
    p.requires_grad_(False)
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(4):
    loss = mse(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for a, p in zip(average.parameters(), model.parameters()):
        a.data.mul_(0.9).add_(p.data, alpha=0.1)
""",
    ),
    Healthy(
        "tied weights of an autoencoder",
        DATA
        + """
class Tied(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = T.nn.Linear(4, 2)
        self.bias = T.nn.Parameter(T.zeros(4))

    def forward(self, x):
        code = T.tanh(self.encoder(x))
        return code @ self.encoder.weight + self.bias

model = Tied()
optimizer = T.optim.Adam(model.parameters(), lr=0.01)
for _ in range(4):
    loss = mse(model(x), x)
"""
        + STEP,
    ),
    Healthy(
        "an embedding that is also the output layer",
        """
T.manual_seed(0)
table = T.nn.Embedding(7, 5)
body = T.nn.Linear(5, 5)
optimizer = T.optim.Adam([*table.parameters(), *body.parameters()], lr=0.01)
words = T.tensor([0, 1, 2, 3])
after = T.tensor([1, 2, 3, 4])
for _ in range(4):
    logits = T.tanh(body(table(words))) @ table.weight.T
    loss = T.nn.functional.cross_entropy(logits, after)
"""
        + STEP,
    ),
    Healthy(
        "gradients clipped by norm",
        DATA
        + NET
        + """
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    loss = mse(model(x), y)
    loss.backward()
    T.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
""",
    ),
    Healthy(
        "gradients clipped by hand",
        DATA
        + """
w = T.randn(4, 1, requires_grad=True)
for _ in range(4):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    with T.no_grad():
        w.grad.clamp_(-0.5, 0.5)
        w.add_(w.grad, alpha=-0.1)
        w.grad.zero_()
""",
    ),
    Healthy(
        "a straight-through estimator by detach",
        DATA
        + """
w = T.randn(4, 1, requires_grad=True)
optimizer = T.optim.SGD([w], lr=0.05)
for _ in range(4):
    out = x @ w
    hard = out + (out.round() - out).detach()
    loss = ((hard - y) ** 2).mean()
"""
        + STEP,
    ),
    Healthy(
        "a straight-through Function",
        DATA
        + """
class Round(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad

w = T.randn(4, 1, requires_grad=True)
optimizer = T.optim.SGD([w], lr=0.05)
for _ in range(4):
    loss = ((Round.apply(x @ w) - y) ** 2).mean()
"""
        + STEP,
    ),
    Healthy(
        "a gradient turned round for another domain",
        """
T.manual_seed(0)

class Turn(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -0.1 * grad

features = T.nn.Linear(4, 6)
labels = T.nn.Linear(6, 2)
domain = T.nn.Linear(6, 2)
optimizer = T.optim.SGD([*features.parameters(), *labels.parameters(), *domain.parameters()], lr=0.05)
x, y, d = T.randn(12, 4), T.arange(12) % 2, T.arange(12) // 6
ce = T.nn.functional.cross_entropy
for _ in range(3):
    h = T.tanh(features(x))
    loss = ce(labels(h), y) + ce(domain(Turn.apply(h)), d)
"""
        + STEP,
    ),
    Healthy(
        "a right Function of two inputs",
        """
class Scale(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x, k)
        return x * k

    @staticmethod
    def backward(ctx, grad):
        x, k = ctx.saved_tensors
        return grad * k, (grad * x).sum()

T.manual_seed(0)
x = T.randn(6)
k = T.tensor(2.0, requires_grad=True)
for _ in range(3):
    loss = (Scale.apply(x, k) - 3 * x).pow(2).mean()
    loss.backward()
    with T.no_grad():
        k -= 0.1 * k.grad
    k.grad = None
""",
    ),
    Healthy(
        "REINFORCE",
        """
T.manual_seed(0)
policy = T.nn.Sequential(T.nn.Linear(3, 8), T.nn.Tanh(), T.nn.Linear(8, 2))
optimizer = T.optim.Adam(policy.parameters(), lr=0.01)
for episode in range(3):
    log_probs, rewards = [], []
    state = T.randn(3)
    for _ in range(5):
        logs = T.log_softmax(policy(state), dim=0)
        action = int(T.multinomial(T.exp(logs).detach(), 1).item())
        log_probs.append(logs[action])
        rewards.append(1.0 if action == 0 else -0.5)
        state = T.randn(3)
    returns = T.tensor(rewards)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    loss = -(T.stack(log_probs) * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Healthy(
        "an actor and a critic",
        """
T.manual_seed(0)
actor, critic = T.nn.Linear(3, 2), T.nn.Linear(3, 1)
optimizer = T.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
for _ in range(3):
    s, r = T.randn(6, 3), T.randn(6)
    logs = T.log_softmax(actor(s), dim=1)
    value = critic(s).squeeze(1)
    advantage = (r - value).detach()
    action = logs.argmax(dim=1)
    chosen = logs.gather(1, action[:, None]).squeeze(1)
    loss = -(chosen * advantage).mean() + 0.5 * ((r - value) ** 2).mean()
"""
        + STEP,
    ),
    Healthy(
        "two losses on one graph",
        DATA
        + NET
        + """
optimizer = T.optim.SGD(model.parameters(), lr=0.02)
for _ in range(3):
    out = model(x)
    first, second = ((out - y) ** 2).mean(), out.abs().mean()
    optimizer.zero_grad()
    first.backward(retain_graph=True)
    second.backward()
    optimizer.step()
""",
    ),
    Healthy(
        "the sum of losses as a number",
        DATA
        + NET
        + """
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
total = 0.0
for _ in range(4):
    loss = mse(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
print(total / 4)
""",
    ),
    Healthy(
        "the sum of losses, detached",
        DATA
        + NET
        + """
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
total, history = T.zeros(()), []
for _ in range(4):
    loss = mse(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.detach()
    history.append(loss.detach())
""",
    ),
    Healthy(
        "distances between all pairs",
        """
T.manual_seed(0)
points = T.nn.Parameter(T.randn(6))
goal = (T.arange(6)[:, None] - T.arange(6)).abs().float()
optimizer = T.optim.SGD([points], lr=0.05)
for _ in range(4):
    apart = (points[:, None] - points).abs()
    loss = ((apart - goal) ** 2).mean()
"""
        + STEP,
    ),
    Healthy(
        "knowledge of a teacher",
        """
T.manual_seed(0)
teacher, student = T.nn.Linear(4, 3), T.nn.Linear(4, 3)
teacher.eval()
optimizer = T.optim.SGD(student.parameters(), lr=0.1)
for _ in range(3):
    x = T.randn(8, 4)
    with T.no_grad():
        soft = T.softmax(teacher(x) / 2, dim=1)
    loss = T.nn.functional.kl_div(T.log_softmax(student(x) / 2, dim=1), soft, reduction="batchmean")
"""
        + STEP,
    ),
    Healthy(
        "cross_entropy against probabilities",
        """
T.manual_seed(0)
model = T.nn.Linear(4, 3)
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
x, soft = T.randn(8, 4), T.softmax(T.randn(8, 3), dim=1)
for _ in range(3):
    loss = T.nn.functional.cross_entropy(model(x), soft)
"""
        + STEP,
    ),
    Healthy(
        "log_softmax and nll_loss",
        """
T.manual_seed(0)
model = T.nn.Linear(4, 3)
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
x, labels = T.randn(9, 4), T.arange(9) % 3
hits = 0
for _ in range(3):
    logs = T.log_softmax(model(x), dim=-1)
    loss = T.nn.functional.nll_loss(logs, labels)
    hits += (logs.argmax(1) == labels).sum().item()
"""
        + STEP,
    ),
    Healthy(
        "a penalty on the gradient",
        """
T.manual_seed(0)
critic = T.nn.Sequential(T.nn.Linear(3, 8), T.nn.Tanh(), T.nn.Linear(8, 1))
optimizer = T.optim.Adam(critic.parameters(), lr=1e-3)
for _ in range(3):
    real, fake = T.randn(6, 3), T.randn(6, 3)
    mix = (0.5 * real + 0.5 * fake).requires_grad_(True)
    (slope,) = T.autograd.grad(critic(mix).sum(), mix, create_graph=True)
    penalty = ((slope.pow(2).sum(1) + 1e-12).sqrt() - 1).pow(2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
"""
        + STEP,
    ),
    Healthy(
        "one inner step of meta-learning",
        """
T.manual_seed(0)
w = T.randn(3, 1, requires_grad=True)
optimizer = T.optim.SGD([w], lr=0.05)
for _ in range(3):
    a, b = T.randn(5, 3), T.randn(5, 1)
    inner = ((a @ w - b) ** 2).mean()
    (slope,) = T.autograd.grad(inner, w, create_graph=True)
    fast = w - 0.1 * slope
    loss = ((a @ fast - b) ** 2).mean()
"""
        + STEP,
    ),
    Healthy(
        "a picture is optimised, the network is not",
        """
T.manual_seed(0)
network = T.nn.Sequential(T.nn.Linear(6, 8), T.nn.ReLU(), T.nn.Linear(8, 2))
network.requires_grad_(False)
picture = T.randn(1, 6, requires_grad=True)
optimizer = T.optim.Adam([picture], lr=0.1)
for _ in range(4):
    loss = -network(picture)[0, 1]
"""
        + STEP,
    ),
    Healthy(
        "an adversarial example",
        """
T.manual_seed(0)
model = T.nn.Linear(4, 3)
x, label = T.randn(2, 4), T.tensor([0, 2])
x.requires_grad_(True)
loss = T.nn.functional.cross_entropy(model(x), label)
loss.backward()
attacked = (x + 0.1 * x.grad.sign()).detach()
print(model(attacked).argmax(1))
""",
    ),
    Healthy(
        "the first layer is zero at first, as in LoRA",
        DATA
        + """
base = T.nn.Linear(4, 4)
base.requires_grad_(False)
down = T.nn.Parameter(T.randn(4, 2) * 0.1)
up = T.nn.Parameter(T.zeros(2, 4))
optimizer = T.optim.Adam([down, up], lr=0.01)
for _ in range(4):
    out = base(x) + x @ down @ up
    loss = mse(out, x.flip(1))
"""
        + STEP,
    ),
    Healthy(
        "biases of zero and a last layer of zeros",
        DATA
        + NET
        + """
T.nn.init.zeros_(model.body.bias)
T.nn.init.zeros_(model.head.weight)
T.nn.init.zeros_(model.head.bias)
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    loss = mse(model(x), y)
"""
        + STEP,
    ),
    Healthy(
        "a safe root",
        """
T.manual_seed(0)
points = T.nn.Parameter(T.zeros(4, 2))
optimizer = T.optim.SGD([points], lr=0.1)
for _ in range(3):
    d = (points.pow(2).sum(1) + 1e-8).sqrt()
    loss = (d - 1).pow(2).mean() + (points - 1).pow(2).mean()
"""
        + STEP,
    ),
    Healthy(
        "where that is safe on both sides",
        """
T.manual_seed(0)
x = T.tensor([-1.0, 0.0, 4.0], requires_grad=True)
inside = T.where(x > 0, x, T.ones_like(x))
loss = T.where(x > 0, T.sqrt(inside), T.zeros_like(x)).sum()
loss.backward()
print(x.grad)
""",
    ),
    Healthy(
        "relu with a few units asleep",
        DATA
        + """
first, second = T.nn.Linear(4, 8), T.nn.Linear(8, 1)
with T.no_grad():
    first.bias[0] = -20.0
optimizer = T.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)
for _ in range(4):
    loss = mse(second(T.relu(first(x))), y)
"""
        + STEP,
    ),
    Healthy(
        "clamp at the edges",
        DATA
        + """
w = T.nn.Parameter(T.randn(4, 1))
optimizer = T.optim.SGD([w], lr=0.05)
for _ in range(4):
    loss = mse((x @ w).clamp(-3, 3), y.clamp(-3, 3))
"""
        + STEP,
    ),
    Healthy(
        "one layer for every step of the sequence",
        """
T.manual_seed(0)

class Shared(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = T.nn.Linear(6, 4)
        self.head = T.nn.Linear(4, 1)

    def forward(self, xs):
        h = T.zeros(xs.shape[1], 4)
        for x in xs:
            h = T.tanh(self.cell(T.cat([x, h], dim=1)))
        return self.head(h)

model = Shared()
optimizer = T.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    loss = (model(T.randn(6, 3, 2)) - 1).pow(2).mean()
"""
        + STEP,
    ),
    Healthy(
        "a Siamese pair",
        """
T.manual_seed(0)
encoder = T.nn.Sequential(T.nn.Linear(4, 6), T.nn.Tanh(), T.nn.Linear(6, 3))
optimizer = T.optim.SGD(encoder.parameters(), lr=0.05)
for _ in range(3):
    a, b, same = T.randn(8, 4), T.randn(8, 4), (T.arange(8) % 2).float()
    d2 = (encoder(a) - encoder(b)).pow(2).sum(1)
    loss = (same * d2 + (1 - same) * T.relu(1 - (d2 + 1e-9).sqrt()).pow(2)).mean()
"""
        + STEP,
    ),
    Healthy(
        "a target that is not learnt from",
        """
T.manual_seed(0)
net = T.nn.Linear(4, 3)
ahead = T.nn.Linear(3, 3)
optimizer = T.optim.SGD([*net.parameters(), *ahead.parameters()], lr=0.05)
for _ in range(3):
    one, two = T.randn(8, 4), T.randn(8, 4)
    p1, p2 = ahead(net(one)), ahead(net(two))
    z1, z2 = net(one).detach(), net(two).detach()
    cos = T.nn.functional.cosine_similarity
    loss = -(cos(p1, z2, dim=1).mean() + cos(p2, z1, dim=1).mean()) / 2
"""
        + STEP,
    ),
    Healthy(
        "a variational autoencoder",
        """
T.manual_seed(0)
encode, decode = T.nn.Linear(6, 4), T.nn.Linear(2, 6)
optimizer = T.optim.Adam([*encode.parameters(), *decode.parameters()], lr=0.01)
x = T.rand(8, 6)
for _ in range(3):
    mean, log_var = encode(x).chunk(2, dim=1)
    z = mean + (0.5 * log_var).exp() * T.randn_like(mean)
    out = T.sigmoid(decode(z))
    kl = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).sum()
    loss = T.nn.functional.binary_cross_entropy(out, x, reduction="sum") + kl
"""
        + STEP,
    ),
    Healthy(
        "batch norm kept still while fine-tuning",
        DATA
        + """
body = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.BatchNorm1d(8), T.nn.ReLU())
head = T.nn.Linear(8, 1)
optimizer = T.optim.SGD([*body.parameters(), *head.parameters()], lr=0.02)
for _ in range(3):
    body.train()
    body[1].eval()
    loss = mse(head(body(x)), y)
"""
        + STEP,
    ),
    Healthy(
        "a head that is used only to look",
        DATA
        + """
class Two(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.main = T.nn.Linear(4, 1)
        self.extra = T.nn.Linear(4, 1)

    def forward(self, x, look=False):
        return self.extra(x) if look else self.main(x)

model = Two()
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    loss = mse(model(x), y)
"""
        + STEP,
    ),
    Healthy(
        "an optimizer for a part, another for the rest",
        DATA
        + NET
        + """
slow = T.optim.SGD(model.body.parameters(), lr=0.01)
fast = T.optim.Adam(model.head.parameters(), lr=0.05)
for _ in range(4):
    loss = mse(model(x), y)
    for each in (slow, fast):
        each.zero_grad()
    loss.backward()
    for each in (slow, fast):
        each.step()
""",
    ),
    Healthy(
        "an ascent on purpose, by the optimizer",
        """
T.manual_seed(0)
price = T.tensor(1.0, requires_grad=True)
optimizer = T.optim.SGD([price], lr=0.05, maximize=True)
for _ in range(5):
    profit = price * (10 - price)
    optimizer.zero_grad()
    profit.backward()
    optimizer.step()
""",
    ),
    Healthy(
        "an ascent on purpose, by a minus",
        """
T.manual_seed(0)
theta = T.zeros(3, requires_grad=True)
goods = T.tensor([0.2, 1.0, 0.5])
for _ in range(4):
    value = (T.softmax(theta, dim=0) * goods).sum()
    (-value).backward()
    with T.no_grad():
        theta -= 0.5 * theta.grad
        theta.grad = None
""",
    ),
    Healthy(
        "a mean over what is there",
        """
T.manual_seed(0)
x = T.randn(3, 5, 2)
keep = T.tensor([[1.0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]])
w = T.nn.Parameter(T.randn(2))
optimizer = T.optim.SGD([w], lr=0.1)
for _ in range(3):
    means = ((x @ w) * keep).sum(1) / keep.sum(1).clamp(min=1)
    loss = (means - 1).pow(2).mean()
"""
        + STEP,
    ),
    Healthy(
        "labels as one-hot vectors",
        """
T.manual_seed(0)
x, labels = T.randn(9, 4), T.arange(9) % 3
model = T.nn.Linear(4, 3)
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
hot = T.nn.functional.one_hot(labels, 3).float()
for _ in range(3):
    p = T.softmax(model(x), dim=1)
    loss = -(hot * T.log(p + 1e-9)).sum(1).mean()
"""
        + STEP,
    ),
    Healthy(
        "a loop until the loss is small",
        DATA
        + """
w = T.zeros(4, 1, requires_grad=True)
optimizer = T.optim.SGD([w], lr=0.3)
best = float("inf")
for _ in range(30):
    loss = mse(x @ w, y)
    if loss.item() < 0.05:
        break
    best = min(best, loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Healthy(
        "mini-batches from a loader",
        DATA
        + NET
        + """
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(x, y), batch_size=4, shuffle=True)
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    running = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = mse(model(inputs), targets)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(inputs)
""",
    ),
    Healthy(
        "inputs scaled in place before they are used",
        DATA
        + NET
        + """
x -= x.mean(0)
x /= x.std(0) + 1e-8
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    h = model.body(x).relu_()
    loss = mse(model.head(h), y)
"""
        + STEP,
    ),
    Healthy(
        "weights drawn through data",
        DATA
        + NET
        + """
for p in model.parameters():
    p.data.normal_(0.0, 0.3)
model.body.bias.data.fill_(0.1)
optimizer = T.optim.RMSprop(model.parameters(), lr=0.01)
for _ in range(3):
    loss = mse(model(x), y)
"""
        + STEP,
    ),
    Healthy(
        "weights kept within bounds after each step",
        DATA
        + NET
        + """
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    loss = mse(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for p in model.parameters():
        p.data.clamp_(-0.5, 0.5)
""",
    ),
]

HELD = HEALTHY[2::3]
