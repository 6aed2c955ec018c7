import torch
from torch import nn, optim
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 12)
        self.fc21 = nn.Linear(12, 3)
        self.fc22 = nn.Linear(12, 3)
        self.fc3 = nn.Linear(3, 12)
        self.fc4 = nn.Linear(12, 20)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 20))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(r, x, mu, logvar):
    return F.binary_cross_entropy(r, x.view(-1, 20), reduction="sum") - 0.5 * torch.sum(
        1 + logvar - mu.pow(2) - logvar.exp()
    )


m = VAE()
o = optim.Adam(m.parameters(), lr=1e-2)
x = torch.rand(16, 1, 4, 5)
for e in range(5):
    r, mu, lv = m(x)
    l = loss_function(r, x, mu, lv)
    o.zero_grad()
    l.backward()
    o.step()
    print("====> Epoch: {} Average loss: {:.4f}".format(e, l.item() / len(x)))
with torch.no_grad():
    s = m.decode(torch.randn(2, 3)).cpu()
    print(s)
n = 4
comparison = torch.cat([x[:n], r.view(16, 1, 4, 5)[:n]])
print(comparison.shape)
