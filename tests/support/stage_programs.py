"""Ten programs as people write them, none of them from a lesson. Every stage must show each of them whole."""

PROGRAMS = {
    "mlp": """\
net = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.ReLU(), T.nn.Linear(8, 3))
x = T.ones(2, 4)
y = T.tensor([0, 2])
loss = T.nn.functional.cross_entropy(net(x), y)
loss.backward()""",
    "rnn": """\
w = T.ones(3, 3, requires_grad=True)
u = T.ones(2, 3, requires_grad=True)
h = T.zeros(1, 3)
for t in range(4):
    x = T.ones(1, 2) * t
    h = T.tanh(h @ w + x @ u)
loss = h.sum()
loss.backward()""",
    "attention": """\
q = T.ones(3, 4, requires_grad=True)
k = T.ones(3, 4, requires_grad=True)
v = T.ones(3, 4, requires_grad=True)
scores = q @ k.T / 2.0
weights = T.softmax(scores, dim=-1)
out = weights @ v
loss = out.mean()
loss.backward()""",
    "function": """\
class Cube(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 3 * x ** 2
x = T.tensor(2.0, requires_grad=True)
y = Cube.apply(x)
y.backward()""",
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
    "gan": """\
g = T.nn.Linear(2, 2)
d = T.nn.Linear(2, 1)
z = T.ones(3, 2)
fake = g(z)
real = T.ones(3, 2) * 2
loss_d = T.nn.functional.binary_cross_entropy_with_logits(d(real), T.ones(3, 1)) + T.nn.functional.binary_cross_entropy_with_logits(d(fake.detach()), T.zeros(3, 1))
loss_d.backward()
loss_g = T.nn.functional.binary_cross_entropy_with_logits(d(fake), T.ones(3, 1))
loss_g.backward()""",
    "fan-out": """\
w = T.tensor(2.0, requires_grad=True)
a = w * 2
b = w * 3
c = w * w
d = w.exp()
L = a + b + c + d
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
