"""Programs with the structure and the mistake of questions that people posted, in our own words: what was missed at first."""

from __future__ import annotations

from .broken import Broken
from .healthy import Healthy

BROKEN = [
    Broken(
        "posted: a Parameter converted after it was made",
        1,
        "unregistered non-leaf",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(10)).to(torch.float64)  #!
        self.fc = nn.Linear(10, 1).to(torch.float64)
    def forward(self, x):
        return self.fc(x * self.w)
model = Scaled()
opt = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(40, 10, dtype=torch.float64)
y = x[:, :1] * 3
for epoch in range(5):
    opt.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "posted: layers made in forward",
        5,
        "made-anew",
        """
import torch
torch.manual_seed(0)
class ThreeLayerNet(torch.nn.Module):
    def __init__(self, d_in, h, d_out):
        super(ThreeLayerNet, self).__init__()
        self.h = h
        self.last = torch.nn.Linear(h, d_out)
    def forward(self, x):
        h_relu = torch.nn.Linear(x.shape[1], self.h)(x).clamp(min=0)  #!
        h_relu = torch.nn.Linear(self.h, self.h)(h_relu).clamp(min=0)  #!
        return self.last(h_relu)
model = ThreeLayerNet(12, 16, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(30, 12)
y = x.sum(1, keepdim=True)
for t in range(6):
    y_pred = model(x)
    loss = (y_pred - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "posted: an adversarial term read by item()",
        1,
        "item detach",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(10, 8), nn.ReLU())
dec = nn.Linear(8, 10)
disc = nn.Sequential(nn.Linear(8, 8), nn.LeakyReLU(), nn.Linear(8, 1))
opt_g = torch.optim.Adam(list(enc.parameters()) + list(dec.parameters()), lr=1e-3)
opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
epoch_loss, epoch_adv = [], []
for it in range(5):
    source, target = torch.randn(16, 10), torch.randn(16, 10) + 1
    zs, zt = enc(source), enc(target)
    loss_rec = ((dec(zs) - source) ** 2).mean()
    loss_adv_g = bce(disc(zs), torch.ones(16, 1)).detach().item()  #!
    loss_g = loss_rec + 0.5 * loss_adv_g
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    loss_d = bce(disc(zs.detach()), torch.zeros(16, 1)) + bce(disc(zt.detach()), torch.ones(16, 1))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    epoch_loss.append(loss_g.item())
""",
    ),
    Broken(
        "posted: a balance loss rebuilt by tensor()",
        1,
        "new-tensor",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
class MoE(nn.Module):
    def __init__(self, d, experts=4):
        super().__init__()
        self.gate = nn.Linear(d, experts)
        self.experts = nn.ModuleList([nn.Linear(d, d) for _ in range(experts)])
        self.balance = None
    def forward(self, x):
        p = F.softmax(self.gate(x), -1)
        self.balance = (p.mean(0) ** 2).sum() * p.shape[1]
        best, idx = p.max(-1)
        out = torch.stack([e(x) for e in self.experts], 1)
        return out[torch.arange(len(x)), idx] * best[:, None]
def balance_loss(model):
    loss_list = [m.balance for m in model if isinstance(m, MoE)]
    return torch.tensor(loss_list).mean()  #!
model = nn.Sequential(MoE(8), nn.ReLU(), MoE(8), nn.Linear(8, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = torch.randn(48, 8), torch.randint(0, 3, (48,))
for it in range(6):
    loss = F.cross_entropy(model(x), y) + 0.1 * balance_loss(model)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "posted: a rotation rebuilt from tensors",
        1,
        "new-tensor",
        """
import torch
torch.manual_seed(0)
angle = torch.nn.Parameter(torch.tensor(0.3))
shift = torch.nn.Parameter(torch.tensor(0.5))
opt = torch.optim.Adam([angle, shift], lr=0.05)
points = torch.randn(20, 2)
wanted = points @ torch.tensor([[0.0, 1.0], [-1.0, 0.0]]) + 1
for i in range(8):
    opt.zero_grad()
    c, s = torch.cos(angle), torch.sin(angle)
    rotation = torch.tensor([[c, s], [-s, c]])  #!
    moved = points @ rotation + shift
    loss = (moved - wanted).pow(2).sum()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "posted: a second network under the first one's name",
        5,
        "stale-optimizer",
        """
import torch
import torch.nn as nn
import torch.optim as optim
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.l1 = nn.Linear(4, hidden)
        self.l2 = nn.Linear(hidden, 2)
    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x)))
