"""Pictures of autograd, PyTorch's or `tinygrad_edu`'s: the graph behind any tensor, every step of a backward pass.

>>> import viz
>>> program = "x = T.tensor(3.0, requires_grad=True); y = x * x; y.backward()"
>>> viz.record(program).tensors["x"]["grad"]["data"]  # and .play() steps forward and backward through it
6.0
>>> viz.compare(program).agree  # the teaching core and PyTorch, side by side
True

`viz.draw(model, x)` draws a model as it was called, and `viz.draw(loss)` the graph behind a tensor. `viz.play(step)`
plays a training step of either engine. `viz.explore(program)` gives each line, and each module of a network, switches
of its own; `viz.link(program)` is an address that carries it. `with viz.watch(model):` around a training loop shows
its layers as it runs. `viz.train(program)` shows where a loop goes; `viz.playground()` is a small network to play with.
`viz.diagnose(program)` says why a gradient is None, zero or nan, or why a model does not learn, with the line.
`viz.mistakes()` lists the mistakes that learners make most often; `viz.mistake(name)` shows one.
"""

import importlib
import importlib.metadata
import sys
import warnings
from typing import TYPE_CHECKING, Any

from viz import show as show
from viz.draw import Picture, draw
from viz.experiments.compare import Comparison, compare
from viz.experiments.mistake import MistakeLesson, mistake, mistakes
from viz.experiments.train import Training, train
from viz.monitor.watch import Watch, watch
from viz.recording.record import record
from viz.recording.recording import Recording, load
from viz.show import play_anything as play

if TYPE_CHECKING:
    from viz.diagnosis.diagnose import diagnose
    from viz.diagnosis.report import Report
    from viz.export.link import link
    from viz.widgets.explorer import explore
    from viz.widgets.playground import playground

__all__ = ["Comparison", "MistakeLesson", "Picture", "Recording", "Report", "Training", "Watch", "compare", "diagnose"]
__all__ += ["draw", "explore", "link", "load", "mistake", "mistakes", "play", "playground", "record", "train", "watch"]


# These are imported on demand: a script that only draws needs neither them nor Jupyter.
_ELSEWHERE = {
    "Report": "viz.diagnosis.report",
    "diagnose": "viz.diagnosis.diagnose",
    "explore": "viz.widgets.explorer",
    "link": "viz.export.link",
    "playground": "viz.widgets.playground",
}


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'viz' has no attribute {name!r}")
    thing = getattr(importlib.import_module(_ELSEWHERE[name]), name)
    globals()[name] = thing
    return thing


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _say_if_another_package_has_our_name() -> None:
    """The distribution `viz` writes into the same folder: the later installation replaced files of the other."""
    try:
        distribution = importlib.metadata.distribution("viz")
    except importlib.metadata.PackageNotFoundError:
        return
    if any(file.parts[0] == "viz" for file in distribution.files or ()):
        warnings.warn(
            f"another package called viz ({distribution.version}) is installed in the same place: pip uninstall viz, "
            "then pip install --force-reinstall --no-deps tinygrad-edu",
            stacklevel=3,
        )


def load_ipython_extension(shell: Any) -> None:
    """Register `%%autograd`. `%load_ext viz` calls this, and so does `import viz` in a notebook."""
    from viz.magic import AutogradMagics

    if AutogradMagics.__name__ not in shell.magics_manager.registry:
        shell.register_magics(AutogradMagics)


_say_if_another_package_has_our_name()
_ipython = sys.modules.get("IPython")
if _ipython is not None and (_shell := _ipython.get_ipython()) is not None:
    load_ipython_extension(_shell)
