import torch

x = torch.arange(24).view(2, 3, 4)
print(
    x[0],
    x[:, 1],
    x[..., 0],
    x[0, 1, 2],
    x[:, [0, 2]],
    x[[0, 1], [1, 2]],
    x[x > 10],
    x[:, :, ::2],
    x[None].shape,
    x[-1, -1],
    x[:, -2:],
    x[[True, False]],
)
x = torch.zeros(4, 5)
x[1:3, 2:4] = 1
x[0] = torch.arange(5.0)
x[:, 0] += 10
x[x == 1] = -1
x[[0, 3], [1, 1]] = 9
x[torch.tensor([1, 2])] *= 2
print(x)
idx = torch.tensor([[0, 1], [2, 0]])
print(
    torch.gather(x, 1, idx),
    x.index_select(0, torch.tensor([3, 1])),
    torch.take(x, torch.tensor([0, 6])),
    x.masked_select(x > 1),
    torch.where(x > 1, x, torch.zeros(())),
    torch.nonzero(x > 5),
    (x > 5).nonzero(as_tuple=True),
    torch.where(x > 5),
)
y = torch.zeros(3, 5).scatter_(1, torch.tensor([[0], [2], [4]]), 1.0)
print(
    y,
    y.scatter_add(1, torch.tensor([[0, 0]]), torch.ones(1, 2)),
    torch.nn.functional.one_hot(torch.tensor([0, 2]), 4),
    y.argmax(1),
    y.flip(0),
    y.roll(1, 1),
    torch.chunk(y, 2, 1),
    y.split([2, 3], 1),
    y.unbind(0)[1],
    y.narrow(1, 0, 2),
    y.index_fill(1, torch.tensor([0]), 7),
    y.unsqueeze(-1).squeeze().shape,
    torch.tril(torch.ones(3, 3)),
    torch.masked_fill(y, y == 0, -1e9),
)
print(
    torch.topk(torch.tensor([1.0, 5, 3]), 2),
    torch.sort(torch.tensor([[3, 1], [2, 4]]), descending=True),
    torch.unique(torch.tensor([1, 3, 1]), return_counts=True),
    torch.bincount(torch.tensor([0, 1, 1])),
    torch.cumsum(torch.arange(4), 0),
    torch.argsort(torch.tensor([3, 1, 2])),
    torch.kthvalue(torch.tensor([3.0, 1, 2]), 2),
    torch.median(torch.tensor([3.0, 1, 2])),
    torch.mode(torch.tensor([1, 1, 2])),
    torch.max(torch.tensor([[1, 2], [4, 3]]), dim=1),
    torch.histc(torch.tensor([1.0, 2, 1]), 2, 0, 3),
    torch.searchsorted(torch.tensor([1, 3, 5]), 3),
    torch.bucketize(torch.tensor([2, 6]), torch.tensor([1, 3, 5])),
)
print(
    torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij"),
    torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4])),
    torch.combinations(torch.arange(3)),
    torch.diag(torch.tensor([1, 2])),
    torch.triu_indices(3, 3),
    torch.block_diag(torch.ones(1, 2), torch.ones(2, 1)),
    torch.repeat_interleave(torch.tensor([1, 2]), torch.tensor([2, 1])),
    torch.tile(torch.tensor([1, 2]), (2, 2)),
    torch.ones(2, 1).expand(-1, 3),
    torch.isin(torch.tensor([1, 2]), torch.tensor([2])),
    torch.stack([torch.ones(2), torch.zeros(2)], -1),
    torch.hstack([torch.ones(2), torch.zeros(1)]),
    torch.vstack([torch.ones(2), torch.zeros(2)]),
    torch.movedim(torch.zeros(1, 2, 3), 0, -1).shape,
    torch.swapaxes(torch.zeros(1, 2), 0, 1).shape,
)
