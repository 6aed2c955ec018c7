import torch
import time
import os
import sys
import warnings

print(
    torch.__version__ is not None,
    torch.cuda.is_available(),
    torch.cuda.device_count(),
    torch.backends.cudnn.is_available(),
    torch.get_num_threads() > 0,
    torch.backends.mkl.is_available() in (True, False),
)
torch.set_num_threads(1)
torch.backends.cudnn.benchmark = True
torch.backends.cudnn.deterministic = True
torch.use_deterministic_algorithms(False)
torch.cuda.manual_seed_all(1)
torch.set_float32_matmul_precision("high")
start = time.time()
a = torch.randn(50, 50)
b = a @ a
print(time.time() - start < 5)
with torch.autograd.profiler.record_function("x"):
    print(torch.ones(1) + 1)
with torch.no_grad(), torch.inference_mode():
    print((torch.ones(1, requires_grad=True) * 2).requires_grad)


@torch.no_grad()
def f(x):
    return x * 2


print(
    f(torch.ones(1, requires_grad=True)).requires_grad,
    torch.is_grad_enabled(),
    torch.is_tensor(a),
    torch.is_floating_point(a),
    torch.numel(a),
    torch.get_default_dtype(),
    torch.typename(a),
)
x = torch.ones(2, requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    try:
        (x * float("nan")).sqrt().sum().backward()
    except RuntimeError as e:
        print(str(e)[:40])
with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
    y = x * x
y.sum().backward()
print(x.grad)
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

l = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
z = checkpoint(l, x, use_reentrant=False)
z.backward()
print(l[0].weight.grad, checkpoint_sequential(l, 2, x, use_reentrant=False))
sm = torch.jit.trace(lambda v: v * 2, torch.ones(2))
print(sm(torch.ones(2)))
print(
    torch.utils.data.get_worker_info(),
    torch.Size([2, 3]) + (1,),
    tuple(torch.ones(2, 3).shape),
    torch.ones(2, 3).shape[-1],
    *torch.ones(2, 3).size(),
    torch.ones(2).dim(),
    torch.equal(a, a),
    torch.allclose(a, a + 1e-9),
    torch.isclose(a, a).all(),
    (a == a).all().item(),
    torch.isnan(a).any(),
    a.isfinite().all(),
    a.max() > a.min(),
    torch.broadcast_shapes((2, 1), (3,)),
    torch.testing.assert_close(a, a),
)
print(torch.manual_seed(3) is not None, torch.rand(1, generator=torch.default_generator), torch.random.initial_seed())
