import torch
import random
import math
import torch.nn as nn
import torch.optim as optim
import torch.nn.functional as F
from collections import namedtuple, deque

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class Memory(object):
    def __init__(self, n):
        self.memory = deque([], maxlen=n)

    def push(self, *a):
        self.memory.append(Transition(*a))

    def sample(self, b):
        return random.sample(self.memory, b)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, i, o):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(i, 16)
        self.layer2 = nn.Linear(16, o)

    def forward(self, x):
        return self.layer2(F.relu(self.layer1(x)))


device = torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
policy, target = DQN(4, 2).to(device), DQN(4, 2).to(device)
target.load_state_dict(policy.state_dict())
opt = optim.AdamW(policy.parameters(), lr=1e-3, amsgrad=True)
mem = Memory(50)
steps = 0


def select(state):
    global steps
    eps = 0.05 + 0.85 * math.exp(-1.0 * steps / 10)
    steps += 1
    if random.random() > eps:
        with torch.no_grad():
            return policy(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)


s = torch.randn(1, 4)
for t in range(30):
    a = select(s)
    n = s * 0.9 + (a.float() - 0.5)
    done = t % 7 == 6
    r = torch.tensor([1.0], device=device)
    mem.push(s, a, None if done else n, r)
    s = torch.randn(1, 4) if done else n
    if len(mem) < 8:
        continue
    batch = Transition(*zip(*mem.sample(8)))
    mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)), device=device, dtype=torch.bool)
    nf = torch.cat([s for s in batch.next_state if s is not None])
    sa = policy(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    nv = torch.zeros(8, device=device)
    with torch.no_grad():
        nv[mask] = target(nf).max(1).values
    loss = nn.SmoothL1Loss()(sa, (nv * 0.99 + torch.cat(batch.reward)).unsqueeze(1))
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy.parameters(), 100)
    opt.step()
    ts, ps = target.state_dict(), policy.state_dict()
    for k in ps:
        ts[k] = ps[k] * 0.05 + ts[k] * 0.95
    target.load_state_dict(ts)
print(loss.item(), policy(torch.ones(1, 4)), target(torch.ones(1, 4)), s)
durations = torch.tensor([1.0, 2, 3, 4, 5, 6], dtype=torch.float)
print(durations.unfold(0, 3, 1).mean(1).view(-1), torch.cat((torch.zeros(2), durations)))
