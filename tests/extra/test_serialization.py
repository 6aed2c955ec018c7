"""What one engine saves, the other loads: values, dtypes, strides, and which tensors share memory."""

from __future__ import annotations

import io
import os
import pickle
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu as T

ENGINES = (T, torch)


def through(writer: Any, reader: Any, obj: Any, **settings: Any) -> Any:
    file = io.BytesIO()
    writer.save(obj, file)
    file.seek(0)
    return reader.load(file, **settings)


def model(E: Any) -> Any:
    nn = E.nn
    E.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))


@pytest.mark.parametrize("writer", ENGINES, ids=["ours", "torch's"])
@pytest.mark.parametrize("reader", ENGINES, ids=["ours", "torch's"])
class TestBetweenEngines:
    def test_each_dtype_and_shape_comes_back(self, writer: Any, reader: Any) -> None:
        names = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "bfloat16"]
        given = {name: writer.arange(6).reshape(2, 3).to(getattr(writer, name)) for name in names}
        back = through(writer, reader, {**given, "empty": writer.zeros(0, 3), "number": writer.tensor(7.0)})
        for name in names:
            assert back[name].dtype is getattr(reader, name)
            np.testing.assert_array_equal(back[name].double().numpy(), given[name].double().numpy())
        assert tuple(back["empty"].shape) == (0, 3)
        assert back["number"].item() == 7 and back["number"].ndim == 0

    def test_views_come_back_with_their_strides_and_share_memory(self, writer: Any, reader: Any) -> None:
        base = writer.arange(12.0).reshape(3, 4)
        back, column, turned = through(writer, reader, [base, base[:, 1], base.t()])
        assert turned.stride() == (1, 4)
        back[0, 1] = 99.0
        assert column[0].item() == turned[1, 0].item() == 99.0

    def test_parameters_and_what_else_stands_in_a_checkpoint_come_back(self, writer: Any, reader: Any) -> None:
        given = {
            "p": writer.nn.Parameter(writer.ones(2)), "fixed": writer.nn.Parameter(writer.ones(1), requires_grad=False),
            "size": writer.ones(2, 3).shape, "dtype": writer.float16, "device": writer.device("cpu"),
            "epoch": 3, "name": "a", "list": [1.5, None, True, (1, 2)], "set": {1, 2},
        }  # fmt: skip
        back = through(writer, reader, given)
        assert isinstance(back["p"], reader.nn.Parameter) and back["p"].requires_grad
        assert not back["fixed"].requires_grad
        assert isinstance(back["size"], reader.Size) and tuple(back["size"]) == (2, 3)
        assert back["dtype"] is reader.float16 and back["device"] == reader.device("cpu")
        assert [back[k] for k in ("epoch", "name", "list", "set")] == [
            given[k] for k in ("epoch", "name", "list", "set")
        ]

    def test_training_continues_from_a_checkpoint(self, writer: Any, reader: Any) -> None:
        x = np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32)

        def steps(E: Any, net: Any, optimizer: Any) -> list[float]:
            losses = []
            for _ in range(3):
                optimizer.zero_grad()
                loss = (net(E.tensor(x)) ** 2).mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            return losses

        first = model(writer)
        adam = writer.optim.Adam(first.parameters(), lr=0.1)
        steps(writer, first, adam)
        saved = through(writer, reader, {"net": first.state_dict(), "adam": adam.state_dict()})
        second = model(reader)
        second.load_state_dict(saved["net"])
        again = reader.optim.Adam(second.parameters(), lr=0.1)
        again.load_state_dict(saved["adam"])
        np.testing.assert_allclose(steps(reader, second, again), steps(writer, first, adam), rtol=1e-5)


def test_a_path_serves_as_well_as_a_file(tmp_path: Path) -> None:
    T.save([T.ones(2)], tmp_path / "a.pt")
    assert T.load(str(tmp_path / "a.pt"), map_location="cpu")[0].tolist() == [1, 1]


def test_a_whole_module_is_loaded_only_from_a_trusted_file() -> None:
    net = model(T)
    for E in ENGINES:
        with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
            through(E, E, model(E))
    back = through(T, T, net, weights_only=False)
    x = T.ones(2, 3)
    assert T.equal(back.eval()(x), net.eval()(x))


def test_a_file_that_would_run_a_program_is_refused_before_it_does(tmp_path: Path) -> None:
    class Attack:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "ran"),)

    with pytest.raises(pickle.UnpicklingError, match="not an allowed global"):
        through(torch, T, {"x": Attack()})
    assert not (tmp_path / "ran").exists()


def test_what_cannot_be_read_is_refused_by_a_sentence() -> None:
    with pytest.raises(RuntimeError, match="corrupt file"):
        T.load(io.BytesIO(b"no archive"))
    with pytest.raises(NotImplementedError, match="only on the CPU"):
        T.load(io.BytesIO(), map_location="cuda")


def test_weights_hold_counters_and_what_a_program_trusts() -> None:
    scheduler = {"milestones": Counter([2, 4]), "bytes": bytearray(b"x"), "number": 1j, "set": {1}}
    assert through(torch, T, scheduler) == through(T, T, scheduler) == scheduler
    for E in ENGINES:
        with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed[\s\S]*Fraction"):
            through(E, E, Fraction(1, 2))
        with E.serialization.safe_globals([Fraction]):
            assert through(E, E, Fraction(1, 2)) == Fraction(1, 2)
        E.serialization.add_safe_globals([Fraction])
        assert through(E, E, Fraction(1, 2)) == Fraction(1, 2)
        E.serialization.clear_safe_globals()
        assert E.serialization.get_safe_globals() == []
