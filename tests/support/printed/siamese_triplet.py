import torch
import torch.nn as nn
import torch.nn.functional as F


class Emb(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 4, 3), nn.PReLU(), nn.MaxPool2d(2, stride=2))
        self.fc = nn.Sequential(nn.Linear(4 * 3 * 3, 8), nn.PReLU(), nn.Linear(8, 2))

    def forward(self, x):
        o = self.conv(x)
        return self.fc(o.view(o.size()[0], -1))


n = Emb()
o = torch.optim.Adam(n.parameters(), lr=1e-2, weight_decay=1e-4)
x1, x2 = torch.randn(6, 1, 8, 8), torch.randn(6, 1, 8, 8)
t = torch.tensor([1.0, 0, 1, 0, 1, 1])
for i in range(4):
    a, b = n(x1), n(x2)
    d = (b - a).pow(2).sum(1)
    l = 0.5 * (t * d + (1 + -1 * t) * F.relu(1.0 - (d + 1e-9).sqrt()).pow(2))
    l = l.mean()
    o.zero_grad()
    l.backward()
    o.step()
    print(l.item())
print(F.pairwise_distance(n(x1), n(x2)), F.triplet_margin_loss(n(x1), n(x2), n(x1.flip(0))))
