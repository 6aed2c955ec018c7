"""Twenty programs as people write them, none of them from a lesson.

Every stage must show each of them whole. The stage was made with the first ten in view. The other ten (`HELD_OUT`) only
judge it: do not repair against them.
"""

from .functions import text_of

# The line through one point, with its loss: what the explorer is tried with.
LINE = """\
x = T.tensor(2.0)
y = T.tensor(1.0)
w = T.tensor(0.3, requires_grad=True)
b = T.tensor(0.1, requires_grad=True)
d = w * x + b
L = (d - y) ** 2
L.backward()"""

PROGRAMS = {
    "mlp": """\
w1 = T.randn(4, 8, requires_grad=True)
b1 = T.zeros(8, requires_grad=True)
w2 = T.randn(8, 3, requires_grad=True)
b2 = T.zeros(3, requires_grad=True)
x = T.randn(5, 4)
y = T.tensor([0, 2, 1, 1, 0])
h = T.relu(x @ w1 + b1)
logits = h @ w2 + b2
loss = T.nn.functional.cross_entropy(logits, y)
loss.backward()""",
    "attention": """\
x = T.randn(4, 6)
wq = T.randn(6, 6, requires_grad=True)
wk = T.randn(6, 6, requires_grad=True)
wv = T.randn(6, 6, requires_grad=True)
q = x @ wq
k = x @ wk
v = x @ wv
scores = q @ k.T / 6 ** 0.5
weights = T.softmax(scores, dim=-1)
out = weights @ v
loss = (out ** 2).mean()
loss.backward()""",
    "gan": """\
g = T.nn.Linear(2, 2)
d = T.nn.Linear(2, 1)
z = T.randn(3, 2)
fake = g(z)
real = T.ones(3, 2) * 2
bce = T.nn.functional.binary_cross_entropy_with_logits
loss_d = bce(d(real), T.ones(3, 1)) + bce(d(fake.detach()), T.zeros(3, 1))
loss_d.backward()
loss_g = bce(d(fake), T.ones(3, 1))
loss_g.backward()""",
    "rnn": """\
w = T.randn(3, 3, requires_grad=True)
u = T.randn(2, 3, requires_grad=True)
h = T.zeros(1, 3)
for t in range(4):
    x = T.ones(1, 2) * t
    h = T.tanh(h @ w + x @ u)
loss = h.sum()
loss.backward()""",
    "function": text_of(
        "Cube", "ctx.save_for_backward(x)\nreturn x ** 3", "x, = ctx.saved_tensors\nreturn g * 3 * x ** 2"
    )
    + "x = T.tensor(2.0, requires_grad=True)\ny = Cube.apply(x)\ny.backward()",
    "inplace error": """\
x = T.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
y.add_(1)
y.sum().backward()""",
    "double backward": """\
x = T.tensor(2.0, requires_grad=True)
y = x ** 3
(g,) = T.autograd.grad(y, x, create_graph=True)
z = g ** 2
z.backward()""",
    "fan-out": """\
w = T.tensor(2.0, requires_grad=True)
a = w * 2
b = w * 3
c = w * w
d = w.exp()
e = w.sin()
f = w ** 3
L = a + b + c + d + e + f
L.backward()""",
    "no graph": """\
x = T.tensor(2.0)
y = x * 3
z = y + 1""",
    "loop of 30": """\
w = T.tensor(1.01, requires_grad=True)
v = w
for i in range(30):
    v = v * w
v.backward()""",
}

