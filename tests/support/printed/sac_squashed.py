import math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch import distributions as pyd


class TanhTransform(pyd.transforms.Transform):
    domain = pyd.constraints.real
    codomain = pyd.constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def __init__(self, cache_size=1):
        super().__init__(cache_size=cache_size)

    @staticmethod
    def atanh(x):
        return 0.5 * (x.log1p() - (-x).log1p())

    def __eq__(self, other):
        return isinstance(other, TanhTransform)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return self.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class SquashedNormal(pyd.transformed_distribution.TransformedDistribution):
    def __init__(self, loc, scale):
        self.loc = loc
        self.scale = scale
        self.base_dist = pyd.Normal(loc, scale)
        transforms = [TanhTransform()]
        super().__init__(self.base_dist, transforms)

    @property
    def mean(self):
        mu = self.loc
        for tr in self.transforms:
            mu = tr(mu)
        return mu


def weight_init(m):
    if isinstance(m, nn.Linear):
        nn.init.orthogonal_(m.weight.data)
        if hasattr(m.bias, "data"):
            m.bias.data.fill_(0.0)


def mlp(i, h, o, depth, output_mod=None):
    mods = [nn.Linear(i, h), nn.ReLU(inplace=True)]
    for _ in range(depth - 1):
        mods += [nn.Linear(h, h), nn.ReLU(inplace=True)]
    mods.append(nn.Linear(h, o))
    mods += [output_mod] if output_mod is not None else []
    return nn.Sequential(*mods)


class DiagGaussianActor(nn.Module):
    def __init__(self, o, a, h, depth, bounds):
        super().__init__()
        self.log_std_bounds = bounds
        self.trunk = mlp(o, h, 2 * a, depth)
        self.outputs = dict()
        self.apply(weight_init)

    def forward(self, obs):
        mu, log_std = self.trunk(obs).chunk(2, dim=-1)
        log_std = torch.tanh(log_std)
        lo, hi = self.log_std_bounds
        log_std = lo + 0.5 * (hi - lo) * (log_std + 1)
        std = log_std.exp()
        self.outputs["mu"] = mu
        return SquashedNormal(mu, std)


class DoubleQ(nn.Module):
    def __init__(self, o, a, h, d):
        super().__init__()
        self.Q1 = mlp(o + a, h, 1, d)
        self.Q2 = mlp(o + a, h, 1, d)
        self.apply(weight_init)

    def forward(self, obs, a):
        assert obs.size(0) == a.size(0)
        x = torch.cat([obs, a], dim=-1)
        return self.Q1(x), self.Q2(x)


actor, critic, target = DiagGaussianActor(3, 2, 16, 2, (-5, 2)), DoubleQ(3, 2, 16, 2), DoubleQ(3, 2, 16, 2)
target.load_state_dict(critic.state_dict())
log_alpha = torch.tensor(np.log(0.1))
log_alpha.requires_grad = True
print(log_alpha, log_alpha.dtype)
ao, co, lo = (
    torch.optim.Adam(actor.parameters(), lr=1e-3, betas=(0.9, 0.999)),
    torch.optim.Adam(critic.parameters(), lr=1e-3),
    torch.optim.Adam([log_alpha], lr=1e-3),
)
obs, act, rew, nobs, nd = (
    torch.randn(16, 3),
    torch.rand(16, 2) * 2 - 1,
    torch.randn(16, 1),
    torch.randn(16, 3),
    torch.ones(16, 1),
)
for s in range(4):
    dist = actor(nobs)
    na = dist.rsample()
    lp = dist.log_prob(na).sum(-1, keepdim=True)
    tq1, tq2 = target(nobs, na)
    tv = torch.min(tq1, tq2) - log_alpha.exp().detach() * lp
    tq = (rew + nd * 0.99 * tv).detach()
    q1, q2 = critic(obs, act)
    cl = F.mse_loss(q1, tq) + F.mse_loss(q2, tq)
    co.zero_grad()
    cl.backward()
    co.step()
    dist = actor(obs)
    a = dist.rsample()
    lp = dist.log_prob(a).sum(-1, keepdim=True)
    aq = torch.min(*critic(obs, a))
    al = (log_alpha.exp().detach() * lp - aq).mean()
    ao.zero_grad()
    al.backward()
    ao.step()
    lo.zero_grad()
    tl = (log_alpha.exp() * (-lp - (-2)).detach()).mean()
    tl.backward()
    lo.step()
    for p, t in zip(critic.parameters(), target.parameters()):
        t.data.copy_(0.005 * p.data + 0.995 * t.data)
    print(cl.item(), al.item(), tl.item(), lp.mean().item(), log_alpha.exp().item())
print(
    dist.mean[:2],
    dist.sample().clamp(-1, 1)[:2],
    dist.base_dist,
    dist.batch_shape,
    pyd.Normal(0.0, 1.0).support,
    dist.support,
)
FixedCategorical = torch.distributions.Categorical
old_sample = FixedCategorical.sample
FixedCategorical.sample = lambda self: old_sample(self).unsqueeze(-1)
log_prob_cat = FixedCategorical.log_prob
FixedCategorical.log_probs = lambda self, actions: (
    log_prob_cat(self, actions.squeeze(-1)).view(actions.size(0), -1).sum(-1).unsqueeze(-1)
)
FixedCategorical.mode = lambda self: self.probs.argmax(dim=-1, keepdim=True)
c = FixedCategorical(logits=torch.randn(4, 3))
a = c.sample()
print(a, c.log_probs(a), c.mode(), c.entropy().mean())
FixedCategorical.sample = old_sample
