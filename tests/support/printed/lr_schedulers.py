import torch
from torch.optim import lr_scheduler as S


def run(make, n=8, metric=False):
    p = torch.nn.Parameter(torch.zeros(1))
    o = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    s = make(o)
    r = []
    for i in range(n):
        p.grad = torch.ones(1)
        o.step()
        s.step(1.0 / (i % 4 + 1)) if metric else s.step()
        r.append(o.param_groups[0]["lr"])
    print([round(x, 6) for x in r])


run(lambda o: S.StepLR(o, 3))
run(lambda o: S.MultiStepLR(o, [2, 5], 0.3))
run(lambda o: S.ExponentialLR(o, 0.9))
run(lambda o: S.CosineAnnealingLR(o, 5, eta_min=0.01))
run(lambda o: S.CosineAnnealingWarmRestarts(o, 3, 2))
run(lambda o: S.OneCycleLR(o, 0.5, total_steps=10))
run(lambda o: S.ReduceLROnPlateau(o, patience=1, factor=0.5), metric=True)
run(lambda o: S.LambdaLR(o, lambda e: 0.95**e))
run(lambda o: S.MultiplicativeLR(o, lambda e: 0.9))
run(lambda o: S.LinearLR(o, 0.1, total_iters=4))
run(lambda o: S.PolynomialLR(o, 5, 2.0))
run(lambda o: S.ConstantLR(o, 0.5, 3))
run(lambda o: S.CyclicLR(o, 0.01, 0.1, 3, mode="triangular2"))
run(lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, total_iters=3), S.CosineAnnealingLR(o, 5)], [3]))
run(lambda o: S.ChainedScheduler([S.LinearLR(o, 0.1, total_iters=3), S.ExponentialLR(o, 0.9)]))
