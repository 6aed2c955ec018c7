"""`%%autograd`: a cell runs in the notebook's own namespace, and its graph is there to step through."""

from __future__ import annotations

import ast
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from viz import engines
from viz.draw import draw
from viz.engines import CORE, NAMES, TORCH
from viz.experiments.compare import compare
from viz.recording.record import Recorder
from viz.recording.recording import Recording
from viz.recording.source import Source
from viz.widgets.comparison import ComparisonView
from viz.widgets.explain import explain
from viz.widgets.player import Player


def run_in(namespace: dict[str, Any], source: str, engine: str = CORE) -> tuple[Recording, BaseException | None]:
    """Run `source` in `namespace`, with `T` as the engine for its time; what it recorded, and what it raised."""
    chosen = engines.load(engine)
    missing = object()
    before = namespace.get("T", missing)
    namespace["T"] = chosen.module
    # A notebook holds many tensors; those that this cell does not name are not part of it.
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    program = Source(source)
    recorder = Recorder(chosen, program, namespace=namespace, names=names)
    try:
        recording, raised = recorder.run({}), recorder.raised
        return recording, None if raised is None else _from_the_cell(raised, program)
    finally:
        if before is missing:
            namespace.pop("T", None)
        else:
            namespace["T"] = before


def _from_the_cell(raised: BaseException, program: Source) -> BaseException:
    """`raised` with a traceback that begins in the cell: how it came to be run is of no use to who wrote it."""
    trace = raised.__traceback__
    while trace is not None and not program.owns(trace.tb_frame):
        trace = trace.tb_next
    return raised.with_traceback(trace)


def engine_of(source: str, namespace: dict[str, Any]) -> str:
    """The engine whose module `source` names (by whatever alias the notebook gave it), else the core."""
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    for name in names:
        module = getattr(namespace.get(name), "__name__", name if name in NAMES else "")
        if module.partition(".")[0] == TORCH:
            return TORCH
    for name in names:
        found = engines.of(namespace.get(name))
        if found is not None and found.name == TORCH:
            return TORCH
    return CORE


@magics_class
class AutogradMagics(Magics):
    """The magics that `%load_ext viz` brings."""

    shell: Any
    _watching = False

    @magic_arguments()
    @argument("what", nargs="?", choices=["on", "off"], help="draw the last tensor of every cell that follows")
    @argument("--engine", choices=NAMES, help="whose ops to watch; found out from the cell where not given")
    @argument("--compare", action="store_true", help="run the cell, written with T, on both engines, apart from here")
    @argument("--step", action="store_true", help="begin at the first step instead of the last")
    @line_cell_magic
    def autograd(self, line: str, cell: str | None = None) -> None:
        """Run a cell and show its graph, forward and backward: `%%autograd`; or `%autograd on`, `%autograd off`."""
        __tracebackhide__ = True  # IPython leaves this frame out of what a cell raises
        options = parse_argstring(self.autograd, line)
        if cell is None:
            if options.what is None:
                raise UsageError("%autograd on, %autograd off, or %%autograd above a cell")
            self._watch(options.what == "on")
            return
        source = cell.strip("\n")
        try:
            ast.parse(source)
        except SyntaxError as error:
            raise UsageError(f"line {error.lineno} of the cell is not Python: {error.msg}") from None
        if options.compare:
            used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)} - {"T"}
            given = {name: self.shell.user_ns[name] for name in used if name in self.shell.user_ns}
            display(ComparisonView(compare(source, inputs=given), step=0 if options.step else -1))
            return
        engine = options.engine or engine_of(source, self.shell.user_ns)
        recording, raised = run_in(self.shell.user_ns, source, engine)
        if recording.stdout:
            print(recording.stdout, end="")
        player = Player(recording)
        player.step = 0 if options.step else len(player.scene["steps"]) - 1
        display(player)
        if raised is not None:
            sentence = explain(type(raised).__name__, str(raised))
            if sentence:
                print(sentence)
            raise raised

    def _watch(self, wanted: bool) -> None:
        if wanted == self._watching:
            return
        self._watching = wanted
        change = self.shell.events.register if wanted else self.shell.events.unregister
        change("post_run_cell", self._after_cell)

    def _after_cell(self, result: Any) -> None:
        if not result.success or not isinstance(result.info.raw_cell, str):
            return
        tensor = _last_tensor(result.info.raw_cell, result.result, self.shell.user_ns)
        if tensor is not None:
            display(draw(tensor))


def _last_tensor(source: str, result: Any, namespace: dict[str, Any]) -> Any:
    """The value of the cell if it is a tensor, else the last tensor that it gave a name."""
    if engines.of(result) is not None:
        return result
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a magic of IPython's own
        return None
    for node in sorted(ast.walk(tree), key=lambda node: -getattr(node, "lineno", 0)):
        named = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in namespace
        if named and engines.of(namespace[node.id]) is not None:  # type: ignore[attr-defined]
            return namespace[node.id]  # type: ignore[attr-defined]
    return None
