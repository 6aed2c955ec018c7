"""`tinygrad-edu grade`: grades many submissions. Each answer runs in its own sandbox and is judged outside.

A result is one line in `results.jsonl`, written when it is complete. A grader that was killed continues where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import secrets
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from ...sandbox.outside import PROTECTIONS, Sandbox
from .. import all_exercises
from ..exercise import PROGRAM, unit_of
from ..judging.judge import Failure, Mark, Verdict, judge
from ..judging.report import Report
from ..plain import Data
from .gradebook import write_all
from .hand_over import SYSTEMS, hand_over
from .submissions import Submission, lesson_of, read_submissions

NOT_STARTED = (
    "Nothing was graded. Submissions are other people's programs: they could use what is named above. Grade where "
    "nothing is missing, for example on Linux. Or add --unprotected if you trust the submissions and this machine "
    "holds nothing worth stealing."
)

Result = dict[str, Any]  # one submission's result: plain data, as in results.jsonl
_PARTS = {"student", "key", "notes", "verdicts"}


def work_of(submission: Submission, ids: list[str], seed: int) -> Data:
    """What another machine needs to grade a submission, as plain data, with a key that changes when any of it does."""
    answers = {id: dataclasses.asdict(submission.answers[id]) for id in ids if id in submission.answers}
    other = all_exercises().keys() - set(ids)
    work = {
        "student": submission.student,
        "ids": list(ids),
        "answers": answers,
        "notes": [note for note in submission.notes if note.partition(":")[0] not in other],
        "seed": seed,
    }
    probes = [unit_of(all_exercises()[id], "", (), seed) for id in ids]
    return work | {"key": hashlib.sha256(json.dumps([work, probes]).encode()).hexdigest()}


def grade_one(work: Data, sandbox: Sandbox) -> Result:
    """Grade one submission. Every exercise is graded separately, so a bad answer costs only its own points."""
    verdicts = {}
    for id in work["ids"]:
        exercise, answer = all_exercises()[id], work["answers"].get(id)
        probed = {"trouble": "no answer"}
        if answer is not None:
            probed = sandbox.run(unit_of(exercise, **answer, seed=work["seed"]))
        verdicts[id] = _judged(id, work["seed"], json.dumps(probed))
    return {"student": work["student"], "key": work["key"], "notes": work["notes"], "verdicts": verdicts}


@functools.lru_cache(maxsize=64)
def _judged(id: str, seed: int, probed: str) -> Data:
    """The verdict on a result, as plain data. Much of a class gives the same few results."""
    return dataclasses.asdict(judge(all_exercises()[id], json.loads(probed), seed))


def verdict_of(data: Data) -> Verdict:
    """A verdict from its line in results.jsonl."""
    marks = tuple(
        Mark(**mark | {"failure": Failure(**mark["failure"]) if mark["failure"] else None}) for mark in data["marks"]
    )
    return Verdict(data["exercise"], marks, data["trouble"], data["reason"])


def grade(
    submissions: list[Submission],
    out: Path,
    ids: list[str],
    jobs: int = 1,
    scheduler: str = "",
    seed: int | None = None,
    progress: bool = False,
    sandbox: Sandbox | None = None,
) -> list[Result]:
    """Grade what is not graded yet, and write gradebook, feedback and the files for other systems into `out`.

    `scheduler` is the address of a Dask cluster whose workers have tinygrad-edu installed. Without it `jobs` sandboxes
    run here: `sandbox`, if one is started already, and others beside it. `seed` draws the random cases; it is stored in
    `out`, so that a second run grades alike.
    """
    out.mkdir(parents=True, exist_ok=True)
    seed = _kept_seed(out / "run.json", seed)
    works = [work_of(submission, ids, seed) for submission in submissions]
    done = {result["key"]: result for result in _read(out / "results.jsonl")}
    todo = [work for work in works if work["key"] not in done]
    engines = _engines(ids)
    finished = (
        _on_dask(todo, engines, scheduler) if scheduler else _here(todo, jobs, sandbox or Sandbox(PROGRAM, engines))
    )
    with (out / "results.jsonl").open("a") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from the wrong answers that the judge also runs
        for n, result in enumerate(finished, start=len(works) - len(todo) + 1):
            done[result["key"]] = result
            file.write(json.dumps(result) + "\n")
            file.flush()
            if progress:
                _bar(n, len(works))
    results = [done[work["key"]] for work in works]
    verdicts = {result["student"]: [verdict_of(v) for v in result["verdicts"].values()] for result in results}
    write_all(out, results, verdicts, [dict(submission.predicted) for submission in submissions])
    return results


def missing(sandbox: Sandbox) -> list[str]:
    """The protections that are missing on this platform."""
    sandbox.start()
    return [name for name, holds in sandbox.protections.items() if not holds]


def _missing_on_workers(ids: list[str], scheduler: str) -> list[str]:
    with _client(scheduler) as client:
        found = client.run(_missing_on_worker, sorted(_engines(ids))).values()
    return [name for name in PROTECTIONS if any(name in names for names in found)]


def _missing_on_worker(engines: list[str]) -> list[str]:
    with Sandbox(PROGRAM, engines) as sandbox:
        return missing(sandbox)


def _engines(ids: list[str]) -> set[str]:
    return {engine for id in ids for engine in all_exercises()[id].available}


def _here(todo: list[Data], jobs: int, sandbox: Sandbox) -> Iterator[Result]:
    """Grade in threads of this process, each with its own sandbox, where the work is done."""
    mine, spare = threading.local(), [sandbox, *(sandbox.another() for _ in range(jobs - 1))]

    def start() -> None:
        mine.sandbox = spare.pop()

    with ThreadPoolExecutor(jobs, initializer=start) as pool:
        try:
            futures = [pool.submit(lambda work: grade_one(work, mine.sandbox), work) for work in todo]
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)
            sandbox.close()


def _on_dask(todo: list[Data], engines: set[str], scheduler: str) -> Iterator[Result]:
    """Grade on the workers of a Dask cluster. If a worker is lost, another one gets its work."""
    import distributed

    with _client(scheduler) as client:
        futures = [
            client.submit(_on_worker, work, sorted(engines), key=f"grade-{work['key']}", retries=3) for work in todo
        ]
        for future in distributed.as_completed(futures):
            yield future.result()
            future.release()


def _client(scheduler: str) -> Any:
    import distributed

    try:
        # Before a client exists: a client that could not start may wait for itself forever when it is collected.
        distributed.comm.get_address_host(scheduler)
    except ValueError as error:
        raise OSError(f"{scheduler!r} is not an address of a Dask cluster, such as tcp://host:8786: {error}") from error
    return distributed.Client(scheduler)


_worker = threading.local()


def _on_worker(work: Data, engines: list[str]) -> Result:
    if getattr(_worker, "engines", None) != engines:
        _worker.sandbox, _worker.engines = Sandbox(PROGRAM, engines), engines
    return grade_one(work, _worker.sandbox)


def _kept_seed(file: Path, seed: int | None) -> int:
    if seed is None and file.exists():
        try:
            return int(json.loads(file.read_text())["seed"])
        except (ValueError, TypeError, KeyError):  # a full disk or a power failure left it empty
            print(f"{file} is damaged: all is graded again, with new random cases", file=sys.stderr)
    seed = secrets.randbelow(2**31) if seed is None else seed
    draft = file.with_suffix(".part")  # all or nothing: a grader that is killed here must start again
    draft.write_text(json.dumps({"seed": seed}))
    draft.replace(file)
    return seed


def _read(file: Path) -> Iterator[Result]:
    """The results so far. A last line that was cut off when the grader was killed counts as not graded."""
    if not file.exists():
        return
    text = file.read_bytes()
    whole = text.rfind(b"\n") + 1
    if whole < len(text):
        os.truncate(file, whole)
    for line in text[:whole].splitlines():
        with contextlib.suppress(ValueError, RecursionError):  # a full disk or a power failure leaves damaged lines
            result = json.loads(line)
            if isinstance(result, dict) and result.keys() >= _PARTS:
                yield result


def _bar(n: int, total: int) -> None:
    filled = 30 * n // total
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {n} of {total}" + ("\n" if n == total else ""))
    sys.stderr.flush()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tinygrad-edu grade`."""
    parser.add_argument(
        "submissions", type=Path, nargs="?", help="a folder of notebooks or of folders, a zip, or one notebook"
    )
    parser.add_argument("--lesson", type=int, help="the lesson to grade (default: the one that most answers belong to)")
    parser.add_argument("--out", type=Path, default=Path("grades"), help="where results go (default: ./%(default)s)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="sandboxes at a time (default: %(default)s)"
    )
    parser.add_argument("--scheduler", default="", metavar="ADDRESS", help="grade on the Dask cluster at this address")
    parser.add_argument("--seed", type=int, help="draw the random cases with this seed (default: a secret one, kept)")
    parser.add_argument(
        "--unprotected", action="store_true", help="grade also where this platform lacks a protection, and say which"
    )
    parser.add_argument(
        "--for",
        dest="system",
        choices=SYSTEMS,
        help="write the files that this system needs to grade --lesson into --out, and grade nothing",
    )
    parser.add_argument("--no-progress", action="store_true", help="show no progress bar")


