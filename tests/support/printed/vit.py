import torch
import torch.nn as nn


class Patch(nn.Module):
    def __init__(self, c, p, d):
        super().__init__()
        self.proj = nn.Conv2d(c, d, p, p)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(torch.randn(1, 5, d) * 0.02)

    def forward(self, x):
        x = self.proj(x).flatten(2).transpose(1, 2)
        return torch.cat((self.cls.expand(x.shape[0], -1, -1), x), dim=1) + self.pos


class A(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.scale = h, (d // h) ** -0.5
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.h, C // self.h).permute(2, 0, 3, 1, 4)
        a = ((q * self.scale) @ k.transpose(-2, -1)).softmax(dim=-1)
        return self.proj((a @ v).transpose(1, 2).reshape(B, N, C)), a


class V(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = Patch(1, 4, 8)
        self.a = A(8, 2)
        self.n1, self.n2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.m = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.head = nn.Linear(8, 3)
        nn.init.trunc_normal_(self.e.pos, std=0.02)

    def forward(self, x):
        x = self.e(x)
        y, w = self.a(self.n1(x))
        x = x + y
        x = x + self.m(self.n2(x))
        return self.head(x[:, 0]), w


v = V()
x, y = torch.randn(4, 1, 8, 8), torch.tensor([0, 1, 2, 1])
o = torch.optim.AdamW(v.parameters(), 1e-2, weight_decay=0.05)
s = torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=5)
for _ in range(5):
    l = nn.CrossEntropyLoss(label_smoothing=0.1)(v(x)[0], y)
    o.zero_grad()
    l.backward()
    o.step()
    s.step()
    print(f"{l:.4f}", s.get_last_lr())
print(v(x)[1][0, 0])
print(v.e.cls.grad.norm())