net1 = Net(8)
optimizer = optim.Adam(net1.parameters(), lr=3e-2)
def fit(n):
    for _ in range(n):
        x = torch.randn(32, 4)
        y = (x.sum(1) > 0).long()
        loss = nn.functional.cross_entropy(net1(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
fit(6)
net1 = Net(24)  #!
fit(10)
""",
    ),
    Broken(
        "posted: layers put in by a pruning helper",
        5,
        "stale-optimizer",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
def speedup(model, keep):
    for name, layer in list(model.named_children()):
        if isinstance(layer, nn.Linear) and layer.out_features > keep:
            small = nn.Linear(layer.in_features, keep)
            small.weight.data.copy_(layer.weight.data[:keep])
            small.bias.data.copy_(layer.bias.data[:keep])
            setattr(model, name, small)  #!
            after = nn.Linear(keep, model.out.out_features)
            after.weight.data.copy_(model.out.weight.data[:, :keep])
            model.out = after  #!
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 32)
        self.out = nn.Linear(32, 3)
    def forward(self, x):
        return self.out(torch.relu(self.fc(x)))
model = M()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
speedup(model, 12)  #!
x, y = torch.randn(60, 6), torch.randint(0, 3, (60,))
for finetune in range(8):
    optimizer.zero_grad()
    loss = nn.CrossEntropyLoss()(model(x), y)
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "posted: a model made twice",
        5,
        "stale-optimizer",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)
    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = self.i2h(combined)
        return self.softmax(self.i2o(combined)), hidden
    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)
rnn = RNN(7, 12, 3)
criterion = nn.NLLLoss()
learning_rate = 0.005
optimizer = torch.optim.SGD(rnn.parameters(), lr=learning_rate)
def train(category_tensor, line_tensor):
    hidden = rnn.init_hidden()
    optimizer.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    optimizer.step()
    return output, loss.item()
rnn = RNN(7, 12, 3)  #!
current_loss = 0
for epoch in range(1, 15):
    line = torch.eye(7)[torch.randint(0, 7, (4,))].unsqueeze(1)
    output, loss = train(torch.randint(0, 3, (1,)), line)
    current_loss += loss
""",
    ),
    Broken(
        "posted: attention over rows, viewed before it is used",
        5,
        "wrong-dim",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Attention(nn.Module):
    def __init__(self, dimensions):
        super().__init__()
        self.linear_in = nn.Linear(dimensions, dimensions, bias=False)
        self.softmax = nn.Softmax(dim=0)  #!
    def forward(self, query, context):
        b, out_len, d = query.size()
        q_len = context.size(1)
        query = self.linear_in(query.reshape(b * out_len, d)).view(b, out_len, d)
        scores = torch.bmm(query, context.transpose(1, 2).contiguous())
        scores = scores.view(b * out_len, q_len)
        weights = self.softmax(scores)  #!
        weights = weights.view(b, out_len, q_len)
        return torch.bmm(weights, context), weights
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 8)
        self.att = Attention(8)
        self.out = nn.Linear(8, 3)
    def forward(self, ids):
        e = self.emb(ids)
        mixed, _ = self.att(e[:, -1:], e)
        return self.out(mixed.squeeze(1))
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(5):
    ids = torch.randint(0, 20, (16, 7))
    y = ids[:, 0] % 3
    loss = nn.functional.cross_entropy(net(ids), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    Broken(
        "posted: log probabilities not summed over actions",
        5,
        "broadcast-loss",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal
torch.manual_seed(0)
class Policy(nn.Module):
    def __init__(self, s, a):
        super().__init__()
        self.fc = nn.Linear(s, 16)
        self.mu, self.std = nn.Linear(16, a), nn.Linear(16, a)
    def forward(self, x):
        h = F.relu(self.fc(x))
        dist = Normal(self.mu(h), F.softplus(self.std(h)) + 1e-4)
        sample = dist.rsample()
        log_prob = dist.log_prob(sample)  #!
        action = torch.tanh(sample)
        return action, log_prob
class Q(nn.Module):
    def __init__(self, s, a):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(s + a, 16), nn.ReLU(), nn.Linear(16, 1))
    def forward(self, s, a):
        return self.f(torch.cat([s, a], 1))
actor, critic, target = Policy(5, 4), Q(5, 4), Q(5, 4)
target.load_state_dict(critic.state_dict())
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
alpha = 0.2
for step in range(5):
    s, a, r, s2 = torch.randn(32, 5), torch.rand(32, 4) * 2 - 1, torch.randn(32, 1), torch.randn(32, 5)
    with torch.no_grad():
        a2, logp2 = actor(s2)
        td_target = r + 0.99 * (target(s2, a2) - alpha * logp2)
    critic_loss = torch.mean(F.mse_loss(critic(s, a), td_target.detach()))  #!
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    new, logp = actor(s)
    actor_loss = (alpha * logp - critic(s, new)).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    for p, q in zip(target.parameters(), critic.parameters()):
        p.data.copy_(0.995 * p.data + 0.005 * q.data)
""",
    ),
    Broken(
        "posted: mixup in two orders, by one helper",
        5,
        "shuffled-apart",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
def shuffle(t):
    return t[torch.randperm(len(t))]  #!
def mixup(x, y, alpha=0.5):
    lam = torch.distributions.Beta(alpha, alpha).sample()
    x2 = shuffle(x)  #!
    y2 = shuffle(y)  #!
    return lam * x + (1 - lam) * x2, lam * y + (1 - lam) * y2
net = nn.Sequential(nn.Linear(8, 20), nn.ReLU(), nn.Linear(20, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(8):
    x = torch.randn(32, 8)
    y = nn.functional.one_hot(x[:, :3].argmax(1), 3).float()
    mx, my = mixup(x, y)
    loss = -(my * torch.log_softmax(net(mx), 1)).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "posted: one target for ten answers",
        5,
        "broadcast-loss",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Cell(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gates = nn.Linear(d, 3 * d)
    def forward(self, x, h):
        i, f, o = self.gates(x + h).chunk(3, -1)
        h = torch.sigmoid(f) * h + torch.sigmoid(i) * torch.tanh(x)
        return torch.sigmoid(o) * h, h
model = nn.ModuleDict({"cell": Cell(10), "out": nn.Linear(10, 1)})
seq = torch.sin(torch.arange(40) / 5.0)
inputs, targets = seq[:-1], seq[1:]
criterion = nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    loss = 0
    h = torch.zeros(10, 10)
    for t in range(12):
        x = inputs[t].view(1, 1).expand(10, 10)
        y, h = model["cell"](x, h)
        y_pred = model["out"](y)
        y_true = targets[t].view(1, 1)
        loss += criterion(y_pred, y_true)  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "posted: a Function that returns its input, written in place",
        6,
        "in-place",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class CustomOp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x *= 2.0  #!
        return x  #!
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2.0  #!
class Net(nn.Module):
    def __init__(self, in_channel, out_channel, scale=4.0):
        super().__init__()
        self.fc = nn.Linear(in_channel, out_channel)
        self.s = scale
    def forward(self, input):
        logits = CustomOp.apply(self.fc(input))
        logits *= self.s  #!
        return logits
net = Net(12, 5)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(2):
    loss = net(torch.rand(8, 12)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "posted: a target network that points to the moving one",
        7,
        "alias",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class CentralControl:
    def __init__(self, obs, actions, gamma=0.99):
        make = lambda: nn.Sequential(nn.Linear(obs, 24), nn.ReLU(), nn.Linear(24, actions))
        self.moving_nn = make()
        self.target_nn = make()
        self.gamma = gamma
    def set_optimizer(self, lr):
        self.optimizer = torch.optim.Adam(self.moving_nn.parameters(), lr=lr)
    def update_target(self):
        self.target_nn.load_state_dict(self.moving_nn.state_dict())
        self.target_nn = self.moving_nn  #!
    def optimize(self, batch):
        s, a, r, s2 = batch
        q = self.moving_nn(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            y = r + self.gamma * self.target_nn(s2).max(1)[0]
        loss = nn.functional.mse_loss(q, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()
cc = CentralControl(3, 2)
cc.set_optimizer(1e-3)
for it in range(20):
    cc.optimize((torch.randn(16, 3), torch.randint(0, 2, (16,)), torch.rand(16), torch.randn(16, 3)))
    if it % 5 == 4:
        cc.update_target()
""",
    ),
    Broken(
        "posted: a relu whose backward drops the gradient",
        7,
        "wrong-backward",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Rectifier(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y):
        ctx.save_for_backward(y)
        return y.clamp(min=0)
    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        g = g.clone()
        g[y > 0] = 1.0  #!
        g[y <= 0] = 0.0
        return g  #!
class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 12), nn.Linear(12, 12), nn.Linear(12, 1)
    def forward(self, x):
        return self.c(Rectifier.apply(self.b(Rectifier.apply(self.a(x)))))
net = MLP()
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
x = torch.randn(50, 4)
y = x.prod(1, keepdim=True)
for epoch in range(5):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "posted: a backward filled with ones",
        7,
        "wrong-backward",
        """
import torch
torch.manual_seed(0)
class MyAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input1, input2):
        ctx.shapes = input1.shape, input2.shape
        return input1 + input2
    @staticmethod
    def backward(ctx, grad_output):
        grad_input = torch.empty_like(grad_output)
        grad_input.fill_(1)  #!
        return grad_input, grad_input  #!
class Add(torch.nn.Module):
    def forward(self, a, b):
        return MyAdd.apply(a, b)
class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = torch.nn.Linear(5, 5), torch.nn.Linear(5, 5)
        self.add = Add()
    def forward(self, a, b):
        return self.add(self.left(a), self.right(b))
model = Network()
opt = torch.optim.SGD(model.parameters(), lr=0.02)
for step in range(4):
    a, b = torch.randn(10, 5), torch.randn(10, 5)
    loss = (model(a, b) - a * 2 + b).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "posted: one gradient for two inputs",
        7,
        "wrong-backward",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class adder(torch.autograd.Function):
    @staticmethod
    def forward(ctx, W_col, X_col):
        ctx.save_for_backward(W_col, X_col)
        return -(W_col.unsqueeze(2) - X_col.unsqueeze(0)).abs().sum(1)
    @staticmethod
    def backward(ctx, grad_output):
        W_col, X_col = ctx.saved_tensors
        grad_W_col = ((X_col.unsqueeze(0) - W_col.unsqueeze(2)).sign() * grad_output.unsqueeze(1)).sum(2)
        grad_X_col = ((W_col.unsqueeze(2) - X_col.unsqueeze(0)).sign() * grad_output.unsqueeze(1)).sum(0)
        return grad_W_col  #!
class adder2d(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i * 9))
    def forward(self, x):
        cols = nn.functional.unfold(x, 3, padding=1).transpose(0, 1).flatten(1)
        out = adder.apply(self.weight, cols)
        return out.view(len(self.weight), x.shape[0], *x.shape[2:]).transpose(0, 1)
net = nn.Sequential(adder2d(1, 4), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(2):
    loss = nn.functional.cross_entropy(net(torch.randn(3, 1, 4, 4)), torch.randint(0, 2, (3,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "posted: a written-out divergence subtracted",
        7,
        "reversed",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(12, 16)
        self.mu, self.logstd = nn.Linear(16, 3), nn.Linear(16, 3)
        self.dec = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 12))
    def forward(self, x):
        h = torch.tanh(self.enc(x))
        mu, logstd = self.mu(h), self.logstd(h)
        z = mu + logstd.exp() * torch.randn_like(mu)
        return self.dec(z), mu, logstd
def loss_fn(x, rec, mu, logstd):
    kl = 0.5 * torch.sum(torch.exp(2 * logstd) + mu ** 2 - 1 - 2 * logstd) / len(x)
    rec_loss = F.binary_cross_entropy_with_logits(rec, x, reduction="sum") / len(x)
    return rec_loss - kl  #!
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    x = (torch.rand(32, 12) > 0.5).float()
    rec, mu, logstd = model(x)
    loss = loss_fn(x, rec, mu, logstd)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "posted: backward of a loss that was not reduced",
        1,
        "not-scalar",
        """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(5, 3), torch.randn(5, 2)
loss = torch.nn.MSELoss(reduction="none")(net(x), y)
optimizer.zero_grad()
loss.backward()  #!
optimizer.step()
""",
    ),
    Broken(
        "posted: a Function whose methods are not static",
        7,
        "wrong-backward",
        """
import torch
class Exp(torch.autograd.Function):
    def forward(self, a):  #!
        self.save_for_backward(a)
        return a.exp()
    def backward(self, g):
        (a,) = self.saved_tensors
        return g * a.exp()
x = torch.randn(3, requires_grad=True)
Exp()(x).sum().backward()
""",
    ),
    Broken(
        "posted: the size of gradients after zero_grad()",
        5,
        "zero-before-step",
        """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    loss = (net(torch.randn(8, 4)) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()  #!
    print(step, loss.item(), net.weight.grad.norm())
""",
    ),
    Broken(
        "posted: a Dice loss of a thresholded mask",
        1,
        "integer-op new-tensor",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
def threshold(x, t):
    return torch.tensor((x > t).type(x.dtype), requires_grad=True)  #!
class DiceLoss(nn.Module):
    def __init__(self, eps=1.0, t=0.5):
        super().__init__()
        self.eps, self.t = eps, t
    def forward(self, pr, gt):
        pr = threshold(torch.sigmoid(pr), self.t)
        tp = torch.sum(gt * pr)
        fp, fn = torch.sum(pr) - tp, torch.sum(gt) - tp
        return 1 - (2 * tp + self.eps) / (2 * tp + fn + fp + self.eps)
model = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 1, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = DiceLoss()
for epoch in range(4):
    x = torch.rand(2, 3, 8, 8)
    y = (x.mean(1, keepdim=True) > 0.5).float()
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    Broken(
        "posted: Adam made anew for each epoch",
        5,
        "made-anew",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
def train_epoch(model, tasks, lr=5e-3):
    opt = torch.optim.Adam(model.parameters(), lr=lr)  #!
    losses = []
    for x, y in tasks:
        opt.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses
model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
tasks = [(x, x.prod(1, keepdim=True)) for x in (torch.randn(20, 3) for _ in range(2))]
for epoch in range(6):
    train_epoch(model, tasks)
""",
    ),
    Broken(
        "posted: the last gradients of an epoch reset",
        5,
        "zero-before-step",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class Trainer:
    def __init__(self, model, batches, accumulate):
        self.model, self.batches, self.accumulate = model, batches, accumulate
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        self.last_opt_step = -1
    def optimizer_step(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=10.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
    def train(self, epochs):
        nb = len(self.batches)
        for epoch in range(epochs):
            self.model.train()
            self.optimizer.zero_grad()  #!
            for i, (x, y) in enumerate(self.batches):
                ni = i + nb * epoch
                loss = nn.functional.cross_entropy(self.model(x), y)
                loss.backward()
                if ni - self.last_opt_step >= self.accumulate:
                    self.optimizer_step()
                    self.last_opt_step = ni
batches = [(torch.randn(8, 5), torch.randint(0, 3, (8,))) for _ in range(10)]
Trainer(nn.Sequential(nn.Linear(5, 12), nn.SiLU(), nn.Linear(12, 3)), batches, 4).train(4)
""",
    ),
    Broken(
        "posted: a diagonal masked the wrong way round",
        2,
        "dead-relu zero",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 6))
opt = torch.optim.AdamW(enc.parameters(), lr=1e-3)
for step in range(5):
    anchor = torch.randn(16, 8)
    positive = anchor + 0.1 * torch.randn(16, 8)
    a, p = F.normalize(enc(anchor), dim=1), F.normalize(enc(positive), dim=1)
    pos_sims = (a * p).sum(1)
    sim = (a @ p.t()).clone()
    sim.diagonal().fill_(-float("inf"))  #!
    neg_dists = 1 - sim  #!
    hard_neg, _ = torch.max(neg_dists, dim=1)  #!
    loss = F.relu((1 - pos_sims) - hard_neg + 0.5).mean()  #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Broken(
        "posted: scores masked before a learned temperature",
        3,
        "not-finite",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
class InfoNCE(nn.Module):
    def __init__(self):
        super().__init__()
        self.temperature = nn.Parameter(torch.tensor(0.07))
    def forward(self, q, pos, negs, valid):
        positive = (q * pos).sum(1, keepdim=True)
        negative = torch.einsum("bd,bnd->bn", q, negs)
        negative = negative.masked_fill(~valid, float("-inf"))  #!
        logits = torch.cat([positive, negative], 1) / self.temperature  #!
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))
enc, loss_fn = nn.Linear(6, 8), InfoNCE()
opt = torch.optim.Adam([*enc.parameters(), *loss_fn.parameters()], lr=1e-3)
for i in range(3):
    q, pos, negs = (F.normalize(enc(torch.randn(*s, 6)), dim=-1) for s in ((10,), (10,), (10, 4)))
    valid = torch.rand(10, 4) > 0.3
    loss = loss_fn(q, pos, negs, valid)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
]

HEALTHY = [
    Healthy(
        "posted: dropout that is told the mode, and an evaluation at the end",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
class AFM(nn.Module):
    def __init__(self, fields, dim):
        super().__init__()
        self.embedding = nn.Embedding(40, dim)
        self.attention = nn.Linear(dim, dim)
        self.projection = nn.Linear(dim, 1)
        self.fc = nn.Linear(dim, 1)
    def forward(self, x):
        e = self.embedding(x)
        rows, cols = torch.triu_indices(e.shape[1], e.shape[1], 1)
        inner = e[:, rows] * e[:, cols]
        scores = F.softmax(self.projection(F.relu(self.attention(inner))), dim=1)
        scores = F.dropout(scores, p=0.2, training=self.training)
        out = torch.sum(scores * inner, dim=1)
        return self.fc(out).squeeze(1)
def train(model, optimizer, loader, criterion):
    model.train()
    for fields, target in loader:
        loss = criterion(model(fields), target)
        model.zero_grad()
        loss.backward()
        optimizer.step()
def test(model, loader):
    model.eval()
    predicts = []
    with torch.no_grad():
        for fields, target in loader:
            predicts.extend(torch.sigmoid(model(fields)).tolist())
    return predicts
model = AFM(4, 6)
loader = [(torch.randint(0, 40, (16, 4)), torch.randint(0, 2, (16,)).float()) for _ in range(3)]
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    train(model, optimizer, loader, nn.BCEWithLogitsLoss())
    test(model, loader)
""",
    ),
    Healthy(
        "posted: an angle in a long formula",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class RotNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(9, 16), nn.ReLU(), nn.Linear(16, 9))
    def forward(self, R):
        return R + self.f(R.flatten(1)).view(-1, 3, 3)
def angle(a, b):
    cos = ((a.transpose(1, 2) @ b).diagonal(dim1=1, dim2=2).sum(1) - 1) / 2
    cos = torch.clamp(cos, min=-1 + 1e-6, max=1 - 1e-6)
    return torch.acos(cos)
net = RotNet()
nn.init.zeros_(net.f[2].weight)
nn.init.zeros_(net.f[2].bias)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
eye = torch.eye(3).repeat(4, 1, 1)
for step in range(4):
    turn = torch.matrix_exp(torch.tensor([[0., -1, 0], [1, 0, 0], [0, 0, 0]]) * torch.rand(4, 1, 1))
    goal = torch.cat([eye[:1], turn[1:]])
    loss = angle(net(eye), goal).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "posted: a balance loss that is stacked",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
class MoE(nn.Module):
    def __init__(self, d, experts=4):
        super().__init__()
        self.gate = nn.Linear(d, experts)
        self.experts = nn.ModuleList([nn.Linear(d, d) for _ in range(experts)])
        self.balance = None
    def forward(self, x):
        p = F.softmax(self.gate(x), -1)
        self.balance = (p.mean(0) ** 2).sum() * p.shape[1]
        best, idx = p.max(-1)
        out = torch.stack([e(x) for e in self.experts], 1)
        return out[torch.arange(len(x)), idx] * best[:, None]
def balance_loss(model):
    loss_list = [m.balance for m in model if isinstance(m, MoE)]
    return torch.stack(loss_list).mean()
model = nn.Sequential(MoE(8), nn.ReLU(), MoE(8), nn.Linear(8, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = torch.randn(48, 8), torch.randint(0, 3, (48,))
for it in range(6):
    loss = F.cross_entropy(model(x), y) + 0.1 * balance_loss(model)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "posted: mixup in one order",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
def shuffle(t):
    return t[torch.randperm(len(t))]
def mixup(x, y, alpha=0.5):
    lam = torch.distributions.Beta(alpha, alpha).sample()
    order = torch.randperm(len(x))
    x2, y2 = x[order], y[order]
    return lam * x + (1 - lam) * x2, lam * y + (1 - lam) * y2
net = nn.Sequential(nn.Linear(8, 20), nn.ReLU(), nn.Linear(20, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(8):
    x = torch.randn(32, 8)
    y = nn.functional.one_hot(x[:, :3].argmax(1), 3).float()
    mx, my = mixup(x, y)
    loss = -(my * torch.log_softmax(net(mx), 1)).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "posted: log_softmax before a cross-entropy",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Conv2d(3, 5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(4):
    x, y = torch.randn(2, 3, 6, 6), torch.randint(0, 5, (2, 6, 6))
    pred = F.log_softmax(net(x), dim=1)
    loss = F.cross_entropy(pred, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    Healthy(
        "posted: targets that are not detached, of a network that is copied",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
q_net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target_q_net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target_q_net.load_state_dict(q_net.state_dict())
optimizer = torch.optim.Adam(q_net.parameters(), lr=2e-3)
count = 0
for step in range(30):
    states, actions = torch.randn(32, 4), torch.randint(0, 2, (32, 1))
    rewards, next_states, dones = torch.rand(32, 1), torch.randn(32, 4), torch.zeros(32, 1)
    q_values = q_net(states).gather(1, actions)
    max_next = target_q_net(next_states).max(1)[0].view(-1, 1)
    q_targets = rewards + 0.9 * max_next * (1 - dones)
    dqn_loss = torch.mean(nn.functional.mse_loss(q_values, q_targets))
    optimizer.zero_grad()
    dqn_loss.backward()
    optimizer.step()
    if count % 10 == 0:
        target_q_net.load_state_dict(q_net.state_dict())
    count += 1
""",
    ),
    Healthy(
        "posted: triplets that all keep their margin",
        """
import torch
import torch.nn as nn
torch.manual_seed(0)
class TripletMarginLoss(nn.Module):
    def __init__(self, margin=0.1):
        super().__init__()
        self.margin = margin
    def forward(self, a, p, n):
        relued = torch.relu((a - p).norm(dim=1) - (a - n).norm(dim=1) + self.margin)
        count = (relued > 0).float().sum()
        return torch.sum(relued) / count.clamp(min=1)
trunk = nn.Linear(6, 4)
optimizer = torch.optim.Adam(trunk.parameters(), lr=1e-3)
loss_func = TripletMarginLoss()
for i in range(5):
    base = torch.randn(8, 6)
    near, far = base + 0.2 * torch.randn(8, 6), torch.randn(8, 6)
    if i == 3:
        near, far = base + 1e-3, base + 5.0
    loss = loss_func(trunk(base), trunk(near), trunk(far))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
]