HELD_OUT = {
    "lstm": """\
cell = T.nn.LSTMCell(2, 3)
head = T.nn.Linear(3, 1)
xs = T.randn(6, 1, 2)
h = T.zeros(1, 3)
c = T.zeros(1, 3)
for x in xs:
    h, c = cell(x, (h, c))
loss = (head(h) - 1.0).pow(2).mean()
loss.backward()""",
    "vae": """\
enc = T.randn(4, 4, requires_grad=True)
dec = T.randn(2, 4, requires_grad=True)
x = T.rand(3, 4)
stats = x @ enc
mu = stats[:, :2]
logvar = stats[:, 2:]
eps = T.randn(3, 2)
z = mu + T.exp(0.5 * logvar) * eps
recon = T.sigmoid(z @ dec)
rec_loss = ((recon - x) ** 2).sum()
kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum()
loss = rec_loss + kl
loss.backward()""",
    "siamese": """\
net = T.nn.Sequential(T.nn.Linear(3, 4), T.nn.Tanh(), T.nn.Linear(4, 2))
a = T.randn(2, 3)
b = T.randn(2, 3)
same = T.tensor([1.0, 0.0])
dist = ((net(a) - net(b)) ** 2).sum(dim=1).sqrt()
loss = (same * dist ** 2 + (1 - same) * T.relu(1.0 - dist) ** 2).mean()
loss.backward()""",
    "residual block": """\
class Block(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = T.nn.LayerNorm(4)
        self.up = T.nn.Linear(4, 8)
        self.down = T.nn.Linear(8, 4)

    def forward(self, x):
        return x + self.down(T.relu(self.up(self.norm(x))))

block = Block()
x = T.randn(2, 4)
target = T.randn(2, 4)
out = block(x)
loss = T.nn.functional.mse_loss(out, target)
loss.backward()""",
    "conv batch norm": """\
conv = T.nn.Conv2d(1, 2, 3, padding=1)
bn = T.nn.BatchNorm2d(2)
fc = T.nn.Linear(8, 2)
x = T.randn(2, 1, 4, 4)
y = T.tensor([0, 1])
feat = T.relu(bn(conv(x)))
pooled = T.nn.functional.max_pool2d(feat, 2)
logits = fc(pooled.flatten(1))
loss = T.nn.functional.cross_entropy(logits, y)
loss.backward()""",
    "maml": """\
w = T.tensor([0.5, -1.0], requires_grad=True)
x_train = T.tensor([[1.0, 2.0], [0.0, 1.0]])
y_train = T.tensor([1.0, 0.0])
x_test = T.tensor([[2.0, 1.0]])
y_test = T.tensor([2.0])
inner = ((x_train @ w - y_train) ** 2).mean()
(g,) = T.autograd.grad(inner, w, create_graph=True)
fast = w - 0.1 * g
outer = ((x_test @ fast - y_test) ** 2).mean()
outer.backward()""",
    "q-learning": """\
q = T.nn.Linear(3, 2)
target_q = T.nn.Linear(3, 2)
state = T.randn(4, 3)
next_state = T.randn(4, 3)
action = T.tensor([0, 1, 1, 0])
reward = T.tensor([1.0, 0.0, 0.5, 1.0])
done = T.tensor([0.0, 0.0, 1.0, 0.0])
value = q(state).gather(1, action.unsqueeze(1)).squeeze(1)
with T.no_grad():
    best = target_q(next_state).max(dim=1).values
    target = reward + 0.9 * best * (1 - done)
loss = T.nn.functional.smooth_l1_loss(value, target)
loss.backward()""",
    "contrastive": """\
w = T.randn(4, 3, requires_grad=True)
a = T.randn(3, 4)
b = a + 0.1 * T.randn(3, 4)
za = T.nn.functional.normalize(a @ w, dim=1)
zb = T.nn.functional.normalize(b @ w, dim=1)
sim = za @ zb.T / 0.1
labels = T.arange(3)
loss_ab = T.nn.functional.cross_entropy(sim, labels)
loss_ba = T.nn.functional.cross_entropy(sim.T, labels)
loss = (loss_ab + loss_ba) / 2
loss.backward()""",
    "weight tying": """\
emb = T.randn(5, 4, requires_grad=True)
w = T.randn(4, 4, requires_grad=True)
tokens = T.tensor([1, 3, 0])
targets = T.tensor([3, 0, 2])
h = T.tanh(emb[tokens] @ w)
logits = h @ emb.T
loss = T.nn.functional.cross_entropy(logits, targets)
loss.backward()""",
    "gradient penalty": """\
w1 = T.randn(2, 4, requires_grad=True)
w2 = T.randn(4, 1, requires_grad=True)
real = T.randn(3, 2)
fake = T.randn(3, 2)
mix = (0.5 * real + 0.5 * fake).requires_grad_()
score = T.tanh(mix @ w1) @ w2
(g,) = T.autograd.grad(score.sum(), mix, create_graph=True)
norm = g.pow(2).sum(dim=1).sqrt()
penalty = ((norm - 1) ** 2).mean()
loss = score.mean() + 10 * penalty
loss.backward()""",
}
