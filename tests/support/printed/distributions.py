import torch
from torch.distributions import (
    Normal,
    Categorical,
    Bernoulli,
    MultivariateNormal,
    kl_divergence,
    Uniform,
    Exponential,
    Laplace,
    OneHotCategorical,
    Independent,
    TransformedDistribution,
    constraints,
    MixtureSameFamily,
)
from torch.distributions.transforms import TanhTransform, AffineTransform, ExpTransform, SigmoidTransform
import torch.distributions as dist

torch.manual_seed(3)
n = Normal(torch.zeros(3), torch.ones(3) * 2)
print(
    n,
    n.sample(),
    n.rsample((2,)),
    n.log_prob(torch.ones(3)),
    n.entropy(),
    n.cdf(torch.zeros(3)),
    n.mean,
    n.stddev,
    n.variance,
)
c = Categorical(logits=torch.tensor([[1.0, 2, 3], [0, 0, 0]]))
a = c.sample()
print(a, c.log_prob(a), c.entropy(), c.probs, c.sample((4,)), c)
b = Bernoulli(probs=torch.tensor([0.2, 0.8]))
print(b.sample((3,)), b.log_prob(torch.tensor([1.0, 0.0])))
mvn = MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 0.5], [0.5, 1.0]]))
print(mvn.sample((2,)), mvn.log_prob(torch.ones(2)), mvn.entropy())
print(kl_divergence(n, Normal(1.0, 1.0)), kl_divergence(c, Categorical(logits=torch.zeros(2, 3))))
t = TransformedDistribution(n, [TanhTransform(cache_size=1)])
s = t.rsample()
print(s, t.log_prob(s))
print(
    Uniform(-1.0, 2.0).sample((3,)),
    Laplace(0.0, 1.0).sample((2,)),
    OneHotCategorical(torch.tensor([0.3, 0.7])).sample((3,)),
)
print(
    Independent(n, 1).log_prob(torch.zeros(3)),
    dist.LogNormal(0.0, 1.0).sample(),
    dist.HalfNormal(1.0).sample(),
    dist.Gumbel(0.0, 1.0).sample(),
    dist.Cauchy(0.0, 1.0).sample(),
)
print(
    MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([-1.0, 1.0]), torch.ones(2))).log_prob(
        torch.tensor(0.3)
    )
)
mu = torch.zeros(2, requires_grad=True)
ls = torch.zeros(2, requires_grad=True)
Normal(mu, ls.exp()).rsample().sum().backward()
print(mu.grad, ls.grad)
print(
    dist.RelaxedOneHotCategorical(torch.tensor(1.0), logits=torch.tensor([1.0, 2.0])).rsample(),
    dist.RelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.5])).rsample(),
    dist.Geometric(torch.tensor([0.5])).sample(),
    dist.Multinomial(5, torch.tensor([0.2, 0.8])).log_prob(torch.tensor([1.0, 4.0])),
)
