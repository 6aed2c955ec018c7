import torch
import os, sys, time, random, json, tempfile, collections
import numpy as np
import torch.nn as nn
import torch.optim as optim


def seed_everything(seed=42):
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True)


seed_everything()
device = torch.device("cuda:0" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
print(device, device.type, device.index, torch.cuda.device_count())


class AverageMeter(object):
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        bs = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / bs) for k in topk]


net = nn.Sequential(nn.Linear(6, 10), nn.BatchNorm1d(10), nn.ReLU(True), nn.Linear(10, 4)).to(device)
x, y = torch.randn(20, 6, device=device), torch.randint(4, (20,), device=device)
crit = nn.CrossEntropyLoss().to(device)
losses, top = AverageMeter("Loss", ":.4e"), AverageMeter("Acc@2", ":6.2f")
opt = optim.SGD(
    [{"params": net[0].parameters(), "lr": 0.01}, {"params": net[3].parameters()}],
    lr=0.1,
    momentum=0.9,
    weight_decay=1e-4,
)
sch = optim.lr_scheduler.MultiStepLR(opt, [2, 4], gamma=0.1)
warm = optim.lr_scheduler.LambdaLR(opt, lambda e: min(1.0, (e + 1) / 3))
for ep in range(5):
    out = net(x)
    l = crit(out, y)
    opt.zero_grad()
    l.backward()
    opt.step()
    a1, a2 = accuracy(out, y, (1, 2))
    losses.update(l.item(), x.size(0))
    top.update(a2[0], x.size(0))
    sch.step()
    print(ep, losses, top, [f"{g['lr']:.5f}" for g in opt.param_groups], a1)
d = tempfile.mkdtemp()
path = os.path.join(d, "ckpt.pth.tar")
torch.save(
    {
        "epoch": ep,
        "state_dict": net.state_dict(),
        "optimizer": opt.state_dict(),
        "scheduler": sch.state_dict(),
        "best": top.avg,
    },
    path,
)
ck = torch.load(path, map_location=device)
n2 = nn.Sequential(nn.Linear(6, 10), nn.BatchNorm1d(10), nn.ReLU(True), nn.Linear(10, 4))
n2.load_state_dict(ck["state_dict"])
o2 = optim.SGD([{"params": n2[0].parameters()}, {"params": n2[3].parameters()}], lr=1.0)
o2.load_state_dict(ck["optimizer"])
print(
    ck["epoch"],
    ck["best"],
    o2.param_groups[0]["lr"],
    o2.state_dict()["state"][0]["momentum_buffer"].shape,
    sorted(ck["scheduler"]),
)
pre = {"module." + k: v for k, v in net.state_dict().items()}
n2.load_state_dict(collections.OrderedDict((k[7:] if k.startswith("module.") else k, v) for k, v in pre.items()))
md = n2.state_dict()
md.update({k: v for k, v in pre.items() if k in md and v.size() == md[k].size()})
print(n2.load_state_dict(md), len(md))
print("{:<20}{:>12}".format("layer", "params"))
[
    print(f"{n:<20}{p.numel():>12,d} {str(list(p.shape)):>10} {p.requires_grad} {p.dtype} {p.device}")
    for n, p in net.named_parameters()
]
print(f"{sum(p.numel() * p.element_size() for p in net.parameters()) / 1024:.2f} KB")
acts = {}
hs = [
    m.register_forward_hook(
        (lambda n: lambda mod, i, o: acts.__setitem__(n, (tuple(i[0].shape), tuple(o.shape), o.detach().std().item())))(
            n
        )
    )
    for n, m in net.named_modules()
    if not list(m.children())
]
net.eval()(x[:2])
[h.remove() for h in hs]
print(acts)
v = nn.utils.parameters_to_vector(net.parameters())
nn.utils.vector_to_parameters(v * 2, net.parameters())
print(
    v.shape,
    v.norm(),
    nn.utils.parameters_to_vector(net.parameters()).norm(),
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5, norm_type="inf"),
)
torch.set_printoptions(precision=2, sci_mode=False, linewidth=60, threshold=10, edgeitems=2)
print(torch.linspace(-1e3, 1e3, 40).view(4, 10), torch.tensor([1e-8, 1e5]), torch.arange(30))
torch.set_printoptions(profile="default")
print(
    torch.tensor([1e-8, 1.0]),
    torch.tensor([[1, 2], [3, 4]], dtype=torch.int8),
    torch.tensor([True, False]),
    torch.tensor(3.14),
    torch.zeros(0, 3),
    torch.tensor([float("inf"), float("nan"), -1e10]),
    torch.rand(2, 2).half(),
    torch.Size([2, 3]),
    repr(torch.float16),
    torch.randn(1, 1, 2).squeeze().tolist(),
    [t for t in torch.ones(2)],
)
torch.use_deterministic_algorithms(False)
t0 = time.time()
torch.set_num_threads(1)
print(
    torch.get_num_threads(),
    torch.is_tensor(x),
    torch.numel(x),
    x.is_contiguous(),
    x.t().is_contiguous(),
    x.stride(),
    x.T.stride(),
    x.data_ptr() == x.view(-1).data_ptr(),
    x.element_size(),
    x.nbytes,
    torch.get_default_dtype(),
    x.is_cuda,
    x.layout,
    x.type(),
    x.ndimension(),
)
