import torch
import torch.nn as nn

nz, ngf, ndf, nc = 5, 4, 4, 1


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, x):
        return self.main(x)


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


g, d = G(), D()
g.apply(weights_init)
d.apply(weights_init)
print(g, d)
crit = nn.BCELoss()
og = torch.optim.Adam(g.parameters(), lr=2e-3, betas=(0.5, 0.999))
od = torch.optim.Adam(d.parameters(), lr=2e-3, betas=(0.5, 0.999))
for i in range(4):
    d.zero_grad()
    real = torch.rand(6, 1, 8, 8)
    label = torch.full((6,), 1.0, dtype=torch.float)
    out = d(real).view(-1)
    e1 = crit(out, label)
    e1.backward()
    fake = g(torch.randn(6, nz, 1, 1))
    label.fill_(0.0)
    out = d(fake.detach()).view(-1)
    e2 = crit(out, label)
    e2.backward()
    od.step()
    g.zero_grad()
    label.fill_(1.0)
    e3 = crit(d(fake).view(-1), label)
    e3.backward()
    og.step()
    print("[%d] %.4f %.4f" % (i, (e1 + e2).item(), e3.item()))


def gp(d, real, fake):
    a = torch.rand(real.size(0), 1, 1, 1).expand_as(real)
    x = (a * real + (1 - a) * fake).requires_grad_(True)
    o = d(x)
    gr = torch.autograd.grad(
        outputs=o, inputs=x, grad_outputs=torch.ones(o.size()), create_graph=True, retain_graph=True, only_inputs=True
    )[0]
    return ((gr.view(gr.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()


l = gp(d, real, fake.detach())
d.zero_grad()
l.backward()
print(l, d.main[0].weight.grad.abs().sum())
