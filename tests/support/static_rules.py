"""A plugin for mypy: the functions in the body of an op are static, as `Op` makes them, so that `self` is an array there."""

from collections.abc import Callable

from mypy.nodes import Decorator, FuncDef
from mypy.plugin import ClassDefContext, Plugin

OPS = "tinygrad_edu.ops.op.Op"


class StaticRules(Plugin):
    def get_base_class_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        return make_static if fullname.startswith("tinygrad_edu.") else None


def make_static(context: ClassDefContext) -> None:
    """Mark the public functions of a subclass of `Op`, as `Op._read` does when the class is made."""
    if not any(base.fullname == OPS for base in context.cls.info.mro[1:]):
        return
    for statement in context.cls.defs.body:
        function = statement.func if isinstance(statement, Decorator) else statement
        if isinstance(function, FuncDef) and not function.name.startswith("_"):
            function.is_static = True


def plugin(version: str) -> type[Plugin]:
    """What mypy asks for."""
    return StaticRules
