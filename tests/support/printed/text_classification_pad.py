import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torch.nn.utils.rnn import pad_sequence
from collections import Counter

docs = [(1, "good movie really good"), (0, "bad plot"), (1, "nice and good acting"), (0, "awful bad boring movie")]
vocab = {w: i + 2 for i, (w, _) in enumerate(Counter(" ".join(d for _, d in docs).split()).most_common())}


def collate(batch):
    ys, xs, ls = [], [], []
    [
        (
            ys.append(y),
            xs.append(torch.tensor([vocab.get(w, 1) for w in t.split()], dtype=torch.int64)),
            ls.append(len(t.split())),
        )
        for y, t in batch
    ]
    return torch.tensor(ys, dtype=torch.int64), pad_sequence(xs, batch_first=True), torch.tensor(ls)


dl = DataLoader(docs, batch_size=2, shuffle=True, collate_fn=collate)


class C(nn.Module):
    def __init__(self, v):
        super().__init__()
        self.embedding = nn.Embedding(v, 6, padding_idx=0)
        self.lstm = nn.LSTM(6, 5, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(10, 2)
        self.do = nn.Dropout(0.2)

    def forward(self, x, l):
        p = nn.utils.rnn.pack_padded_sequence(self.embedding(x), l.cpu(), batch_first=True, enforce_sorted=False)
        _, (h, _) = self.lstm(p)
        return self.fc(self.do(torch.cat((h[-2], h[-1]), dim=1)))


m = C(len(vocab) + 2)
o = torch.optim.SGD(m.parameters(), lr=0.5)
s = torch.optim.lr_scheduler.StepLR(o, 1, gamma=0.9)
for e in range(3):
    for y, x, l in dl:
        o.zero_grad()
        loss = nn.functional.cross_entropy(m(x, l), y)
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 0.1)
        o.step()
        print(x.tolist(), loss.item())
    s.step()
print(m.embedding.weight[0], m.embedding.weight.grad[0])
