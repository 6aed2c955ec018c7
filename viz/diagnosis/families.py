"""One table of ops: the one name that all spellings of an op have here, and the families that the rules speak of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from viz.diagnosis.observation import Observation, Ran, Seen

# Other spellings of an op than its name, its in-place form and its operators: `T.multiply(a, b)` is a `mul`.
_SPELLINGS = """
multiply mul, subtract sub, divide div, true_divide div, truediv div, rtruediv rdiv, rmul mul, radd add, negative neg,
clip clamp, concat cat, concatenate cat, arccos acos, arcsin asin, arctanh atanh, absolute abs, fix trunc,
floordiv floor_divide, rpow pow, bitwise_and and, logical_and and, bitwise_or or, logical_or or, bitwise_not invert,
logical_not invert, rmatmul matmul, nll_loss_nd nll_loss, log_sigmoid logsigmoid, linalg_vector_norm vector_norm,
linalg_matrix_norm matrix_norm, special_expit sigmoid, special_softmax softmax, cross_entropy_loss cross_entropy,
_threshold threshold, lstm_layer lstm, gru_layer gru, rnn_layer rnn_tanh"""
SPELLINGS: dict[str, str] = dict(re.findall(r"([\w-]+) ([^,]+)", _SPELLINGS))
COMPARES = {"eq", "ne", "lt", "gt", "le", "ge"}
LOGIC = {"and", "or", "xor", "invert"}
OPERATORS = {"add", "sub", "mul", "truediv", "div", "matmul", "pow", "floordiv", "neg", "abs"} | COMPARES | LOGIC
AS_WRITTEN = {"requires_grad_", "zero_", "fill_", "copy_", "normal_", "uniform_", "retain_grad_", "share_memory_"}

# arithmetic
SUMS = {"add"}
DIFFERENCES = {"sub", "rsub"}  # rsub: the second less the first
NEGATIONS = {"neg"}
PRODUCTS = {"mul"}
FACTORS = PRODUCTS | {"div"}
ADDITIVE = SUMS | DIFFERENCES
AVERAGES = {"sum", "mean"}
SCORES = {"matmul", "bmm", "einsum"}  # products of two that are computed, as in attention
MULTIPLIES = FACTORS | SCORES | {"mm", "mv", "dot", "linear", "conv1d", "conv2d", "conv3d"}
MULTIPLIES |= {"layer_norm", "group_norm", "batch_norm"}
ATTENTIONS = {"scaled_dot_product_attention", "multi_head_attention_forward"}
_LAYERS = """
linear addmm mm baddbmm bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d lstm gru
lstm_cell gru_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell"""
LAYERS = SCORES | set(_LAYERS.split())
_NORMS = """
norm vector_norm matrix_norm linalg_norm dist cdist pairwise_distance cosine_similarity normalize hypot"""
NORMS = set(_NORMS.split())
# shapes, types, places
VIEWS = {"view", "reshape", "flatten"}
TRANSPOSES = {"transpose", "permute", "swapaxes", "movedim", "swapdims", "t", "T", "mT"}  # `.T` is a permute in ours
RESHAPES = VIEWS | TRANSPOSES | {"squeeze", "unsqueeze", "contiguous", "expand"}
CASTS = {"float", "to", "type", "double", "type_as", "half", "bfloat16"}
TURNS = RESHAPES | CASTS | {"clone"}  # same numbers, in another shape or type
SPLITS = {"chunk", "split", "unbind", "tensor_split", "__getitem__", "select", "narrow"}
JOINS = {"cat", "pad", "stack", "hstack", "vstack"}
COPIES = {"tensor", "as_tensor", "asarray", "scalar_tensor", "Tensor", "FloatTensor", "new_tensor", "full", "array"}
CHOSEN = {"__getitem__", "stack", "cat", "narrow", "select"}  # numbers of others, at places that the call names
PASSES_ON = {"dropout", "clone", "to", "float", "contiguous"}

# slopes
FLAT = {"sign", "sgn", "round", "floor", "ceil", "trunc", "floor_divide", "heaviside", "bernoulli", "normal"}
RELUS = {"relu", "relu6", "threshold", "hardtanh", "hardswish", "hardsigmoid", "prelu"}
CLAMPS = {"relu6", "clamp", "clamp_min", "clamp_max", "minimum", "maximum", "hardtanh"}
BOUNDED = {"sigmoid", "tanh"}
SQUASHES = BOUNDED | {"softmax", "softmin", "logsigmoid", "hardsigmoid", "softsign", "erf"}
SATURATES = (SQUASHES | {"log_softmax"}) - {"hardsigmoid"}
ARCS = {"acos", "asin", "atanh"}
HIDERS = {"where", "masked_fill", "__setitem__", "nan_to_num", "maximum", "clamp", "nansum", "nanmean"}
_CHOICES = """
__getitem__ gather index_select masked_select masked_fill where max min amax amin topk dropout max_pool1d max_pool2d
max_pool3d adaptive_max_pool1d adaptive_max_pool2d"""
CHOICES = set(_CHOICES.split())
LINEAR = ADDITIVE | PRODUCTS | NEGATIONS | {"__getitem__", "cat", "stack", "where"}
# what a rule keeps for the backward pass
KEEPS_NOTHING = ADDITIVE | NEGATIONS | AVERAGES | RESHAPES | CHOSEN
KEEPS_NOTHING |= {"clone", "data", "detach", "item", "requires_grad_"}
KEEPS_RESULT = BOUNDED | {"exp", "expm1", "sqrt", "rsqrt", "reciprocal", "softmax", "log_softmax", "relu", "elu", "tan"}

# losses
DISTANCES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}
BINARY = {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
SCORE_LOSSES = {"cross_entropy"}  # which apply softmax themselves
POSITIVE = DISTANCES | BINARY | SCORE_LOSSES
ERRORS = POSITIVE - {"binary_cross_entropy_with_logits"} | {"nll_loss"}
BY_ELEMENT = DISTANCES | BINARY | {"gaussian_nll_loss", "poisson_nll_loss", "soft_margin_loss"}
TAKES_CLASSES = PRODUCTS | {"nll_loss", "kl_div", "cross_entropy", "gather", "log", "__getitem__"}

FAR = 6  # the most ops that the walk to a source goes past


@cache
def canonical(name: str) -> str:
    """The name of an op, however the program spelled it: `__iadd__`, `add_` and `__radd__` are `add`."""
    bare = name
    if name.startswith("__") and name.endswith("__"):
        bare = name[2:-2]
        if bare[:1] == "i" and bare[1:] in OPERATORS:
            bare = bare[1:]
        if bare not in OPERATORS and (bare[:1] != "r" or bare[1:] not in OPERATORS):
            return name  # such as __getitem__
    elif name.endswith("_") and not name.startswith("_") and name not in AS_WRITTEN:
        bare = name[:-1]
    return SPELLINGS.get(bare, bare)


def makers(seen: Observation, nrs: Iterable[int]) -> list[Ran]:
    """The ops that made some values, in the order in which they ran."""
    return [op for nr in sorted(nrs) if (op := seen.maker(seen.values[nr])) is not None]


def constants(op: Ran) -> list[float]:
    """The plain numbers that a call was given."""
    return [given for given in op.options.values() if isinstance(given, (int, float)) and not isinstance(given, bool)]


def source(seen: Observation, nr: int, past: set[str] = TURNS) -> tuple[Seen, Ran | None]:
    """A value and its maker, past ops that only change its shape or type."""
    value = seen.values[nr]
    maker = seen.maker(value)
    for _ in range(FAR):
        if maker is None or maker.name not in past or not maker.inputs:
            break
        value = seen.values[maker.inputs[0]]
        maker = seen.maker(value)
    return value, maker
