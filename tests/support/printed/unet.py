import torch
import torch.nn as nn
import torch.nn.functional as F


class DC(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(inplace=True),
            nn.Conv2d(o, o, 3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, i, o, bil):
        super().__init__()
        self.up = (
            nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            if bil
            else nn.ConvTranspose2d(i, i // 2, 2, 2)
        )
        self.conv = DC(i if not bil else i + i // 2, o)

    def forward(self, a, b):
        a = self.up(a)
        dy = b.size()[2] - a.size()[2]
        dx = b.size()[3] - a.size()[3]
        a = F.pad(a, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([b, a], dim=1))


class U(nn.Module):
    def __init__(self, bil):
        super().__init__()
        self.inc = DC(1, 4)
        self.down = nn.Sequential(nn.MaxPool2d(2), DC(4, 8))
        self.up = Up(8, 4, bil)
        self.outc = nn.Conv2d(4, 2, 1)

    def forward(self, x):
        a = self.inc(x)
        return self.outc(self.up(self.down(a), a))


def dice(i, t, eps=1e-6):
    inter = 2 * (i * t).sum(dim=(-1, -2))
    s = i.sum(dim=(-1, -2)) + t.sum(dim=(-1, -2))
    s = torch.where(s == 0, inter, s)
    return ((inter + eps) / (s + eps)).mean()


for bil in (True, False):
    u = U(bil)
    x = torch.randn(2, 1, 9, 9)
    m = torch.randint(0, 2, (2, 9, 9))
    o = torch.optim.RMSprop(u.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.9, foreach=True)
    s = torch.optim.lr_scheduler.ReduceLROnPlateau(o, "max", patience=1)
    for _ in range(3):
        p = u(x)
        l = nn.CrossEntropyLoss()(p, m) + 1 - dice(F.softmax(p, 1).float(), F.one_hot(m, 2).permute(0, 3, 1, 2).float())
        o.zero_grad(set_to_none=True)
        l.backward()
        torch.nn.utils.clip_grad_norm_(u.parameters(), 1.0)
        o.step()
        s.step(-l)
        print(l.item())
    print(sum(p.numel() for p in u.parameters()), p.argmax(1).float().mean())
