"""Programs in styles that the other sets leave out, written without a look at the detectors and first run as they are.

Broken ones: transfer learning, GANs, policies, recurrences, trainers, loaders, functional loops, closures, schedulers, masks. Healthy
ones: the same styles, with what looks like a mistake and is meant.
"""

from __future__ import annotations

from .broken import Broken
from .healthy import Healthy

HEAD = """\
T.manual_seed(1)
nn, F = T.nn, T.nn.functional
"""

SET = (
    HEAD
    + """\
x = T.randn(24, 6)
y = (x[:, 0] + x[:, 1] > 0).long()
target = x.sum(1, keepdim=True)
"""
)

LOADER = (
    SET
    + """\
loader = T.utils.data.DataLoader(T.utils.data.TensorDataset(x, y), batch_size=8)
regression = T.utils.data.DataLoader(T.utils.data.TensorDataset(x, target), batch_size=8)
"""
)

BROKEN = [
    # no gradient
    Broken(
        "unseen: a head frozen with its backbone",
        1,
        "requires-grad-off",
        SET
        + """
backbone = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
classifier = nn.Linear(12, 2)
model = nn.Sequential(backbone, classifier)
for p in model.parameters():
    p.requires_grad = False  #!
optimizer = T.optim.Adam(classifier.parameters(), lr=1e-2)
for epoch in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "unseen: a generator trained on a detached picture",
        1,
        "detach",
        HEAD
        + """
G = nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = T.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.99))
opt_d = T.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.99))
bce = nn.BCEWithLogitsLoss()
for it in range(3):
    real = T.randn(8, 2) + 2
    fake = G(T.randn(8, 3)).detach()  #!
    opt_d.zero_grad()
    d_loss = bce(D(real), T.ones(8, 1)) + bce(D(fake), T.zeros(8, 1))
    d_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    g_loss = bce(D(fake), T.ones(8, 1))
    g_loss.backward()
    opt_g.step()
""",
    ),
    Broken(
        "unseen: a trainer whose features are an evaluation's",
        1,
        "no-grad",
        LOADER
        + """
class Trainer:
    def __init__(self, encoder, head):
        self.encoder, self.head = encoder, head
        self.optimizer = T.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=1e-3)

    @T.no_grad()  #!
    def features(self, batch):
        return self.encoder(batch)

    def fit(self, loader):
        for xb, yb in loader:
            loss = F.cross_entropy(self.head(self.features(xb)), yb)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

Trainer(nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 2)).fit(loader)
""",
    ),
    Broken(
        "unseen: log probabilities gathered by tensor()",
        1,
        "new-tensor item",
        HEAD
        + """
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = T.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(3):
    log_probs, rewards = [], []
    state = T.randn(4)
    for t in range(5):
        logp = F.log_softmax(policy(state), dim=-1)
        action = int(T.multinomial(logp.detach().exp(), 1))
        log_probs.append(logp[action])
        rewards.append(1.0 if action else -1.0)
        state = T.randn(4)
    returns = T.tensor(rewards)
    loss = -(T.tensor(log_probs, requires_grad=True) * returns).sum()  #!
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "unseen: hard attention by argmax",
        1,
        "integer-op",
        SET
        + """
class Pick(nn.Module):
    def __init__(self):
        super().__init__()
        self.scorer = nn.Linear(6, 4)
        self.values = nn.Embedding(4, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        scores = self.scorer(x)
        choice = scores.argmax(dim=-1)  #!
        return self.out(self.values(choice))

model = Pick()
opt = T.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    opt.zero_grad()
    F.mse_loss(model(x), target).backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: experts in a plain dict",
        1,
        "unregistered",
        SET
        + """
class Experts(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.gate = nn.Linear(6, len(names))
        self.experts = {name: nn.Linear(6, 1) for name in names}  #!

    def forward(self, x):
        weights = F.softmax(self.gate(x), dim=1)
        outs = T.cat([expert(x) for expert in self.experts.values()], dim=1)
        return (weights * outs).sum(1, keepdim=True)

net = Experts(["near", "far", "wide"])
optim = T.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(4):
    loss = F.mse_loss(net(x), target)
    optim.zero_grad()
    loss.backward()
    optim.step()
""",
    ),
    Broken(
        "unseen: features normalised by NumPy",
        1,
        "numpy detach",
        SET
        + """
import numpy as np
encoder = nn.Linear(6, 5)
head = nn.Linear(5, 1)
opt = T.optim.SGD(list(encoder.parameters()) + list(head.parameters()), lr=0.05)

def normalise(features):
    array = features.detach().numpy()  #!
    array = (array - array.mean(0)) / (array.std(0) + 1e-6)
    return T.from_numpy(array.astype(np.float32))

for epoch in range(3):
    prediction = head(normalise(encoder(x)))
    loss = ((prediction - target) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: a functional update that makes a new weight",
        1,
        "rebound non-leaf",
        SET
        + """
def init(sizes):
    return [T.randn(a, b) * 0.3 for a, b in zip(sizes, sizes[1:])]

def forward(weights, h):
    for w in weights[:-1]:
        h = T.tanh(h @ w)
    return h @ weights[-1]

weights = [w.requires_grad_() for w in init([6, 8, 1])]
for epoch in range(3):
    loss = ((forward(weights, x) - target) ** 2).mean()
    loss.backward()
    weights = [w - 0.1 * w.grad for w in weights]  #!
""",
    ),
    Broken(
        "unseen: a threshold that is compared with",
        1,
        "integer-op",
        SET
        + """
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 6)
        self.threshold = nn.Parameter(T.zeros(6))
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        h = self.lin(x)
        mask = (h > self.threshold).float()  #!
        return self.out(h * mask)

model = Gate()
opt = T.optim.RMSprop(model.parameters(), lr=1e-3)
for _ in range(3):
    loss = F.l1_loss(model(x), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    # a gradient of zero
    Broken(
        "unseen: biases far below zero",
        2,
        "dead-relu",
        SET
        + """
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
nn.init.constant_(model[0].bias, -30.0)  #!
opt = T.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    opt.zero_grad()
    out = model(x)  #!
    loss = F.mse_loss(out, target)
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: raw pixels into tanh",
        2,
        "saturated",
        HEAD
        + """
images = (T.rand(12, 1, 8, 8) * 255).floor()
labels = T.arange(12) % 3
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 20)
        self.fc2 = nn.Linear(20, 3)

    def forward(self, img):
        h = T.tanh(self.fc1(img.flatten(1)) * 5)  #!
        return self.fc2(h)

net = Net()
opt = T.optim.SGD(net.parameters(), lr=0.01)
for i in range(3):
    opt.zero_grad()
    F.cross_entropy(net(images), labels).backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: actions clamped to where none is",
        2,
        "clamp",
        HEAD
        + """
actor = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
opt = T.optim.Adam(actor.parameters(), lr=1e-3)
states = T.randn(10, 3)
for _ in range(3):
    action = actor(states)
    action = T.clamp(action, 10.0, 20.0)  #!
    loss = (action - 12.0).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: a padding mask the wrong way round",
        2,
        "times-zero",
        HEAD
        + """
tokens = T.randint(1, 9, (4, 5))
embed = nn.Embedding(9, 6)
head = nn.Linear(6, 2)
labels = T.tensor([0, 1, 0, 1])
opt = T.optim.Adam([*embed.parameters(), *head.parameters()], lr=1e-2)
for _ in range(3):
    mask = (tokens == 0).float().unsqueeze(-1)  #!
    pooled = (embed(tokens) * mask).sum(1)  #!
    loss = F.cross_entropy(head(pooled), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: every weight the same",
        2,
        "equal-units",
        SET
        + """
def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.constant_(m.weight, 0.1)  #!
        nn.init.zeros_(m.bias)

model = nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 1))
model.apply(init_weights)
opt = T.optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    opt.zero_grad()
    F.mse_loss(model(x), target).backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: a quantiser without an estimator",
        2,
        "flat",
        SET
        + """
class Quantised(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(T.randn(6, 1))

    def forward(self, x):
        levels = T.round(self.weight * 8) / 8  #!
        return x @ levels

model = Quantised()
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
for batch in (x[:12], x[12:]):
    loss = (model(batch) - batch.sum(1, keepdim=True)).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    # nan or infinity
    Broken(
        "unseen: the log of a sharp softmax",
        3,
        "log-of-zero",
        SET
        + """
