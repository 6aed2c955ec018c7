import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
meta = torch.optim.Adam(net.parameters(), 1e-2)
for it in range(3):
    meta.zero_grad()
    tot = 0.0
    for task in range(2):
        a, ph = torch.rand(1) * 4 + 0.1, torch.rand(1) * 3.14
        x = torch.rand(10, 1) * 10 - 5
        y = a * torch.sin(x + ph)
        params = dict(net.named_parameters())
        for _ in range(2):
            l = F.mse_loss(functional_call(net, params, x[:5]), y[:5])
            g = torch.autograd.grad(l, params.values(), create_graph=True)
            params = {n: p - 0.1 * gg for (n, p), gg in zip(params.items(), g)}
        tot = tot + F.mse_loss(functional_call(net, params, x[5:]), y[5:])
    tot.backward()
    meta.step()
    print(tot.item())
print(net[0].weight.grad.norm())
