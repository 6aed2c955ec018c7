import torch
from torch import nn

m = nn.Transformer(
    d_model=8,
    nhead=2,
    num_encoder_layers=1,
    num_decoder_layers=2,
    dim_feedforward=12,
    dropout=0.0,
    batch_first=True,
    activation="gelu",
    norm_first=True,
)
src, tgt = torch.randn(2, 5, 8), torch.randn(2, 4, 8)
mask = nn.Transformer.generate_square_subsequent_mask(4)
pad = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
out = m(src, tgt, tgt_mask=mask, src_key_padding_mask=pad, memory_key_padding_mask=pad, tgt_is_causal=True)
print(out)
out.pow(2).sum().backward()
print({n: round(p.grad.norm().item(), 4) for n, p in m.named_parameters()})
dec = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 4, batch_first=True, dropout=0.0), 2, nn.LayerNorm(8))
print(dec(tgt, src, tgt_mask=mask).sum())
enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True, dropout=0.0), 2)
enc.eval()
with torch.no_grad():
    print(enc(src, src_key_padding_mask=pad))
print(m)
