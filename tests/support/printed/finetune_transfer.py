import torch
import torch.nn as nn
import time
import copy
from torch.optim import lr_scheduler

backbone = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = backbone
        self.fc = nn.Linear(4, 10)

    def forward(self, x):
        return self.fc(self.features(x))


m = Net()
for p in m.parameters():
    p.requires_grad = False
m.fc = nn.Linear(m.fc.in_features, 2)
crit = nn.CrossEntropyLoss(label_smoothing=0.1)
opt = torch.optim.SGD(filter(lambda p: p.requires_grad, m.parameters()), lr=0.1, momentum=0.9, nesterov=True)
sched = lr_scheduler.StepLR(opt, step_size=2, gamma=0.1)
data = {
    "train": [(torch.randn(4, 3, 6, 6), torch.randint(2, (4,))) for _ in range(3)],
    "val": [(torch.randn(4, 3, 6, 6), torch.randint(2, (4,)))],
}
best = copy.deepcopy(m.state_dict())
ba = 0.0
for e in range(3):
    for phase in ["train", "val"]:
        m.train() if phase == "train" else m.eval()
        rl, rc = 0.0, 0
        for x, y in data[phase]:
            opt.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                out = m(x)
                _, preds = torch.max(out, 1)
                loss = crit(out, y)
                if phase == "train":
                    loss.backward()
                    opt.step()
            rl += loss.item() * x.size(0)
            rc += torch.sum(preds == y.data)
        if phase == "train":
            sched.step()
        acc = rc.double() / 12
        print(f"{phase} Loss: {rl:.4f} Acc: {acc:.4f}")
        if phase == "val" and acc > ba:
            ba = acc
            best = copy.deepcopy(m.state_dict())
m.load_state_dict(best)
print(
    m.features[1].running_mean,
    m.features[1].num_batches_tracked,
    [n for n, p in m.named_parameters() if p.requires_grad],
    opt.param_groups[0]["lr"],
)
