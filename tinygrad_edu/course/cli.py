"""The command `tinygrad-edu`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..exercises.grading import grade
from .lab import DEFAULT_DIR, DEFAULT_PORT, report_update, start


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. `argv` is the command line without the program's name."""
    parser = argparse.ArgumentParser(
        prog="tinygrad-edu", description="The course that makes PyTorch's autograd visible."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_lab(commands)
    _add_progress(commands)
    _add_engine(commands)
    _add_review(commands)
    _add_release(commands)
    _add_site(commands)
    _add_doctor(commands)
    _add_pictures(commands)
    _add_diagnose(commands)
    _add_check(commands)
    _add_grade(commands)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown and arguments.command != "lab":
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    arguments.passed_on = unknown
    try:
        return arguments.run(arguments) or 0
    except KeyboardInterrupt:
        return 130


def _refused(message: object) -> int:
    """The exit status of a command that could not do what was asked; it says why."""
    print(message, file=sys.stderr)
    return 2


def _add_lab(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "lab",
        help="open JupyterLab on your working copy of the lessons",
        description="Open JupyterLab on your working copy of the lessons. Your edits there are never overwritten. Any "
        "other option goes to `jupyter lab`.",
        allow_abbrev=False,
    )
    parser.add_argument("--dir", type=Path, default=Path(DEFAULT_DIR), help="the working copy (default: ./%(default)s)")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser; the address is printed")
    parser.add_argument("--port", type=_port, default=DEFAULT_PORT, help="the first port to try (default: %(default)s)")
    parser.set_defaults(run=_lab)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text!r}")
    return int(text)


def _lab(arguments: argparse.Namespace) -> None:
    start(arguments.dir, arguments.port, not arguments.no_browser, arguments.passed_on)


