"""Where PyTorch's modules are found here: `nn.modules.conv` is `nn`, `profiler` is `extra.compat.profiler`."""

from __future__ import annotations

__all__ = ["home", "known_as"]


# PyTorch's modules, and the modules here that hold their names. Everything below a name in `_WHOLE` is in the same place.
_HOMES = {
    "Tensor": "array.tensor",
    "nn.utils.stateless": "func",
    "amp.autocast_mode": "extra.autocast.amp",
    "amp.grad_scaler": "extra.autocast.amp",
    "amp": "extra.autocast.amp",
    "autograd.profiler": "extra.compat.profiler",
    "cuda.amp": "extra.autocast.amp",
    "cuda.amp.autocast_mode": "extra.autocast.amp",
    "cuda.amp.grad_scaler": "extra.autocast.amp",
    "compiler": "extra.compat.compiler",
    "distributed": "extra.compat.distributed",
    "distributed.distributed_c10d": "extra.compat.distributed",
    "distributed.nn": "extra.compat.distributed",
    "distributed.nn.functional": "extra.compat.distributed",
    **{
        f"distributions.{name}": f"extra.distributions.{name}"
        for name in ["constraint_registry", "constraints", "kl", "transforms", "utils"]
    },
    "fft": "extra.complex_numbers.fft",
    "functional": "",
    "hub": "extra.compat.hub",
    "multiprocessing": "extra.compat.multiprocessing",
    "nn.attention": "extra.nn.attention",
    "nn.parallel": "extra.compat.parallel",
    "nn.parallel.data_parallel": "extra.compat.parallel",
    "nn.parallel.distributed": "extra.compat.parallel",
    "nn.parallel.parallel_apply": "extra.compat.parallel",
    "nn.parallel.replicate": "extra.compat.parallel",
    "nn.parallel.scatter_gather": "extra.compat.parallel",
    "nn.utils.parametrizations": "extra.nn.parametrizations",
    "nn.utils.parametrize": "extra.nn.parametrize",
    "nn.utils.prune": "extra.nn.prune",
    "nn.utils.rnn": "extra.nn.sequences",
    "onnx": "extra.compat.onnx",
    **{
        f"optim.{name}": f"extra.optim.{name}"
        for name in ["adadelta", "adafactor", "adamax", "asgd", "lbfgs", "muon", "nadam", "radam", "rprop", "swa_utils"]
    },
    "profiler": "extra.compat.profiler",
    "return_types": "array.return_types",
    "random": "ops.creation.random",
    "serialization": "extra.serialization",
    "sparse": "extra.sparse",
    "special": "extra.compat.special",
    "storage": "extra.compat.storage",
    "testing": "extra.testing",
    "types": "extra.compat.types",
    "utils.benchmark": "extra.compat.benchmark",
    "utils.data._utils": "utils.data",
    "utils.data._utils.collate": "utils.data",
    "utils.data.distributed": "extra.utils.data",
    "utils.model_zoo": "extra.compat.hub",
    "utils.tensorboard": "extra.compat.tensorboard",
    "utils.tensorboard.writer": "extra.compat.tensorboard",
    "version": "extra.compat.version",
}
_WHOLE = {"nn.modules": "nn", "distributions": "extra.distributions"}
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
    return _WHOLE[above] if last in _BELOW.get(above, ()) else None


def known_as(module: str) -> str:
    """PyTorch's name for a module of `extra/`; the module's own name if PyTorch has none."""
    names = [name for name, place in {**_WHOLE, **_HOMES}.items() if place == module]
    return names[0] if names and module.startswith("extra.") else module
