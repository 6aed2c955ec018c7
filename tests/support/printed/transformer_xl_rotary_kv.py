import torch
import torch.nn as nn
import torch.nn.functional as F
import math
from dataclasses import dataclass
from typing import Optional


class RMSNorm(torch.nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float()).type_as(x) * self.weight


def precompute(dim: int, end: int, theta: float = 10000.0):
    inv = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end, device=inv.device, dtype=torch.float32)
    f = torch.outer(t, inv)
    return torch.cos(f), torch.sin(f)


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary(q, k, cos, sin):
    cos, sin = torch.cat([cos, cos], -1)[None, :, None], torch.cat([sin, sin], -1)[None, :, None]
    return (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)


def repeat_kv(x: torch.Tensor, n_rep: int) -> torch.Tensor:
    bs, slen, n_kv, hd = x.shape
    if n_rep == 1:
        return x
    return x[:, :, :, None, :].expand(bs, slen, n_kv, n_rep, hd).reshape(bs, slen, n_kv * n_rep, hd)


@dataclass
class Args:
    dim: int = 16
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: Optional[int] = 2
    vocab: int = 20
    max_seq: int = 12


class Attn(nn.Module):
    def __init__(self, a: Args):
        super().__init__()
        self.h, self.kv, self.hd = a.n_heads, a.n_kv_heads or a.n_heads, a.dim // a.n_heads
        self.wq = nn.Linear(a.dim, self.h * self.hd, bias=False)
        self.wk = nn.Linear(a.dim, self.kv * self.hd, bias=False)
        self.wv = nn.Linear(a.dim, self.kv * self.hd, bias=False)
        self.wo = nn.Linear(self.h * self.hd, a.dim, bias=False)
        self.register_buffer("cache_k", torch.zeros((2, a.max_seq, self.kv, self.hd)), persistent=False)
        self.register_buffer("cache_v", torch.zeros((2, a.max_seq, self.kv, self.hd)), persistent=False)

    def forward(self, x, start, cos, sin, mask, cache=False):
        b, s, _ = x.shape
        q, k, v = (
            self.wq(x).view(b, s, self.h, self.hd),
            self.wk(x).view(b, s, self.kv, self.hd),
            self.wv(x).view(b, s, self.kv, self.hd),
        )
        q, k = apply_rotary(q, k, cos, sin)
        if cache:
            self.cache_k[:b, start : start + s] = k
            self.cache_v[:b, start : start + s] = v
            k, v = self.cache_k[:b, : start + s], self.cache_v[:b, : start + s]
        k, v = repeat_kv(k, self.h // self.kv), repeat_kv(v, self.h // self.kv)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        sc = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.hd)
        if mask is not None:
            sc = sc + mask
        return self.wo(
            torch.matmul(F.softmax(sc.float(), dim=-1).type_as(q), v).transpose(1, 2).contiguous().view(b, s, -1)
        )


class FF(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.w1, self.w2, self.w3 = (
            nn.Linear(d, h, bias=False),
            nn.Linear(h, d, bias=False),
            nn.Linear(d, h, bias=False),
        )

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Llama(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.tok = nn.Embedding(a.vocab, a.dim)
        self.layers = torch.nn.ModuleList()
        [
            self.layers.append(
                nn.ModuleDict({"a": Attn(a), "f": FF(a.dim, 32), "n1": RMSNorm(a.dim), "n2": RMSNorm(a.dim)})
            )
            for _ in range(a.n_layers)
        ]
        self.norm = RMSNorm(a.dim)
        self.out = nn.Linear(a.dim, a.vocab, bias=False)
        c, s = precompute(a.dim // a.n_heads, a.max_seq * 2)
        self.register_buffer("cos", c, persistent=False)
        self.register_buffer("sin", s, persistent=False)

    def forward(self, t, start=0, cache=False):
        s = t.shape[1]
        h = self.tok(t)
        c, sn = self.cos[start : start + s], self.sin[start : start + s]
        mask = None
        if s > 1:
            mask = torch.full((s, s), float("-inf"), device=t.device)
            mask = torch.triu(mask, diagonal=1)
            mask = torch.hstack([torch.zeros((s, start)), mask]).type_as(h)
        for l in self.layers:
            h = h + l["a"](l["n1"](h), start, c, sn, mask, cache)
            h = h + l["f"](l["n2"](h))
        return self.out(self.norm(h)).float()


m = Llama(Args())
t = torch.randint(0, 20, (2, 8))
opt = torch.optim.AdamW(m.parameters(), 1e-2)
for i in range(4):
    lg = m(t[:, :-1])
    l = F.cross_entropy(lg.reshape(-1, 20), t[:, 1:].flatten())
    opt.zero_grad()
    l.backward()
    opt.step()
    print(l)
m.eval()
with torch.inference_mode():
    full = m(t)
    m(t[:, :5], 0, True)
    inc = torch.cat([m(t[:, i : i + 1], i, True) for i in range(5, 8)], 1)
    print(torch.allclose(full[:, 5:], inc, atol=1e-5), list(m.state_dict())[:3], m.layers[0]["a"].cache_k[0, 5])


def sample_top_p(probs, p):
    ps, idx = torch.sort(probs, dim=-1, descending=True)
    cs = torch.cumsum(ps, dim=-1)
    ps[cs - ps > p] = 0.0
    ps.div_(ps.sum(dim=-1, keepdim=True))
    nt = torch.multinomial(ps, num_samples=1)
    return torch.gather(idx, -1, nt)


def top_k_top_p(logits, top_k=0, top_p=0.0, filter_value=-float("Inf")):
    if top_k > 0:
        rm = logits < torch.topk(logits, top_k)[0][..., -1, None]
        logits[rm] = filter_value
    if top_p > 0.0:
        sl, si = torch.sort(logits, descending=True)
        cp = torch.cumsum(F.softmax(sl, dim=-1), dim=-1)
        sr = cp > top_p
        sr[..., 1:] = sr[..., :-1].clone()
        sr[..., 0] = 0
        rm = sr.scatter(1, si, sr)
        logits = logits.masked_fill(rm, filter_value)
    return logits


print(
    sample_top_p(inc[:, -1].softmax(-1), 0.9),
    torch.isinf(top_k_top_p(inc[:, -1].clone(), 6, 0.8)).sum(1),
    torch.multinomial(F.softmax(top_k_top_p(inc[:, -1].clone(), 3), -1), 1),
)


class RelPos(nn.Module):
    def __init__(self, buckets=8, maxd=16, h=2):
        super().__init__()
        self.b, self.m = buckets, maxd
        self.e = nn.Embedding(buckets, h)

    def forward(self, q, k):
        rp = torch.arange(k)[None, :] - torch.arange(q)[:, None]
        n = -rp
        nb = self.b // 2
        ret = (n < 0).long() * nb
        n = torch.abs(n)
        me = nb // 2
        small = n < me
        v = me + (torch.log(n.float() / me) / math.log(self.m / me) * (nb - me)).long()
        v = torch.min(v, torch.full_like(v, nb - 1))
        ret += torch.where(small, n, v)
        return self.e(ret).permute([2, 0, 1]).unsqueeze(0)


r = RelPos()
print(r(3, 5)[0, 0], torch.tril(torch.ones(3, 3)).bool().logical_not())
al = torch.tensor([2 ** (-8 * (i + 1) / 4) for i in range(4)])
print(al.view(4, 1, 1) * (torch.arange(3)[None, :] - torch.arange(3)[:, None]).tril().float()[None][:, -1:])
