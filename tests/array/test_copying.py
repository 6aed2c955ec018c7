"""Copies, pickles and NumPy arrays of tensors: what is shared, what is kept, what is refused, as in PyTorch."""

import copy
import pickle
import sys
import warnings

import numpy as np
import pytest
import torch

import tinygrad_edu as T


def outcome(program, T):
    """What a program gives: plain data, or the type of its error."""
    try:
        return program(T)
    except Exception as error:
        return type(error).__name__


def trained_leaf(T):
    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    x.label = ["kept"]
    return x


def facts(original, copied):
    grad = copied.grad
    return {
        "values": copied.tolist(),
        "requires_grad": copied.requires_grad,
        "is_leaf": copied.is_leaf,
        "grad": None if grad is None else grad.tolist(),
        "stride": copied.stride(),
        "same memory": copied.data_ptr() == original.data_ptr(),
        "label": getattr(copied, "label", None),
        "same label": getattr(copied, "label", None) is getattr(original, "label", 0),
    }


COPIES = {"deepcopy": copy.deepcopy, "copy": copy.copy, "pickle": lambda t: pickle.loads(pickle.dumps(t))}
TENSORS = {
    "a leaf with a gradient": trained_leaf,
    "a computed tensor": lambda T: trained_leaf(T) * 2,
    "a view of data": lambda T: T.arange(6.0)[1:4],
    "a transposed matrix": lambda T: T.arange(6.0).view(2, 3).t(),
    "an expanded number": lambda T: T.ones(1).expand(3),
    "an empty one": lambda T: T.zeros(0, 3),
    "a number": lambda T: T.tensor(5),
    "written to": lambda T: T.ones(2).add_(1),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", TENSORS)
def test_a_copy_keeps_what_pytorchs_keeps(name: str, way: str) -> None:
    def program(T):
        original = TENSORS[name](T)
        result = facts(original, COPIES[way](original))
        # NumPy gives an empty array no strides and no address of its own, and writes an expanded one out in a pickle.
        left_out = {"an empty one": ("same memory", "stride"), "an expanded number": ("stride",) * (way == "pickle")}
        return {fact: value for fact, value in result.items() if fact not in left_out.get(name, ())}

    assert outcome(program, T) == outcome(program, torch)


def test_a_view_of_a_leaf_made_under_no_grad_is_copied_as_a_leaf_that_requires_grad() -> None:
    def program(T):
        x = T.ones(3, requires_grad=True)
        with T.no_grad():
            view = x[1:]
        return [COPIES[way](view).requires_grad for way in ("deepcopy", "pickle")]

    assert program(T) == program(torch)


def test_tensors_that_share_memory_still_do_in_their_deep_copies() -> None:
    def program(T):
        a = T.arange(6.0)
        b, part, again, turned, loose = copy.deepcopy([a, a[1:3], a, a.view(2, 3).t(), a.detach()])
        part[0] = 100.0
        return b.tolist(), part.tolist(), again is b, turned.tolist(), turned.stride(), loose.tolist(), a.tolist()

    assert program(T) == program(torch)


def test_a_deep_copy_of_an_array_beside_its_tensor_is_an_array() -> None:
    def program(T):
        array = np.arange(3.0)
        t, copied = copy.deepcopy([T.from_numpy(array), array])
        return t.tolist(), type(copied).__name__, copied.tolist(), np.shares_memory(t.numpy(), copied)

    assert program(T) == program(torch)


def test_a_subclass_stays_one_and_so_does_its_gradient() -> None:
    class Ours(T.Tensor):
        pass

    ours = Ours([1.0, 2.0])
    assert type(copy.deepcopy(ours)) is Ours
    assert copy.deepcopy(ours).tolist() == [1.0, 2.0]


def test_pickling_a_tensor_with_a_hook_warns_that_the_hook_stays_behind() -> None:
    def program(T):
        x = T.ones(2, requires_grad=True)
        x.register_hook(print)
        with pytest.warns(UserWarning, match="backward hook .* on tensor will not be serialized"):
            return pickle.loads(pickle.dumps(x)).tolist()

    assert program(T) == program(torch)


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "int64", "int8", "uint8", "bool"])
def test_a_dtype_is_itself_after_copying_and_pickling(name: str) -> None:
    def program(T):
        dtype = getattr(T, name)
        return copy.deepcopy(dtype) is dtype, copy.copy(dtype) is dtype, pickle.loads(pickle.dumps(dtype)) is dtype

    assert program(T) == program(torch) == (True, True, True)


