"""Copies, pickles and NumPy arrays of tensors: what is shared, what is kept, what is refused, as in PyTorch."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch

import tinygrad_edu as T


def agree(program, *args):
    """On both engines a program gives the same plain data, or raises the same type of error."""
    outcomes = []
    for E in (T, torch):
        try:
            outcomes.append(program(E, *args))
        except Exception as error:
            outcomes.append(type(error).__name__)
    assert outcomes[0] == outcomes[1]


def trained_leaf(T):
    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    x.label = ["kept"]
    return x


def facts(original, copied):
    facts = {name: getattr(copied, name) for name in ("requires_grad", "is_leaf")}
    return facts | {
        "values": copied.tolist(),
        "grad": None if copied.grad is None else copied.grad.tolist(),
        "stride": copied.stride(),
        "same memory": copied.data_ptr() == original.data_ptr(),
        "label": getattr(copied, "label", None),
        "same label": getattr(copied, "label", None) is getattr(original, "label", 0),
    }


COPIES = {"deepcopy": copy.deepcopy, "copy": copy.copy, "pickle": lambda t: pickle.loads(pickle.dumps(t))}
TENSORS = {"a leaf with a gradient": trained_leaf, "a computed tensor": lambda T: trained_leaf(T) * 2}
TENSORS |= {"a view of data": lambda T: T.arange(6.0)[1:4]}
TENSORS |= {"a transposed matrix": lambda T: T.arange(6.0).view(2, 3).t()}
TENSORS |= {"an expanded number": lambda T: T.ones(1).expand(3), "an empty one": lambda T: T.zeros(0, 3)}
TENSORS |= {"a number": lambda T: T.tensor(5), "written to": lambda T: T.ones(2).add_(1)}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", TENSORS)
def test_a_copy_keeps_what_pytorchs_keeps(name: str, way: str) -> None:
    def program(T):
        original = TENSORS[name](T)
        result = facts(original, COPIES[way](original))
        # NumPy gives an empty array no strides and no address of its own, and writes an expanded one out in a copy.
        left_out = {"an empty one": ("same memory", "stride"), "an expanded number": ("stride",) * (way != "copy")}
        return {fact: value for fact, value in result.items() if fact not in left_out.get(name, ())}

    agree(program)


def test_a_tensor_that_is_met_twice_is_copied_once_and_a_view_of_a_leaf_is_copied_as_a_leaf() -> None:
    def program(T):
        a, x = T.arange(6.0), T.ones(3, requires_grad=True)
        b, again = copy.deepcopy([a, a])
        b[0] = 100.0
        seen = [b.tolist(), again is b, a.tolist()]
        with T.no_grad():
            view = x[1:]
        return seen, [COPIES[way](view).requires_grad for way in ("deepcopy", "pickle")]

    agree(program)


def test_a_dtype_is_itself_after_copying_and_pickling_and_a_shape_keeps_its_kind() -> None:
    for way in COPIES.values():
        for name in ("float64", "float32", "float16", "int64", "int8", "uint8", "bool"):
            assert way(getattr(T, name)) is getattr(T, name)
        copied = way(T.ones(2, 3).shape)
        assert type(copied) is T.Size and copied.numel() == 6


def test_a_tensor_and_its_array_share_memory_both_ways() -> None:
    def program(T):
        array = np.arange(4.0)
        t = T.from_numpy(array)
        array[0] = 9
        t.mul_(2)
        seen = t.numpy()
        seen[3] = -1
        return array.tolist(), t.tolist(), np.shares_memory(seen, array), t._version, t.requires_grad, t.is_leaf

    agree(program)


ARRAYS = """np.arange(6.0)[1:5:2]; np.arange(6.0).reshape(2, 3).T; np.array(2.5); np.matrix([[1.0, 2.0], [3.0, 4.0]]);
np.arange(3.0)[::-1]; np.array(["a"]); np.array([None]);
[1.0, 2.0]; np.array([True, False]); np.ones(2, np.float16)"""


@pytest.mark.parametrize("code", ARRAYS.replace("\n", " ").split("; "))
def test_from_numpy_takes_and_refuses_what_pytorchs_does(code: str) -> None:
    def program(T):
        array = eval(code)
        t = T.from_numpy(array)
        dtype = str(t.dtype).rpartition(".")[2]
        return t.tolist(), t.stride(), dtype, np.shares_memory(t.numpy(), array), (t * t).tolist()

    agree(program)


def test_an_array_that_cannot_be_written_to_is_taken_with_a_warning_and_stays_as_it_is() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    for E in (torch, T):
        with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
            t = E.from_numpy(array)
    with pytest.raises(ValueError, match="read-only"):
        t.add_(1)
    assert array.tolist() == [0, 1, 2]


ASKED = """np.shares_memory(np.asarray(t), t.numpy()); np.asarray(t, dtype=np.int32).dtype.name; w.numpy().tolist();
np.shares_memory(np.array(t), t.numpy()); np.array([T.tensor(1.0), T.tensor(2.0)], dtype=np.float32).tolist();
np.sin(T.zeros(2)).tolist(); np.asarray(w).tolist(); w.numpy(force=True).tolist(); (w * 2).numpy().tolist();
(w * 2).detach().numpy().tolist(); (t * np.array([2.0, 3.0])).tolist(); (np.float64(3) * t).tolist()"""


def test_numpy_gets_from_a_tensor_what_it_gets_from_pytorchs() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch's __array__ is older than NumPy 2
        for code in ASKED.split(";"):
            scope = {"np": np, "code": code.strip()}
            agree(lambda E, s=scope: eval(s["code"], {**s, "T": E, "t": E.ones(2), "w": E.ones(2, requires_grad=True)}))


def test_numpys_own_errors_about_copies_are_shown_and_an_array_on_the_left_leaves_the_operator_to_the_tensor() -> None:
    t, w = T.ones(2), T.tensor([1.0, 2.0], requires_grad=True)
    assert np.shares_memory(np.array(t, copy=False), t.numpy())
    with pytest.raises(ValueError, match="copy"):
        np.array(t, copy=False, dtype=np.int32)
    (np.array([3.0, 4.0], np.float32) * w).sum().backward()
    assert w.grad.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    "call",
    """t.to(E.float64); t.to("cpu", E.float64); t.to(device="cpu", dtype=E.float64); t.to(E.device("cpu"))
    t.to(None, E.float64); t.to(E.device("cpu"), E.float64, False, True); t.to(E.ones(1, dtype=E.float64))
    t.to(E.float32, False, True); t.to(E.float32)
    t.new(2, 1).zero_(); t.long().new([1, 2]); t.new(E.ones(1).size()).zero_()""".replace("\n", ";").split(";"),
)
def test_each_way_to_call_to_and_new_gives_the_dtype_and_a_copy_or_not(call):
    def outcome(E):
        t = E.ones(2)
        moved = eval(call.strip(), {"E": E, "t": t})
        return str(moved.dtype).rpartition(".")[2], moved is t, moved.tolist()

    agree(outcome)
