import torch
import io
import torch.nn as nn
import torch.optim as optim

net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
opt = optim.Adam(net.parameters(), lr=0.01)
sched = optim.lr_scheduler.StepLR(opt, 2, 0.5)
x = torch.randn(8, 3)
y = torch.randint(2, (8,))


def step():
    opt.zero_grad()
    l = nn.functional.cross_entropy(net(x), y)
    l.backward()
    opt.step()
    sched.step()
    return l.item()


for _ in range(3):
    step()
buf = io.BytesIO()
torch.save(
    {
        "epoch": 3,
        "model_state_dict": net.state_dict(),
        "optimizer_state_dict": opt.state_dict(),
        "sched": sched.state_dict(),
        "rng": torch.get_rng_state(),
        "loss": 0.5,
    },
    buf,
)
buf.seek(0)
a = [step() for _ in range(2)]
ck = torch.load(buf)
print(list(ck), ck["epoch"])
net.load_state_dict(ck["model_state_dict"])
opt.load_state_dict(ck["optimizer_state_dict"])
sched.load_state_dict(ck["sched"])
torch.set_rng_state(ck["rng"])
b = [step() for _ in range(2)]
print(a, a == b, sched.get_last_lr(), opt.param_groups[0]["lr"])
print(opt.state_dict()["param_groups"])
for k, v in net.state_dict().items():
    print(k, "\t", v.size())
print(opt)
print(sched.state_dict())
