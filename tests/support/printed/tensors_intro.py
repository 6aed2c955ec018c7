import torch
import numpy as np

data = [[1, 2], [3, 4]]
x_data = torch.tensor(data)
np_array = np.array(data)
x_np = torch.from_numpy(np_array)
x_ones = torch.ones_like(x_data)
print(f"Ones Tensor: \n {x_ones} \n")
x_rand = torch.rand_like(x_data, dtype=torch.float)
print(f"Random Tensor: \n {x_rand} \n")
shape = (
    2,
    3,
)
print(torch.rand(shape), torch.ones(shape), torch.zeros(shape))
t = torch.rand(3, 4)
print(t.shape, t.dtype, t.device)
if torch.accelerator.is_available():
    t = t.to(torch.accelerator.current_accelerator())
t = torch.ones(4, 4)
print(t[0], t[:, 0], t[..., -1])
t[:, 1] = 0
print(torch.cat([t, t, t], dim=1))
y1 = t @ t.T
y2 = t.matmul(t.T)
y3 = torch.rand_like(y1)
torch.matmul(t, t.T, out=y3)
print(y3)
z3 = torch.rand_like(t)
torch.mul(t, t, out=z3)
print(z3)
agg = t.sum()
print(agg.item(), type(agg.item()))
t.add_(5)
print(t)
t = torch.ones(5)
n = t.numpy()
t.add_(1)
print(t, n)
n = np.ones(5)
t = torch.from_numpy(n)
np.add(n, 1, out=n)
print(t, n)