def _add_progress(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("progress", help="show which exercises of your working copy are solved")
    parser.add_argument("--dir", type=Path, default=Path(DEFAULT_DIR), help="the working copy (default: ./%(default)s)")
    parser.set_defaults(run=_progress)


def _progress(arguments: argparse.Namespace) -> int:
    from .progress import progress

    try:
        print(progress(arguments.dir))
    except FileNotFoundError as error:
        return _refused(f"{error}: name it with --dir, or make one with `tinygrad-edu lab`")
    return 0


def _add_engine(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("engine", help="put your answers together into my_engine.py, and try it rung by rung")
    parser.add_argument("--dir", type=Path, default=Path(DEFAULT_DIR), help="the working copy (default: ./%(default)s)")
    parser.set_defaults(run=_engine)


def _engine(arguments: argparse.Namespace) -> int:
    from .own_engine import FILE, renewed
    from .own_engine.ladder import climb

    try:
        engine = renewed(arguments.dir)
    except FileNotFoundError as error:
        return _refused(f"{error}: name it with --dir, or make one with `tinygrad-edu lab`")
    except ValueError as error:
        return _refused(error)
    ladder = climb(engine)
    print(f"{arguments.dir / FILE}\n{ladder}")
    return 0 if ladder.height == len(ladder.steps) else 1


def _add_review(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("review", help="answer two questions of earlier lessons again, with other numbers")
    parser.add_argument("--dir", type=Path, default=Path(DEFAULT_DIR), help="the working copy (default: ./%(default)s)")
    parser.add_argument(
        "--before", type=int, default=11, metavar="LESSON", help="ask only about lessons before this one"
    )
    parser.add_argument(
        "--gift", type=Path, metavar="FILE", help="write all questions for a learning platform, in the GIFT format"
    )
    parser.set_defaults(run=_review)


def _review(arguments: argparse.Namespace) -> int:
    from .review import Memory, ask, gift

    if arguments.gift is not None:
        arguments.gift.write_text(gift(), encoding="utf-8")
        return 0
    if not arguments.dir.is_dir():
        return _refused(f"no working copy of the lessons at {arguments.dir}: name it with --dir")
    return ask(Memory.of(arguments.dir), arguments.before)


def _add_release(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "release",
        help="write the lessons as students get them, without answers",
        description="Write the lessons as students get them: without answers, hidden tests and outputs. Files that "
        "were edited in the folder since the last release are not overwritten.",
    )
    parser.add_argument("dir", type=Path, help="the folder to write to")
    parser.add_argument("--source", type=Path, help="instructor versions to release (default: this course's lessons)")
    parser.set_defaults(run=_release)


def _release(arguments: argparse.Namespace) -> int:
    from .working_copy import update_working_copy

    try:
        report_update(update_working_copy(arguments.dir, arguments.source), arguments.dir)
    except (OSError, ValueError) as error:
        return _refused(f"not released: {error}")
    return 0


def _add_site(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "site",
        help="write the course as a static web site",
        description="Run the lessons in the students' version and write them as a static web site: live players, "
        "search, no kernel, no network. Needs the packages of `tinygrad-edu[site]`.",
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="OUT", help="the folder to write to")
    parser.add_argument("-o", "--out", type=Path, default=Path("site"), help="the same (default: ./%(default)s)")
    parser.add_argument(
        "--live", action="store_true", help="let the reader's browser run Python: cells, checks, switches"
    )
    parser.add_argument(
        "--numpy", type=Path, metavar="WHEEL", help="a local NumPy wheel for Pyodide, instead of fetching it"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="LESSON", help="build only lessons whose names start like this"
    )
    parser.add_argument("--no-progress", action="store_true", help="show no progress bar")
    parser.set_defaults(run=_site)


def _site(arguments: argparse.Namespace) -> int:
    from .site import SiteError, build

    if arguments.numpy is not None and not arguments.live:
        return _refused("no site written: --numpy is for a live site: add --live")
    try:
        progress = not arguments.no_progress and sys.stderr.isatty()
        out = arguments.folder or arguments.out
        print(build(out, arguments.only, progress, live=arguments.live, numpy_wheel=arguments.numpy))
    except (OSError, SiteError) as error:
        return _refused(f"the site was not written: {error}")
    return 0


def _add_doctor(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("doctor", help="check what works in this installation and what does not")
    parser.add_argument(
        "--device", choices=("cuda",), help="run the tests that need this device instead, and write a report to send"
    )
    parser.set_defaults(run=_doctor)


def _doctor(arguments: argparse.Namespace) -> int:
    from .doctor import report, report_on_a_card

    return report_on_a_card() if arguments.device else report()


def _add_pictures(commands: argparse._SubParsersAction) -> None:
    draw = commands.add_parser("draw", help="draw the graph behind a program, as svg, png, pdf, html or dot")
    draw.add_argument(
        "--view", choices=("values", "grad_fn"), default="values", help="what to draw (default: %(default)s)"
    )
    draw.add_argument("--step", type=int, help="the step of the run to draw (default: the last)")
    draw.set_defaults(run=_save, suffix=".svg", moves=False)
    play = commands.add_parser(
        "play", help="record a program and save a player of it, as html, moving svg, gif or json"
    )
    play.set_defaults(run=_save, suffix=".html", view="values", step=None, moves=True)
    for parser in (draw, play):
        parser.add_argument("-o", "--out", type=Path, help="the file to write (default: beside the program)")
        parser.add_argument(
            "--engine", choices=("torch", "tinygrad_edu"), default="torch", help="(default: %(default)s)"
        )
    compare = commands.add_parser(
        "compare", help="run a program on tinygrad_edu and on PyTorch, and say how they differ"
    )
    compare.set_defaults(run=_compare)
    compare.add_argument("-o", "--out", type=Path, help="also write both pictures, side by side, as an html page")
    for parser in (draw, play, compare):
        parser.add_argument(
            "program",
            type=Path,
            help="a Python script, a notebook, or - for standard input; inside it, `torch` and `T` are the engine",
        )


def _save(arguments: argparse.Namespace) -> int:
    import viz
    from viz.recording import program_file

    path: Path = arguments.program
    if path == program_file.STDIN and arguments.out is None:
        return _refused("nothing was saved: name the output file with -o")
    out = arguments.out or path.with_suffix(arguments.suffix)
    try:
        program = program_file.read(path)
        with program_file.at_home(path, program) as names:
            recording = viz.record(program.text, engine=arguments.engine, inputs=names)
        animate = arguments.moves and out.suffix.lower() == ".svg"
        print(recording.save(out, step=arguments.step, view=arguments.view, animate=animate))
    except (OSError, ValueError, IndexError, ModuleNotFoundError) as error:
        return _refused(f"nothing saved: {error}")
    raised = recording.error
    if raised:
        print(f"{program.place(raised['line'])}: {raised['type']}: {raised['message']}", file=sys.stderr)
    return 1 if raised else 0


def _compare(arguments: argparse.Namespace) -> int:
    from viz.experiments.compare import compare
    from viz.recording import program_file

    try:
        program = program_file.read(arguments.program)
        with program_file.at_home(arguments.program, program) as names:
            comparison = compare(program.text, inputs=names)
        print(comparison)
        if arguments.out is not None:
            print(comparison.save(arguments.out))
    except (OSError, ValueError, ModuleNotFoundError) as error:
        return _refused(f"not compared: {error}")
    return 0 if comparison.agree else 1


def _add_diagnose(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "diagnose",
        help="say why a gradient is None, zero or nan, or why a model does not learn, and name the line",
        description="Run a program under observation and say why a gradient is None, zero or nan, or why a model does "
        "not learn: each cause with its line, what was seen, and the fix. What follows the script goes to the script, "
        "so options of this command come before it. The exit code is the script's own (124 if the time was up).",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--json", action="store_true", help="print the report as JSON; the program's output goes to standard error"
    )
    parser.add_argument("-o", "--out", type=Path, help="also write the report, as .html or .json")
    parser.add_argument(
        "--engine", choices=("torch", "tinygrad_edu"), help="the engine to run on (default: the one imported)"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="the time for all of it: a program is stopped after three quarters (default: %(default)g)",
    )
    parser.add_argument(
        "--fail-on", choices=("certain", "likely"), help="exit with 1 if something certain, or anything, was found"
    )
    parser.add_argument("program", type=Path, help="a Python script, a notebook, or - for standard input")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what follows goes to the script")
    parser.set_defaults(run=_diagnose)


def _diagnose(arguments: argparse.Namespace) -> int:
    from viz.diagnosis.command import main

    return main(arguments)


def _add_check(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("check", help="check the answers in your notebook from the terminal")
    grade.add_check_arguments(parser)
    parser.set_defaults(run=grade.check_main)


def _add_grade(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "grade",
        help="grade submitted notebooks",
        description="Grade submitted notebooks: each answer runs in a sandbox and is judged outside it. If you start "
        "it again, it continues where it stopped.",
    )
    grade.add_arguments(parser)
    parser.set_defaults(run=grade.main)


if __name__ == "__main__":
    sys.exit(main())
