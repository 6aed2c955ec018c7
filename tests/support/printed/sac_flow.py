import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.ReLU())
        self.mu, self.ls = nn.Linear(16, 2), nn.Linear(16, 2)

    def forward(self, s, det=False):
        h = self.net(s)
        mu, ls = self.mu(h), torch.clamp(self.ls(h), -20, 2)
        d = Normal(mu, ls.exp())
        u = mu if det else d.rsample()
        lp = d.log_prob(u).sum(axis=-1)
        lp -= (2 * (torch.log(torch.tensor(2.0)) - u - F.softplus(-2 * u))).sum(axis=1)
        return torch.tanh(u), lp


a = Actor()
q = nn.Linear(5, 1)
la = torch.zeros(1, requires_grad=True)
oa, oal = torch.optim.Adam(a.parameters(), 1e-3), torch.optim.Adam([la], 1e-3)
s = torch.randn(8, 3)
for p in q.parameters():
    p.requires_grad = False
for _ in range(3):
    act, lp = a(s)
    l = (la.exp().detach() * lp - q(torch.cat([s, act], -1)).squeeze(-1)).mean()
    oa.zero_grad()
    l.backward()
    oa.step()
    al = -(la * (lp + -2).detach()).mean()
    oal.zero_grad()
    al.backward()
    oal.step()
    print(l.item(), al.item())
d = TransformedDistribution(Normal(torch.zeros(2), torch.ones(2)), TanhTransform(cache_size=1))
x = d.rsample()
print(x, d.log_prob(x).sum())
t = [torch.zeros(2), torch.ones(2)]
torch._foreach_mul_(t, 2.0) if hasattr(torch, "_foreach_mul_x") else None
print(t)
for p, tp in zip(a.parameters(), a.parameters()):
    tp.data.mul_(0.995)
    tp.data.add_(0.005 * p.data)
print(sum(p.sum() for p in a.parameters()))
