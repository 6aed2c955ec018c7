import torch
import itertools, random
import numpy as np
from torch import nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence, pack_sequence, PackedSequence
from torch.utils.data import (
    IterableDataset,
    DataLoader,
    Dataset,
    ConcatDataset,
    BatchSampler,
    SequentialSampler,
    SubsetRandomSampler,
    Sampler,
    ChainDataset,
    default_collate,
    get_worker_info,
)


class Stream(IterableDataset):
    def __init__(self, a, b):
        assert b > a
        self.a, self.b = a, b

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        return iter(range(self.a, self.b)) if info is None else iter([])


print(list(DataLoader(Stream(3, 9), batch_size=4)), list(DataLoader(ChainDataset([Stream(0, 2), Stream(5, 7)]))))


class Text(Dataset):
    def __init__(self, n):
        g = np.random.RandomState(0)
        self.x = [torch.tensor(g.randint(1, 10, g.randint(2, 6))) for _ in range(n)]
        self.y = [int(x.sum() % 2) for x in self.x]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"ids": self.x[i], "label": self.y[i], "len": len(self.x[i]), "name": f"s{i}"}


def collate(batch):
    batch.sort(key=lambda b: b["len"], reverse=True)
    return (
        pad_sequence([b["ids"] for b in batch], batch_first=True),
        torch.LongTensor([b["label"] for b in batch]),
        torch.tensor([b["len"] for b in batch]),
        [b["name"] for b in batch],
    )


ds = Text(10)
for x, y, l, n in DataLoader(
    ds, batch_size=4, shuffle=True, collate_fn=collate, drop_last=True, generator=torch.Generator().manual_seed(1)
):
    print(x.tolist(), y, l, n)
print(
    default_collate(
        [
            {"a": np.float64(1.5), "b": (1, 2.0), "c": "s", "d": np.arange(2)},
            {"a": np.float64(2), "b": (3, 4.0), "c": "t", "d": np.arange(2)},
        ]
    )
)


class BySize(Sampler):
    def __init__(self, d):
        self.d = d

    def __iter__(self):
        return iter(sorted(range(len(self.d)), key=lambda i: -self.d[i]["len"]))

    def __len__(self):
        return len(self.d)


print(
    list(BySize(ds)),
    [n for *_, n in DataLoader(ds, batch_sampler=BatchSampler(BySize(ds), 4, False), collate_fn=collate)],
    list(SubsetRandomSampler([1, 5, 7])),
    len(ConcatDataset([ds, ds])),
    ConcatDataset([ds, ds])[12]["name"],
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 4, padding_idx=0)
        self.r = nn.LSTM(4, 5, batch_first=True, bidirectional=True)
        self.o = nn.Linear(10, 2)

    def forward(self, x, l):
        p = pack_padded_sequence(self.e(x), l.cpu(), batch_first=True, enforce_sorted=False)
        out, (h, c) = self.r(p)
        self.p = p
        out, ls = pad_packed_sequence(out, batch_first=True, total_length=6)
        self.out = out
        return self.o(torch.cat([h[-2], h[-1]], 1)), ls


net = Net()
opt = torch.optim.Adamax(net.parameters())
ids = pad_sequence([ds[i]["ids"] for i in range(5)], True)
ln = torch.tensor([ds[i]["len"] for i in range(5)])
yy = torch.tensor(ds.y[:5])
for _ in range(3):
    lg, ls = net(ids, ln)
    loss = nn.functional.cross_entropy(lg, yy, label_smoothing=0.1, weight=torch.tensor([1.0, 2.0]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss, ls)
print(net.p.batch_sizes, net.p.sorted_indices, net.p.unsorted_indices, net.out[0, :, 0], net.e.weight.grad[0])
ps = pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
print(ps, ps.data, PackedSequence(ps.data * 2, ps.batch_sizes).data)
dl = DataLoader(ds, batch_size=3, collate_fn=collate)
print(
    len(dl),
    dl.batch_size,
    dl.dataset is ds,
    dl.num_workers,
    dl.drop_last,
    type(dl.sampler).__name__,
    dl.pin_memory,
    dl.timeout,
)
it = iter(dl)
next(it)
x, *_ = next(it)
print(x.shape, len(list(it)))
cyc = itertools.cycle(DataLoader(torch.arange(5), batch_size=2))
print([next(cyc).tolist() for _ in range(5)])


def seed_worker(w):
    np.random.seed(torch.initial_seed() % 2**32)
    random.seed(0)


print(
    len(
        list(
            DataLoader(
                ds,
                2,
                num_workers=0,
                worker_init_fn=seed_worker,
                collate_fn=lambda b: b,
                pin_memory=False,
                persistent_workers=False,
            )
        )
    ),
    torch.utils.data.random_split(range(10), [3, 7])[0][1],
)
