import argparse, random, time
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical
from torch.distributions.normal import Normal


class VecEnv:
    def __init__(self, n):
        self.n = n
        self.r = np.random.default_rng(1)

    def reset(self):
        self.s = self.r.normal(size=(self.n, 4)).astype(np.float32)
        self.t = np.zeros(self.n)
        return self.s

    def step(self, a):
        self.s = (0.9 * self.s + 0.1 * a[:, None] + 0.05 * self.r.normal(size=self.s.shape)).astype(np.float32)
        self.t += 1
        d = self.t >= 5
        self.t[d] = 0
        return self.s, -np.abs(self.s).sum(1), d, [{}] * self.n


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(np.array((4,)).prod(), 16)), nn.Tanh(), layer_init(nn.Linear(16, 1), std=1.0)
        )
        self.actor = nn.Sequential(
            layer_init(nn.Linear(np.array((4,)).prod(), 16)), nn.Tanh(), layer_init(nn.Linear(16, 3), std=0.01)
        )

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


S, N, bs, mb = 8, 3, 24, 8
random.seed(1)
np.random.seed(1)
torch.manual_seed(1)
device = torch.device("cpu")
envs = VecEnv(N)
agent = Agent().to(device)
optimizer = optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
obs = torch.zeros((S, N) + (4,)).to(device)
actions = torch.zeros((S, N)).to(device)
logprobs = torch.zeros((S, N))
rewards = torch.zeros((S, N))
dones = torch.zeros((S, N))
values = torch.zeros((S, N))
next_obs = torch.Tensor(envs.reset()).to(device)
next_done = torch.zeros(N)
for update in range(1, 3):
    optimizer.param_groups[0]["lr"] = (1.0 - (update - 1.0) / 2) * 2.5e-4
    for step in range(S):
        obs[step] = next_obs
        dones[step] = next_done
        with torch.no_grad():
            action, logprob, _, value = agent.get_action_and_value(next_obs)
            values[step] = value.flatten()
        actions[step] = action
        logprobs[step] = logprob
        no, reward, done, info = envs.step(action.cpu().numpy())
        rewards[step] = torch.tensor(reward).to(device).view(-1)
        next_obs, next_done = torch.Tensor(no).to(device), torch.Tensor(done).to(device)
    with torch.no_grad():
        next_value = agent.get_value(next_obs).reshape(1, -1)
        advantages = torch.zeros_like(rewards).to(device)
        lastgaelam = 0
        for t in reversed(range(S)):
            nnt = 1.0 - (next_done if t == S - 1 else dones[t + 1])
            nv = next_value if t == S - 1 else values[t + 1]
            delta = rewards[t] + 0.99 * nv * nnt - values[t]
            advantages[t] = lastgaelam = delta + 0.99 * 0.95 * nnt * lastgaelam
        returns = advantages + values
    b_obs, b_lp, b_a, b_adv, b_r, b_v = (
        obs.reshape((-1, 4)),
        logprobs.reshape(-1),
        actions.reshape((-1,)),
        advantages.reshape(-1),
        returns.reshape(-1),
        values.reshape(-1),
    )
    b_inds = np.arange(bs)
    clipfracs = []
    for epoch in range(2):
        np.random.shuffle(b_inds)
        for start in range(0, bs, mb):
            mi = b_inds[start : start + mb]
            _, nlp, ent, nvv = agent.get_action_and_value(b_obs[mi], b_a.long()[mi])
            logratio = nlp - b_lp[mi]
            ratio = logratio.exp()
            with torch.no_grad():
                old_kl = (-logratio).mean()
                kl = ((ratio - 1) - logratio).mean()
                clipfracs += [((ratio - 1.0).abs() > 0.2).float().mean().item()]
            ma = b_adv[mi]
            ma = (ma - ma.mean()) / (ma.std() + 1e-8)
            pg = torch.max(-ma * ratio, -ma * torch.clamp(ratio, 1 - 0.2, 1 + 0.2)).mean()
            nvv = nvv.view(-1)
            vc = b_v[mi] + torch.clamp(nvv - b_v[mi], -0.2, 0.2)
            vl = 0.5 * torch.max((nvv - b_r[mi]) ** 2, (vc - b_r[mi]) ** 2).mean()
            el = ent.mean()
            loss = pg - 0.01 * el + vl * 0.5
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    yp, yt = b_v.cpu().numpy(), b_r.cpu().numpy()
    print(
        update,
        loss.item(),
        kl.item(),
        np.mean(clipfracs),
        1 - np.var(yt - yp) / np.var(yt),
        optimizer.param_groups[0]["lr"],
    )
mean = torch.randn(4, 2)
lstd = torch.zeros(1, 2).expand_as(mean)
p = Normal(mean, torch.exp(lstd))
a = p.sample()
print(p.log_prob(a).sum(1), p.entropy().sum(1), p)


class SumTree:
    def __init__(self, n):
        self.n, self.tree, self.data, self.w = n, np.zeros(2 * n - 1), np.zeros(n, dtype=object), 0

    def add(self, p, d):
        i = self.w + self.n - 1
        self.data[self.w] = d
        self.update(i, p)
        self.w = (self.w + 1) % self.n

    def update(self, i, p):
        c = p - self.tree[i]
        self.tree[i] = p
        while i:
            i = (i - 1) // 2
            self.tree[i] += c

    def get(self, s):
        i = 0
        while 2 * i + 1 < len(self.tree):
            l = 2 * i + 1
            if s <= self.tree[l]:
                i = l
            else:
                s -= self.tree[l]
                i = l + 1
        return i, self.tree[i], self.data[i - self.n + 1]


st = SumTree(8)
[st.add(float(p), i) for i, p in enumerate(torch.rand(8))]
b = [st.get(random.uniform(0, st.tree[0])) for _ in range(4)]
isw = np.power(8 * np.array([p for _, p, _ in b]) / st.tree[0], -0.4)
isw /= isw.max()
q, tq = torch.randn(4, requires_grad=True), torch.randn(4)
td = torch.abs(q - tq)
l = (torch.from_numpy(isw).float() * nn.functional.mse_loss(q, tq, reduction="none")).mean()
l.backward()
print(l, td.detach().numpy(), q.grad, [d for *_, d in b])
probs = torch.softmax(torch.randn(4, 3, 5), -1)
sup = torch.linspace(-2, 2, 5)
r, dn = torch.randn(4, 1), torch.tensor([[0.0], [1], [0], [0]])
best = (probs * sup).sum(2).max(1)[1].unsqueeze(1).unsqueeze(1).expand(4, 1, 5)
nd = probs.gather(1, best).squeeze(1)
Tz = (r + (1 - dn) * 0.99 * sup).clamp(-2, 2)
bb = (Tz + 2) / 1.0
lo, up = bb.floor().long(), bb.ceil().long()
off = torch.linspace(0, 15, 4).long().unsqueeze(1).expand(4, 5)
proj = torch.zeros(nd.size())
proj.view(-1).index_add_(0, (lo + off).view(-1), (nd * (up.float() - bb)).view(-1))
proj.view(-1).index_add_(0, (up + off).view(-1), (nd * (bb - lo.float())).view(-1))
print(proj.sum(1), proj[0])
