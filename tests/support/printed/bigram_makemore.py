import torch
import torch.nn.functional as F

words = ["emma", "olivia", "ava", "isabella", "sophia", "mia", "amelia", "luna"]
chars = sorted(list(set("".join(words))))
stoi = {s: i + 1 for i, s in enumerate(chars)}
stoi["."] = 0
itos = {i: s for s, i in stoi.items()}
V = len(itos)
N = torch.zeros((V, V), dtype=torch.int32)
for w in words:
    chs = ["."] + list(w) + ["."]
    for c1, c2 in zip(chs, chs[1:]):
        N[stoi[c1], stoi[c2]] += 1
P = (N + 1).float()
P /= P.sum(1, keepdims=True)
g = torch.Generator().manual_seed(2147483647)
for i in range(4):
    out = []
    ix = 0
    while True:
        ix = torch.multinomial(P[ix], num_samples=1, replacement=True, generator=g).item()
        out.append(itos[ix])
        if ix == 0:
            break
    print("".join(out))
xs, ys = [], []
for w in words:
    chs = ["."] + list(w) + ["."]
    for a, b in zip(chs, chs[1:]):
        xs.append(stoi[a])
        ys.append(stoi[b])
xs, ys = torch.tensor(xs), torch.tensor(ys)
W = torch.randn((V, V), generator=g, requires_grad=True)
for k in range(10):
    logits = F.one_hot(xs, num_classes=V).float() @ W
    counts = logits.exp()
    probs = counts / counts.sum(1, keepdims=True)
    loss = -probs[torch.arange(len(xs)), ys].log().mean() + 0.01 * (W**2).mean()
    W.grad = None
    loss.backward()
    W.data += -50 * W.grad
print(f"{loss.item()=:.5f}", probs.shape, N.sum())


def build(words, bs=3):
    X, Y = [], []
    for w in words:
        ctx = [0] * bs
        for ch in w + ".":
            ix = stoi[ch]
            X.append(ctx)
            Y.append(ix)
            ctx = ctx[1:] + [ix]
    return torch.tensor(X), torch.tensor(Y)


X, Y = build(words)
C = torch.randn((V, 2), generator=g)
W1 = torch.randn((6, 20), generator=g) * (5 / 3) / (6**0.5)
W2 = torch.randn((20, V), generator=g) * 0.1
bngain = torch.ones((1, 20))
bnbias = torch.zeros((1, 20))
b2 = torch.zeros(V)
params = [C, W1, W2, bngain, bnbias, b2]
print(sum(p.nelement() for p in params))
for p in params:
    p.requires_grad = True
lossi = []
for i in range(20):
    ix = torch.randint(0, X.shape[0], (8,), generator=g)
    emb = C[X[ix]]
    hpre = emb.view(emb.shape[0], -1) @ W1
    m = hpre.mean(0, keepdim=True)
    s = hpre.std(0, keepdim=True)
    h = torch.tanh(bngain * (hpre - m) / s + bnbias)
    loss = F.cross_entropy(h @ W2 + b2, Y[ix])
    for p in params:
        p.grad = None
    loss.backward()
    lr = 0.1 if i < 10 else 0.01
    for p in params:
        p.data += -lr * p.grad
    lossi.append(loss.log10().item())
print(torch.tensor(lossi).view(-1, 5).mean(1), (h.abs() > 0.99).float().mean())
