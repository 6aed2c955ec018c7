"""Pictures of the playground in a second, on both engines: `python benchmarks/playground.py`.

A picture is one step of training and all that the page gets for it: the network asked at 2,304 places, the boundary,
the charts, the sentences, as JSON. What a browser and the way to it need comes on top; it has 100 ms for ten pictures a
second.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

# a neighbour of this file is called viz as well, and Python looks for modules beside a script first
sys.path = [place for place in sys.path if Path(place or ".").resolve() != Path(__file__).resolve().parent]

import viz  # noqa: E402

NETWORKS = {
    "2-8-8-2": {},
    "2-8-8-2, another beside it": {"beside": {"activation": "relu"}},
    "ten hidden layers of 32": {"layers": 10, "width": 32},
}
PICTURES = 60


def milliseconds(engine: str, options: dict) -> float:
    """The median time of one picture."""
    shown = viz.playground("circles", engine=engine, **options)
    task = {name: shown.task[name] for name in ("data", "points", "settings")}
    times = []
    for number in range(PICTURES):
        began = time.perf_counter()
        shown.asked = {**task, "steps": 1, "playing": True, "seq": number}
        json.dumps(shown.frame)
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)


if __name__ == "__main__":
    print(f"{'network':32}{'tinygrad_edu ms':>18}{'PyTorch ms':>14}{'a second':>20}")
    for name, options in NETWORKS.items():
        ours, theirs = (milliseconds(engine, options) for engine in ("tinygrad_edu", "torch"))
        print(f"{name:32}{ours:18.1f}{theirs:14.1f}{1000 / ours:12.0f}{1000 / theirs:8.0f}")