model = nn.Linear(6, 2)
opt = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    probs = F.softmax(model(x) * 500, dim=1)
    loss = -T.log(probs)[T.arange(24), y].mean()  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: the distance of a pair to itself",
        3,
        "sqrt-at-zero",
        SET
        + """
twin = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
opt = T.optim.Adam(twin.parameters(), lr=1e-3)
for i in range(2):
    a, b = x[:12], x[:12].clone()
    d = T.sqrt(((twin(a) - twin(b)) ** 2).sum(1))  #!
    loss = (F.relu(1 - d) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: a column without spread",
        3,
        "zero-by-zero",
        SET
        + """
x[:, 3] = 2.0
x = (x - x.mean(0)) / x.std(0)  #!
model = nn.Linear(6, 2)
opt = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: a where around a log",
        3,
        "where",
        SET
        + """
model = nn.Linear(6, 4)
opt = T.optim.SGD(model.parameters(), lr=0.1)
allowed = T.tensor([True, True, True, False])
def policy(scores):
    return F.softmax(scores.masked_fill(~allowed, float("-inf")), dim=1)

def entropy(p):
    return -T.where(p > 0, p * T.log(p), T.zeros_like(p)).sum(1)  #!
for _ in range(2):
    loss = entropy(policy(model(x))).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: a variance that is an exp of much",
        3,
        "overflow",
        SET
        + """
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.logvar, self.dec = nn.Linear(6, 2), nn.Linear(6, 2), nn.Linear(2, 6)

    def forward(self, x):
        mu, logvar = self.mu(x), self.logvar(x) * 1000
        std = T.exp(0.5 * logvar)  #!
        z = mu + std * T.randn_like(std)
        return self.dec(z), mu, logvar

vae = VAE()
opt = T.optim.Adam(vae.parameters(), lr=1e-3)
for _ in range(2):
    recon, mu, logvar = vae(x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    loss = F.mse_loss(recon, x) + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: a loss scaled past half precision",
        3,
        "half-range overflow",
        SET
        + """
model = nn.Linear(6, 1)
opt = T.optim.SGD(model.parameters(), lr=0.1)
scale = 2.0 ** 16
for _ in range(2):
    out = model(x)
    loss = F.mse_loss(out, target * 4)
    scaled = loss.half() * scale  #!
    opt.zero_grad()
    scaled.backward()
    for p in model.parameters():
        p.grad.div_(scale)
    opt.step()
""",
    ),
    Broken(
        "unseen: a row of attention that may look at nothing",
        3,
        "not-finite zero-by-zero not-finite-input",
        HEAD
        + """
q, k, v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
params = [p for m in (q, k, v) for p in m.parameters()]
opt = T.optim.Adam(params, lr=1e-3)
seq = T.randn(2, 5, 8)
lengths = T.tensor([5, 0])
pad = T.arange(5)[None, :] >= lengths[:, None]
for _ in range(2):
    scores = q(seq) @ k(seq).transpose(1, 2) / 8 ** 0.5
    scores = scores.masked_fill(pad[:, None, :], float("-inf"))  #!
    attention = F.softmax(scores, dim=-1)  #!
    loss = (attention @ v(seq)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    # vanishing or exploding
    Broken(
        "unseen: a tower of sigmoids",
        4,
        "vanishing",
        SET
        + """
layers = []
for i in range(14):
    layers += [nn.Linear(6, 6), nn.Sigmoid()]  #!
model = nn.Sequential(*layers, nn.Linear(6, 2))
opt = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()  #!
    opt.step()
""",
    ),
    Broken(
        "unseen: a cell that forgets",
        4,
        "vanishing",
        HEAD
        + """
cell = nn.RNNCell(3, 6)
with T.no_grad():
    cell.weight_hh.mul_(0.3)  #!
embed = nn.Linear(2, 3)
readout = nn.Linear(6, 1)
opt = T.optim.Adam([*embed.parameters(), *cell.parameters(), *readout.parameters()], lr=1e-3)
series = T.randn(40, 4, 2)
for _ in range(2):
    h = T.zeros(4, 6)
    inputs = embed(series[0])
    h = cell(inputs, h)
    for t in range(1, 40):
        h = cell(T.zeros(4, 3), h)  #!
    loss = (readout(h) - series[0, :, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: a state multiplied at each step",
        4,
        "exploding",
        HEAD
        + """
W = nn.Parameter(T.eye(5) * 3 + 0.1 * T.randn(5, 5))  #!
U = nn.Parameter(T.randn(2, 5) * 0.1)
opt = T.optim.SGD([W, U], lr=1e-12)
inputs = T.randn(20, 3, 2)
for _ in range(3):
    h = T.zeros(3, 5)
    for u in inputs:
        h = h @ W + u @ U  #!
    loss = h.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: weights drawn too wide",
        4,
        "exploding",
        SET
        + """
class Deep(nn.Module):
    def __init__(self, depth=8, width=32):
        super().__init__()
        self.stem = nn.Linear(6, width)
        self.blocks = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, 1)
        for block in self.blocks:
            nn.init.normal_(block.weight, std=2.0)  #!

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = F.relu(block(h))  #!
        return self.head(h)

model = Deep()
opt = T.optim.Adam(model.parameters(), lr=1e-4)
for _ in range(3):
    opt.zero_grad()
    F.mse_loss(model(x), target).backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: weights drawn too narrow",
        4,
        "vanishing",
        SET
        + """
def mlp(depth):
    layers = []
    for _ in range(depth):
        linear = nn.Linear(6, 6)
        nn.init.normal_(linear.weight, std=0.02)  #!
        layers += [linear, nn.Tanh()]  #!
    return nn.Sequential(*layers, nn.Linear(6, 1))

net = mlp(8)
opt = T.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    loss = F.mse_loss(net(x), target)  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: a residual that grows",
        4,
        "exploding",
        SET
        + """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6)
        nn.init.orthogonal_(self.fc.weight)

    def forward(self, x):
        return x + 4.0 * self.fc(x)  #!

model = nn.Sequential(*[Block() for _ in range(12)], nn.Linear(6, 1))
opt = T.optim.Adam(model.parameters(), lr=1e-5)
for _ in range(3):
    opt.zero_grad()
    loss = F.mse_loss(model(x), target)
    loss.backward()
    opt.step()
""",
    ),
    # does not learn
    Broken(
        "unseen: a trainer that never zeroes",
        5,
        "no-zero-grad",
        LOADER
        + """
class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = T.optim.SGD(model.parameters(), lr=lr)

    def training_step(self, batch):
        inputs, labels = batch
        return F.cross_entropy(self.model(inputs), labels)

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            for batch in loader:
                loss = self.training_step(batch)
                loss.backward()  #!
                T.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()

Trainer(nn.Linear(6, 2), 0.05).fit(loader, 2)
""",
    ),
    Broken(
        "unseen: gradients thrown away before the step",
        5,
        "zero-before-step",
        LOADER
        + """
model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 2))
optimizer = T.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = T.optim.lr_scheduler.StepLR(optimizer, 2)
for xb, yb in loader:
    loss = F.cross_entropy(model(xb), yb)
    loss.backward()
    optimizer.zero_grad()  #!
    optimizer.step()
    scheduler.step()
""",
    ),
    Broken(
        "unseen: an accumulation that starts anew each time",
        5,
        "zero-before-step",
        LOADER
        + """
model = nn.Linear(6, 2)
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
accumulate = 3
for epoch in range(2):
    for i, (xb, yb) in enumerate(loader):
        optimizer.zero_grad()  #!
        loss = F.cross_entropy(model(xb), yb) / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
""",
    ),
    Broken(
        "unseen: a head replaced after the optimizer was made",
        5,
        "stale-optimizer not-in-optimizer",
        SET
        + """
class Pretrained(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 10), nn.ReLU())
        self.fc = nn.Linear(10, 100)

    def forward(self, x):
        return self.fc(self.features(x))

