import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence, pack_sequence, unpad_sequence

seqs = [torch.randn(n, 3) for n in (5, 2, 4)]
lens = torch.tensor([len(s) for s in seqs])
padded = pad_sequence(seqs, batch_first=True, padding_value=-1.0)
print(padded.shape)
packed = pack_padded_sequence(padded, lens, batch_first=True, enforce_sorted=False)
print(packed)
for kind in (nn.LSTM, nn.GRU, nn.RNN):
    torch.manual_seed(1)
    rnn = kind(3, 4, num_layers=2, bidirectional=True, batch_first=True)
    out, h = rnn(packed)
    o, l = pad_packed_sequence(out, batch_first=True)
    print(o.shape, l, o.sum(), h[0].sum() if isinstance(h, tuple) else h.sum())
    o.sum().backward()
    print(rnn.weight_ih_l0.grad.norm(), rnn)
p2 = pack_sequence(sorted(seqs, key=len, reverse=True))
print(p2.batch_sizes, p2.data.shape)
print([s.shape for s in unpad_sequence(padded, lens, batch_first=True)])
cell = nn.LSTMCell(3, 4)
h = c = torch.zeros(2, 4)
for t in range(3):
    h, c = cell(torch.randn(2, 3), (h, c))
print(h, c)
print(nn.GRUCell(3, 2)(torch.ones(1, 3)), nn.RNNCell(3, 2, nonlinearity="relu")(torch.ones(1, 3)))
l = nn.LSTM(3, 5, proj_size=2)
o, (h, c) = l(torch.randn(4, 1, 3))
print(o.shape, h.shape, c.shape, o.sum())
