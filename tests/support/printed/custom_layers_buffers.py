import torch
import torch.nn as nn
import copy
import io
import pickle


class EMA(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("avg", torch.zeros(n))
        self.register_buffer("steps", torch.tensor(0, dtype=torch.long))
        self.decay = 0.9

    @torch.no_grad()
    def update(self, x):
        self.steps += 1
        self.avg.mul_(self.decay).add_(x.mean(0), alpha=1 - self.decay)

    def forward(self, x):
        self.update(x) if self.training else None
        return x - self.avg


class ScaledLinear(nn.Linear):
    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return nn.functional.linear(x, self.weight * self.scale, self.bias)


m = nn.Sequential(EMA(3), ScaledLinear(3, 2, bias=False), nn.Flatten(), nn.Unflatten(1, (2, 1)))
y = m(torch.randn(4, 3))
y.sum().backward()
print(y.shape, m[0].avg, m[0].steps, m[1].scale.grad, m)
m.eval()
b = io.BytesIO()
torch.save(m.state_dict(), b)
b.seek(0)
m2 = copy.deepcopy(m)
m2.load_state_dict(torch.load(b, map_location=torch.device("cpu"), weights_only=True))
print([torch.equal(a, c) for a, c in zip(m.state_dict().values(), m2.state_dict().values())], m2(torch.ones(1, 3)))
print(
    pickle.loads(pickle.dumps(torch.arange(3.0))),
    pickle.loads(pickle.dumps(nn.Linear(1, 1))).weight.shape,
    copy.copy(m) is m,
    {k: tuple(v.shape) for k, v in m.named_buffers()},
    m[1].__class__.__name__,
    isinstance(m[1], nn.Linear),
)
total = sum(p.numel() for p in m.parameters())
print(
    f"{total:,}",
    [p.dtype for p in m.parameters()],
    next(m.parameters()).device,
    next(iter(m.parameters())).is_cuda,
    m.state_dict()["1.scale"].item(),
)
w = torch.nn.utils.skip_init(nn.Linear, 2, 2)
print(w.weight.shape)
f = torch.nn.utils.fuse_conv_bn_eval if hasattr(torch.nn.utils, "fuse_conv_bn_evalx") else None
print(
    torch.nn.utils.parameters_to_vector(m.parameters()).shape,
    torch.nn.utils.get_total_norm([torch.ones(4)]),
)