model = Pretrained()
optimizer = T.optim.Adam(model.parameters(), lr=1e-3)  #!
model.fc = nn.Linear(10, 2)  #!
for _ in range(3):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
    ),
    Broken(
        "unseen: a column against a row",
        5,
        "broadcast-loss",
        SET
        + """
dataset = T.utils.data.TensorDataset(x, x.sum(1))
model = nn.Sequential(nn.Linear(6, 12), nn.SiLU(), nn.Linear(12, 1))
optimizer = T.optim.Adam(model.parameters(), lr=1e-2)
for xb, yb in T.utils.data.DataLoader(dataset, batch_size=8):
    optimizer.zero_grad()
    loss = F.smooth_l1_loss(model(xb), yb)  #!
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "unseen: a step of old gradients",
        5,
        "step-before-backward",
        LOADER
        + """
net = nn.Linear(6, 1)
opt = T.optim.Adam(net.parameters(), lr=1e-2)
for xb, yb in regression:
    opt.zero_grad()
    loss = F.mse_loss(net(xb), yb)
    opt.step()  #!
    loss.backward()  #!
""",
    ),
    Broken(
        "unseen: a validation that leaves eval behind",
        5,
        "eval-mode",
        LOADER
        + """
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.4), nn.Linear(16, 2))
opt = T.optim.Adam(model.parameters(), lr=1e-3)

def validate():
    model.eval()  #!
    with T.no_grad():
        return float(F.cross_entropy(model(x), y))

model.train()
for epoch in range(3):
    for xb, yb in loader:
        loss = F.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    validate()
""",
    ),
    Broken(
        "unseen: a softmax layer before cross entropy",
        5,
        "double-softmax",
        LOADER
        + """
model = nn.Sequential(
    nn.Linear(6, 16),
    nn.ReLU(),
    nn.Linear(16, 2),
    nn.Softmax(dim=1),  #!
)
criterion = nn.CrossEntropyLoss()
opt = T.optim.SGD(model.parameters(), lr=0.1)
for xb, yb in loader:
    opt.zero_grad()
    loss = criterion(model(xb), yb)  #!
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: a rate that decays at each batch",
        5,
        "rate-too-small",
        LOADER
        + """
model = nn.Linear(6, 1)
optimizer = T.optim.SGD(model.parameters(), lr=1e-2)  #!
scheduler = T.optim.lr_scheduler.ExponentialLR(optimizer, gamma=1e-4)  #!
for epoch in range(3):
    for xb, yb in regression:
        loss = F.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
""",
    ),
    Broken(
        "unseen: a rate for another problem",
        5,
        "rate-too-large",
        SET
        + """
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = T.optim.SGD(model.parameters(), lr=15.0, momentum=0.9)  #!
for epoch in range(6):
    loss = F.mse_loss(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "unseen: a closure that does not zero",
        5,
        "no-zero-grad",
        SET
        + """
model = nn.Linear(6, 1)
optimizer = T.optim.SGD(model.parameters(), lr=0.02)

def closure():
    loss = F.mse_loss(model(x), target)
    loss.backward()  #!
    return loss

for _ in range(4):
    optimizer.step(closure)  #!
""",
    ),
    Broken(
        "unseen: probabilities over the batch",
        5,
        "wrong-dim",
        SET
        + """
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
opt = T.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(3):
    logp = F.log_softmax(model(x), dim=0)  #!
    loss = F.nll_loss(logp, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: one output and a softmax",
        5,
        "wrong-dim saturated",
        SET
        + """
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
opt = T.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(3):
    p = T.softmax(model(x), dim=1)  #!
    loss = F.binary_cross_entropy(p, y.float().unsqueeze(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: a batch norm that stands still",
        5,
        "frozen-batch-norm eval-mode",
        LOADER
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 16)
        self.bn = nn.BatchNorm1d(16)
        self.fc2 = nn.Linear(16, 2)
        self.bn.eval()  #!

    def forward(self, x):
        return self.fc2(F.relu(self.bn(self.fc1(x))))

model = Net()
opt = T.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for xb, yb in loader:
        opt.zero_grad()
        F.cross_entropy(model(xb), yb).backward()
        opt.step()
""",
    ),
    Broken(
        "unseen: a model that is taught its own answers",
        5,
        "unused-labels",
        LOADER
        + """
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = T.optim.Adam(model.parameters(), lr=1e-2)

def training_step(batch):
    inputs, labels = batch
    logits = model(inputs)
    predicted = logits.argmax(dim=1)
    return F.cross_entropy(logits, predicted)  #!

for batch in loader:
    loss = training_step(batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    # memory and time
    Broken(
        "unseen: an epoch's loss summed with its graph",
        6,
        "graph-grows",
        LOADER
        + """
model = nn.Linear(6, 2)
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss  #!
    print(epoch, running / len(loader))
""",
    ),
    Broken(
        "unseen: a hidden state from batch to batch",
        6,
        "state-not-detached",
        HEAD
        + """
class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 6)
        self.rnn = nn.GRU(6, 8, batch_first=True)
        self.out = nn.Linear(8, 10)

    def forward(self, tokens, hidden=None):
        out, hidden = self.rnn(self.embed(tokens), hidden)
        return self.out(out), hidden

model = CharModel()
opt = T.optim.Adam(model.parameters(), lr=1e-3)
text = T.randint(0, 10, (2, 31))
hidden = None
for start in range(0, 30, 10):
    chunk = text[:, start : start + 10]
    logits, hidden = model(chunk, hidden)  #!
    loss = F.cross_entropy(logits.reshape(-1, 10), text[:, start + 1 : start + 11].reshape(-1))
    opt.zero_grad()
    loss.backward()  #!
    opt.step()
""",
    ),
    Broken(
        "unseen: a trainer that keeps its losses",
        6,
        "graph-grows",
        LOADER
        + """
class Trainer:
    def __init__(self):
        self.model = nn.Linear(6, 1)
        self.opt = T.optim.Adam(self.model.parameters(), lr=1e-2)
        self.history = []

    def fit(self):
        for xb, yb in regression:
            loss = F.mse_loss(self.model(xb), yb)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.history.append(loss)  #!

Trainer().fit()
""",
    ),
    Broken(
        "unseen: a graph retained for nothing",
        6,
        "retain-graph",
        LOADER
        + """
model = nn.Sequential(nn.Linear(6, 8), nn.ELU(), nn.Linear(8, 1))
opt = T.optim.RMSprop(model.parameters(), lr=1e-3)
for xb, yb in regression:
    loss = F.huber_loss(model(xb), yb)
    opt.zero_grad()
    loss.backward(retain_graph=True)  #!
    opt.step()
""",
    ),
    Broken(
        "unseen: a sigmoid changed in its place",
        6,
        "in-place",
        SET
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 1)

    def forward(self, x):
        h = T.sigmoid(self.a(x))
        h -= h.mean(dim=1, keepdim=True)  #!
        return self.b(h)

model = Net()
F.mse_loss(model(x), target).backward()
""",
    ),
    Broken(
        "unseen: two losses through one trunk",
        6,
        "second-backward",
        SET
        + """
trunk, left, right = nn.Linear(6, 8), nn.Linear(8, 2), nn.Linear(8, 1)
opt = T.optim.Adam([p for m in (trunk, left, right) for p in m.parameters()], lr=1e-3)
for _ in range(2):
    shared = T.tanh(trunk(x))
    loss_class = F.cross_entropy(left(shared), y)
    loss_value = F.mse_loss(right(shared), target)
    opt.zero_grad()
    loss_class.backward()  #!
    loss_value.backward()  #!
    opt.step()
""",
    ),
    Broken(
        "unseen: a moving average of the loss",
        6,
        "graph-grows",
        LOADER
        + """
model = nn.Linear(6, 1)
opt = T.optim.SGD(model.parameters(), lr=1e-2)
smooth = None
for xb, yb in regression:
    opt.zero_grad()
    loss = F.mse_loss(model(xb), yb)
    loss.backward()
    opt.step()
    smooth = loss if smooth is None else 0.9 * smooth + 0.1 * loss  #!
""",
    ),
    # wrong but silent
    Broken(
        "unseen: a Function that forgets the chain",
        7,
        "wrong-backward",
        SET
        + """
class Swish(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s = T.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):  #!
        x, s = ctx.saved_tensors
        return s + x * s * (1 - s)  #!

model = nn.Linear(6, 8)
head = nn.Linear(8, 1)
opt = T.optim.Adam([*model.parameters(), *head.parameters()], lr=1e-3)
for _ in range(3):
    loss = F.mse_loss(head(Swish.apply(model(x))), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: a hand-made dropout through .data",
        7,
        "data-write",
        SET
        + """
w1 = (T.randn(6, 8) * 0.4).requires_grad_()
w2 = (T.randn(8, 1) * 0.4).requires_grad_()
for _ in range(3):
    h = T.sigmoid(x @ w1)
    h.data.mul_((T.rand(24, 8) > 0.5).float() * 2)  #!
    loss = ((h @ w2 - target) ** 2).mean()
    loss.backward()
    with T.no_grad():
        for w in (w1, w2):
            w -= 0.05 * w.grad
            w.grad.zero_()
""",
    ),
    Broken(
        "unseen: uphill",
        7,
        "reversed",
        SET
        + """
theta = [T.zeros(6, 1, requires_grad=True), T.zeros(1, requires_grad=True)]
for _ in range(4):
    loss = ((x @ theta[0] + theta[1] - target) ** 2).mean()
    grads = T.autograd.grad(loss, theta)
    with T.no_grad():
        for p, g in zip(theta, grads):
            p += 0.01 * g  #!
""",
    ),
    Broken(
        "unseen: the first layer taken twice",
        7,
        "used-twice",
        SET
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 6)
        self.fc2 = nn.Linear(6, 6)
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc1(x))  #!
        return self.out(x)

model = Net()
opt = T.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(3):
    opt.zero_grad()
    F.mse_loss(model(x), target).backward()
    opt.step()
""",
    ),
    Broken(
        "unseen: two runs that cannot be compared",
        7,
        "unseeded",
        """
nn, F = T.nn, T.nn.functional
x = T.linspace(-1, 1, 24).reshape(24, 1)
y = x ** 2

def run(width):
    model = nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, 1))  #!
    loader = T.utils.data.DataLoader(T.utils.data.TensorDataset(x, y), batch_size=8, shuffle=True)  #!
    opt = T.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        for xb, yb in loader:
            opt.zero_grad()
            F.mse_loss(model(xb), yb).backward()
            opt.step()
    return F.mse_loss(model(x), y).item()

first = run(8)
second = run(8)
print(first, second)
""",
    ),
    Broken(
        "unseen: a Function with a turned sign",
        7,
        "wrong-backward reversed",
        SET
        + """
class Square(T.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx, g):  #!
        (a,) = ctx.saved_tensors
        return -2 * a * g  #!

w = T.randn(6, requires_grad=True)
opt = T.optim.SGD([w], lr=1e-3)
for _ in range(3):
    loss = Square.apply(x @ w - target[:, 0]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    # the second round, after what the first had shown was repaired
    Broken(
        "second: a loss rebuilt from a list of numbers",
        1,
        "item new-tensor",
        LOADER
        + """
model = nn.Linear(6, 1)
opt = T.optim.SGD(model.parameters(), lr=0.1)
def batch_loss(xb, yb):
    parts = [F.mse_loss(model(a), b).item() for a, b in zip(xb, yb)]  #!
    return T.tensor(sum(parts) / len(parts), requires_grad=True)  #!
for xb, yb in regression:
    opt.zero_grad()
    batch_loss(xb, yb).backward()
    opt.step()
""",
    ),
    Broken(
        "second: an encoder called under inference mode",
        1,
        "inference-mode",
        SET
        + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 8)
        self.dec = nn.Linear(8, 6)
    def encode(self, x):
        with T.inference_mode():  #!
            return T.relu(self.enc(x))
    def forward(self, x):
        return self.dec(self.encode(x).clone())
m = Model()
opt = T.optim.Adam(m.parameters(), lr=1e-3)
for _ in range(3):
    loss = F.mse_loss(m(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: a scale that is read by .data",
        1,
        "data",
        SET
        + """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 1)
        self.log_scale = nn.Parameter(T.zeros(1))
    def forward(self, x):
        return self.lin(x) * self.log_scale.data.exp()  #!
