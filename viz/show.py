"""Binds the methods that show, play and save to the data classes. This happens nowhere else.

A recording, a picture and a comparison are data. They know neither the widgets nor the files that are made from them.
Widgets and files build on the data, and this module binds them to it as methods.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viz import engines
from viz.diagnosis.report import Report
from viz.draw import NetworkPicture, Picture
from viz.experiments.compare import Comparison
from viz.experiments.mistake import MistakeLesson
from viz.experiments.train import Training
from viz.export import files
from viz.frames.scene import scene
from viz.monitor.watch import Watch
from viz.picture.network import CELL
from viz.recording import own
from viz.recording.graph import Graph
from viz.recording.record import record, record_backward
from viz.recording.recording import Recording
from viz.recording.state import as_before, found_in

if TYPE_CHECKING:
    from viz.widgets.player import Player

# Widgets are imported on demand: a script that only draws needs no Jupyter.


def play(recording: Recording, step: int | None = None, **options: Any) -> Player:
    """A player for this recording, at `step` (-1: the last) or its first op, or at an error; shows itself in Jupyter.

    Raises:
        IndexError: there is no such step.
    """
    from viz.widgets.player import Player

    player = Player(scene(recording, **options), recording)
    steps = player.scene["steps"]
    if step is not None and not -len(steps) <= step < len(steps):
        raise IndexError(f"step must be from 0 to {len(steps) - 1}, or negative to count from the end, not {step}")
    if recording.error is not None:
        player.step = len(steps) - 1
    elif step is not None:
        player.step = step % len(steps)
    return player


def play_anything(thing: Any, *, step: int | None = None, **options: Any) -> Player:
    """Play a program, forward and backward; or the backward pass behind a tensor; or a recording.

    Args:
        thing: a program as `viz.record` takes it, a tensor with a graph behind it, or a `Recording`. A function runs
        once; what it uses (networks, optimizers, tensors) is put back. Behind a tensor the backward pass runs, with the
        hooks of the program; `.grad` and networks are put back.
        step: where it starts; -1 is the last step. By default it is the first that shows something.
        options: those of `viz.record`.

    Raises:
        TypeError: it is none of these.
        ValueError: the tensor has no graph behind it.

    >>> import torch, viz
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> [step["title"] for step in viz.play(w * 3).scene["steps"]][-1]
    'The backward pass is over'
    """
    engine = engines.of(thing)
    if isinstance(thing, Recording):
        return play(thing, step)
    if engine is None or not engine.is_tensor(thing):
        with _put_back(thing, options):
            return play(record(thing, **options), step)
    frame = sys._getframe(1)
    names = {**frame.f_globals, **frame.f_locals}
    networks = [
        thing for thing in found_in(engine, names) if engine.is_module(thing)
    ]  # of which a checkpoint may run a block
    with as_before(engine, networks, Graph()):
        return play(record_backward(thing, names), step)


@contextlib.contextmanager
def _put_back(program: Any, options: dict[str, Any]) -> Iterator[None]:
    """A context that puts back, at its end, the networks and optimizers of a function that takes no engine."""
    used = own.engines_of(program, options.get("inputs") or {}) if callable(program) else []
    with contextlib.ExitStack() as stack:
        for engine in map(engines.load, used):
            stack.enter_context(as_before(engine, found_in(engine, [program, options.get("inputs")])))
        yield


def show_recording(recording: Recording) -> None:
    """Show the player below the cell, and why nothing was recorded if nothing was."""
    from IPython.display import display

    if recording.graph.note:
        display({"text/plain": repr(recording), "text/markdown": recording.graph.note}, raw=True)
    if recording.graph.ops or recording.error is not None:
        play(recording)._ipython_display_()


def picture(
    recording: Recording, step: int | None = None, view: str = "values", theme: str = "auto", width: float = CELL[0]
) -> Picture:
    """One step as a picture that shows and saves itself; the last step by default.

    `width` is that of the place that shows it, in pixels. Details go, and parts fold, until it is readable there.

    Raises:
        IndexError: there is no such step. ValueError: there is no such view.
    """
    picture = files.Frames(recording, view).picture(step, theme)
    picture.width = width
    return picture


def bundle_of_network(picture: NetworkPicture, include: Any = None, exclude: Any = None) -> dict[str, str]:
    """The network as a live widget: a click opens a box in place."""
    return {"text/html": files.figure(picture), "text/plain": f"{picture.title}: {picture.description}"}


def save_comparison(comparison: Comparison, path: str | os.PathLike[str]) -> Path:
    """Write one HTML page with both pictures in step, and all that was compared. It needs no kernel and no network.

    Raises:
        ValueError: the suffix of `path` is not `.html`.
    """
    from viz.widgets.comparison import as_page

    target = Path(path)
    if target.suffix.lower() != ".html":
        raise ValueError(f"{target.name!r}: a comparison is saved as .html; for a picture of one engine use viz.record")
    return files.write(target, as_page(comparison))


def show_comparison(comparison: Comparison) -> None:
    """Show both engines' pictures in step, every difference, and the table of gradients below the cell."""
    from viz.widgets.comparison import ComparisonView

    ComparisonView(comparison)._ipython_display_()


def show_mistake(lesson: MistakeLesson) -> None:
    """Show the mistake as a widget below the cell."""
    from viz.widgets.mistake import MistakeView

    MistakeView(lesson)._ipython_display_()


def show_training(training: Training) -> None:
    """Show the runs and their controls below the cell."""
    from viz.widgets.training import TrainingView

    TrainingView(training)._ipython_display_()


def save_report(report: Report, path: str | os.PathLike[str]) -> Path:
    """Write the report as a page (`.html`) that needs no network, or as `.json`.

    Raises:
        ValueError: `path` has another suffix.
    """
    from viz.diagnosis.page import page
    from viz.export import paths

    target = Path(path)
    if target.suffix.lower() == ".json":
        return files.write(target, report.to_json())
    if target.suffix.lower() == ".html":
        return files.write(target, page(report, paths.on_the_stage, paths.starter()))
    raise ValueError(f"{target.name!r}: a report is saved as .html or .json")


def bundle_of_report(report: Report, include: Any = None, exclude: Any = None) -> dict[str, str]:
    """Show the report below a cell, with its paths on the stage."""
    from viz.diagnosis.page import fragment
    from viz.export import paths

    return {"text/html": fragment(report, paths.on_the_stage, paths.starter()), "text/plain": repr(report)}


def save_watch(watch: Watch, path: str | os.PathLike[str]) -> Path:
    """Write what was seen as a page (`.html`) that needs no kernel and no network, or as a picture (`.svg`).

    Raises:
        ValueError: `path` has another suffix.
    """
    from viz.monitor.picture import drawn

    target = Path(path)
    if target.suffix.lower() == ".svg":
        return files.write(target, drawn(watch))
    if target.suffix.lower() == ".html":
        from viz.widgets.watched import as_page

        return files.write(target, as_page(watch))
    raise ValueError(f"{target.name!r}: a watched training is saved as .html or .svg")


def view_of_watch(watch: Watch) -> Any:
    """Show the watch below the cell; returns the widget, which is renewed as the training runs."""
    from viz.widgets.watched import WatchView

    view = WatchView(watch)
    view._ipython_display_()
    return view


Recording.play = play
Recording._ipython_display_ = show_recording  # type: ignore[attr-defined]
Recording.picture = picture
Recording.scene = scene
Recording.save = files.save_recording
Picture.save = files.save_picture
NetworkPicture._repr_mimebundle_ = bundle_of_network  # type: ignore[method-assign,assignment]
Comparison.save = save_comparison
Comparison._ipython_display_ = show_comparison
MistakeLesson._ipython_display_ = show_mistake
Training._ipython_display_ = show_training
Report.save = save_report
Watch.save = save_watch
Watch._view = view_of_watch  # type: ignore[assignment]
Report._repr_mimebundle_ = bundle_of_report
