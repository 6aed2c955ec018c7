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
