"""Binds the methods that show, play and save to the data classes. This happens nowhere else.

A recording, a picture and a comparison are data. They know neither the widgets nor the files that are made from them.
Widgets and files build on the data, and this module binds them to it as methods.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viz.diagnosis.report import Report
from viz.draw import NetworkPicture, Picture
from viz.experiments.compare import Comparison
from viz.experiments.mistake import MistakeLesson
from viz.experiments.train import Training
from viz.export import files
from viz.frames.scene import scene
from viz.monitor.watch import Watch
from viz.recording.recording import Recording

if TYPE_CHECKING:
    from viz.widgets.player import Player

# Widgets are imported on demand: a script that only draws needs no Jupyter.


def play(recording: Recording, **options: Any) -> Player:
    """A player for this recording; shows itself in Jupyter."""
    from viz.widgets.player import Player

    return Player(scene(recording, **options))


def picture(recording: Recording, step: int | None = None, view: str = "values", theme: str = "auto") -> Picture:
    """One step as a picture that shows and saves itself; the last step by default.

    Raises:
        IndexError: there is no such step.
    """
    return files.Frames(recording, view).picture(step, theme)


def bundle_of_network(picture: NetworkPicture, include: Any = None, exclude: Any = None) -> dict[str, str]:
    """The network as a live widget: a click opens a box in place."""
    return {"text/html": files.figure(picture), "text/plain": repr(picture)}


def save_comparison(comparison: Comparison, path: str | os.PathLike[str]) -> Path:
    """Write one HTML page with both pictures in step, and everything that was compared. It needs no kernel and no network.

    Raises:
        ValueError: the suffix of `path` is not `.html`.
    """
    from viz.widgets.comparison import as_page

    target = Path(path)
    if target.suffix.lower() != ".html":
        raise ValueError(f"{target.name!r}: a comparison is saved as .html; for a picture of one engine use viz.record")
    target.write_text(as_page(comparison), encoding="utf-8")
    return target


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
    if target.suffix.lower() not in (".html", ".json"):
        raise ValueError(f"{target.name!r}: a report is saved as .html or .json")
    target.write_text(
        report.to_json() if target.suffix.lower() == ".json" else page(report, paths.on_the_stage, paths.starter()),
        encoding="utf-8",
    )
    return target


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
    if target.suffix.lower() not in (".html", ".svg"):
        raise ValueError(f"{target.name!r}: a watched training is saved as .html or .svg")
    if target.suffix.lower() == ".html":
        from viz.widgets.watched import as_page

        target.write_text(as_page(watch), encoding="utf-8")
    else:
        target.write_text(drawn(watch), encoding="utf-8")
    return target


def view_of_watch(watch: Watch) -> Any:
    """Show the watch below the cell; returns the widget, which is renewed as the training runs."""
    from viz.widgets.watched import WatchView

    made = WatchView(watch)
    made._ipython_display_()
    return made


Recording.play = play
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
