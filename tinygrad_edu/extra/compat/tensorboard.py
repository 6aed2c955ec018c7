"""`SummaryWriter`: plots for TensorBoard, if that is installed (PyTorch: `torch.utils.tensorboard`)."""

from __future__ import annotations

import importlib
import os
import socket
import struct
import time
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...array.tensor import Tensor

__all__ = ["SummaryWriter"]


class SummaryWriter:
    """Writes scalars, texts, histograms, images, graphs and settings to a folder that `tensorboard --logdir runs` shows.

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

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add an image, of bytes or of numbers from 0 to 1; `dataformats` names its dimensions: "CHW", "HWC" or "HW"."""
        self._write(self._image(tag, _pixels(img_tensor, dataformats)), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add several images of one size, in a grid eight wide."""
        images = [
            _pixels(image, dataformats.replace("N", ""))
            for image in np.moveaxis(_array(img_tensor), dataformats.index("N"), 0)
        ]
        none = np.zeros_like(images[0])
        images += [none] * (-len(images) % 8 if len(images) > 8 else 0)
        rows = [np.concatenate(images[i : i + 8], 1) for i in range(0, len(images), 8)]
        self._write(self._image(tag, np.concatenate(rows)), global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Add a figure of matplotlib as an image, and close it."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        for one in figure if isinstance(figure, list) else [figure]:
            canvas: Any = FigureCanvasAgg(one)
            canvas.draw()
            self._write(self._image(tag, np.asarray(canvas.buffer_rgba())[..., :3]), global_step, walltime)
            if close:
                importlib.import_module("matplotlib.pyplot").close(one)

    def _image(self, tag: str, pixels: np.ndarray) -> Any:
        height, width, channels = pixels.shape
        image = self._summaries.Summary.Image(
            height=height, width=width, colorspace=channels, encoded_image_string=_png(pixels)
        )
        return self._summaries.Summary.Value(tag=tag, image=image)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Add the graph behind the model's output for this input: autograd's nodes, with the parameters under their names."""
        from tensorboard.compat.proto import graph_pb2, node_def_pb2, versions_pb2

        given = input_to_model if isinstance(input_to_model, tuple | list) else (input_to_model,)
        outputs = [model(*given)]
        names = {id(p): name for name, p in model.named_parameters()}
        labels: dict[Any, str] = {}
        found: list[Any] = []
        while outputs:
            out = outputs.pop()
            outputs += (
                list(out.values() if isinstance(out, dict) else out) if isinstance(out, dict | list | tuple) else []
            )
            if isinstance(out, Tensor) and out.grad_fn is not None:
                found.append(out.grad_fn)
        nodes = []
        while found:
            node = found.pop()
            if node in labels:
                continue
            own = names.get(id(getattr(node, "variable", None)), node.name().rpartition("::")[2])
            labels[node] = own.replace(".", "/") if own not in labels.values() else f"{own}_{len(labels)}"
            nodes.append(node)
            found += [n for n, _ in node.next_functions if n is not None]
        defs = [
            node_def_pb2.NodeDef(
                name=labels[node], op=node.name(), input=[labels[n] for n, _ in node.next_functions if n is not None]
            )
            for node in nodes
        ]
        graph = graph_pb2.GraphDef(node=defs, versions=versions_pb2.VersionDef(producer=22))
        event = self._events.Event(wall_time=time.time(), graph_def=graph.SerializeToString())
        self._writers[self.log_dir].add_event(event)

    def add_hparams(
        self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: Any = None,
        run_name: str | None = None, global_step: Any = None,
    ) -> None:  # fmt: skip
        """Add the settings of a run beside what it reached, in a run of its own below this one."""
        from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        infos, start = [], plugin_data_pb2.SessionStartInfo()
        for name, value in hparam_dict.items():
            given = _array(value).item() if isinstance(value, Tensor | np.generic) else value
            kind = "bool" if isinstance(given, bool) else "number" if isinstance(given, int | float) else "string"
            setattr(start.hparams[name], f"{kind}_value", str(given) if kind == "string" else given)
            kinds = {
                "bool": api_pb2.DATA_TYPE_BOOL,
                "number": api_pb2.DATA_TYPE_FLOAT64,
                "string": api_pb2.DATA_TYPE_STRING,
            }
            info = api_pb2.HParamInfo(name=name, type=kinds[kind])
            for allowed in (hparam_domain_discrete or {}).get(name, ()):
                info.domain_discrete.values.add(**{f"{kind}_value": allowed})
            infos.append(info)
        metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metric_dict]
        end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
        for tag, part in (
            (metadata.EXPERIMENT_TAG, {"experiment": api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)}),
            (metadata.SESSION_START_INFO_TAG, {"session_start_info": start}),
            (metadata.SESSION_END_INFO_TAG, {"session_end_info": end}),
        ):
            content = plugin_data_pb2.HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **part)
            about = self._summaries.SummaryMetadata(
                plugin_data=self._summaries.SummaryMetadata.PluginData(
                    plugin_name=metadata.PLUGIN_NAME, content=content.SerializeToString()
                )
            )
            self._write(self._summaries.Summary.Value(tag=tag, metadata=about), None, None, folder)
        for name, value in metric_dict.items():
            point = self._summaries.Summary.Value(tag=name, simple_value=float(_array(value)))
            self._write(point, global_step, None, folder)

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
                f"SummaryWriter.{name} is not built here: there are add_scalar, add_scalars, add_histogram, add_text, add_image, "
                "add_images, add_figure, add_graph and add_hparams."
            )
        raise AttributeError(f"'SummaryWriter' object has no attribute {name!r}")


def _array(value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        return value._data
    if isinstance(value, Iterable) and not isinstance(value, np.ndarray):
        return np.concatenate([_array(v).reshape(-1) for v in value])
    return np.asarray(value)


def _pixels(image: Any, dataformats: str) -> np.ndarray:
    """An image as bytes (H, W, channels)."""
    array, order = _array(image), dataformats.upper()
    if sorted(order) not in (["C", "H", "W"], ["H", "W"]) or array.ndim != len(order):
        raise ValueError(
            f"an image of shape {array.shape} does not have the dimensions {dataformats!r}: give dataformats."
        )
    if array.ndim == 2:
        array, order = array[None], f"C{order}"
    array = array.transpose([order.index(name) for name in "HWC"])
    if array.shape[2] == 1:
        array = np.repeat(array, 3, 2)
    return array if array.dtype == np.uint8 else (array * 255.0).clip(0, 255).astype(np.uint8)


def _png(pixels: np.ndarray) -> bytes:
    """Bytes (H, W, 3 or 4) as a PNG file (ISO/IEC 15948)."""
    height, width, channels = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], 1)  # each line unfiltered
    header = struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines.tobytes())) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts
