"""SummaryWriter writes files that TensorBoard reads; these are skipped where TensorBoard is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

import tinygrad_edu as T

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def test_tensorboard_reads_scalars_histograms_and_texts(tmp_path: Path) -> None:
    from tinygrad_edu.utils.tensorboard import SummaryWriter

    with SummaryWriter(log_dir=str(tmp_path)) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_scalar("loss", T.tensor(0.25), 2)
        writer.add_histogram("weights", T.arange(10.0), 1)
        writer.add_text("note", "hello", 0)
    read = accumulator.EventAccumulator(str(tmp_path))
    read.Reload()
    assert [(event.step, event.value) for event in read.Scalars("loss")] == [(1, 0.5), (2, 0.25)]
    histogram = read.Histograms("weights")[0].histogram_value
    assert (histogram.min, histogram.max, histogram.num, histogram.sum, histogram.sum_squares) == (0, 9, 10, 45, 285)
    assert read.Tags()["tensors"] == ["note/text_summary"]


def test_tensorboard_reads_images_graphs_and_settings(tmp_path: Path) -> None:
    from tinygrad_edu.utils.tensorboard import SummaryWriter

    with SummaryWriter(log_dir=str(tmp_path)) as writer:
        writer.add_image("grey", T.linspace(0, 1, 12).reshape(1, 3, 4), 1)
        writer.add_images("grid", T.rand(9, 3, 4, 5))
        writer.add_graph(T.nn.Sequential(T.nn.Linear(2, 3), T.nn.ReLU()), T.ones(1, 2))
        writer.add_hparams({"lr": 0.1, "bs": 4, "name": "a", "fast": True}, {"loss": T.tensor(0.5)}, run_name="first")
    read = accumulator.EventAccumulator(str(tmp_path))
    read.Reload()
    (grey,), (grid,) = read.Images("grey"), read.Images("grid")
    assert (grey.width, grey.height, grey.step) == (4, 3, 1)
    assert (grid.width, grid.height) == (40, 8)
    assert grey.encoded_image_string.startswith(b"\x89PNG")
    assert {"0/weight", "0/bias", "AddmmBackward0", "ReluBackward0"} <= {node.name for node in read.Graph().node}
    run = accumulator.EventAccumulator(str(tmp_path / "first"))
    run.Reload()
    assert run.Scalars("loss")[0].value == 0.5
