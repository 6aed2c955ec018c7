"""Healthy programs as people write them, of which a diagnosis once told a trouble that was none: it has to say nothing at all."""

from support.diagnosis.healthy import Healthy

CALM = [
    Healthy(
        "a word model whose steps are written through .data",
        """
T.manual_seed(0)
rnn, head = T.nn.LSTM(3, 4), T.nn.Linear(4, 3)
text = T.randn(13, 2, 3)
hidden = (T.zeros(1, 2, 4), T.zeros(1, 2, 4))
for i in range(0, 12, 4):
    hidden = tuple(h.detach() for h in hidden)
    out, hidden = rnn(text[i : i + 4], hidden)
    loss = T.nn.functional.mse_loss(head(out), text[i + 1 : i + 5])
    rnn.zero_grad()
    head.zero_grad()
    loss.backward()
    for p in (*rnn.parameters(), *head.parameters()):
        p.data.add_(p.grad, alpha=-0.1)
""",
    ),
    Healthy(
        "gradcheck of a Function",
        """
class Cube(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g
x = T.randn(3, dtype=T.float64, requires_grad=True)
print(T.autograd.gradcheck(Cube.apply, (x,)))
""",
    ),
    Healthy(
        "a schedule that is printed before the training",
        """
T.manual_seed(0)
net = T.nn.Linear(2, 1)
shown = T.optim.SGD(net.parameters(), lr=0.1)
schedule = T.optim.lr_scheduler.StepLR(shown, 2, 0.5)
for _ in range(5):
    shown.step()
    schedule.step()
    print(schedule.get_last_lr())
""",
    ),
    Healthy(
        "a training step in one line, which reads its loss again",
        """
T.manual_seed(0)
x = T.randn(8, 2)
net = T.nn.Linear(2, 1)
opt = T.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3): errors = (net(x) - x[:, :1]) ** 2; opt.zero_grad(); errors.mean().backward(); opt.step(); print(errors.mean().item())
""",
    ),
    Healthy(
        "F.dropout that is told the mode, and an evaluation at the end",
        """
T.manual_seed(0)
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = T.nn.Linear(4, 16), T.nn.Linear(16, 1)
    def forward(self, x):
        return self.b(T.nn.functional.dropout(T.relu(self.a(x)), 0.2, training=self.training))
net, x = Net(), T.randn(16, 4)
opt = T.optim.Adam(net.parameters(), lr=0.01)
for _ in range(3):
    opt.zero_grad()
    T.nn.functional.mse_loss(net(x), x[:, :1]).backward()
    opt.step()
net.eval()
with T.no_grad():
    print(net(x).mean())
""",
    ),
    Healthy(
        "a second model that goes on from a checkpoint",
        """
T.manual_seed(0)
x = T.randn(20, 3)
def build():
    net = T.nn.Sequential(T.nn.Linear(3, 6), T.nn.BatchNorm1d(6), T.nn.ReLU(), T.nn.Linear(6, 1))
    return net, T.optim.Adam(net.parameters(), lr=0.01)
def train(net, opt):
    for _ in range(3):
        opt.zero_grad()
        ((net(x) - x[:, :1]) ** 2).mean().backward()
        opt.step()
net, opt = build()
train(net, opt)
kept = net.state_dict(), opt.state_dict()
again, opt_again = build()
again.load_state_dict(kept[0])
opt_again.load_state_dict(kept[1])
train(again, opt_again)
""",
    ),
    Healthy(
        "a training that has converged to the last digit",
        """
T.manual_seed(0)
x = T.randn(20, 3)
net = T.nn.Linear(3, 1)
y = net(x).detach()
opt = T.optim.SGD(net.parameters(), lr=0.01)
for _ in range(5):
    opt.zero_grad()
    T.nn.functional.mse_loss(net(x), y).backward()
    opt.step()
""",
    ),
    Healthy(
        "MAML with a list of the losses of its tasks",
        """
T.manual_seed(0)
w = T.nn.Parameter(T.randn(3, 1))
opt = T.optim.Adam([w], lr=0.01)
for _ in range(3):
    losses = []
    for task in range(3):
        x = T.randn(6, 3)
        (g,) = T.autograd.grad((x @ w - x[:, :1]).pow(2).mean(), [w], create_graph=True)
        losses.append((x @ (w - 0.1 * g) - x[:, :1]).pow(2).mean())
    opt.zero_grad()
    (losses[0] + losses[1] + losses[2]).backward()
    opt.step()
""",
    ),
    Healthy(
        "scores of an attention, whose bias changes nothing",
        """
T.manual_seed(0)
score, value = T.nn.Linear(4, 1), T.nn.Linear(4, 2)
opt = T.optim.Adam([*score.parameters(), *value.parameters()], lr=0.01)
x, y = T.randn(5, 6, 4), T.randn(5, 2)
for _ in range(3):
    weights = T.softmax(score(x), dim=1)
    loss = ((weights * value(x)).sum(1) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "a small second model that is only looked at",
        """
T.manual_seed(0)
net, x = T.nn.Linear(3, 1), T.randn(8, 3)
opt = T.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    (net(x) - x[:, :1]).pow(2).mean().backward()
    opt.step()
probe = T.nn.Linear(3, 2)
probe(x).pow(2).mean().backward()
print(probe.weight.grad.norm())
""",
    ),
]
