import torch
import torch.nn as nn

net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(8, 4), torch.randn(8, 2)
use_amp = torch.cuda.is_available()
scaler = torch.cuda.amp.GradScaler(enabled=use_amp)
s2 = torch.amp.GradScaler("cuda", enabled=use_amp)
for i in range(3):
    opt.zero_grad(set_to_none=True)
    with torch.autocast(
        device_type="cuda" if use_amp else "cpu", dtype=torch.float16 if use_amp else torch.bfloat16, enabled=use_amp
    ):
        loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    print(loss.item())
print(scaler.get_scale(), scaler.is_enabled(), scaler.state_dict())
with torch.cuda.amp.autocast(enabled=False):
    print(net(x).dtype)
