import torch
import torch.nn as nn
import torch.nn.functional as F
import random


class Encoder(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.embedding = nn.Embedding(i, h)
        self.gru = nn.GRU(h, h, batch_first=True)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.gru(self.dropout(self.embedding(x)))


class Bahdanau(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.Wa = nn.Linear(h, h)
        self.Ua = nn.Linear(h, h)
        self.Va = nn.Linear(h, 1)

    def forward(self, q, k):
        s = self.Va(torch.tanh(self.Wa(q) + self.Ua(k))).squeeze(2).unsqueeze(1)
        w = F.softmax(s, dim=-1)
        return torch.bmm(w, k), w


class Dec(nn.Module):
    def __init__(self, h, o):
        super().__init__()
        self.embedding = nn.Embedding(o, h)
        self.attention = Bahdanau(h)
        self.gru = nn.GRU(2 * h, h, batch_first=True)
        self.out = nn.Linear(h, o)

    def forward(self, eo, eh, tgt=None):
        di = torch.empty(eo.size(0), 1, dtype=torch.long).fill_(0)
        dh = eh
        outs, ws = [], []
        for i in range(5):
            q = dh.permute(1, 0, 2)
            c, w = self.attention(q, eo)
            o, dh = self.gru(torch.cat((self.embedding(di), c), dim=2), dh)
            o = self.out(o)
            outs.append(o)
            ws.append(w)
            if tgt is not None:
                di = tgt[:, i].unsqueeze(1)
            else:
                _, topi = o.topk(1)
                di = topi.squeeze(-1).detach()
        return F.log_softmax(torch.cat(outs, dim=1), dim=-1), dh, torch.cat(ws, dim=1)


e, d = Encoder(9, 8), Dec(8, 9)
oe, od = torch.optim.Adam(e.parameters(), lr=0.01), torch.optim.Adam(d.parameters(), lr=0.01)
x, y = torch.randint(1, 9, (4, 6)), torch.randint(1, 9, (4, 5))
crit = nn.NLLLoss()
for i in range(4):
    oe.zero_grad()
    od.zero_grad()
    eo, eh = e(x)
    do, _, _ = d(eo, eh, y)
    l = crit(do.view(-1, do.size(-1)), y.view(-1))
    l.backward()
    oe.step()
    od.step()
    print(l.item())
e.eval()
d.eval()
with torch.no_grad():
    eo, eh = e(x[:1])
    do, _, w = d(eo, eh)
    _, topi = do.topk(1)
    print(topi.squeeze().tolist(), w[0].sum(-1))
    print(w)
