import torch
from torch.utils.data import (
    Dataset,
    DataLoader,
    random_split,
    Subset,
    ConcatDataset,
    WeightedRandomSampler,
    SubsetRandomSampler,
    BatchSampler,
    SequentialSampler,
    RandomSampler,
    IterableDataset,
)


class Squares(Dataset):
    def __init__(self, n, transform=None, target_transform=None):
        self.n, self.transform, self.tt = n, transform, target_transform

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        s = {"x": torch.tensor([i, i * i], dtype=torch.float32), "y": i % 3, "name": f"item{i}", "w": i * 0.5}
        if self.transform:
            s = self.transform(s)
        return s


ds = Squares(20)
train, val, test = random_split(ds, [0.6, 0.25, 0.15], generator=torch.Generator().manual_seed(42))
print(len(train), len(val), len(test), train.indices, val.indices)
for b in DataLoader(train, batch_size=5, shuffle=True, drop_last=True):
    print(b)
for b in DataLoader(ds, batch_size=4, sampler=WeightedRandomSampler([1.0 + i for i in range(20)], 8)):
    print(b["y"], b["name"])
for b in DataLoader(ds, batch_sampler=BatchSampler(SequentialSampler(ds), 7, False)):
    print(b["w"])
print(list(SubsetRandomSampler(range(5, 10))))
print(list(RandomSampler(range(6), generator=torch.Generator().manual_seed(1))))
c = ConcatDataset([Subset(ds, [1, 2]), Subset(ds, [5])])
print(len(c), c[2], c.cumulative_sizes)


def collate(batch):
    xs = [b["x"] for b in batch]
    return torch.stack(xs), torch.tensor([b["y"] for b in batch])


x, y = next(iter(DataLoader(ds, 3, collate_fn=collate)))
print(x, y)


class It(IterableDataset):
    def __iter__(self):
        return iter(range(7))


for b in DataLoader(It(), batch_size=3):
    print(b)
from torch.utils.data import default_collate

print(default_collate([(1, 2.0, "a"), (3, 4.0, "b")]), default_collate([{"a": [1, 2]}, {"a": [3, 4]}]))
print(len(DataLoader(ds, 3)), DataLoader(ds, 3).batch_size)
