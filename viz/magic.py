"""`%%autograd` and `%%diagnose`: run a cell in the notebook's own namespace, and show or diagnose it."""

from __future__ import annotations

import ast
import copy
import math
import sys
from collections.abc import Callable
from typing import Any

from IPython.core import magic
from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from viz import engines
from viz.diagnosis.diagnose import Run
from viz.draw import draw
from viz.engines import CORE, NAMES, TORCH, Engine
from viz.experiments.compare import compare
from viz.experiments.program import parse
from viz.export import link
from viz.interrupts import interruptible
from viz.recording import own
from viz.recording.flow import flow, names_in, tree_of
from viz.recording.printed import AT_ONCE
from viz.recording.reader import tensors_in
from viz.recording.record import STEPS, Recorder
from viz.recording.recording import Recording
from viz.recording.source import Source
from viz.telling.account import end_of, not_built
from viz.telling.explain import explain
from viz.widgets.comparison import ComparisonView
from viz.widgets.explorer import Explorer
from viz.widgets.player import Player

# IPython 7, as in Colab, has none: there a `;` at the end of a cell does not silence a magic.
_can_be_silenced = getattr(magic, "output_can_be_silenced", lambda function: function)

ON_PYTORCH = "A cell that is written with T runs on PyTorch, too, and is drawn there: %%autograd --engine torch"
BOTH = "This cell uses both engines; the picture shows {shown}'s part. For the other: %%autograd --engine {other}"


class Named(set[str]):
    """The names that belong to a cell: only those that it mentions, as a notebook has many tensors.

    If a cell assigns a name before it reads it, the old value is left out, such as the loss when a cell runs again.
    """

    def __init__(self, tree: ast.Module, namespace: dict[str, Any]) -> None:
        super().__init__(names_in(tree))
        self._namespace = namespace
        read, bound = flow(tree)
        self._before = {name: namespace[name] for name in bound - read if name in namespace}

    def __contains__(self, name: object) -> bool:
        if name in self._before and self._namespace.get(str(name)) is self._before[str(name)]:
            return False
        return super().__contains__(name)


class Cell(Recorder):
    """One cell under observation, in the notebook's namespace and with the line numbers that the notebook shows.

    Args:
        text: the cell as it was written.
        code: the same in Python, line by line: IPython turns `!ls` and `%time` into calls.
        engine: the engine whose ops to watch.
        shell: IPython, which provides the namespace and the tracebacks.

    Attributes:
        result: the value of the cell's last line if it is an expression, as for any cell.
    """

    def __init__(self, text: str, code: str, engine: Engine, shell: Any) -> None:
        source = Source(code)
        # IPython's name for the cell's code: tracebacks say `Cell In[3], line 2`, and the first line is `%%autograd`.
        # By now `execution_count` may already be the next cell's.
        number = len(shell.history_manager.input_hist_parsed) - 1
        source.filename = shell.compile.cache(f"\n{code}", number)
        source.first = 2
        self._written = text.splitlines()
        names = Named(tree_of(code), shell.user_ns)
        super().__init__(engine, source, namespace=shell.user_ns, names=names, limit=STEPS)
        self.shown_in = sys.stdout
        self.result: Any = None

    def execute(self, namespace: dict[str, Any]) -> None:
        """Run the cell with `T` set to the engine, unless the notebook uses that name for something else."""
        missing = object()
        before = namespace.get("T", missing)
        tree = ast.parse(f"\n{self.source.text}", self.source.filename)
        lent = (before is missing or getattr(before, "__name__", "") in NAMES) and "T" not in flow(tree)[1]
        if lent:
            namespace["T"] = self.engine.module
        try:
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            body = compile(tree, self.source.filename, "exec", dont_inherit=True)
            interruptible(lambda: exec(body, namespace))
            if isinstance(last, ast.Expr):
                value = compile(ast.Expression(last.value), self.source.filename, "eval", dont_inherit=True)
                self.result = interruptible(lambda: eval(value, namespace))
        except KeyboardInterrupt as stopped:
            self.let_go(stopped)
            self.raised = stopped  # the picture shows what happened until then
        finally:
            if lent and before is missing:
                namespace.pop("T", None)
            elif lent:
                namespace["T"] = before

    def record(self) -> Recording:
        """Run the cell and return the recording. Its error, if any, is in `raised`."""
        try:
            recording = self.run({})
        except Exception:
            if isinstance(self.raised, KeyboardInterrupt):  # it interrupted our own code
                raise self.raised from None
            raise
        if len(self._written) == len(recording.source):
            recording.source = self._written
        if self.raised is not None:
            self.raised = _from_the_cell(self.raised, self.source)
        return recording


