import torch
import math
import torch.nn as nn
from torch.nn import TransformerEncoder, TransformerEncoderLayer


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=50):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0)])


class TransformerModel(nn.Module):
    def __init__(self, ntoken, d_model, nhead, d_hid, nlayers, dropout=0.5):
        super().__init__()
        self.model_type = "Transformer"
        self.pos_encoder = PositionalEncoding(d_model, dropout)
        self.transformer_encoder = TransformerEncoder(TransformerEncoderLayer(d_model, nhead, d_hid, dropout), nlayers)
        self.embedding = nn.Embedding(ntoken, d_model)
        self.d_model = d_model
        self.linear = nn.Linear(d_model, ntoken)
        self.init_weights()

    def init_weights(self):
        initrange = 0.1
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.linear.bias.data.zero_()
        self.linear.weight.data.uniform_(-initrange, initrange)

    def forward(self, src, src_mask=None):
        src = self.embedding(src) * math.sqrt(self.d_model)
        src = self.pos_encoder(src)
        if src_mask is None:
            src_mask = nn.Transformer.generate_square_subsequent_mask(len(src))
        return self.linear(self.transformer_encoder(src, src_mask))


m = TransformerModel(20, 8, 2, 16, 2, 0.2)
print(m)
s = torch.randint(0, 20, (6, 3))
t = torch.randint(0, 20, (18,))
opt = torch.optim.SGD(m.parameters(), lr=5.0)
sched = torch.optim.lr_scheduler.StepLR(opt, 1.0, gamma=0.95)
for e in range(3):
    l = nn.CrossEntropyLoss()(m(s).view(-1, 20), t)
    opt.zero_grad()
    l.backward()
    print(l.item(), torch.nn.utils.clip_grad_norm_(m.parameters(), 0.5))
    opt.step()
    sched.step()
    print(sched.get_last_lr()[0])
m.eval()
print(m(s)[0, 0])
print(sum(p.numel() for p in m.parameters() if p.requires_grad))
