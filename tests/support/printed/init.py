import torch
from torch.nn import init
import torch.nn as nn

for f in (
    lambda w: init.uniform_(w),
    lambda w: init.normal_(w, 0, 0.01),
    lambda w: init.constant_(w, 3),
    init.ones_,
    init.zeros_,
    init.eye_,
    init.xavier_uniform_,
    lambda w: init.xavier_normal_(w, gain=init.calculate_gain("relu")),
    lambda w: init.kaiming_uniform_(w, a=5**0.5),
    lambda w: init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"),
    init.orthogonal_,
    lambda w: init.sparse_(w, 0.5),
    lambda w: init.trunc_normal_(w, std=0.02),
):
    print(f(torch.empty(3, 4)))
print(
    init.dirac_(torch.empty(2, 2, 3)),
    init.calculate_gain("leaky_relu", 0.2),
    init._calculate_fan_in_and_fan_out(torch.empty(3, 4, 2)),
)
for l in (
    nn.Linear(2, 3),
    nn.Conv1d(2, 2, 3),
    nn.ConvTranspose2d(1, 2, 2),
    nn.Embedding(3, 2, padding_idx=0),
    nn.Bilinear(2, 2, 1),
    nn.LSTM(1, 2),
    nn.LayerNorm(3),
    nn.GroupNorm(2, 4),
    nn.PReLU(),
):
    print(l, [p.flatten()[:3].tolist() for p in l.parameters()])
