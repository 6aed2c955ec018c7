import torch
import copy
import pickle
from torch import nn
from collections import OrderedDict

m = nn.Sequential(
    OrderedDict([("conv", nn.Conv2d(1, 2, 3)), ("act", nn.LeakyReLU(0.2)), ("bn", nn.BatchNorm2d(2, affine=False))])
)
print(m, m.conv.weight.shape, m[1], len(m), m[-1])
d = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Identity()})
d["c"] = nn.Tanh()
print(d, list(d.keys()), "a" in d)
d.pop("b")
del d["c"]
print(d)
l = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
l.append(nn.ReLU())
l.extend([nn.Sigmoid()])
l.insert(0, nn.Tanh())
print(l, l[1:3], len(l))
pl = nn.ParameterList([nn.Parameter(torch.randn(2)) for _ in range(2)])
pd = nn.ParameterDict({"x": nn.Parameter(torch.zeros(1, 2))})
print(pl, pd)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self.register_buffer("b", torch.zeros(2))
        self.register_buffer("np_", torch.zeros(1), persistent=False)
        self.register_parameter("none", None)
        self.sub = nn.Linear(2, 1)

    def forward(self, x):
        return self.sub(x * self.w + self.b)

    def extra_repr(self):
        return "hello=1"


mm = M()
print(mm, list(mm.state_dict()), [n for n, _ in mm.named_buffers()], [n for n, _ in mm.named_modules()], mm.none)
c = copy.deepcopy(mm)
c.w.data.fill_(5)
print(mm.w, c.w)
print(mm.half().w.dtype, mm.float().sub.weight.dtype, mm.double().b.dtype)
mm.float()
mm.requires_grad_(False)
print([p.requires_grad for p in mm.parameters()])
mm.requires_grad_(True)
try:
    mm.load_state_dict({"w": torch.ones(2), "x": torch.ones(1)})
except RuntimeError as e:
    print(e)
print(mm.load_state_dict({"w": torch.ones(2), "x": torch.ones(1)}, strict=False))
try:
    mm.load_state_dict({"w": torch.ones(3)}, strict=False)
except RuntimeError as e:
    print(e)
print(mm.get_submodule("sub"), mm.get_parameter("sub.weight").shape, dict(mm.named_children()).keys())
mm.apply(lambda m: print(type(m).__name__))
mm.zero_grad()
print(mm.training, mm.eval().training)
try:
    mm.nothing
except AttributeError as e:
    print(e)
print(nn.Sequential(nn.Linear(1, 1), nn.ReLU()) + nn.Sequential(nn.Tanh()))
