"""What an explorer keeps: little of what a program prints, and nothing once closed. Each is measured in a process."""

import sys

import pytest
from support import printed

pytestmark = pytest.mark.outer

PRINTS = """
import resource, viz
program = "n = T.tensor({rounds})\\nfor _ in range({rounds}): print('x' * 1_000_000)\\nm = n * n"
viz.explore(program.format(rounds=2))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
explorer = viz.explore(program.format(rounds=1000))
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
sent = sum(len(side["stdout"]) for side in explorer.result["sides"])
print(grown, sent, [row["name"] for row in explorer.result["table"]])
"""
CLOSES = """
import gc, tracemalloc, viz
program = "w = T.ones(20, 20, requires_grad=True)\\nv = w\\n" + "v = v * w\\nv = v + 1.0\\n" * 5 + "v.sum().backward()"
def held(explorers):
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
for _ in range(2):
    viz.explore(program).close()  # what is made once, such as caches, is there
tracemalloc.start()
before = held([])
explorers = [viz.explore(program) for _ in range(2)]
open_ = held(explorers) - before
for explorer in explorers:
    explorer.close()
del explorers, explorer
print(open_, held([]) - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="its memory is measured otherwise")
def test_next_to_nothing_is_kept_of_a_gigabyte_on_each_engine():
    grown, sent, names = printed(PRINTS).split(maxsplit=2)
    kilobyte = 1024 if sys.platform == "darwin" else 1
    assert int(grown) / kilobyte < 50_000
    assert int(sent) < 5_000
    assert names.strip() == "['n', 'm']"


def test_two_closed_explorers_hold_a_small_part_of_what_they_held():
    opened, closed = map(int, printed(CLOSES).split())
    assert opened > 500_000
    assert closed < opened / 10
