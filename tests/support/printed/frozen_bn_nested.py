import torch
import torch.nn as nn


class FrozenBackbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(4)
        self.layer1 = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.Dropout2d(0.5))
        self.frozen_stages = 1
        self._freeze_stages()

    def _freeze_stages(self):
        self.bn.eval()
        for m in [self.conv, self.bn]:
            for p in m.parameters():
                p.requires_grad = False

    def train(self, mode=True):
        super(FrozenBackbone, self).train(mode)
        self._freeze_stages()
        if mode:
            for m in self.modules():
                if isinstance(m, (nn.BatchNorm2d, nn.modules.batchnorm._BatchNorm)):
                    m.eval()
        return self

    def forward(self, x):
        return self.layer1(torch.relu(self.bn(self.conv(x))))


class Head(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(c, 2)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(x), 1))


class Det(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = FrozenBackbone()
        self.head = Head(4)

    def forward(self, x):
        return self.head(self.backbone(x))


net = Det()
net.train()
print({n: m.training for n, m in net.named_modules()})
opt = torch.optim.SGD(filter(lambda p: p.requires_grad, net.parameters()), lr=0.1)
x, y = torch.randn(6, 3, 5, 5) + 1, torch.tensor([0, 1, 1, 0, 1, 0])
for i in range(4):
    l = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    l.backward()
    opt.step()
    print(l.item(), net.backbone.bn.running_mean.tolist(), net.backbone.layer1[1].num_batches_tracked)
net.eval()
print(net(x)[:2], [n for n, p in net.named_parameters() if not p.requires_grad])


class MyBatchNorm2d(nn.BatchNorm2d):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super(MyBatchNorm2d, self).__init__(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, input):
        self._check_input_dim(input)
        exponential_average_factor = 0.0
        if self.training and self.track_running_stats:
            if self.num_batches_tracked is not None:
                self.num_batches_tracked += 1
                exponential_average_factor = (
                    1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
                )
        if self.training:
            mean = input.mean([0, 2, 3])
            var = input.var([0, 2, 3], unbiased=False)
            n = input.numel() / input.size(1)
            with torch.no_grad():
                self.running_mean = (
                    exponential_average_factor * mean + (1 - exponential_average_factor) * self.running_mean
                )
                self.running_var = (
                    exponential_average_factor * var * n / (n - 1) + (1 - exponential_average_factor) * self.running_var
                )
        else:
            mean = self.running_mean
            var = self.running_var
        input = (input - mean[None, :, None, None]) / (torch.sqrt(var[None, :, None, None] + self.eps))
        if self.affine:
            input = input * self.weight[None, :, None, None] + self.bias[None, :, None, None]
        return input


a, b = MyBatchNorm2d(3), nn.BatchNorm2d(3)
for _ in range(3):
    x = torch.randn(4, 3, 2, 2) * 2 + 1
    u, v = a(x), b(x)
    print(torch.allclose(u, v, atol=1e-5), (a.running_var - b.running_var).abs().max() < 1e-5)
a.eval()
print(a(x)[0, 0], a)


class LoRAConv(nn.Conv2d):
    def __init__(self, *args, r=2, **kw):
        super().__init__(*args, **kw)
        self.lora_A = nn.Parameter(
            self.weight.new_zeros((r * self.kernel_size[0], self.in_channels * self.kernel_size[0]))
        )
        self.lora_B = nn.Parameter(
            self.weight.new_zeros((self.out_channels * self.kernel_size[0], r * self.kernel_size[0]))
        )
        self.weight.requires_grad = False
        nn.init.kaiming_uniform_(self.lora_A, a=5**0.5)

    def forward(self, x):
        return self._conv_forward(x, self.weight + (self.lora_B @ self.lora_A).view(self.weight.shape), self.bias)


lc = LoRAConv(3, 4, 3, padding=1, padding_mode="reflect")
lc(x.repeat(1, 1, 2, 2)).pow(2).mean().backward()
print(lc, lc.lora_B.grad.norm(), lc.weight.grad)


class StdConv2d(nn.Conv2d):
    def forward(self, x):
        w = self.weight
        v, m = torch.var_mean(w, dim=[1, 2, 3], keepdim=True, unbiased=False)
        return nn.functional.conv2d(
            x, (w - m) / torch.sqrt(v + 1e-5), self.bias, self.stride, self.padding, self.dilation, self.groups
        )


print(StdConv2d(3, 2, 1)(x).sum(), torch.var_mean(x, (0, 2)))
