import torch

torch.manual_seed(7)
print(
    torch.rand(3),
    torch.randn(3),
    torch.randn(20).sum(),
    torch.randperm(10),
    torch.randint(0, 100, (5,)),
    torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 5, replacement=True),
    torch.multinomial(torch.ones(6), 4),
    torch.bernoulli(torch.full((4,), 0.5)),
    torch.normal(0.0, torch.ones(3)),
    torch.normal(2.0, 3.0, (2, 2)),
    torch.rand(2, 2, dtype=torch.float64),
    torch.randn(3, dtype=torch.float64),
    torch.rand_like(torch.ones(2)),
    torch.randint_like(torch.ones(3), 5),
    torch.empty(3).uniform_(-1, 1),
    torch.empty(3).normal_(1, 2),
    torch.randint(10, (2,), dtype=torch.int32),
    torch.empty(2).random_(0, 10),
    torch.empty(3).exponential_(),
    torch.empty(2).geometric_(0.3),
    torch.empty(2).log_normal_(),
    torch.empty(2).cauchy_(),
)
g = torch.Generator()
g.manual_seed(1)
print(torch.rand(2, generator=g), torch.randperm(4, generator=g), g.initial_seed(), torch.initial_seed())
st = g.get_state()
a = torch.rand(2, generator=g)
g.set_state(st)
print(a == torch.rand(2, generator=g))
print(
    torch.nn.functional.dropout(torch.ones(10), 0.5),
    torch.nn.Dropout(0.3)(torch.ones(8)),
    torch.nn.Dropout2d(0.5)(torch.ones(1, 4, 2, 2)),
    torch.nn.AlphaDropout(0.5)(torch.ones(6)),
)
with torch.random.fork_rng():
    torch.rand(5)
print(torch.rand(1), torch.seed() > 0)
torch.manual_seed(7)
print(
    torch.nn.functional.gumbel_softmax(torch.zeros(3)),
    torch.nn.functional.rrelu(-torch.ones(3), training=True),
    torch.poisson(torch.ones(2) * 3).shape,
    torch.randn(2, 3, 4).transpose(0, 1)[0],
    torch.randn(17)[-1],
)
