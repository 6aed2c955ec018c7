import torch
import torch.nn as nn
import torch.nn.functional as F
import math

T_ = 20
beta = torch.linspace(1e-4, 0.02, T_)
alpha = 1.0 - beta
ab = torch.cumprod(alpha, dim=0)
ab_prev = F.pad(ab[:-1], (1, 0), value=1.0)
pv = beta * (1 - ab_prev) / (1 - ab)


def extract(a, t, s):
    b, *_ = t.shape
    return a.gather(-1, t).reshape(b, *((1,) * (len(s) - 1)))


class Sin(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d

    def forward(self, t):
        h = self.d // 2
        e = math.log(10000) / (h - 1)
        e = torch.exp(torch.arange(h, device=t.device) * -e)
        e = t[:, None] * e[None, :]
        return torch.cat((e.sin(), e.cos()), dim=-1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Sequential(Sin(8), nn.Linear(8, 16), nn.SiLU())
        self.i = nn.Linear(2, 16)
        self.o = nn.Sequential(nn.GroupNorm(4, 16), nn.SiLU(), nn.Linear(16, 2))

    def forward(self, x, t):
        return self.o(self.i(x) + self.t(t))


n = Net()
o = torch.optim.AdamW(n.parameters(), 1e-2)
ema = torch.optim.swa_utils.AveragedModel(n, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
x0 = torch.randn(16, 2) * 0.3 + 1
for _ in range(4):
    t = torch.randint(0, T_, (16,)).long()
    e = torch.randn_like(x0)
    xt = extract(ab.sqrt(), t, x0.shape) * x0 + extract((1 - ab).sqrt(), t, x0.shape) * e
    l = F.smooth_l1_loss(n(xt, t), e)
    o.zero_grad()
    l.backward()
    o.step()
    ema.update_parameters(n)
    print(l.item())
with torch.no_grad():
    x = torch.randn(3, 2)
    for i in reversed(range(T_)):
        t = torch.full((3,), i, dtype=torch.long)
        m = (x - extract(beta, t, x.shape) * ema(x, t) / extract((1 - ab).sqrt(), t, x.shape)) / extract(
            alpha.sqrt(), t, x.shape
        )
        x = m + (extract(pv, t, x.shape).sqrt() * torch.randn_like(x) if i > 0 else 0)
print(x)
