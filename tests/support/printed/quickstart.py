import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
print(f"Using {device} device")


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(8 * 8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10)
        )

    def forward(self, x):
        x = self.flatten(x)
        return self.linear_relu_stack(x)


model = NeuralNetwork().to(device)
print(model)
X = torch.randn(64, 1, 8, 8)
Y = torch.randint(0, 10, (64,))
train = DataLoader(TensorDataset(X, Y), batch_size=16, shuffle=True)
for X_, y_ in train:
    print(f"Shape of X [N, C, H, W]: {X_.shape}")
    print(f"Shape of y: {y_.shape} {y_.dtype}")
    break
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)


def loop(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        X, y = X.to(device), y.to(device)
        pred = model(X)
        loss = loss_fn(pred, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 2 == 0:
            loss, current = loss.item(), (batch + 1) * len(X)
            print(f"loss: {loss:>7f}  [{current:>5d}/{size:>5d}]")


def test(dataloader, model, loss_fn):
    size = len(dataloader.dataset)
    num_batches = len(dataloader)
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    print(f"Test Error: \n Accuracy: {(100 * correct / size):>0.1f}%, Avg loss: {test_loss / num_batches:>8f} \n")


for t in range(3):
    print(f"Epoch {t + 1}\n-------")
    loop(train, model, loss_fn, optimizer)
    test(train, model, loss_fn)
import tempfile
import os

p = os.path.join(tempfile.mkdtemp(), "model.pth")
torch.save(model.state_dict(), p)
m2 = NeuralNetwork()
print(m2.load_state_dict(torch.load(p, weights_only=True)))
m2.eval()
with torch.no_grad():
    print(m2(X[:1])[0].argmax(0))
