"""`save` and `load`: what goes in comes out, nothing in a stranger's file runs, and PyTorch's files are refused."""

import io
import os
import pickle
from collections import OrderedDict
from typing import Any

import pytest
import torch

import tinygrad_edu as T


def again(value: Any, **settings: Any) -> Any:
    file = io.BytesIO()
    T.save(value, file)
    file.seek(0)
    return T.load(file, **settings)


def test_a_training_goes_on_from_its_file(tmp_path: Any) -> None:
    def made() -> tuple[Any, Any]:
        model = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.BatchNorm1d(3))
        return model, T.optim.Adam(model.parameters())

    (model, optimizer), (other, its) = made(), made()
    model(T.randn(4, 2)).square().sum().backward()
    optimizer.step()
    path = tmp_path / "model.pt"
    T.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)
    kept = T.load(str(path), map_location="cpu")
    other.load_state_dict(kept["model"])
    its.load_state_dict(kept["optimizer"])
    assert str(other.state_dict()) == str(model.state_dict()) and kept["epoch"] == 3
    assert str(its.state_dict()) == str(optimizer.state_dict())


def test_nested_data_keeps_its_kinds_and_what_is_tied_stays_tied() -> None:
    p = T.nn.Parameter(T.ones(2, dtype=T.float64))
    value = OrderedDict(a=[p, (p, "text", None)], b={1: T.tensor(True)}, c={T.float16, 2}, d=T.ones(3, 0).shape, e=1.5)
    found = again(value)
    assert str(found) == str(value) and type(found) is OrderedDict and type(found["d"]) is T.Size
    first, (second, *_) = found["a"]
    assert first is second and type(first) is T.nn.Parameter and first.requires_grad and first.dtype is T.float64
    layer = T.nn.Linear(2, 2)
    assert again(layer, weights_only=False)(T.ones(2)).tolist() == layer(T.ones(2)).tolist()
    with pytest.raises(pickle.UnpicklingError, match=r"Linear, which is no tensor.*weights_only=False"):
        again(layer)


class Stranger:
    def __init__(self, path: Any) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_the_code_of_a_stranger_does_not_run(tmp_path: Any) -> None:
    for value in (Stranger(tmp_path / "ran"), {"w": [Stranger(tmp_path / "ran")]}):
        with pytest.raises(pickle.UnpicklingError, match="Weights only load failed: the file names"):
            T.load(io.BytesIO(pickle.dumps(value)))
    assert not (tmp_path / "ran").exists()


def test_files_of_pytorch_and_other_devices_are_refused_by_a_sentence() -> None:
    for settings in ({}, {"_use_new_zipfile_serialization": False}):
        file = io.BytesIO()
        torch.save({"w": torch.ones(2)}, file, **settings)
        file.seek(0)
        with pytest.raises(RuntimeError, match=r"PyTorch's format.*from_numpy"):
            T.load(file)
    with pytest.raises((RuntimeError, NotImplementedError), match="cuda"):
        again(T.ones(1), map_location="cuda")
