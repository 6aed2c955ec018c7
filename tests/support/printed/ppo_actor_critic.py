import torch
import torch.nn as nn
from torch.distributions import Categorical, MultivariateNormal, Normal
import numpy as np


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2), nn.Softmax(dim=-1))
        self.critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.log_std = nn.Parameter(torch.zeros(2))

    def act(self, s):
        d = Categorical(self.actor(s))
        a = d.sample()
        return a.detach(), d.log_prob(a).detach(), self.critic(s).detach()

    def evaluate(self, s, a):
        d = Categorical(self.actor(s))
        return d.log_prob(a), self.critic(s), d.entropy()


def layer_init(l, std=np.sqrt(2), b=0.0):
    torch.nn.init.orthogonal_(l.weight, std)
    torch.nn.init.constant_(l.bias, b)
    return l


p = AC()
[layer_init(l) for l in p.modules() if isinstance(l, nn.Linear)]
opt = torch.optim.Adam(
    [{"params": p.actor.parameters(), "lr": 3e-3}, {"params": p.critic.parameters(), "lr": 1e-2}], eps=1e-5
)
S, A, L, R = [], [], [], []
for t in range(12):
    s = torch.FloatTensor(np.random.randn(3))
    a, l, v = p.act(s)
    S.append(s)
    A.append(a)
    L.append(l)
    R.append(float(s.sum()) * (a.item() - 0.5))
ret, g = [], 0
for r in reversed(R):
    g = r + 0.9 * g
    ret.insert(0, g)
ret = torch.tensor(ret, dtype=torch.float32)
ret = (ret - ret.mean()) / (ret.std() + 1e-7)
S = torch.squeeze(torch.stack(S, dim=0)).detach()
A = torch.squeeze(torch.stack(A)).detach()
L = torch.squeeze(torch.stack(L)).detach()
for _ in range(4):
    lp, v, ent = p.evaluate(S, A)
    v = torch.squeeze(v)
    ratio = torch.exp(lp - L.detach())
    adv = ret - v.detach()
    loss = -torch.min(ratio * adv, torch.clamp(ratio, 0.8, 1.2) * adv) + 0.5 * nn.MSELoss()(v, ret) - 0.01 * ent
    opt.zero_grad()
    loss.mean().backward()
    nn.utils.clip_grad_norm_(p.parameters(), 0.5)
    opt.step()
    print(loss.mean().item())
print(A, R[-1])
d = MultivariateNormal(torch.zeros(2), torch.diag(torch.full((2,), 0.5)).unsqueeze(0))
print(d.sample().shape, d.log_prob(torch.ones(1, 2)), d.entropy())
n = Normal(torch.zeros(2), p.log_std.exp())
a = n.sample()
print(a, n.log_prob(a).sum(-1), n.entropy().sum())
print(
    torch.as_tensor(np.float64(3)),
    torch.tensor(np.array([1, 2]), dtype=torch.float),
    torch.where(torch.tensor([True, False]), 1.0, 0.0),
    torch.clamp(torch.tensor([1.0, 5]), max=2),
    torch.distributions.kl.kl_divergence(n, Normal(0.0, 1.0)),
)
