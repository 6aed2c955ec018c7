"""`tinygrad-edu diagnose`: a script runs as from a shell, under observation, and the report follows."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from viz import engines
from viz.diagnosis.diagnose import Run, engine_of
from viz.diagnosis.report import Report
from viz.recording import program_file
from viz.recording.printed import Printed
from viz.recording.project import Project
from viz.recording.source import Source

STOPPED, TIMED_OUT = 130, 124  # exit codes, as a shell and `timeout` give them


class Streamed(Printed):
    """Output that is kept for the report, and shown while the program runs."""

    def __init__(self, shown: Any) -> None:
        super().__init__()
        self._shown = shown
        self.isatty = shown.isatty  # type: ignore[method-assign]
        self.fileno = shown.fileno  # type: ignore[method-assign]

    def write(self, text: str) -> int:
        self._shown.write(text)
        return super().write(text)

    def flush(self) -> None:
        self._shown.flush()


def main(options: argparse.Namespace) -> int:
    """Diagnose a program in a file. Returns the exit code: the program's own, unless --fail-on asks for another."""
    try:
        if not options.limit > 0:
            raise ValueError(f"--limit is a number of seconds above 0, not {options.limit:g}")
        program = program_file.read(options.program)
        if not program.text.strip():
            raise ValueError(f"{options.program} is empty")
        engine = engines.load(options.engine) if options.engine else engine_of(program.text)
        with program_file.at_home(options.program, program, options.arguments) as names:
            output = Streamed(sys.stderr if options.json else sys.stdout)
            folder = options.program.resolve().parent if options.program.suffix == ".py" else None
            source = Source(program.text) if program.cells else Project(program.text, folder)
            run = Run(engine, source, inputs=names, limit=options.limit, output=output, as_main=True)
            report = run.report()
        if program.cells:
            report.place = program.place
        print(report.to_json() if options.json else f"\n{report}" if report.stdout else report)
        if options.out is not None:
            report.save(options.out)
    except (OSError, ValueError, ModuleNotFoundError) as error:
        print(f"not diagnosed: {error}", file=sys.stderr)
        return 2
    return _exit_code(run, report, options.fail_on)


def _exit_code(run: Run, report: Report, fail_on: str | None) -> int:
    match run.raised:
        case None:
            fails = any(fail_on == "likely" or finding.certain for finding in report.findings)
            return int(bool(fail_on) and fails)
        case KeyboardInterrupt():
            return STOPPED
        case SystemExit(code=int() as code):
            return code
    return TIMED_OUT if run.timed_out else 1
