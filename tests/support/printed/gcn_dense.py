import torch
import torch.nn as nn
import torch.nn.functional as F
import math


class GC(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.FloatTensor(i, o))
        self.bias = nn.Parameter(torch.FloatTensor(o))
        self.reset_parameters()

    def reset_parameters(self):
        s = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-s, s)
        self.bias.data.uniform_(-s, s)

    def forward(self, x, adj):
        return torch.mm(adj, torch.mm(x, self.weight)) + self.bias

    def __repr__(self):
        return self.__class__.__name__ + " (" + str(self.weight.shape[0]) + ")"


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1, self.gc2 = GC(4, 8), GC(8, 3)

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, 0.5, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


A = (torch.rand(7, 7) > 0.6).float()
A = ((A + A.T) > 0).float() + torch.eye(7)
D = torch.diag(A.sum(1).pow(-0.5))
adj = D @ A @ D
x = torch.eye(7)[:, :4]
y = torch.randint(3, (7,))
m = GCN()
o = torch.optim.Adam(m.parameters(), lr=0.01, weight_decay=5e-4)
idx = torch.LongTensor(range(5))
for _ in range(4):
    m.train()
    o.zero_grad()
    out = m(x, adj)
    l = F.nll_loss(out[idx], y[idx])
    acc = out.max(1)[1].type_as(y).eq(y).double().sum() / len(y)
    l.backward()
    o.step()
    print("loss: {:.4f}".format(l.item()), "acc: {:.4f}".format(acc.item()))
print(m)
