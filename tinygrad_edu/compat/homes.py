"""Where PyTorch's modules are found here: `nn.modules.conv` is `nn`, `profiler` is `compat.outside.profiler`."""

from __future__ import annotations

__all__ = ["STAND_INS", "home"]

STAND_INS = "compat.outside.elsewhere"

# PyTorch's modules, and the modules here that hold their names. Everything below a name in `_WHOLE` is in the same place.
_HOMES = {
    "Tensor": "tensor",
    "_C": "compat.outside.lowest",
    "_C._nn": "compat.outside.lowest",
    "__config__": "compat.outside.config",
    "_dynamo": "compat.outside.dynamo",
    "_dynamo.config": "compat.outside.dynamo",
    "_vmap_internals": "func",
    "torch_version": "compat.outside.torch_version",
    "utils._foreach_utils": "compat.outside.foreach_utils",
    "nn.utils.stateless": "func",
    "amp.autocast_mode": "compat.outside.amp",
    "amp.grad_scaler": "compat.outside.amp",
    "amp": "compat.outside.amp",
    "autograd.profiler": "compat.outside.profiler",
    "cuda.amp": "compat.outside.amp",
    "cuda.amp.autocast_mode": "compat.outside.amp",
    "cuda.amp.grad_scaler": "compat.outside.amp",
    "compiler": "compat.outside.compiler",
    "distributed": "compat.outside.distributed",
    "distributed.distributed_c10d": "compat.outside.distributed",
    "distributed.nn": "compat.outside.distributed",
    "distributed.nn.functional": "compat.outside.distributed",
    "functional": "",
    "futures": "compat.outside.futures",
    "fx": "compat.outside.fx",
    "jit.annotations": "compat.outside.annotations",
    "hub": "compat.outside.hub",
    "multiprocessing": "compat.outside.multiprocessing",
    "nn.parallel": "compat.outside.parallel",
    "nn.parallel.data_parallel": "compat.outside.parallel",
    "nn.parallel.distributed": "compat.outside.parallel",
    "nn.parallel.parallel_apply": "compat.outside.parallel",
    "nn.parallel.replicate": "compat.outside.parallel",
    "nn.parallel.scatter_gather": "compat.outside.parallel",
    "onnx": "compat.outside.onnx",
    "profiler": "compat.outside.profiler",
    "special": "compat.outside.special",
    "storage": "compat.storage",
    "types": "compat.outside.types",
    "utils.benchmark": "compat.outside.benchmark",
    "utils.data._utils": "utils.data",
    "utils.data._utils.collate": "utils.data",
    "utils.model_zoo": "compat.outside.hub",
    "utils.tensorboard": "compat.outside.tensorboard",
    "utils.tensorboard.writer": "compat.outside.tensorboard",
    "version": "compat.outside.version",
}
# Modules that programs import for several processes or devices, with all that is below them.
_ELSEWHERE = tuple(
    f"distributed.{name}"
    for name in (
        "_composable", "_functional_collectives", "_shard", "_tensor", "algorithms", "checkpoint", "device_mesh", "elastic", "fsdp",
        "launcher", "optim", "pipelining", "rpc", "tensor", "utils",
    )
)  # fmt: skip
_WHOLE = {"nn.modules": "nn", "distributions": "distributions"}
_MODULES_OF_NN = frozenset(
    [
        "activation",
        "adaptive",
        "batchnorm",
        "channelshuffle",
        "container",
        "conv",
        "distance",
        "dropout",
        "flatten",
        "fold",
        "instancenorm",
        "lazy",
        "linear",
        "loss",
        "module",
        "normalization",
        "padding",
        "pixelshuffle",
        "pooling",
        "rnn",
        "sparse",
        "transformer",
        "upsampling",
        "utils",
    ]
)
_OF_DISTRIBUTIONS = frozenset(
    [
        "bernoulli",
        "beta",
        "binomial",
        "categorical",
        "cauchy",
        "chi2",
        "constraints",
        "continuous_bernoulli",
        "dirichlet",
        "distribution",
        "exp_family",
        "exponential",
        "fishersnedecor",
        "gamma",
        "geometric",
        "gumbel",
        "half_cauchy",
        "half_normal",
        "independent",
        "inverse_gamma",
        "kl",
        "kumaraswamy",
        "laplace",
        "lkj_cholesky",
        "log_normal",
        "logistic_normal",
        "lowrank_multivariate_normal",
        "mixture_same_family",
        "multinomial",
        "multivariate_normal",
        "negative_binomial",
        "normal",
        "one_hot_categorical",
        "pareto",
        "poisson",
        "relaxed_bernoulli",
        "relaxed_categorical",
        "studentT",
        "transformed_distribution",
        "transforms",
        "uniform",
        "utils",
        "von_mises",
        "weibull",
        "wishart",
    ]
)
_BELOW = {"nn.modules": _MODULES_OF_NN, "distributions": _OF_DISTRIBUTIONS}


def home(name: str) -> str | None:
    """The module here that holds the names of PyTorch's module `name`; None if it is not built."""
    if name in _HOMES:
        return _HOMES[name]
    if name in _WHOLE:
        return _WHOLE[name]
    above, _, last = name.rpartition(".")
    if any(name == place or name.startswith(f"{place}.") for place in _ELSEWHERE):
        return STAND_INS
    return _WHOLE[above] if last in _BELOW.get(above, ()) else None