def main(arguments: argparse.Namespace) -> int:
    """Run `tinygrad-edu grade`. Returns its exit status."""
    exercises: Mapping = all_exercises()
    if arguments.system and arguments.lesson not in {exercise.lesson for exercise in exercises.values()}:
        print("name the lesson to grade with --lesson", file=sys.stderr)
        return 2
    if arguments.system:
        print(f"wrote {hand_over(arguments.system, arguments.lesson, arguments.out)}")
        return 0
    if arguments.submissions is None:
        print("name the folder, zip or notebook to grade", file=sys.stderr)
        return 2
    try:
        submissions = read_submissions(arguments.submissions, exercises)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    lesson = arguments.lesson or lesson_of(submissions, exercises)
    ids = [exercise.id for exercise in exercises.values() if exercise.lesson == lesson]
    if not ids:
        print(f"no exercise to grade in {arguments.submissions}: name the lesson with --lesson", file=sys.stderr)
        return 2
    sandbox = None if arguments.scheduler else Sandbox(PROGRAM, _engines(ids))
    try:
        lacking = missing(sandbox) if sandbox else _missing_on_workers(ids, arguments.scheduler)
        for protection in lacking:
            print(f"Not available on this platform: {protection}.", file=sys.stderr)
        if lacking and not arguments.unprotected:
            print(NOT_STARTED, file=sys.stderr)
            return 2
        results = grade(
            submissions,
            arguments.out,
            ids,
            max(1, arguments.jobs),
            arguments.scheduler,
            arguments.seed,
            progress=not arguments.no_progress and sys.stderr.isatty(),
            sandbox=sandbox,
        )
    except (OSError, ModuleNotFoundError) as error:  # no space to write, no cluster at that address, or no Dask
        print(f"grading did not finish: {error}", file=sys.stderr)
        return 2
    finally:
        if sandbox:
            sandbox.close()
    graded = "1 submission" if len(results) == 1 else f"{len(results)} submissions"
    print(f"lesson {lesson}: {graded} graded, see {arguments.out / 'gradebook.csv'}")
    return 0


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tinygrad-edu check`."""
    parser.add_argument("notebook", type=Path, help="your notebook")


def check_main(arguments: argparse.Namespace) -> int:
    """Run `tinygrad-edu check`: print the reports of a notebook in the terminal. Returns 0 if all is right."""
    exercises = all_exercises()
    try:
        submission = read_submissions(arguments.notebook, exercises)[0]
    except (FileNotFoundError, IndexError):
        print(f"no notebook at {arguments.notebook}", file=sys.stderr)
        return 2
    work = work_of(submission, list(submission.answers), seed=0)
    with Sandbox(PROGRAM, {engine for id in work["ids"] for engine in exercises[id].available}) as sandbox:
        verdicts = [verdict_of(verdict) for verdict in grade_one(work, sandbox)["verdicts"].values()]
    print(*submission.notes, *map(Report, verdicts), sep="\n")
    return 0 if verdicts and all(verdict.passed for verdict in verdicts) else 1