def _from_the_cell(raised: BaseException, source: Source) -> BaseException:
    """An error whose traceback starts in the cell: our frames above it have nothing to do with it."""
    frames = []
    trace = raised.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    own = [index for index, each in enumerate(frames) if source.owns(each.tb_frame)]
    if own and isinstance(raised, KeyboardInterrupt):
        # Neither do those that it interrupted below the cell, and an exception that they were handling.
        frames[own[-1]].tb_next = None
        raised.__context__ = None
    return raised.with_traceback(frames[own[0]] if own else None)


@magics_class
class AutogradMagics(Magics):
    """The magics that `%load_ext viz` registers."""

    shell: Any
    _watching = False

    @_can_be_silenced
    @magic_arguments()
    @argument("what", nargs="?", choices=["on", "off"], help="draw the last tensor of every cell that follows")
    @argument("--engine", choices=NAMES, help="the engine whose ops to watch; by default it is found from the cell")
    @argument(
        "--compare", action="store_true", help="run the cell, written with T, on both engines, separately from here"
    )
    @argument("--step", action="store_true", help="start at the first step instead of the last")
    @line_cell_magic
    def autograd(self, line: str, cell: str | None = None) -> Any:
        """Run a cell and show its graph, forward and backward: `%%autograd`; or `%autograd on`, `%autograd off`."""
        __tracebackhide__ = True  # IPython hides this frame in tracebacks
        options = parse_argstring(self.autograd, line)
        if cell is None:
            if options.what is None or options.engine or options.compare or options.step:
                raise UsageError("%autograd on, %autograd off, or %%autograd above a cell")
            self._watch(options.what == "on")
            return None
        if options.what is not None:
            raise UsageError(f"%autograd {options.what} belongs into a separate cell, with one %")
        if options.compare and options.engine:
            raise UsageError("--compare runs the cell on both engines: leave --engine out")
        text = cell.strip("\n")
        code = self._python(text, "%%autograd")
        if options.compare:
            names = names_in(tree_of(code)) - {"T"} & set(self.shell.user_ns)
            named = {name: self.shell.user_ns[name] for name in names}
            display(ComparisonView(compare(code, inputs=named), step=0 if options.step else -1))
            return None
        used = own.engines_of(code, self.shell.user_ns)
        engine = options.engine or (used[0] if used else CORE)
        mixed = len(used) > 1 and not options.engine
        return self._show(text, code, engine, step=0 if options.step else -1, mixed=mixed)

    @_can_be_silenced
    @magic_arguments()
    @argument("--engine", choices=NAMES, help="the engine whose ops to watch; by default it is found from the cell")
    @cell_magic
    def diagnose(self, line: str, cell: str) -> Any:
        """Run a cell, and say why a gradient is None, zero or nan, or why the model does not learn: `%%diagnose`."""
        __tracebackhide__ = True
        options = parse_argstring(self.diagnose, line)
        text = cell.strip("\n")
        code = self._python(text, "%%diagnose")
        engine = engines.load(options.engine) if options.engine else own.engine_of(code, self.shell.user_ns)
        running = Cell(text, code, engine, self.shell)
        source = copy.copy(running.source)  # with the magic as line 1, as Jupyter and its tracebacks count
        source.text, source.first = f"# %%diagnose\n{code}", 1
        run = Run(engine, source, limit=math.inf, namespace=self.shell.user_ns, execute=running.execute)
        with run.trials():
            report = run.conclude(run.observe())
        raised = run.raised or running.raised
        if raised is not None:
            self._below(lambda: display(report))
            raise _from_the_cell(raised, source)
        display(report)
        return running.result

    @_can_be_silenced
    @cell_magic
    def explore(self, line: str, cell: str) -> None:
        """Show a cell with its switches: `%%explore`. Each change runs it again, and the notebook stays as it is."""
        __tracebackhide__ = True
        display(Explorer(parse(self._python(cell.strip("\n"), "%%explore"), self.shell.user_ns)))

    def _python(self, text: str, magic: str) -> str:
        """The cell as Python: `!ls` and `%time` become calls, line by line."""
        code: str = text
        try:
            code = self.shell.transform_cell(text).rstrip("\n")
            compile(code, "<cell>", "exec", dont_inherit=True)
        except SyntaxError as error:
            hint = (
                f": move asynchronous code into a cell without {magic}"
                if "await" in error.msg or "async" in error.msg
                else ""
            )
            number = error.lineno or 1
            raise UsageError(
                f"`{code.splitlines()[number - 1].strip()}` in line {number} is not Python: {error.msg}{hint}"
            ) from None
        return code

    def _show(self, text: str, code: str, engine: str, step: int, mixed: bool) -> Any:
        """Run the cell; show what it printed last, its player, and any notes. Returns or raises what the cell does."""
        __tracebackhide__ = True
        running = Cell(text, code, engines.load(engine), self.shell)
        read = sorted(flow(tree_of(code))[0] & self.shell.user_ns.keys())
        outer = {name: self.shell.user_ns[name] for name in read}  # what the cell takes from the notebook
        recording = running.record()
        print(end_of(recording.stdout[AT_ONCE:]), end="")
        player = Player(recording, link=link.answer(code, outer))
        player.step = step % len(player.scene["steps"])
        notes = []
        if mixed:
            notes.append(BOTH.format(shown=engine, other=CORE if engine == TORCH else TORCH))
        if running.cut is not None:
            notes.append(f"The picture ends at line {running.cut}, after {STEPS:,} steps; the cell ran on without it.")
        if recording.graph.ops and recording.graph.note:
            notes.append(recording.graph.note)
        if running.raised is not None:
            notes.append(explain(type(running.raised).__name__, str(running.raised)))
            if engine == CORE and not_built(recording, None):
                notes.append(ON_PYTORCH)

        def show() -> None:
            display(player)
            for note in filter(None, notes):
                print(note)

        if running.raised is not None:
            self._below(show)
            raise running.raised
        show()
        return running.result

    def _below(self, show: Callable[[], None]) -> None:
        """Show something below the traceback of this cell, which is so long that what is above it is out of sight."""

        def after() -> None:
            self.shell.events.unregister("post_execute", after)
            show()

        self.shell.events.register("post_execute", after)

    def _watch(self, wanted: bool) -> None:
        if wanted == self._watching:
            return
        self._watching = wanted
        change = self.shell.events.register if wanted else self.shell.events.unregister
        change("post_run_cell", self._after_cell)

    def _after_cell(self, result: Any) -> None:
        source = result.info.raw_cell
        if not result.success or not isinstance(source, str) or source.lstrip().startswith("%%"):
            return
        # Names have an underscore because `draw` also looks for variable names here.
        _last = _last_tensor(self.shell.transform_cell(source), result.result, self.shell.user_ns)
        engine = engines.of(_last)
        if engine is not None:
            named = [name for name in self.shell.user_ns if not name.startswith("_") and name not in ("In", "Out")]
            names = {
                name + path: tensor for name in named for path, tensor in tensors_in(self.shell.user_ns[name], engine)
            }
            display(draw(_last, names=names))


def _last_tensor(source: str, result: Any, namespace: dict[str, Any]) -> Any:
    """The value of the cell if it is a tensor, else the last tensor that the cell assigned."""
    if engines.of(result) is not None:
        return result
    stored = [
        node for node in ast.walk(tree_of(source)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    for node in sorted(stored, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        if engines.of(namespace.get(node.id)) is not None:
            return namespace[node.id]
    return None