m = Scale()
opt = T.optim.Adam(m.parameters(), lr=1e-2)
for _ in range(3):
    opt.zero_grad()
    F.mse_loss(m(x), target).backward()
    opt.step()
""",
    ),
    Broken(
        "second: layers in a list of tuples",
        1,
        "unregistered",
        SET
        + """
class Stack(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = []  #!
        for i in range(depth):
            self.layers.append(nn.Linear(6, 6))  #!
        self.out = nn.Linear(6, 1)
    def forward(self, x):
        for layer in self.layers:
            x = T.tanh(layer(x))
        return self.out(x)
net = Stack(3)
opt = T.optim.SGD(net.parameters(), lr=0.1)
for i in range(3):
    opt.zero_grad()
    ((net(x) - target) ** 2).mean().backward()
    opt.step()
""",
    ),
    Broken(
        "second: accuracy as the loss",
        1,
        "integer-op",
        SET
        + """
model = nn.Linear(6, 2)
opt = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    predictions = model(x).argmax(dim=1)  #!
    loss = 1 - (predictions == y).float().mean()  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: an embedding loaded from NumPy and never told to learn",
        1,
        "requires-grad-off",
        HEAD
        + """
import numpy as np
table = T.from_numpy(np.random.default_rng(0).normal(size=(10, 4)).astype("float32"))  #!
bias = T.zeros(4)
tokens = T.randint(0, 10, (6,))
loss = ((table[tokens] + bias) ** 2).mean()
loss.backward()
""",
    ),
    Broken(
        "second: a leaf scaled after it was made",
        1,
        "non-leaf",
        SET
        + """
w = T.randn(6, 1, requires_grad=True) * 0.01  #!
b = T.zeros(1, requires_grad=True)
for _ in range(3):
    loss = ((x @ w + b - target) ** 2).mean()
    loss.backward()
    with T.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
""",
    ),
    Broken(
        "second: a branch never taken",
        1,
        "unused",
        SET
        + """
class Two(nn.Module):
    def __init__(self, use_skip=False):
        super().__init__()
        self.main = nn.Linear(6, 1)
        self.skip = nn.Linear(6, 1)
        self.use_skip = use_skip
    def forward(self, x):
        out = self.main(x)
        if self.use_skip:  #!
            out = out + self.skip(x)  #!
        return out
m = Two()
opt = T.optim.SGD(m.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    F.mse_loss(m(x), target).backward()
    opt.step()
""",
    ),
    Broken(
        "second: dead from a huge step",
        2,
        "dead-relu",
        SET
        + """
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1), nn.ReLU())
with T.no_grad():
    model[2].weight.fill_(-1.0)  #!
    model[2].bias.fill_(-5.0)  #!
opt = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    out = model(x)  #!
    F.mse_loss(out, target).backward()
    opt.step()
""",
    ),
    Broken(
        "second: a temperature of a thousandth",
        2,
        "saturated",
        SET
        + """
attn = nn.Linear(6, 4)
val = nn.Parameter(T.randn(4, 1))
opt = T.optim.SGD([*attn.parameters(), val], lr=0.1)
for _ in range(3):
    weights = F.softmax(attn(x) / 1e-5, dim=1)  #!
    loss = F.mse_loss(weights @ val, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: a weight of the loss that is 0",
        2,
        "times-zero",
        LOADER
        + """
model = nn.Linear(6, 2)
opt = T.optim.Adam(model.parameters(), lr=1e-2)
warmup = 10
for step, (xb, yb) in enumerate(loader):
    weight = step // warmup
    loss = weight * F.cross_entropy(model(xb), yb)  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: floor in the middle",
        2,
        "flat",
        SET
        + """
net = nn.Sequential(nn.Linear(6, 8), nn.Tanh())
head = nn.Linear(8, 1)
opt = T.optim.Adam(list(net.parameters()), lr=1e-2)
def bucket(h, n=4):
    return T.floor(h * n) / n  #!
for _ in range(3):
    loss = F.mse_loss(head(bucket(net(x))), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: cosine of a zero vector",
        3,
        "norm-at-zero zero-by-zero sqrt-at-zero",
        SET
        + """
emb = nn.Linear(6, 4, bias=False)
opt = T.optim.SGD(emb.parameters(), lr=0.1)
x[3] = 0.0
def unit(v):
    return v / v.norm(dim=1, keepdim=True)  #!
for _ in range(2):
    z = unit(emb(x))
    loss = (z[:12] * z[12:]).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: acos at one",
        3,
        "not-finite",
        SET
        + """
a = T.randn(5, 3)
net = nn.Linear(3, 3, bias=False)
with T.no_grad():
    net.weight.copy_(T.eye(3))
opt = T.optim.SGD(net.parameters(), lr=0.1)
p = T.tensor([[1.0, 0.0, 0.0]])
for _ in range(2):
    angle = T.acos((net(p) * p).sum(1))  #!
    loss = angle.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: missing values in the data",
        3,
        "not-finite-input",
        SET
        + """
import numpy as np
rows = np.random.default_rng(1).normal(size=(24, 6)).astype("float32")
rows[5, 2] = float("nan")
features = T.from_numpy(rows)  #!
model = nn.Linear(6, 2)
opt = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = F.cross_entropy(model(features), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: softplus by hand",
        3,
        "overflow",
        SET
        + """
model = nn.Linear(6, 1)
opt = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    z = model(x) * 200
    loss = T.log(1 + T.exp(z)).mean()  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: deep tanh with wide weights",
        4,
        "vanishing exploding",
        SET
        + """
class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(12))
        for layer in self.layers:
            nn.init.uniform_(layer.weight, -0.05, 0.05)  #!
        self.head = nn.Linear(6, 1)
    def forward(self, h):
        for layer in self.layers:
            h = T.tanh(layer(h))  #!
        return self.head(h)
m = Deep()
opt = T.optim.Adam(m.parameters(), lr=1e-3)
for _ in range(3):
    opt.zero_grad()
    F.mse_loss(m(x), target).backward()
    opt.step()
""",
    ),
    Broken(
        "second: validation without train() again, in a function",
        5,
        "eval-mode",
        LOADER
        + """
def evaluate(net):
    net.eval()  #!
    with T.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
opt = T.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(2):
    for xb, yb in loader:
        opt.zero_grad()
        F.cross_entropy(net(xb), yb).backward()
        opt.step()
    print(evaluate(net))
""",
    ),
    Broken(
        "second: two optimizers for one model",
        5,
        "not-in-optimizer",
        SET
        + """
encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
opt_e = T.optim.Adam(encoder.parameters(), lr=1e-2)
opt_d = T.optim.Adam(encoder.parameters(), lr=1e-2)  #!
for _ in range(3):
    loss = F.mse_loss(decoder(T.relu(encoder(x))), x)
    opt_e.zero_grad()
    opt_d.zero_grad()
    loss.backward()
    opt_e.step()
    opt_d.step()
""",
    ),
    Broken(
        "second: zeros nothing by hand",
        5,
        "no-zero-grad",
        SET
        + """
w = T.zeros(6, 1, requires_grad=True)
b = T.zeros(1, requires_grad=True)
for epoch in range(5):
    loss = ((x @ w + b - target) ** 2).mean()
    loss.backward()  #!
    for p in (w, b):
        p.data -= 0.01 * p.grad
""",
    ),
    Broken(
        "second: binary cross entropy of squeezed and not",
        5,
        "broadcast-loss",
        SET
        + """
net = nn.Linear(6, 1)
opt = T.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(3):
    err = net(x) - x.sum(1)  #!
    loss = err.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: sigmoid and with_logits",
        5,
        "double-softmax",
        SET
        + """
class Clf(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 1)
    def forward(self, x):
        return T.sigmoid(self.fc(x)).squeeze(1)  #!
net = Clf()
criterion = nn.BCEWithLogitsLoss()
opt = T.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = criterion(net(x), y.float())
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: Adam at 10",
        5,
        "rate-too-large",
        SET
        + """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = T.optim.Adam(net.parameters(), lr=10.0)  #!
for _ in range(8):
    loss = F.mse_loss(net(x), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: an optimizer that never steps",
        5,
        "never-steps",
        LOADER
        + """
net = nn.Linear(6, 2)
opt = T.optim.SGD(net.parameters(), lr=0.1)
sched = T.optim.lr_scheduler.StepLR(opt, 1)
for xb, yb in loader:
    opt.zero_grad()
    loss = F.cross_entropy(net(xb), yb)
    loss.backward()  #!
    print(loss.item())
""",
    ),
    Broken(
        "second: outputs kept for later",
        6,
        "graph-grows",
        LOADER
        + """
net = nn.Linear(6, 2)
opt = T.optim.SGD(net.parameters(), lr=0.1)
metrics = {"loss": [], "scores": []}
for xb, yb in loader:
    logits = net(xb)
    loss = F.cross_entropy(logits, yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    metrics["loss"].append(loss.item())
    metrics["scores"].append(logits)  #!
""",
    ),
    Broken(
        "second: a replay of live transitions",
        6,
        "second-backward state-not-detached",
        HEAD
        + """
net = nn.Linear(3, 2)
opt = T.optim.SGD(net.parameters(), lr=0.1)
cell = nn.RNNCell(2, 4)
h = T.zeros(1, 4)
out = nn.Linear(4, 1)
opt = T.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
for t in range(4):
    h = cell(T.randn(1, 2), h)  #!
    loss = out(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: a mask put in place after relu",
        6,
        "in-place",
        SET
        + """
fc, head = nn.Linear(6, 8), nn.Linear(8, 1)
opt = T.optim.SGD([*fc.parameters(), *head.parameters()], lr=0.1)
for _ in range(2):
    h = T.exp(fc(x) * 0.1)
    h[:, 0] = 0.0  #!
    loss = head(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: Function whose gradient lacks a factor",
        7,
        "wrong-backward",
        SET
        + """
class Cube(T.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return v ** 3
    @staticmethod
    def backward(ctx, g):  #!
        v, = ctx.saved_tensors
        return g * v ** 2  #!
lin = nn.Linear(6, 1)
opt = T.optim.Adam(lin.parameters(), lr=1e-3)
for _ in range(3):
    loss = (Cube.apply(lin(x)) - target).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "second: maximised by mistake",
        7,
        "reversed",
        SET
        + """
params = [T.randn(6, 1) * 0.1, T.zeros(1)]
for p in params:
    p.requires_grad_()
def sgd(params, lr):
    with T.no_grad():
        for p in params:
            p.add_(p.grad, alpha=lr)  #!
            p.grad.zero_()
for _ in range(4):
    loss = ((x @ params[0] + params[1] - target) ** 2).mean()
    loss.backward()
    sgd(params, 0.01)
""",
    ),
    Broken(
        "second: clipping weights through data between the passes",
        7,
        "data-write",
        SET
        + """
net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
opt = T.optim.SGD(net.parameters(), lr=0.05)
for _ in range(3):
    out = net(x)
    net[2].weight.data.clamp_(-0.1, 0.1)  #!
    loss = F.mse_loss(out, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    # the third round
    Broken(
        "third: an error silenced by requires_grad_",
        1,
        "no-grad",
        LOADER
        + """
model = nn.Linear(6, 2)
opt = T.optim.SGD(model.parameters(), lr=0.1)
for xb, yb in loader:
    with T.no_grad():  #!
        logits = model(xb)
    loss = F.cross_entropy(logits, yb)
    loss.requires_grad_(True)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "third: classes compared as numbers",
        1,
        "integer-op",
        SET
        + """
model = nn.Linear(6, 2)
opt = T.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(3):
    guess = T.max(model(x), 1)[1].float()  #!
    loss = F.mse_loss(guess, y.float())
    loss.requires_grad = True
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "third: a loss wrapped once more",
        1,
        "item new-tensor",
        SET
        + """
model = nn.Linear(6, 1)
criterion = nn.MSELoss()
opt = T.optim.Adam(model.parameters(), lr=1e-2)
def compute():
    loss = criterion(model(x), target)
    return T.tensor(loss.item(), requires_grad=True)  #!
for _ in range(3):
    opt.zero_grad()
    compute().backward()
    opt.step()
""",
    ),
    Broken(
        "third: a weight that is no Parameter",
        1,
        "not-in-optimizer unregistered",
        SET
        + """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 4)
        self.mix = T.randn(4, 1, requires_grad=True)  #!
    def forward(self, x):
        return T.relu(self.lin(x)) @ self.mix
m = Layer()
opt = T.optim.SGD(m.parameters(), lr=0.05)  #!
for _ in range(3):
    loss = F.mse_loss(m(x), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "third: a copy of a leaf given to the optimizer",
        1,
        "non-leaf",
        SET
        + """
w = T.randn(6, 1, requires_grad=True).double()  #!
opt = T.optim.SGD([w], lr=0.1)
loss = ((x.double() @ w) ** 2).mean()
loss.backward()
opt.step()
""",
    ),
    Broken(
        "third: backward without its parentheses",
        5,
        "step-before-backward never-backward",
        SET
        + """
model = nn.Linear(6, 1)
opt = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = F.mse_loss(model(x), target)
    loss.backward  #!
    opt.step()  #!
""",
    ),
    Broken(
        "third: a last layer of relu over negatives",
        2,
        "dead-relu",
        SET
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 1)
        nn.init.constant_(self.b.bias, -20)  #!
    def forward(self, x):
        return F.relu(self.b(F.relu(self.a(x))))  #!
net = Net()
opt = T.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    opt.zero_grad()
    F.mse_loss(net(x), target.abs()).backward()
    opt.step()
""",
    ),
    Broken(
        "third: dropout of everything",
        2,
        "dropout-active times-zero",
        SET
        + """
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(1.0), nn.Linear(8, 1))  #!
opt = T.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    opt.zero_grad()
    F.mse_loss(net(x), target).backward()
    opt.step()
""",
    ),
    Broken(
        "third: a variance below zero",
        3,
        "sqrt-at-zero",
        HEAD
        + """
data = T.full((50, 1), 1000.1) + T.linspace(0, 1e-4, 50).unsqueeze(1)
scale = T.ones(1, requires_grad=True)
opt = T.optim.SGD([scale], lr=0.1)
for _ in range(2):
    v = data * scale
    std = T.sqrt((v ** 2).mean() - v.mean() ** 2 - 1e-3)  #!
    loss = (v / std).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "third: a divergence from what never happens",
        3,
        "zero-by-zero",
        SET
        + """
q = T.tensor([0.5, 0.5, 0.0])
net = nn.Linear(6, 3)
opt = T.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    p = F.softmax(net(x), dim=1)
    loss = (p * (p / q).log()).sum(1).mean()  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "third: softmax by hand",
        3,
        "overflow zero-by-zero",
        SET
        + """
net = nn.Linear(6, 3)
opt = T.optim.SGD(net.parameters(), lr=0.1)
def softmax(z):
    e = z.exp()  #!
    return e / e.sum(1, keepdim=True)  #!
for _ in range(2):
    loss = softmax(net(x) * 300)[:, 0].mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "third: the log of what a sigmoid leaves",
        3,
        "log-of-zero",
        SET
        + """
net = nn.Linear(6, 1)
opt = T.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    p = T.sigmoid(net(x) * 100).squeeze(1)
    t = y.float()
    loss = -(t * T.log(p) + (1 - t) * T.log(1 - p)).mean()  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "third: a root as a power",
        3,
        "sqrt-at-zero",
        SET
        + """
net = nn.Sequential(nn.Linear(6, 4), nn.ReLU())
opt = T.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    h = (net(x) ** 2).sum(0, keepdim=True) * T.tensor([[1.0, 0.0, 1.0, 1.0]])
    loss = h.pow(0.5).sum()  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "third: a rate of 0",
        5,
        "rate-too-small",
        LOADER
        + """
net = nn.Linear(6, 1)
opt = T.optim.SGD(net.parameters(), lr=0.0)  #!
for xb, yb in regression:
    opt.zero_grad()
    F.mse_loss(net(xb), yb).backward()
    opt.step()
""",
    ),
    Broken(
        "third: an LSTM's state from batch to batch",
        6,
        "state-not-detached",
        HEAD
        + """
lstm, out = nn.LSTM(2, 4, batch_first=True), nn.Linear(4, 1)
opt = T.optim.Adam([*lstm.parameters(), *out.parameters()], lr=1e-3)
state = None
for batch in range(3):
    seq = T.randn(3, 5, 2)
    hidden, state = lstm(seq, state)  #!
    loss = F.mse_loss(out(hidden), seq[..., :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "third: a state kept by retain_graph",
        6,
        "state-not-detached retain-graph",
        HEAD
        + """
cell, out = nn.RNNCell(2, 4), nn.Linear(4, 1)
h = T.zeros(3, 4)
total = []
for t in range(4):
    step_in = T.randn(3, 2)
    h = cell(step_in, h)  #!
    loss = out(h).pow(2).mean()
    loss.backward(retain_graph=True)  #!
    for m in (cell, out):
        for p in m.parameters():
            p.grad = None
""",
    ),
    Broken(
        "third: losses in a list, for the mean",
        6,
        "graph-grows",
        LOADER
        + """
net = nn.Linear(6, 1)
opt = T.optim.SGD(net.parameters(), lr=0.05)
losses = []
for xb, yb in regression:
    loss = F.mse_loss(net(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss)  #!
mean = sum(losses) / len(losses)
""",
    ),
    Broken(
        "third: relu in place over a tanh",
        6,
        "in-place",
        SET
        + """
net = nn.Linear(6, 4)
h = T.tanh(net(x))
g = F.relu(h, inplace=True)  #!
loss = (g * 2).sum()
loss.backward()
""",
    ),
    Broken(
        "third: gradients handed back in the wrong order",
        7,
        "wrong-backward",
        SET
        + """
class Mul(T.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, g):  #!
        a, b = ctx.saved_tensors
        return g * a, g * b  #!
p, q = T.randn(6, requires_grad=True), T.randn(6, requires_grad=True)
opt = T.optim.SGD([p, q], lr=0.01)
for _ in range(3):
    loss = (Mul.apply(p, q) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "third: one layer times three",
        7,
        "used-twice",
        SET
        + """
class Net(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 6)] * depth)  #!
        self.out = nn.Linear(6, 1)
    def forward(self, x):
        for layer in self.layers:
            x = T.relu(layer(x))
        return self.out(x)
net = Net()
opt = T.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(3):
    opt.zero_grad()
    F.mse_loss(net(x), target).backward()
    opt.step()
""",
    ),
    Broken(
        "third: a target that is a view of what changes",
        5,
        "zero-before-step",
        SET
        + """
net = nn.Linear(6, 1)
opt = T.optim.SGD(net.parameters(), lr=0.1)
def train_step(a, b):
    loss = F.mse_loss(net(a), b)
    loss.backward()
    net.zero_grad()  #!
    opt.step()
    return loss.item()
for i in range(3):
    train_step(x, target)
""",
    ),
    Broken(
        "third: a mean over the wrong axis of attention",
        5,
        "wrong-dim",
        HEAD
        + """
net = nn.Linear(4, 3)
xs = T.randn(8, 4)
labels = T.tensor([0, 1, 2, 0, 1, 2, 0, 1])
opt = T.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    p = net(xs).softmax(0)  #!
    loss = -p.gather(1, labels[:, None]).log().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
]

HEALTHY = [
    Healthy(
        "unseen: a frozen backbone, in eval",
        SET
        + """
backbone = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU())
for p in backbone.parameters():
    p.requires_grad_(False)
backbone.eval()
head = nn.Linear(12, 2)
opt = T.optim.Adam(head.parameters(), lr=1e-2)
for _ in range(3):
    with T.no_grad():
        features = backbone(x)
    loss = F.cross_entropy(head(features), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: a GAN",
        HEAD
        + """
G = nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = T.optim.Adam(G.parameters(), lr=2e-3)
opt_d = T.optim.Adam(D.parameters(), lr=2e-3)
bce = nn.BCEWithLogitsLoss()
for it in range(4):
    real = T.randn(8, 2) + 2
    fake = G(T.randn(8, 3))
    opt_d.zero_grad()
    (bce(D(real), T.ones(8, 1)) + bce(D(fake.detach()), T.zeros(8, 1))).backward()
    opt_d.step()
    opt_g.zero_grad()
    bce(D(fake), T.ones(8, 1)).backward()
    opt_g.step()
""",
    ),
    Healthy(
        "unseen: a Q network and its target",
        HEAD
        + """
import copy
q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
frozen = copy.deepcopy(q)
opt = T.optim.Adam(q.parameters(), lr=1e-3)
for step in range(5):
    s, s2, r = T.randn(8, 4), T.randn(8, 4), T.randn(8)
    a = T.randint(0, 2, (8,))
    with T.no_grad():
        goal = r + 0.9 * frozen(s2).max(dim=1).values
    value = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
    loss = F.smooth_l1_loss(value, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 2 == 0:
        frozen.load_state_dict(q.state_dict())
""",
    ),
    Healthy(
        "unseen: soft updates of a teacher",
        SET
        + """
import copy
student = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad = False
opt = T.optim.SGD(student.parameters(), lr=0.05)
for _ in range(4):
    loss = F.mse_loss(student(x), target) + 0.1 * F.mse_loss(student(x), teacher(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    with T.no_grad():
        for old, new in zip(teacher.parameters(), student.parameters()):
            old.mul_(0.9).add_(new, alpha=0.1)
""",
    ),
    Healthy(
        "unseen: a quantiser with a straight-through estimator",
        SET
        + """
w = (T.randn(6, 1) * 0.5).requires_grad_()
opt = T.optim.SGD([w], lr=0.02)
for _ in range(4):
    hard = T.round(w * 8) / 8
    used = w + (hard - w).detach()
    loss = ((x @ used - target) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: a straight-through Function",
        SET
        + """
class Sign(T.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return T.sign(a)

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return g * (a.abs() <= 1).float()

net = nn.Linear(6, 8)
head = nn.Linear(8, 1)
opt = T.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-2)
for _ in range(4):
    loss = F.mse_loss(head(Sign.apply(net(x))), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: a truncated recurrence",
        HEAD
        + """
rnn = nn.GRU(2, 6)
out = nn.Linear(6, 1)
opt = T.optim.Adam([*rnn.parameters(), *out.parameters()], lr=1e-2)
series = T.randn(40, 3, 2)
h = T.zeros(1, 3, 6)
for start in range(0, 40, 10):
    h = h.detach()
    hidden, h = rnn(series[start : start + 10], h)
    loss = F.mse_loss(out(hidden), series[start : start + 10, :, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: gradients accumulated over three batches",
        LOADER
        + """
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
opt = T.optim.SGD(model.parameters(), lr=0.1)
opt.zero_grad()
for epoch in range(3):
    for i, (xb, yb) in enumerate(loader):
        (F.cross_entropy(model(xb), yb) / 3).backward()
        if (i + 1) % 3 == 0:
            opt.step()
            opt.zero_grad(set_to_none=True)
""",
    ),
    Healthy(
        "unseen: a trainer that validates and goes back",
        LOADER
        + """
class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = T.optim.AdamW(model.parameters(), lr=1e-2)
        self.history = {"train": [], "valid": []}

    def fit(self, epochs):
        for _ in range(epochs):
            self.model.train()
            for xb, yb in loader:
                loss = F.cross_entropy(self.model(xb), yb)
                self.opt.zero_grad()
                loss.backward()
                T.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.opt.step()
                self.history["train"].append(loss.item())
            self.model.eval()
            with T.no_grad():
                self.history["valid"].append(F.cross_entropy(self.model(x), y))

Trainer(nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))).fit(3)
""",
    ),
    Healthy(
        "unseen: two losses in one pass",
        SET
        + """
trunk, left, right = nn.Linear(6, 8), nn.Linear(8, 2), nn.Linear(8, 1)
opt = T.optim.Adam([p for m in (trunk, left, right) for p in m.parameters()], lr=1e-2)
for _ in range(4):
    shared = T.tanh(trunk(x))
    loss = F.cross_entropy(left(shared), y) + 0.5 * F.mse_loss(right(shared), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: two passes over one retained graph",
        SET
        + """
trunk, left, right = nn.Linear(6, 8), nn.Linear(8, 2), nn.Linear(8, 1)
opt = T.optim.SGD([p for m in (trunk, left, right) for p in m.parameters()], lr=0.05)
for _ in range(4):
    shared = T.tanh(trunk(x))
    opt.zero_grad()
    F.cross_entropy(left(shared), y).backward(retain_graph=True)
    F.mse_loss(right(shared), target).backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: an actor and its critic",
        HEAD
        + """
actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt = T.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-2)
for episode in range(4):
    states = T.randn(12, 4)
    logp = F.log_softmax(actor(states), dim=-1)
    with T.no_grad():
        actions = T.multinomial(logp.exp(), 1)
    rewards = (actions.squeeze(1) == (states[:, 0] > 0).long()).float()
    values = critic(states).squeeze(1)
    advantage = (rewards - values).detach()
    loss = -(logp.gather(1, actions).squeeze(1) * advantage).mean() + F.mse_loss(values, rewards)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: causal attention",
        HEAD
        + """
class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / x.shape[-1] ** 0.5
        mask = T.triu(T.ones(x.shape[1], x.shape[1]), diagonal=1).bool()
        weights = F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
        return self.out(weights @ v)

embed, attention, norm, head = nn.Embedding(12, 8), Attention(8), nn.LayerNorm(8), nn.Linear(8, 12)
head.weight = nn.Parameter(T.randn(12, 8) * 0.1)
params = [p for m in (embed, attention, norm, head) for p in m.parameters()]
opt = T.optim.AdamW(params, lr=1e-2)
tokens = T.randint(0, 12, (4, 9))
for _ in range(4):
    h = embed(tokens[:, :-1])
    h = norm(h + attention(h))
    loss = F.cross_entropy(head(h).reshape(-1, 12), tokens[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: an embedding shared with the output",
        HEAD
        + """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        self.mix = nn.Linear(8, 8)
        self.head = nn.Linear(8, 12, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(T.relu(self.mix(self.embed(tokens))))

model = Tied()
opt = T.optim.Adam(model.parameters(), lr=1e-2)
tokens = T.randint(0, 12, (4, 9))
for _ in range(4):
    loss = F.cross_entropy(model(tokens[:, :-1]).reshape(-1, 12), tokens[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: a Siamese network",
        SET
        + """
twin = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
opt = T.optim.Adam(twin.parameters(), lr=1e-2)
for _ in range(4):
    a, b = twin(x[:12]), twin(x[12:])
    same = (y[:12] == y[12:]).float()
    d = F.pairwise_distance(a, b)
    loss = (same * d.pow(2) + (1 - same) * F.relu(1 - d).pow(2)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: a gradient penalty",
        HEAD
        + """
critic = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = T.optim.Adam(critic.parameters(), lr=1e-3)
for _ in range(3):
    real, fake = T.randn(8, 2) + 1, T.randn(8, 2)
    eps = T.rand(8, 1)
    between = (eps * real + (1 - eps) * fake).requires_grad_(True)
    (slope,) = T.autograd.grad(critic(between).sum(), between, create_graph=True)
    penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: a loss scaled and unscaled",
        SET
        + """
model = nn.Linear(6, 1)
opt = T.optim.SGD(model.parameters(), lr=0.05)
scale = 1024.0
for _ in range(4):
    opt.zero_grad()
    loss = F.mse_loss(model(x), target)
    (loss * scale).backward()
    for p in model.parameters():
        p.grad.div_(scale)
    if all(T.isfinite(p.grad).all() for p in model.parameters()):
        opt.step()
""",
    ),
    Healthy(
        "unseen: a closure that zeroes",
        SET
        + """
model = nn.Linear(6, 1)
optimizer = T.optim.SGD(model.parameters(), lr=0.05)

def closure():
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), target)
    loss.backward()
    return loss

for _ in range(4):
    optimizer.step(closure)
""",
    ),
    Healthy(
        "unseen: a warm-up and a cosine",
        LOADER
        + """
model = nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.Linear(8, 1))
opt = T.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
warm = T.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=2)
cosine = T.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=8)
schedule = T.optim.lr_scheduler.SequentialLR(opt, [warm, cosine], milestones=[2])
for epoch in range(3):
    for xb, yb in regression:
        opt.zero_grad()
        F.mse_loss(model(xb), yb).backward()
        opt.step()
        schedule.step()
""",
    ),
    Healthy(
        "unseen: backbone and head at two rates",
        SET
        + """
backbone = nn.Sequential(nn.Linear(6, 10), nn.ReLU())
head = nn.Linear(10, 2)
opt = T.optim.Adam([
    {"params": backbone.parameters(), "lr": 1e-4},
    {"params": head.parameters(), "lr": 1e-2},
])
for _ in range(4):
    loss = F.cross_entropy(head(backbone(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: a backbone thawed after a while",
        SET
        + """
backbone = nn.Sequential(nn.Linear(6, 10), nn.ReLU())
head = nn.Linear(10, 2)
for p in backbone.parameters():
    p.requires_grad = False
opt = T.optim.SGD(head.parameters(), lr=0.1)
for epoch in range(6):
    if epoch == 3:
        for p in backbone.parameters():
            p.requires_grad = True
        opt.add_param_group({"params": backbone.parameters(), "lr": 0.01})
    loss = F.cross_entropy(head(backbone(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: a variational autoencoder",
        SET
        + """
enc, dec = nn.Linear(6, 4), nn.Linear(2, 6)
opt = T.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
for _ in range(4):
    mu, logvar = enc(x).chunk(2, dim=1)
    z = mu + T.exp(0.5 * logvar) * T.randn_like(mu)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    loss = F.mse_loss(dec(z), x) + 0.1 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: one step of meta learning",
        SET
        + """
w = (T.randn(6, 1) * 0.1).requires_grad_()
outer = T.optim.SGD([w], lr=0.05)
for task in range(4):
    inner = ((x[:12] @ w - target[:12]) ** 2).mean()
    (g,) = T.autograd.grad(inner, w, create_graph=True)
    adapted = w - 0.05 * g
    loss = ((x[12:] @ adapted - target[12:]) ** 2).mean()
    outer.zero_grad()
    loss.backward()
    outer.step()
""",
    ),
    Healthy(
        "unseen: an embedding of which few rows are read",
        HEAD
        + """
table = nn.Embedding(1000, 8, padding_idx=0)
head = nn.Linear(8, 2)
opt = T.optim.Adagrad([*table.parameters(), *head.parameters()], lr=0.1)
tokens = T.randint(0, 20, (6, 5))
labels = T.tensor([0, 1, 0, 1, 1, 0])
for _ in range(4):
    mask = (tokens != 0).float().unsqueeze(-1)
    pooled = (table(tokens) * mask).sum(1) / mask.sum(1).clamp(min=1)
    loss = F.cross_entropy(head(pooled), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: accuracy by argmax and a best model kept",
        LOADER
        + """
import copy
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
opt = T.optim.Adam(model.parameters(), lr=1e-2)
best, kept = 0.0, None
for epoch in range(3):
    model.train()
    total, hits = 0.0, 0
    for xb, yb in loader:
        logits = model(xb)
        loss = F.cross_entropy(logits, yb, label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
        hits += (logits.argmax(1) == yb).sum().item()
    if hits > best:
        best, kept = hits, copy.deepcopy(model.state_dict())
model.load_state_dict(kept)
""",
    ),
    Healthy(
        "unseen: gradient reversal for a domain",
        SET
        + """
class Reverse(T.autograd.Function):
    @staticmethod
    def forward(ctx, a, amount):
        ctx.amount = amount
        return a.view_as(a)

    @staticmethod
    def backward(ctx, g):
        return -ctx.amount * g, None

features, label, domain = nn.Linear(6, 8), nn.Linear(8, 2), nn.Linear(8, 2)
opt = T.optim.SGD([p for m in (features, label, domain) for p in m.parameters()], lr=0.05)
side = T.arange(24) % 2
for _ in range(4):
    h = T.relu(features(x))
    loss = F.cross_entropy(label(h), y) + F.cross_entropy(domain(Reverse.apply(h, 0.3)), side)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "unseen: a perplexity and a norm only watched",
        HEAD
        + """
model = nn.LSTM(4, 8, batch_first=True)
out = nn.Linear(8, 4)
opt = T.optim.Adam([*model.parameters(), *out.parameters()], lr=1e-2)
seq = T.randn(3, 7, 4)
log = []
for _ in range(4):
    h, _state = model(seq[:, :-1])
    loss = F.mse_loss(out(h), seq[:, 1:])
    opt.zero_grad()
    loss.backward()
    norm = sum(float(p.grad.norm()) ** 2 for p in model.parameters()) ** 0.5
    log.append((loss.detach(), norm))
    opt.step()
""",
    ),
    # the second round
    Healthy(
        "second: weight clipping after the step",
        SET
        + """
critic = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
opt = T.optim.RMSprop(critic.parameters(), lr=1e-3)
for _ in range(4):
    loss = critic(x[:12]).mean() - critic(x[12:]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for p in critic.parameters():
        p.data.clamp_(-0.5, 0.5)
""",
    ),
    Healthy(
        "second: contrastive, one side stopped",
        SET
        + """
enc, pred = nn.Linear(6, 4), nn.Linear(4, 4)
opt = T.optim.SGD([*enc.parameters(), *pred.parameters()], lr=0.05)
for _ in range(4):
    a, b = x + 0.1 * T.randn_like(x), x + 0.1 * T.randn_like(x)
    za, zb = enc(a), enc(b)
    loss = -F.cosine_similarity(pred(za), zb.detach()).mean() / 2 - F.cosine_similarity(pred(zb), za.detach()).mean() / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "second: k folds",
        SET
        + """
for fold in range(3):
    held = T.arange(24) % 3 == fold
    model = nn.Linear(6, 2)
    opt = T.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        loss = F.cross_entropy(model(x[~held]), y[~held])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with T.no_grad():
        print((model(x[held]).argmax(1) == y[held]).float().mean().item())
""",
    ),
    Healthy(
        "second: adversarial examples",
        SET
        + """
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
opt = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    probe = x.clone().requires_grad_(True)
    F.cross_entropy(model(probe), y).backward()
    adversarial = (x + 0.05 * probe.grad.sign()).detach()
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y) + F.cross_entropy(model(adversarial), y)
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "second: a GPT block",
        HEAD
        + """
layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
embed, head = nn.Embedding(11, 8), nn.Linear(8, 11)
opt = T.optim.AdamW([*layer.parameters(), *embed.parameters(), *head.parameters()], lr=1e-2)
tokens = T.randint(0, 11, (3, 7))
mask = T.triu(T.full((6, 6), float("-inf")), diagonal=1)
for _ in range(3):
    logits = head(layer(embed(tokens[:, :-1]), src_mask=mask))
    loss = F.cross_entropy(logits.reshape(-1, 11), tokens[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    T.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    opt.step()
""",
    ),
    Healthy(
        "second: an autoencoder on batches with labels",
        LOADER
        + """
auto = nn.Sequential(nn.Linear(6, 3), nn.ReLU(), nn.Linear(3, 6))
opt = T.optim.Adam(auto.parameters(), lr=1e-2)
for epoch in range(2):
    for xb, _ in loader:
        loss = F.mse_loss(auto(xb), xb)
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    ),
    Healthy(
        "second: dropout at test, on purpose averaged",
        SET
        + """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
opt = T.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(3):
    loss = F.mse_loss(net(x), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
net.train()
with T.no_grad():
    samples = T.stack([net(x) for _ in range(5)])
    print(samples.std(0).mean().item())
""",
    ),
    Healthy(
        "second: policy gradient with a baseline",
        HEAD
        + """
policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
opt = T.optim.Adam(policy.parameters(), lr=1e-2)
baseline = 0.0
for episode in range(4):
    log_probs, rewards = [], []
    for t in range(6):
        state = T.randn(4)
        logp = F.log_softmax(policy(state), dim=-1)
        action = int(T.multinomial(logp.exp().detach(), 1))
        log_probs.append(logp[action])
        rewards.append(float(action == int(state.argmax()) % 3))
    total = sum(rewards)
    loss = -T.stack(log_probs).sum() * (total - baseline)
    baseline = 0.9 * baseline + 0.1 * total
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    # the third round
    Healthy(
        "third: one cell, many steps",
        HEAD
        + """
cell, out = nn.GRUCell(2, 4), nn.Linear(4, 1)
opt = T.optim.Adam([*cell.parameters(), *out.parameters()], lr=1e-2)
for _ in range(3):
    h = T.zeros(3, 4)
    for t in range(6):
        h = cell(T.randn(3, 2), h)
    loss = out(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "third: a net of shared layers, as ALBERT",
        SET
        + """
layer = nn.Linear(6, 6)
net = nn.Sequential(layer, nn.Tanh(), layer, nn.Tanh(), nn.Linear(6, 1))
opt = T.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(4):
    loss = F.mse_loss(net(x), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "third: an early stop by validation",
        LOADER
        + """
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))
opt = T.optim.Adam(net.parameters(), lr=1e-2)
best, wait = float("inf"), 0
for epoch in range(4):
    net.train()
    for xb, yb in loader:
        opt.zero_grad()
        F.cross_entropy(net(xb), yb).backward()
        opt.step()
    net.eval()
    with T.no_grad():
        loss = F.cross_entropy(net(x), y).item()
    best, wait = (loss, 0) if loss < best else (best, wait + 1)
    if wait > 2:
        break
""",
    ),
]
