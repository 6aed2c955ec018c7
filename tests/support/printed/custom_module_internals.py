import torch
import copy, io
import torch.nn as nn
from collections import OrderedDict


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.freqs = torch.arange(3.0)
        self.w = nn.Parameter(torch.ones(3))

    def _apply(self, fn):
        super()._apply(fn)
        self.freqs = fn(self.freqs)
        return self


t = nn.Sequential(Table(), nn.Linear(3, 2)).double()
print(t[0].freqs.dtype, t[0].w.dtype, t[1].weight.dtype)
t.float()
print(t[0].freqs)


class Versioned(nn.Module):
    _version = 2

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2, 3))
        self.register_buffer("scale", torch.ones(1))

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        if prefix + "old_weight" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "old_weight").t()
            print("converted", prefix, local_metadata.get("version", None))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


net = nn.Sequential(OrderedDict([("a", nn.Linear(2, 2)), ("v", Versioned())]))
sd = net.state_dict()
sd["v.old_weight"] = torch.arange(6.0).view(3, 2)
del sd["v.weight"]
print(net.load_state_dict(sd), net.v.weight)
try:
    net.load_state_dict({"a.weight": torch.zeros(3, 3), "x": torch.ones(1)})
except RuntimeError as e:
    print(e)
print(net.load_state_dict({"a.weight": torch.zeros(2, 2)}, strict=False))


class ExtraState(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 3

    def get_extra_state(self):
        return {"n": self.n}

    def set_extra_state(self, s):
        self.n = s["n"]


e = ExtraState()
e.n = 7
f = ExtraState()
f.load_state_dict(e.state_dict())
print(f.n, e.state_dict())
for name, l in dict(
    lstm=nn.LSTM(3, 4, 2, bidirectional=True), gru=nn.GRU(2, 3), rnn=nn.RNN(2, 2, nonlinearity="relu")
).items():
    print(
        name,
        l._flat_weights_names if name == "lstm" else len(l.all_weights[0]),
        [len(w) for w in l._all_weights],
        len(l._flat_weights),
    )
    for names in l._all_weights:
        for n in filter(lambda n: "bias" in n, names):
            bias = getattr(l, n)
            k = bias.size(0)
            bias.data[k // 4 : k // 2].fill_(1.0)
    for layer_p in l._all_weights:
        for p in layer_p:
            if "weight_hh" in p:
                nn.init.orthogonal_(l.__getattr__(p))
print(nn.LSTM(3, 4).weight_hh_l0.shape, l.weight_hh_l0)
cell = nn.LSTMCell(2, 3)
torch.manual_seed(1)
cell.reset_parameters()
print(cell.weight_ih[0], nn.PReLU().init if hasattr(nn.PReLU(), "init") else None)
m = nn.ModuleDict({"conv": nn.Conv1d(1, 2, 3), "act": nn.ModuleList([nn.ReLU(), nn.Tanh()])})
print(m, list(m.keys()), "conv" in m, len(m))
m.update({"x": nn.Identity()})
print(m.pop("x"), [n for n, _ in m.named_modules()])
pd = nn.ParameterDict({"l": nn.Parameter(torch.ones(2)), "r": nn.Parameter(torch.zeros(1, 2))})
print(pd, [k for k in pd], {k: v.sum().item() for k, v in pd.items()})
seq = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
seq.append(nn.Linear(3, 1))
seq.insert(1, nn.BatchNorm1d(3))
seq.extend([nn.Sigmoid()])
del seq[2]
print(seq, len(seq), seq[-1], seq[:2])
seq[0] = nn.Identity()
print([type(x).__name__ for x in seq], list(seq.named_children())[0])


def count(m):
    return sum(p.numel() for p in m.parameters()), sum(b.numel() for b in m.buffers())


print(count(seq), seq.get_submodule("1").weight, dict(seq.named_buffers()).keys(), [k for k in seq.state_dict().keys()])
b = io.BytesIO()
torch.save({"model": seq.state_dict(), "epoch": 3, "rng": torch.get_rng_state()}, b)
b.seek(0)
ck = torch.load(b, map_location=lambda s, l: s, weights_only=False)
print(ck["epoch"], ck["model"]["1.running_var"], type(ck["model"]).__name__)


class Flatten(nn.Module):
    def forward(self, x):
        return x.view(x.size(0), -1)


class Lambda(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


s2 = nn.Sequential(Lambda(lambda x: x * 2), Flatten())
print(s2, s2(torch.ones(1, 2, 2)))
c = copy.deepcopy(seq)
c[1].weight.data.mul_(2)
print(
    seq[1].weight, c[1].weight, next(c.parameters()).is_leaf, seq.training, c.__class__.__name__, seq.forward.__name__
)
