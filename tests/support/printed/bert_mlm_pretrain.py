import math, re, random
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
import torch.utils.data as Data

text = (
    "Hello, how are you? I am Romeo.\n"
    "Hello, Romeo My name is Juliet. Nice to meet you.\n"
    "Nice meet you too. How are you today?\n"
    "Great. My baseball team won the competition."
)
sentences = re.sub("[.,!?\\-]", "", text.lower()).split("\n")
word_list = sorted(list(set(" ".join(sentences).split())))
word2idx = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "[MASK]": 3}
for i, w in enumerate(word_list):
    word2idx[w] = i + 4
vocab_size = len(word2idx)
token_list = [[word2idx[s] for s in x.split()] for x in sentences]
maxlen, batch_size, max_pred, d_model, d_k, n_heads, n_layers = 24, 4, 3, 16, 8, 2, 2


def make_data():
    batch, pos, neg = [], 0, 0
    while pos != batch_size / 2 or neg != batch_size / 2:
        a, b = random.randrange(len(sentences)), random.randrange(len(sentences))
        ta, tb = token_list[a], token_list[b]
        ids = [1] + ta + [2] + tb + [2]
        seg = [0] * (2 + len(ta)) + [1] * (1 + len(tb))
        n_pred = min(max_pred, max(1, int(len(ids) * 0.15)))
        cand = [i for i, t in enumerate(ids) if t not in (1, 2)]
        random.shuffle(cand)
        mt, mp = [], []
        for p in cand[:n_pred]:
            mp.append(p)
            mt.append(ids[p])
            if random.random() < 0.8:
                ids[p] = 3
            elif random.random() > 0.9:
                ids[p] = random.randint(4, vocab_size - 1)
        np_ = maxlen - len(ids)
        ids.extend([0] * np_)
        seg.extend([0] * np_)
        mt.extend([0] * (max_pred - n_pred))
        mp.extend([0] * (max_pred - n_pred))
        if a + 1 == b and pos < batch_size / 2:
            batch.append([ids, seg, mt, mp, True])
            pos += 1
        elif a + 1 != b and neg < batch_size / 2:
            batch.append([ids, seg, mt, mp, False])
            neg += 1
    return batch


input_ids, segment_ids, masked_tokens, masked_pos, isNext = map(torch.LongTensor, zip(*make_data()))


class MyDataSet(Data.Dataset):
    def __init__(self, *t):
        self.t = t

    def __len__(self):
        return len(self.t[0])

    def __getitem__(self, idx):
        return tuple(x[idx] for x in self.t)


loader = Data.DataLoader(MyDataSet(input_ids, segment_ids, masked_tokens, masked_pos, isNext), batch_size, True)


def get_attn_pad_mask(q, k):
    bs, l = q.size()
    return k.data.eq(0).unsqueeze(1).expand(bs, l, l)


def gelu(x):
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


class Embedding(nn.Module):
    def __init__(self):
        super(Embedding, self).__init__()
        self.tok_embed = nn.Embedding(vocab_size, d_model)
        self.pos_embed = nn.Embedding(maxlen, d_model)
        self.seg_embed = nn.Embedding(2, d_model)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, seg):
        pos = torch.arange(x.size(1), dtype=torch.long)
        pos = pos.unsqueeze(0).expand_as(x)
        return self.norm(self.tok_embed(x) + self.pos_embed(pos) + self.seg_embed(seg))


class MHA(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_Q = nn.Linear(d_model, d_k * n_heads)
        self.W_K = nn.Linear(d_model, d_k * n_heads)
        self.W_V = nn.Linear(d_model, d_k * n_heads)

    def forward(self, Q, K, V, m):
        r, b = Q, Q.size(0)
        q, k, v = (
            w(t).view(b, -1, n_heads, d_k).transpose(1, 2) for w, t in ((self.W_Q, Q), (self.W_K, K), (self.W_V, V))
        )
        m = m.unsqueeze(1).repeat(1, n_heads, 1, 1)
        s = torch.matmul(q, k.transpose(-1, -2)) / np.sqrt(d_k)
        s.masked_fill_(m, -1e9)
        c = torch.matmul(nn.Softmax(dim=-1)(s), v).transpose(1, 2).contiguous().view(b, -1, n_heads * d_k)
        return nn.LayerNorm(d_model)(nn.Linear(n_heads * d_k, d_model)(c) + r)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = MHA()
        self.fc1 = nn.Linear(d_model, 32)
        self.fc2 = nn.Linear(32, d_model)

    def forward(self, x, m):
        return self.fc2(gelu(self.fc1(self.a(x, x, x, m))))


class BERT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = Embedding()
        self.layers = nn.ModuleList([Layer() for _ in range(n_layers)])
        self.fc = nn.Sequential(nn.Linear(d_model, d_model), nn.Dropout(0.5), nn.Tanh())
        self.classifier = nn.Linear(d_model, 2)
        self.linear = nn.Linear(d_model, d_model)
        self.activ2 = gelu
        self.fc2 = nn.Linear(d_model, vocab_size, bias=False)
        self.fc2.weight = self.embedding.tok_embed.weight

    def forward(self, ids, seg, mp):
        o = self.embedding(ids, seg)
        m = get_attn_pad_mask(ids, ids)
        for l in self.layers:
            o = l(o, m)
        cls = self.classifier(self.fc(o[:, 0]))
        mp = mp[:, :, None].expand(-1, -1, d_model)
        hm = self.activ2(self.linear(torch.gather(o, 1, mp)))
        return self.fc2(hm), cls


model = BERT()
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adadelta(model.parameters(), lr=0.1)
for epoch in range(4):
    for ids, seg, mt, mp, nx in loader:
        lm, cl = model(ids, seg, mp)
        l1 = criterion(lm.view(-1, vocab_size), mt.view(-1))
        l1 = (l1.float()).mean()
        l2 = criterion(cl, nx)
        loss = l1 + l2
        print("Epoch:", "%04d" % (epoch + 1), "loss =", "{:.6f}".format(loss))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
lp = lm.data.max(2)[1][0].data.numpy()
print(
    [p for p in lp if p != 0],
    [w for w, i in word2idx.items() if i in lp],
    cl.data.max(1)[1].data.numpy()[0],
    input_ids[0],
    isNext,
)
