import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Conv2d(1, 2, 3, padding=1)
        self.layer2 = nn.Conv2d(2, 3, 3, stride=2)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        x = torch.relu(self.layer1(x))
        x = torch.relu(self.layer2(x))
        return self.fc(torch.flatten(self.pool(x), 1))


feats = {}


def get(name):
    def hook(m, i, o):
        feats[name] = o.detach()

    return hook


net = Net()
hs = [l.register_forward_hook(get(n)) for n, l in net.named_children()]
grads = []
net.layer2.register_full_backward_hook(lambda m, gi, go: grads.append((gi[0].shape, go[0].abs().sum().item())))
net.layer1.register_forward_pre_hook(lambda m, i: (i[0] * 2,))
x = torch.randn(2, 1, 8, 8)
y = net(x)
y[:, 1].sum().backward()
for k, v in feats.items():
    print(k, v.shape, v.mean())
print(grads)
[h.remove() for h in hs]
feats.clear()
net(x)
print(feats)
act = y.clone()
w = net.fc.weight.clone()
w.retain_grad()
(w * 2).sum().backward()
print(w.grad)
h = net.fc.weight.register_hook(lambda g: g * 0)
net(x).sum().backward()
print(net.fc.weight.grad)
h.remove()
from torch.utils.hooks import RemovableHandle

print(isinstance(h, RemovableHandle))
cam = torch.autograd.grad(net(x)[:, 0].sum(), net.layer2.weight)[0]
print(cam.mean(dim=(1, 2, 3)))
