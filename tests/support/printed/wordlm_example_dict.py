import os, time, math
from io import open
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.onnx


class Dictionary(object):
    def __init__(self):
        self.word2idx, self.idx2word = {}, []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


d = Dictionary()
lines = ["the cat sat on the mat", "the dog sat on the log", "a cat and a dog ran"] * 6
idss = []
for line in lines:
    words = line.split() + ["<eos>"]
    [d.add_word(w) for w in words]
    idss.append(torch.tensor([d.word2idx[w] for w in words]).type(torch.int64))
data = torch.cat(idss)
ntokens = len(d)
print(ntokens, data.size())


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


train = batchify(data, 4)


class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.5, tie_weights=False):
        super(RNNModel, self).__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        if rnn_type in ["LSTM", "GRU"]:
            self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
        else:
            try:
                nonlinearity = {"RNN_TANH": "tanh", "RNN_RELU": "relu"}[rnn_type]
            except KeyError as e:
                raise ValueError("An invalid option for `--model` was supplied") from e
            self.rnn = nn.RNN(ninp, nhid, nlayers, nonlinearity=nonlinearity, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.rnn_type, self.nhid, self.nlayers = rnn_type, nhid, nlayers

    def init_weights(self):
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output))
        return F.log_softmax(decoded.view(-1, self.ntoken), dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (
            (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))
            if self.rnn_type == "LSTM"
            else weight.new_zeros(self.nlayers, bsz, self.nhid)
        )


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


def get_batch(source, i, bptt=7):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


crit = nn.NLLLoss()
for kind in ("LSTM", "GRU", "RNN_TANH", "RNN_RELU"):
    m = RNNModel(kind, ntokens, 8, 8, 2, 0.2, True)
    m.train()
    total, lr, hidden = 0.0, 5.0, m.init_hidden(4)
    for batch, i in enumerate(range(0, train.size(0) - 1, 7)):
        x, y = get_batch(train, i)
        m.zero_grad()
        hidden = repackage_hidden(hidden)
        out, hidden = m(x, hidden)
        loss = crit(out, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 0.25)
        for p in m.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total += loss.item()
    m.eval()
    with torch.no_grad():
        hid = m.init_hidden(1)
        inp = torch.randint(ntokens, (1, 1), dtype=torch.long)
        out, hid = m(inp, hid)
        ww = out.squeeze().div(0.8).exp().cpu()
        wi = torch.multinomial(ww, 1)[0]
        inp.fill_(wi)
    print(
        "| {} | loss {:5.3f} | ppl {:8.2f} | {}".format(
            kind, total / (batch + 1), math.exp(total / (batch + 1)), d.idx2word[wi]
        )
    )
print(m, repr(m.rnn), inp, len(list(m.parameters())))


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=50):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div)
        pe[:, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe.unsqueeze(0).transpose(0, 1))

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0), :])


class TransformerModel(nn.Transformer):
    def __init__(self, ntoken, ninp, nhead, nhid, nlayers, dropout=0.5):
        super().__init__(d_model=ninp, nhead=nhead, dim_feedforward=nhid, num_encoder_layers=nlayers)
        self.model_type = "Transformer"
        self.src_mask = None
        self.pos_encoder = PositionalEncoding(ninp, dropout)
        self.input_emb = nn.Embedding(ntoken, ninp)
        self.ninp = ninp
        self.decoder = nn.Linear(ninp, ntoken)
        nn.init.uniform_(self.input_emb.weight, -0.1, 0.1)

    def _gen(self, sz):
        return torch.log(torch.tril(torch.ones(sz, sz)))

    def forward(self, src, has_mask=True):
        if has_mask and (self.src_mask is None or self.src_mask.size(0) != len(src)):
            self.src_mask = self._gen(len(src)).to(src.device)
        return F.log_softmax(
            self.decoder(
                self.encoder(self.pos_encoder(self.input_emb(src) * math.sqrt(self.ninp)), mask=self.src_mask)
            ),
            dim=-1,
        )


t = TransformerModel(ntokens, 8, 2, 16, 2, 0.2)
o = torch.optim.Adam(t.parameters(), 1e-3)
for i in range(3):
    x, y = get_batch(train, 7 * i)
    l = crit(t(x).view(-1, ntokens), y)
    o.zero_grad()
    l.backward()
    o.step()
    print(l)
print(t.generate_square_subsequent_mask(3), t.encoder.layers[0].self_attn, t.src_mask[:2, :3])
