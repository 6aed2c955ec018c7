import torch
import torch.nn as nn
import torch.nn.functional as F
from typing import Type, Any, Callable, Union, List, Optional
from torch import Tensor


def conv3x3(in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    return nn.Conv2d(
        in_planes,
        out_planes,
        kernel_size=3,
        stride=stride,
        padding=dilation,
        groups=groups,
        bias=False,
        dilation=dilation,
    )


class SE(nn.Module):
    def __init__(self, c, r=2):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(
            nn.Linear(c, c // r, bias=False), nn.ReLU(inplace=True), nn.Linear(c // r, c, bias=False), nn.Sigmoid()
        )

    def forward(self, x):
        b, c, _, _ = x.size()
        y = self.fc(self.avg_pool(x).view(b, c)).view(b, c, 1, 1)
        return x * y.expand_as(x)


class BasicBlock(nn.Module):
    expansion: int = 1

    def __init__(
        self,
        i,
        p,
        stride=1,
        downsample: Optional[nn.Module] = None,
        norm_layer: Optional[Callable[..., nn.Module]] = None,
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1 = conv3x3(i, p, stride)
        self.bn1 = norm_layer(p)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(p, p)
        self.bn2 = norm_layer(p)
        self.downsample = downsample
        self.se = SE(p)

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.se(self.bn2(self.conv2(out)))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, layers, num_classes=4, zero_init_residual=True, norm_layer=None):
        super().__init__()
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes = 4
        self.conv1 = nn.Conv2d(3, 4, 7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(4)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._make(block, 4, layers[0])
        self.layer2 = self._make(block, 8, layers[1], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
        if zero_init_residual:
            for m in self.modules():
                if isinstance(m, BasicBlock):
                    nn.init.constant_(m.bn2.weight, 0.5)

    def _make(self, block, planes, blocks, stride=1):
        ds = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            ds = nn.Sequential(
                nn.Conv2d(self.inplanes, planes * block.expansion, 1, stride, bias=False),
                self._norm_layer(planes * block.expansion),
            )
        layers = [block(self.inplanes, planes, stride, ds, self._norm_layer)]
        self.inplanes = planes * block.expansion
        layers += [block(self.inplanes, planes, norm_layer=self._norm_layer) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.avgpool(self.layer2(self.layer1(x)))
        return self.fc(torch.flatten(x, 1))


net = ResNet(BasicBlock, [1, 2])
print(net)
x, y = torch.rand(4, 3, 16, 16), torch.tensor([0, 1, 2, 3])
opt = torch.optim.SGD(net.parameters(), 0.05, 0.9, weight_decay=1e-4, nesterov=True)
oc = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=6, pct_start=0.3)
for i in range(4):
    l = F.cross_entropy(net(x), y)
    opt.zero_grad()
    l.backward()
    opt.step()
    oc.step()
    print(l.item(), oc.get_last_lr(), opt.param_groups[0]["momentum"])
net.eval()
print(net(x).argmax(1), net.layer2[0].downsample[1].running_mean[:3])


def fuse(conv, bn):
    f = nn.Conv2d(conv.in_channels, conv.out_channels, conv.kernel_size, conv.stride, conv.padding, bias=True)
    w = bn.weight.div(torch.sqrt(bn.eps + bn.running_var))
    f.weight.data.copy_((torch.diag(w) @ conv.weight.view(conv.out_channels, -1)).view(f.weight.size()))
    f.bias.data.copy_(bn.bias - bn.weight.mul(bn.running_mean).div(torch.sqrt(bn.running_var + bn.eps)))
    return f


print(torch.allclose(fuse(net.conv1, net.bn1)(x), net.bn1(net.conv1(x)), atol=1e-5))
net.fc = nn.Linear(8, 2)
[p.requires_grad_(False) for n, p in net.named_parameters() if not n.startswith("fc")]
print([n for n, p in net.named_parameters() if p.requires_grad])


class GradCAM:
    def __init__(self, m, t):
        self.g = self.a = None
        self.m = m
        t.register_forward_hook(lambda mod, i, o: setattr(self, "a", o))
        t.register_full_backward_hook(lambda mod, gi, go: setattr(self, "g", go[0]))

    def __call__(self, x, c):
        s = self.m(x)[:, c].sum()
        self.m.zero_grad()
        s.backward()
        w = self.g.mean(dim=(2, 3), keepdim=True)
        cam = F.relu((w * self.a).sum(1, keepdim=True))
        cam = F.interpolate(cam, x.shape[2:], mode="bilinear", align_corners=False)
        return (cam - cam.min()) / (cam.max() - cam.min() + 1e-8)


print(GradCAM(net, net.layer2)(x.requires_grad_(), 1)[0, 0, 8, :6], x.grad.abs().max(dim=1)[0].mean())
sg = sum(torch.autograd.grad(net(x + 0.1 * torch.randn_like(x))[:, 0].sum(), x)[0] for _ in range(3)) / 3
print(sg.std(), (x + 0.03 * x.grad.sign()).clamp(0, 1).sub(x).abs().max())


def gram(t):
    b, c, h, w = t.size()
    f = t.view(b * c, h * w)
    return torch.mm(f, f.t()).div(b * c * h * w)


class StyleLoss(nn.Module):
    def __init__(self, t):
        super().__init__()
        self.target = gram(t).detach()

    def forward(self, i):
        self.loss = F.mse_loss(gram(i), self.target)
        return i


img = torch.rand(1, 3, 8, 8, requires_grad=True)
cnn = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), StyleLoss(torch.rand(1, 4, 6, 6)))
lb = torch.optim.LBFGS([img])
run = [0]
while run[0] <= 5:

    def closure():
        with torch.no_grad():
            img.clamp_(0, 1)
        lb.zero_grad()
        cnn(img)
        s = cnn[2].loss * 1e4 + (img[..., 1:] - img[..., :-1]).abs().mean()
        s.backward()
        run[0] += 1
        return s

    print("style", lb.step(closure).item() > 0, run)
