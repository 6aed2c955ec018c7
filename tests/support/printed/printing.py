import torch

torch.set_printoptions(precision=3)
print(torch.tensor([1 / 3, 2 / 3, 1e5]))
torch.set_printoptions(profile="default")
print(
    torch.arange(10),
    torch.arange(0.0, 1, 0.3),
    torch.tensor([1e-8, 1.0]),
    torch.tensor([1e10, 1]),
    torch.tensor([float("nan"), float("inf"), -1]),
)
print(
    torch.zeros(2, 0),
    torch.tensor([]),
    torch.tensor(True),
    torch.tensor([True, False]),
    torch.randn(3, 3).double(),
    torch.eye(2).half(),
    torch.tensor(3),
    torch.tensor(3.5),
)
print(torch.arange(2000), torch.ones(40, 40), torch.randn(2, 3, 4))
x = torch.tensor([1.0, 2.0], requires_grad=True)
print(x, x * 2, x.sum(), (x * 2).detach(), torch.nn.Parameter(torch.ones(2)))
print(
    repr(x),
    str(x),
    f"{x}",
    f"{x.sum().item():.3f}",
    f"{torch.tensor(1.23456):.2f}",
    torch.tensor([1, 2], dtype=torch.int8),
    torch.uint8,
    x.dtype,
    x.size(),
    x.type(),
)
torch.set_printoptions(sci_mode=False, linewidth=60, threshold=20, edgeitems=2)
print(torch.tensor([1e-5, 1e5]), torch.arange(50).view(5, 10))
torch.set_printoptions(profile="default")
print(
    torch.finfo(torch.float32),
    torch.iinfo(torch.int64),
    torch.finfo(torch.float32).eps,
    torch.Size([1, 2]).numel(),
    torch.device("cpu"),
)
print(
    torch.tensor([0.1, 22.5, 1000.25]),
    torch.tensor([[1.5, 2], [-3, 4e3]]),
    -torch.ones(2),
    torch.tensor([100000000.0]),
    torch.tensor(1e-10),
)