def test_a_shape_keeps_its_kind() -> None:
    for copied in (pickle.loads(pickle.dumps(T.ones(2, 3).shape)), copy.deepcopy(T.ones(2, 3).shape)):
        assert type(copied) is T.Size
        assert copied.numel() == 6


# --- NumPy -----------------------------------------------------------------------------------------------------------


def test_a_tensor_and_its_array_share_memory_both_ways() -> None:
    def program(T):
        array = np.arange(4.0)
        t = T.from_numpy(array)
        array[0] = 9
        t.mul_(2)
        seen = t.numpy()
        seen[3] = -1
        return array.tolist(), t.tolist(), np.shares_memory(seen, array), t._version, t.requires_grad, t.is_leaf

    assert program(T) == program(torch)


ARRAYS = {
    "a slice": lambda: np.arange(6.0)[1:5:2],
    "transposed": lambda: np.arange(6.0).reshape(2, 3).T,
    "a number": lambda: np.array(2.5),
    "a matrix, which multiplies otherwise": lambda: np.matrix([[1.0, 2.0], [3.0, 4.0]]),
    "reversed": lambda: np.arange(3.0)[::-1],
    "swapped bytes": lambda: np.arange(3, dtype=">f8" if sys.byteorder == "little" else "<f8"),
    "text": lambda: np.array(["a"]),
    "objects": lambda: np.array([None]),
    "a list": lambda: [1.0, 2.0],
    "bool": lambda: np.array([True, False]),
    "float16": lambda: np.ones(2, np.float16),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_from_numpy_takes_and_refuses_what_pytorchs_does(name: str) -> None:
    def program(T):
        array = ARRAYS[name]()
        t = T.from_numpy(array)
        dtype = str(t.dtype).rpartition(".")[2]
        return t.tolist(), t.stride(), dtype, np.shares_memory(t.numpy(), array), (t * t).tolist()

    assert outcome(program, T) == outcome(program, torch)


def test_an_array_that_cannot_be_written_to_is_taken_with_a_warning_and_stays_as_it_is() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
        torch.from_numpy(array)
    with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
        t = T.from_numpy(array)
    with pytest.raises(ValueError, match="read-only"):
        t.add_(1)
    assert array.tolist() == [0, 1, 2]


ASKED = {
    "asarray": lambda T: np.shares_memory(np.asarray(t := T.ones(2)), t.numpy()),
    "asarray with a dtype": lambda T: np.asarray(T.ones(2), dtype=np.int32).dtype.name,
    "array copies": lambda T: np.shares_memory(np.array(t := T.ones(2)), t.numpy()),
    "array of a list of numbers": lambda T: np.array([T.tensor(1.0), T.tensor(2.0)], dtype=np.float32).tolist(),
    "sin": lambda T: np.sin(T.zeros(2)).tolist() if isinstance(np.sin(T.zeros(2)), T.Tensor) else None,
    "what requires grad": lambda T: np.asarray(T.ones(2, requires_grad=True)).tolist(),
    "numpy() of what requires grad": lambda T: T.ones(2, requires_grad=True).numpy().tolist(),
    "numpy(force=True)": lambda T: T.ones(2, requires_grad=True).numpy(force=True).tolist(),
    "numpy() of a computed tensor": lambda T: (T.ones(2, requires_grad=True) * 2).numpy().tolist(),
    "numpy() of a detached one": lambda T: (T.ones(2, requires_grad=True) * 2).detach().numpy().tolist(),
    "tensor times array": lambda T: (T.ones(2) * np.array([2.0, 3.0])).tolist(),
    "a NumPy number times a tensor": lambda T: (np.float64(3) * T.ones(2)).tolist(),
}


@pytest.mark.parametrize("name", ASKED)
def test_numpy_gets_from_a_tensor_what_it_gets_from_pytorchs(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch's __array__ is older than NumPy 2
        assert outcome(ASKED[name], T) == outcome(ASKED[name], torch)


def test_numpys_own_warnings_about_copies_are_shown() -> None:
    t = T.ones(2)
    assert np.shares_memory(np.array(t, copy=False), t.numpy())
    with pytest.raises(ValueError, match="copy"):
        np.array(t, copy=False, dtype=np.int32)


def test_an_array_on_the_left_leaves_the_operator_to_the_tensor() -> None:
    w = T.tensor([1.0, 2.0], requires_grad=True)
    (np.array([3.0, 4.0], np.float32) * w).sum().backward()
    assert w.grad.tolist() == [3.0, 4.0]
