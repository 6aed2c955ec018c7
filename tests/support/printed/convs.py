import torch
import torch.nn as nn
import torch.nn.functional as F

x = torch.randn(2, 4, 9, 9, requires_grad=True)
for l in (
    nn.Conv2d(4, 6, 3),
    nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=4, bias=False),
    nn.Conv2d(4, 2, (3, 5), padding=(1, 2), dilation=2),
    nn.Conv2d(4, 4, 3, padding="same", padding_mode="reflect"),
    nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1),
    nn.MaxPool2d(3, stride=2, padding=1),
    nn.AvgPool2d(2, ceil_mode=True),
    nn.AdaptiveAvgPool2d((3, None)),
    nn.AdaptiveMaxPool2d(2),
    nn.BatchNorm2d(4),
    nn.GroupNorm(2, 4),
    nn.InstanceNorm2d(4, affine=True),
    nn.LayerNorm([9, 9]),
    nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
    nn.Upsample(size=5),
    nn.ZeroPad2d(1),
    nn.ReflectionPad2d((1, 2, 0, 1)),
    nn.ConstantPad2d(1, 3.5),
    nn.ReplicationPad2d(1),
    nn.CircularPad2d(1),
    nn.Unfold(3),
    nn.PixelUnshuffle(3),
    nn.PixelShuffle(2),
    nn.ChannelShuffle(2),
    nn.LPPool2d(2, 3),
    nn.Dropout2d(0.0),
    nn.LocalResponseNorm(2),
):
    x.grad = None
    y = l(x)
    y.pow(2).sum().backward()
    print(l, y.shape, y.sum(), x.grad.abs().sum())
print(
    F.conv1d(torch.ones(1, 1, 5), torch.ones(1, 1, 3)),
    F.max_pool2d(torch.arange(16.0).view(1, 1, 4, 4), 2, return_indices=True),
    F.pad(torch.ones(1, 2), (1, 1), value=2),
    F.unfold(torch.arange(9.0).view(1, 1, 3, 3), 2),
    F.fold(torch.ones(1, 4, 4), (3, 3), 2),
    F.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), align_corners=False),
    F.avg_pool1d(torch.arange(4.0).view(1, 1, 4), 2),
    F.adaptive_avg_pool1d(torch.arange(4.0).view(1, 1, 4), 2),
    F.conv_transpose1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2), stride=2),
    F.instance_norm(torch.randn(1, 2, 4)),
    F.group_norm(torch.randn(1, 4, 2), 2),
    F.batch_norm(torch.randn(3, 2), torch.zeros(2), torch.ones(2)),
    F.local_response_norm(torch.ones(1, 2, 2), 2),
)
m = nn.Conv3d(1, 2, 2)
print(
    m(torch.ones(1, 1, 3, 3, 3)).sum(),
    nn.Conv1d(2, 3, 3, padding=1)(torch.randn(4, 2, 7)).shape,
    nn.BatchNorm1d(3)(torch.randn(4, 3)).std(),
    nn.MaxPool1d(2)(torch.arange(4.0).view(1, 4)),
    nn.AvgPool3d(2)(torch.ones(1, 1, 2, 2, 2)),
    nn.RMSNorm(4)(torch.arange(4.0)),
)
