import torch
import copy, math
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn


class EMA:
    def __init__(self, model, decay):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        [p.requires_grad_(False) for p in self.module.parameters()]

    def update(self, model):
        with torch.no_grad():
            msd = model.state_dict()
            for k, v in self.module.state_dict().items():
                if v.dtype.is_floating_point:
                    v *= self.decay
                    v += (1.0 - self.decay) * msd[k].detach()
                else:
                    v.copy_(msd[k])


class BYOL(nn.Module):
    def __init__(self, enc, d=6):
        super().__init__()
        self.online = nn.Sequential(enc, nn.Linear(8, d), nn.BatchNorm1d(d), nn.ReLU(inplace=True), nn.Linear(d, d))
        self.target = copy.deepcopy(self.online)
        self.pred = nn.Linear(d, d)
        [p.requires_grad_(False) for p in self.target.parameters()]
        self.tau = 0.9

    @torch.no_grad()
    def momentum(self):
        for o, t in zip(self.online.parameters(), self.target.parameters()):
            t.data.mul_(self.tau).add_((1 - self.tau) * o.data)

    def forward(self, a, b):
        p1, p2 = self.pred(self.online(a)), self.pred(self.online(b))
        with torch.no_grad():
            self.momentum()
            t1, t2 = self.target(a), self.target(b)
        f = lambda p, z: 2 - 2 * (F.normalize(p, dim=-1, p=2) * F.normalize(z, dim=-1, p=2)).sum(dim=-1)
        return (f(p1, t2.detach()) + f(p2, t1.detach())).mean()


enc = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU())
x = torch.randn(12, 5)
b = BYOL(enc)
opt = torch.optim.SGD([p for p in b.parameters() if p.requires_grad], lr=0.05, momentum=0.9, weight_decay=1e-4)
for i in range(4):
    l = b(x + 0.1 * torch.randn_like(x), x * (torch.rand_like(x) > 0.2))
    opt.zero_grad()
    l.backward()
    opt.step()
    print("byol", l.item())
teacher = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3)).eval()
student = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.2), nn.Linear(4, 3))
y = torch.randint(0, 3, (12,))
ema = EMA(student, 0.9)
opt = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)
sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=8)
swa = AveragedModel(student)
swas = SWALR(opt, anneal_strategy="linear", anneal_epochs=2, swa_lr=0.05)
T_, alpha = 4.0, 0.7
for ep in range(6):
    with torch.no_grad():
        tl = teacher(x)
    sl = student(x)
    kd = nn.KLDivLoss(reduction="batchmean")(F.log_softmax(sl / T_, dim=1), F.softmax(tl / T_, dim=1)) * (
        alpha * T_ * T_
    ) + F.cross_entropy(sl, y) * (1.0 - alpha)
    opt.zero_grad()
    kd.backward()
    opt.step()
    ema.update(student)
    if ep > 2:
        swa.update_parameters(student)
        swas.step()
    else:
        sch.step()
    print(ep, kd, opt.param_groups[0]["lr"])
update_bn(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 4), swa)
swa.eval()
print(swa.n_averaged, swa(x)[:2], ema.module(x)[:2], swa.module[1].running_mean)


class EarlyStopping:
    def __init__(self, patience=2, delta=0):
        self.patience, self.counter, self.best, self.stop, self.delta, self.val = (
            patience,
            0,
            None,
            False,
            delta,
            float("inf"),
        )

    def __call__(self, v, m):
        s = -v
        if self.best is None or s >= self.best + self.delta:
            print(f"Validation loss decreased ({self.val:.6f} --> {v:.6f}).")
            self.best, self.val, self.counter = s, v, 0
            self.state = copy.deepcopy(m.state_dict())
        else:
            self.counter += 1
            print(f"EarlyStopping counter: {self.counter} out of {self.patience}")
            self.stop = self.counter >= self.patience


es = EarlyStopping()
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, "min", factor=0.5, patience=0, cooldown=1, min_lr=1e-4)
for v in (1.0, 0.8, 0.9, 0.95, 0.7):
    es(v, student)
    sched.step(v)
    print(opt.param_groups[0]["lr"], sched.num_bad_epochs, sched.in_cooldown, sched.state_dict()["best"])
ls = [
    F.kl_div(F.log_softmax(sl, 1), F.log_softmax(tl, 1), log_target=True, reduction=r)
    for r in ("sum", "mean", "batchmean", "none")
]
print(
    ls[:3],
    ls[3].shape,
    F.cosine_embedding_loss(sl, tl, torch.ones(12)),
    F.margin_ranking_loss(sl[:, 0], sl[:, 1], torch.ones(12)),
    F.triplet_margin_loss(sl, tl, tl.flip(0)),
    F.hinge_embedding_loss(sl, torch.ones_like(sl)),
    F.poisson_nll_loss(sl, tl.exp()),
    F.gaussian_nll_loss(sl, tl, torch.ones_like(sl)),
    F.soft_margin_loss(sl, tl.sign()),
    F.multilabel_soft_margin_loss(sl, (tl > 0).float()),
    F.huber_loss(sl, tl, delta=0.5),
    F.pairwise_distance(sl, tl)[:3],
)
