"""The same work units on a Dask cluster: a worker that is killed loses nothing, and nothing is graded twice."""

import json
import os
import signal
import time

import pytest
from support.grading import gradebook, notebook, run

from tinygrad_edu.exercises import all_exercises
from tinygrad_edu.exercises.grading import grade
from tinygrad_edu.exercises.grading.submissions import read_submissions

pytestmark = pytest.mark.outer
distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
PATIENT = {f"distributed.comm.timeouts.{name}": "240s" for name in ("connect", "tcp")}  # on a busy machine


def test_two_workers_one_killed_in_the_middle_nothing_lost_nothing_twice(submit, tmp_path, monkeypatch):
    students = [f"student{i:02}" for i in range(60)]
    folder, out = submit(**{name: notebook() for name in students}), tmp_path / "out"
    log = out / "results.jsonl"
    with (
        dask.config.set(PATIENT),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
    ):
        pids = [worker.process.pid for worker in cluster.workers.values()]

        def kill_one_in_the_middle(n, total):
            if n == 20:
                assert len(set(pids)) == 2
                os.kill(pids[0], signal.SIGKILL)

        monkeypatch.setattr(grade, "_bar", kill_one_in_the_middle)
        submissions = read_submissions(folder, all_exercises())
        ids = ["central_difference", "mul_backward", "relu_backward"]
        grade.grade(submissions, out, ids, scheduler=cluster.scheduler_address, progress=True)
    assert sorted(json.loads(line)["student"] for line in log.read_text().splitlines()) == students
    assert {int(row["points"]) for row in gradebook(out).values()} == {9}
    with pytest.raises(ProcessLookupError):
        for _ in range(2400):  # it is waited for by the cluster, at its leisure
            os.kill(pids[0], 0)
            time.sleep(0.05)


@pytest.mark.parametrize("address", ["nowhere", "http://nowhere:80"])
def test_an_invalid_cluster_address_gets_a_sentence(submit, tmp_path, capsys, address):
    assert run(submit(ada=notebook()), tmp_path / "out", "--scheduler", address) == 2
    assert f"{address!r} is not an address of a Dask cluster, such as tcp://host:8786" in capsys.readouterr().err
