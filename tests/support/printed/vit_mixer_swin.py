import torch
from torch import nn, Tensor
import torch.nn.functional as F
from functools import partial
from typing import Optional, Tuple, List


def drop_path(x, drop_prob: float = 0.0, training: bool = False):
    if drop_prob == 0.0 or not training:
        return x
    keep_prob = 1 - drop_prob
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    random_tensor = keep_prob + torch.rand(shape, dtype=x.dtype, device=x.device)
    random_tensor.floor_()
    return x.div(keep_prob) * random_tensor


class DropPath(nn.Module):
    def __init__(self, drop_prob=None):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training)


class PatchEmbed(nn.Module):
    def __init__(self, img_size=8, patch_size=4, in_c=3, embed_dim=16, norm_layer=None):
        super().__init__()
        self.grid_size = (img_size // patch_size, img_size // patch_size)
        self.num_patches = self.grid_size[0] * self.grid_size[1]
        self.proj = nn.Conv2d(in_c, embed_dim, kernel_size=patch_size, stride=patch_size)
        self.norm = norm_layer(embed_dim) if norm_layer else nn.Identity()

    def forward(self, x):
        B, C, H, W = x.shape
        return self.norm(self.proj(x).flatten(2).transpose(1, 2))


class Attention(nn.Module):
    def __init__(self, dim, num_heads=2, qkv_bias=False, attn_drop=0.0, proj_drop=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.attn_drop = nn.Dropout(attn_drop)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4).unbind(0)
        attn = self.attn_drop(((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1))
        return self.proj_drop(self.proj((attn @ v).transpose(1, 2).reshape(B, N, C)))


class Mlp(nn.Module):
    def __init__(self, i, h=None, o=None, act_layer=nn.GELU, drop=0.0):
        super().__init__()
        self.fc1 = nn.Linear(i, h or i)
        self.act = act_layer()
        self.fc2 = nn.Linear(h or i, o or i)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        return self.drop(self.fc2(self.drop(self.act(self.fc1(x)))))


class Block(nn.Module):
    def __init__(self, dim, dp, norm_layer):
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = Attention(dim, qkv_bias=True, attn_drop=0.1)
        self.drop_path = DropPath(dp) if dp > 0.0 else nn.Identity()
        self.norm2 = norm_layer(dim)
        self.mlp = Mlp(dim, dim * 2, drop=0.1)
        self.gamma = nn.Parameter(1e-1 * torch.ones((dim)), requires_grad=True)

    def forward(self, x):
        x = x + self.drop_path(self.gamma * self.attn(self.norm1(x)))
        return x + self.drop_path(self.mlp(self.norm2(x)))


class VisionTransformer(nn.Module):
    def __init__(self, depth=2, embed_dim=16, num_classes=3, dpr=0.2):
        super().__init__()
        norm_layer = partial(nn.LayerNorm, eps=1e-6)
        self.patch_embed = PatchEmbed()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, self.patch_embed.num_patches + 1, embed_dim))
        dpr = [x.item() for x in torch.linspace(0, dpr, depth)]
        self.blocks = nn.Sequential(*[Block(embed_dim, dpr[i], norm_layer) for i in range(depth)])
        self.norm = norm_layer(embed_dim)
        self.head = nn.Linear(embed_dim, num_classes)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        nn.init.trunc_normal_(self.cls_token, std=0.02)
        self.apply(_init_vit_weights)

    def forward(self, x):
        x = self.patch_embed(x)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        return self.head(self.norm(self.blocks(x + self.pos_embed))[:, 0])


def _init_vit_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.trunc_normal_(m.weight, std=0.01)
        if m.bias is not None:
            nn.init.zeros_(m.bias)
    elif isinstance(m, nn.Conv2d):
        nn.init.kaiming_normal_(m.weight, mode="fan_out")
        nn.init.zeros_(m.bias)
    elif isinstance(m, nn.LayerNorm):
        nn.init.zeros_(m.bias)
        nn.init.ones_(m.weight)


net = VisionTransformer()
print(net.blocks[1])
x, y = torch.rand(5, 3, 8, 8), torch.tensor([0, 1, 2, 1, 0])
opt = torch.optim.AdamW(net.parameters(), 1e-2, weight_decay=0.05)
sch = torch.optim.lr_scheduler.SequentialLR(
    opt,
    [torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=2), torch.optim.lr_scheduler.CosineAnnealingLR(opt, 4)],
    [2],
)
for i in range(4):
    l = F.cross_entropy(net(x), y, label_smoothing=0.1)
    opt.zero_grad()
    l.backward()
    gn = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    sch.step()
    print(i, l, gn, sch.get_last_lr())


def window_partition(x, ws: int):
    B, H, W, C = x.shape
    return x.view(B, H // ws, ws, W // ws, ws, C).permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, ws, ws, C)


def window_reverse(w, ws: int, H: int, W: int):
    B = int(w.shape[0] / (H * W / ws / ws))
    return w.view(B, H // ws, W // ws, ws, ws, -1).permute(0, 1, 3, 2, 4, 5).contiguous().view(B, H, W, -1)


img = torch.arange(2 * 4 * 4 * 1.0).view(2, 4, 4, 1)
sh = torch.roll(img, shifts=(-1, -1), dims=(1, 2))
w = window_partition(sh, 2)
print(w.shape, torch.equal(window_reverse(w, 2, 4, 4), sh), w[0].squeeze())
ws = 2
coords = torch.stack(torch.meshgrid([torch.arange(ws), torch.arange(ws)], indexing="ij"))
cf = torch.flatten(coords, 1)
rel = (cf[:, :, None] - cf[:, None, :]).permute(1, 2, 0).contiguous()
rel[:, :, 0] += ws - 1
rel[:, :, 1] += ws - 1
rel[:, :, 0] *= 2 * ws - 1
print(rel.sum(-1))
mask = torch.zeros((1, 4, 4, 1))
cnt = 0
for h in (slice(0, -2), slice(-2, -1), slice(-1, None)):
    for v in (slice(0, -2), slice(-2, -1), slice(-1, None)):
        mask[:, h, v, :] = cnt
        cnt += 1
mw = window_partition(mask, 2).view(-1, 4)
am = mw.unsqueeze(1) - mw.unsqueeze(2)
am = am.masked_fill(am != 0, float(-100.0)).masked_fill(am == 0, float(0.0))
print(am[3])
pos = F.interpolate(torch.arange(16.0).reshape(1, 1, 4, 4), size=(6, 6), mode="bilinear", align_corners=False)
print(
    pos[0, 0, 0],
    F.interpolate(pos, scale_factor=0.5, mode="nearest").shape,
    F.unfold(img.permute(0, 3, 1, 2), 2, stride=2).shape,
)
