"""The table of samples in the Python of a live page, whose NumPy counts with 32 bits: each dtype is as here."""

import io
import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support import printed

import tinygrad_edu
from tinygrad_edu.course.site.live import parts

pytestmark = pytest.mark.outer
ROOT = Path(tinygrad_edu.__file__).parents[1]
BEYOND_32_BITS = ["T.arange(2**31, 2**31 + 3)", "T.arange(3) + 2**31", "T.tensor([True]).sum()", "T.tensor(2**40)"]
BEYOND_32_BITS += ["T.tensor([1])"]
COUNTED = ["T.bincount(T.tensor([0, 2, 2]))", "T.bincount(T.tensor([0, 2]), T.tensor([0.5, 1.0]))"]
COUNTED += ["T.tensor([3, 1, 3]).unique(return_inverse=True, return_counts=True)", "T.rand(3).multinomial(2)"]
COUNTED += ["T.rand(3).multinomial(2, True)", "T.where(T.tensor([1, 0]))"]
COUNTED += ["T.nn.utils.rnn.pack_sequence([T.tensor([1]), T.tensor([4, 2])], False)"]
COUNTED += ["T.nn.utils.rnn.pad_packed_sequence(T.nn.utils.rnn.pack_sequence([T.tensor([1, 2]), T.tensor([4])]))"]
COUNTED += ["T.tensor([[1, 2]]).argwhere()"]
FROM_NUMPY = [
    "T.tensor(np.arange(3)), T.from_numpy(np.arange(3)), T.as_tensor([np.argmax([0, 1])]), T.ones(2).int() * "
    "np.arange(2)",
    "T.tensor(np.zeros(2, np.int32)), T.from_numpy(np.zeros(2).astype('int32')), T.as_tensor(np.int32(1)), "
    "T.tensor(T.ones(2).int().numpy())",
    "T.tensor(np.random.randint(0, 3, 2)), T.tensor(np.random.permutation(3))",
    "T.tensor(np.ones(2) > 0).sum(), T.tensor((np.ones(2) > 0).sum()), T.tensor(np.uint8([1]))",
]
DTYPES = ["float64", "float32", "int64", "int32", "uint8", "bool"]
LEARNED = [  # sound programs, each with what an index is used for
    "F.cross_entropy(T.randn(3, 4), T.randn(3, 4).argmax(1))",
    "F.one_hot(T.tensor([2, 0, 1]).argsort())",
    "T.distributions.Categorical(logits=T.zeros(2, 3)).log_prob(T.distributions.Categorical(logits=T.zeros(2, "
    "3)).sample())",
    "F.nll_loss(T.zeros(2, 3), T.zeros(2, 3).topk(1).indices[:, 0])",
]
# Prints, for each row of the table, the dtypes of its results and gradients, or its error.
PROGRAM = """
import json, sys, types, warnings
import numpy as np
import numpy.random
sys.path[:0] = [root, root + "/tests", root + "/tinygrad_edu/course/site/live/python"]
sys.modules["the_page"] = types.ModuleType("the_page")
import differences, later
differences.integers()
for name, change in later.when_imported.items():
    change(sys.modules[name])
import tinygrad_edu as T
from support.samples import REFUSED, SAMPLES
warnings.simplefilter("ignore")

def flat(result):
    return [x for item in result for x in flat(item)] if isinstance(result, (tuple, list)) else [result]

def told(code, dtype, arrays, grads):
    T.manual_seed(0)
    try:
        as_asked = lambda array: (array if "float" in dtype else array.astype("int64") % 2).astype(dtype)
        arrays = {name: as_asked(array) if array.dtype.kind == "f" else array for name, array in arrays.items()}
        given = {name: T.tensor(array) for name, array in arrays.items()}
        leaves = [given[name].requires_grad_() for name in grads if given[name].is_floating_point()]
        results = flat(eval(code, {"T": T, "F": T.nn.functional, "np": np, **given}))
        ends = [one for one in results if isinstance(one, T.Tensor) and one.requires_grad]
        if ends:
            results += T.autograd.grad(ends, leaves, [T.ones_like(one) for one in ends], allow_unused=True)
        return [str(getattr(one, "dtype", type(one).__name__)) for one in results]
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("numpy.intc", "numpy.int32")  # one type in two classes

rows = [(s.code, s.arrays(), [name for name, given in s.inputs.items() if given.grad]) for s in [*SAMPLES, *REFUSED]]
rows += [(code, {}, ()) for code in further]
found = [(code, dtype, told(code, dtype, *more)) for dtype in dtypes for code, *more in rows]
"""
IN_NODE = """
const [folder, root, program] = process.argv.slice(2);
const { loadPyodide } = await import(`file://${folder}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: `${folder}/` });
for (const [there, here] of [["/numpy", `${folder}/numpy`], ["/given", root]]) python.mountNodeFS(there, here);
python.runPython('import sys; sys.path.insert(0, "/numpy"); root = "/given"');
python.runPython(program);
console.log(python.runPython("json.dumps(found)"));
"""


def in_pyodide(folder: Path, program: str) -> list[Any]:
    python = parts.files_of(parts.PYODIDE)
    for name, content in python.items():
        (folder / name).write_bytes(content)
    with zipfile.ZipFile(io.BytesIO(parts.numpy_wheel(python["pyodide-lock.json"]))) as wheel:
        wheel.extractall(folder / "numpy")
    (folder / "run.mjs").write_text(IN_NODE)
    command = ["node", str(folder / "run.mjs"), str(folder), str(ROOT), program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, "\n".join(line for line in done.stderr.splitlines() if len(line) < 500)
    return list(json.loads(done.stdout.splitlines()[-1]))


def here(program: str) -> list[Any]:
    told = printed(f"root = {str(ROOT)!r}\n{program}\nprint(json.dumps(found))", timeout=600)
    return list(json.loads(told.splitlines()[-1]))


def test_every_row_has_the_same_dtypes_where_an_index_has_32_bits(tmp_path: Path) -> None:
    if shutil.which("node") is None and not os.environ.get("CI"):
        pytest.skip("it needs Node.js")
    program = f"further, dtypes = {[*BEYOND_32_BITS, *COUNTED, *FROM_NUMPY, *LEARNED]!r}, {DTYPES}\n{PROGRAM}"
    try:
        there = in_pyodide(tmp_path, program)
    except parts.PartError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    expected = here(program)
    assert len(expected) > 700 * len(DTYPES)
    assert [(ours, page) for ours, page in zip(expected, there, strict=True) if ours != page] == []
