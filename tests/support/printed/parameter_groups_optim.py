import torch
import torch.nn as nn
import torch.optim as optim

m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
x, y = torch.randn(16, 4), torch.randn(16, 1)
import copy

base = copy.deepcopy(m.state_dict())
for name in (
    "SGD",
    "Adam",
    "AdamW",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "ASGD",
    "Rprop",
    "Adafactor",
):
    m.load_state_dict(base)
    o = getattr(optim, name)(m.parameters(), lr=0.01)

    def closure():
        o.zero_grad()
        l = nn.functional.mse_loss(m(x), y)
        l.backward()
        return l

    ls = [float(o.step(closure)) for _ in range(4)]
    print(name, ls, o)
o = optim.SGD(
    [{"params": m[0].parameters(), "lr": 0.1}, {"params": m[2].parameters()}], lr=0.01, momentum=0.9, weight_decay=1e-4
)
o.add_param_group({"params": [nn.Parameter(torch.ones(1))], "lr": 0.5})
print(len(o.param_groups), [g["lr"] for g in o.param_groups], o)
for g in o.param_groups:
    g["lr"] *= 0.1
print([g["lr"] for g in o.param_groups], o.defaults)
closure()
o.step()
print(list(o.state_dict()["state"].keys()), o.state[m[0].weight]["momentum_buffer"].shape)
o2 = optim.Adam(m.named_parameters(), lr=0.1, weight_decay=0.1, maximize=True)
closure()
o2.step()
print(o2.param_groups[0]["param_names"], m[2].bias)
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn

s = AveragedModel(m)
s.update_parameters(m)
print(s.n_averaged, s.module[0].weight.shape)
e = AveragedModel(m, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
e.update_parameters(m)
print(e(x).sum())
for bad in (
    lambda: optim.SGD([], lr=0.1),
    lambda: optim.SGD(m.parameters(), lr=-1),
    lambda: optim.Adam(m.parameters(), betas=(1.0, 2.0)),
    lambda: optim.SGD([torch.ones(1) * torch.ones(1, requires_grad=True)], lr=0.1),
    lambda: optim.SGD(m, lr=0.1),
):
    try:
        bad()
    except Exception as ex:
        print(type(ex).__name__, str(ex)[:30])
