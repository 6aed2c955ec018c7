"""Copies, pickles and NumPy arrays of tensors: what is shared, what is kept, what is refused, as in PyTorch."""

import copy
import pickle

import numpy as np
import pytest
import torch
from support.both import attempt, same_on_both

import tinygrad_edu as T


def trained_leaf(T):
    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    x.label = ["kept"]
    return x


def facts(original, copied):
    facts = {name: getattr(copied, name) for name in ("requires_grad", "is_leaf")}
    facts |= {"values": copied.tolist(), "grad": None if copied.grad is None else copied.grad.tolist()}
    facts |= {"stride": copied.stride(), "same memory": copied.data_ptr() == original.data_ptr()}
    facts |= {"label": getattr(copied, "label", None)}
    return facts | {"same label": facts["label"] is getattr(original, "label", 0)}


COPIES = {"deepcopy": copy.deepcopy, "copy": copy.copy, "pickle": lambda t: pickle.loads(pickle.dumps(t))}
TENSORS = {"a leaf with a gradient": trained_leaf, "a computed tensor": lambda T: trained_leaf(T) * 2}
TENSORS |= {"a view of data": lambda T: T.arange(6.0)[1:4]}
TENSORS |= {"a transposed matrix": lambda T: T.arange(6.0).view(2, 3).t()}
TENSORS |= {"an expanded number": lambda T: T.ones(1).expand(3), "an empty one": lambda T: T.zeros(0, 3)}
TENSORS |= {"a number": lambda T: T.tensor(5), "written to": lambda T: T.ones(2).add_(1)}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", TENSORS)
@same_on_both
def test_a_copy_keeps_what_pytorchs_keeps(T, name, way):
    original = TENSORS[name](T)
    result = attempt(lambda: facts(original, COPIES[way](original)))
    if isinstance(result, tuple):
        return result
    # NumPy gives an empty array no strides and no address of its own, and writes an expanded one out in a copy.
    left_out = {"an empty one": ("same memory", "stride"), "an expanded number": ("stride",) * (way != "copy")}
    return {fact: value for fact, value in result.items() if fact not in left_out.get(name, ())}


def test_a_dtype_is_itself_after_copying_and_pickling_and_a_shape_keeps_its_kind() -> None:
    for way in COPIES.values():
        for name in ("float64", "float32", "float16", "int64", "int8", "uint8", "bool"):
            assert way(getattr(T, name)) is getattr(T, name)
        copied = way(T.ones(2, 3).shape)
        assert type(copied) is T.Size and copied.numel() == 6


def test_an_array_that_cannot_be_written_to_is_taken_with_a_warning_and_stays_as_it_is() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    for E in (torch, T):
        with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
            t = E.from_numpy(array)
    with pytest.raises(ValueError, match="read-only"):
        t.add_(1)
    assert array.tolist() == [0, 1, 2]


def test_numpys_own_errors_about_copies_are_shown_and_an_array_on_the_left_leaves_the_operator_to_the_tensor() -> None:
    t, w = T.ones(2), T.tensor([1.0, 2.0], requires_grad=True)
    assert np.shares_memory(np.array(t, copy=False), t.numpy())
    with pytest.raises(ValueError, match="copy"):
        np.array(t, copy=False, dtype=np.int32)
    (np.array([3.0, 4.0], np.float32) * w).sum().backward()
    assert w.grad.tolist() == [3.0, 4.0]
