import torch
import itertools, random
import torch.nn as nn
import torch.nn.functional as F
import numpy as np
from torch.autograd import Variable

Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
nz, ngf, ndf, nc = 6, 4, 4, 1


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self, ngpu):
        super().__init__()
        self.ngpu = ngpu
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, i):
        return (
            nn.parallel.data_parallel(self.main, i, range(self.ngpu)) if i.is_cuda and self.ngpu > 1 else self.main(i)
        )


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.utils.spectral_norm(nn.Conv2d(nc, ndf, 4, 2, 1, bias=False)),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.InstanceNorm2d(ndf * 2, affine=True),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x).view(-1, 1).squeeze(1)


netG, netD = Generator(0), Discriminator()
netG.apply(weights_init)
print(netG, netD)
crit = nn.BCELoss()
fixed = torch.randn(2, nz, 1, 1)
oD, oG = (
    torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999)),
    torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999)),
)
for i in range(3):
    netD.zero_grad()
    real = torch.rand(4, 1, 16, 16) * 2 - 1
    label = torch.full((4,), 1.0, dtype=torch.float)
    out = netD(real).view(-1)
    eR = crit(out, label)
    eR.backward()
    Dx = out.mean().item()
    fake = netG(torch.randn(4, nz, 1, 1))
    label.fill_(0.0)
    out = netD(fake.detach())
    eF = crit(out, label)
    eF.backward()
    oD.step()
    netG.zero_grad()
    label.fill_(1.0)
    out = netD(fake)
    eG = crit(out, label)
    eG.backward()
    oG.step()
    print(
        "[%d/3] Loss_D: %.4f Loss_G: %.4f D(x): %.4f D(G(z)): %.4f"
        % (i, (eR + eF).item(), eG.item(), Dx, out.mean().item())
    )
with torch.no_grad():
    f = netG(fixed).detach().cpu()
    print(
        f.shape,
        f.mean(),
        netD.main[0].weight_u[:3],
        f.mul(127.5).add(127.5).clamp(0, 255).permute(0, 2, 3, 1).to("cpu", torch.uint8).numpy().shape,
    )


class ReplayBuffer:
    def __init__(self, n=4):
        self.n, self.data = n, []

    def push_and_pop(self, d):
        r = []
        for e in d.data:
            e = torch.unsqueeze(e, 0)
            if len(self.data) < self.n:
                self.data.append(e)
                r.append(e)
            elif random.uniform(0, 1) > 0.5:
                i = random.randint(0, self.n - 1)
                r.append(self.data[i].clone())
                self.data[i] = e
            else:
                r.append(e)
        return Variable(torch.cat(r))


class LambdaLR:
    def __init__(self, n, off, start):
        self.n, self.off, self.start = n, off, start

    def step(self, e):
        return 1.0 - max(0, e + self.off - self.start) / (self.n - self.start)


class Res(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.block = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(c, c, 3),
            nn.InstanceNorm2d(c),
            nn.ReLU(inplace=True),
            nn.ReflectionPad2d(1),
            nn.Conv2d(c, c, 3),
            nn.InstanceNorm2d(c),
        )

    def forward(self, x):
        return x + self.block(x)


G_AB, G_BA = (
    nn.Sequential(
        nn.ReflectionPad2d(1),
        nn.Conv2d(1, 3, 3),
        nn.InstanceNorm2d(3),
        nn.ReLU(inplace=True),
        Res(3),
        nn.Upsample(scale_factor=2),
        nn.Conv2d(3, 3, 3, stride=2, padding=1),
        nn.Conv2d(3, 1, 1),
        nn.Tanh(),
    )
    for _ in range(2)
)
D_A = nn.Sequential(
    nn.Conv2d(1, 3, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.ZeroPad2d((1, 0, 1, 0)), nn.Conv2d(3, 1, 4, padding=1)
)
opt = torch.optim.Adam(itertools.chain(G_AB.parameters(), G_BA.parameters()), lr=2e-3, betas=(0.5, 0.999))
sch = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=LambdaLR(4, 0, 2).step)
buf = ReplayBuffer()
for e in range(4):
    A, B = torch.rand(2, 1, 8, 8), torch.rand(2, 1, 8, 8)
    valid = Variable(Tensor(np.ones((2, 1, 4, 4))), requires_grad=False)
    fb, fa = G_AB(A), G_BA(B)
    pa = D_A(fa)
    l = (
        nn.MSELoss()(pa, valid[..., : pa.size(2), : pa.size(3)])
        + 10 * nn.L1Loss()(G_BA(fb), A)
        + 5 * F.l1_loss(G_BA(A), A)
    )
    opt.zero_grad()
    l.backward()
    opt.step()
    sch.step()
    print(e, l.item(), pa.shape, buf.push_and_pop(fa).shape, sch.get_last_lr())


class MiniBatchStd(nn.Module):
    def forward(self, x, g=2):
        n, c, h, w = x.shape
        y = x.reshape(g, -1, c, h, w)
        y = y - y.mean(0)
        y = (y.square().mean(0) + 1e-8).sqrt().mean([1, 2, 3]).reshape(-1, 1, 1, 1).repeat(g, 1, h, w)
        return torch.cat([x, y], 1)


class EqLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.w = nn.Parameter(torch.randn([o, i]))
        self.g = 1 / np.sqrt(i)
        self.b = nn.Parameter(torch.full([o], np.float32(0.0)))

    def forward(self, x):
        return torch.addmm(self.b.unsqueeze(0), x, (self.w * self.g).t())


print(MiniBatchStd()(torch.rand(4, 2, 2, 2))[:, 2, 0, 0], EqLinear(4, 3)(torch.ones(2, 4)), EqLinear(4, 3).w.dtype)
x = torch.rand(2, 3, 4, 4)
w = torch.randn(2, 5, 3, 3, 3)
d = torch.rsqrt((w**2).sum([2, 3, 4], keepdim=True) + 1e-8)
print(F.conv2d(x.view(1, -1, 4, 4), (w * d).view(-1, 3, 3, 3), padding=1, groups=2).view(2, 5, 4, 4)[:, 0, 0])
z = torch.randn(4, 8)
print(
    z / torch.sqrt(torch.mean(z**2, dim=1, keepdim=True) + 1e-8) @ torch.ones(8),
    F.softplus(-z).mean(),
    torch.lerp(z[0], z[1], 0.3)[:3],
    -F.logsigmoid(z).mean(),
)
