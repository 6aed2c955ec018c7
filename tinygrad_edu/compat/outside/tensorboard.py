"""`SummaryWriter`: plots for TensorBoard, if that is installed (PyTorch: `torch.utils.tensorboard`)."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...tensor import Tensor

__all__ = ["SummaryWriter"]


class SummaryWriter:
    """Writes scalars, texts and histograms to a folder that `tensorboard --logdir runs` shows.

    Raises:
        ModuleNotFoundError: TensorBoard is not installed.
    """

    def __init__(
        self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10,
        flush_secs: int = 120, filename_suffix: str = "",
    ) -> None:  # fmt: skip
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            raise ModuleNotFoundError(
                "SummaryWriter writes files for TensorBoard, which is not installed: pip install tensorboard, or leave it out."
            ) from None
        if not log_dir:
            now = time.strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = str(log_dir)
        self._events, self._summaries = event_pb2, summary_pb2
        self._open = lambda folder: EventFileWriter(folder, max_queue, flush_secs, filename_suffix)
        self._writers = {self.log_dir: self._open(self.log_dir)}

    def get_logdir(self) -> str:
        """The folder that it writes to."""
        return self.log_dir

    def _write(self, value: Any, step: Any, walltime: float | None, folder: str | None = None) -> None:
        folder = folder or self.log_dir
        if folder not in self._writers:
            self._writers[folder] = self._open(folder)
        event = self._events.Event(wall_time=walltime or time.time(), summary=self._summaries.Summary(value=[value]))
        if step is not None:
            event.step = int(step)
        self._writers[folder].add_event(event)

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None,
        new_style: bool = False, double_precision: bool = False,
    ) -> None:  # fmt: skip
        """Add a point to the curve `tag`."""
        self._write(
            self._summaries.Summary.Value(tag=tag, simple_value=float(_array(scalar_value))), global_step, walltime
        )

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add a point to each of several curves in one plot."""
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            point = self._summaries.Summary.Value(tag=main_tag, simple_value=float(_array(value)))
            self._write(point, global_step, walltime, folder)

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "auto", walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """Add a histogram of a tensor's elements."""
        flat = _array(values).reshape(-1).astype(np.float64)
        counts, limits = np.histogram(flat, bins=64 if bins in ("tensorflow", "auto") else bins)
        histogram = self._summaries.HistogramProto(
            min=flat.min(), max=flat.max(), num=flat.size, sum=flat.sum(), sum_squares=flat @ flat,
            bucket_limit=limits[1:].tolist(), bucket=counts.tolist(),
        )  # fmt: skip
        self._write(self._summaries.Summary.Value(tag=tag, histo=histogram), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Add a text, in Markdown."""
        from tensorboard.compat.proto import tensor_pb2, tensor_shape_pb2

        metadata = self._summaries.SummaryMetadata(
            plugin_data=self._summaries.SummaryMetadata.PluginData(plugin_name="text")
        )
        shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
        tensor = tensor_pb2.TensorProto(dtype="DT_STRING", string_val=[text_string.encode()], tensor_shape=shape)
        value = self._summaries.Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=tensor)
        self._write(value, global_step, walltime)

    def flush(self) -> None:
        """Write buffered data to the files."""
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Write buffered data and close the files."""
        for writer in self._writers.values():
            writer.close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("add_"):
            raise NotImplementedError(
                f"SummaryWriter.{name} is not built here: there are add_scalar, add_scalars, add_histogram and add_text."
            )
        raise AttributeError(f"'SummaryWriter' object has no attribute {name!r}")


def _array(value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        return value._data
    if isinstance(value, Iterable) and not isinstance(value, np.ndarray):
        return np.concatenate([_array(v).reshape(-1) for v in value])
    return np.asarray(value)
