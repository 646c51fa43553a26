"""Blocks as the text that makes them, and back."""

import ast
from enum import IntEnum
from typing import Any, get_args, get_origin, get_type_hints

from colocate.lab.proposers.composer.grammar import CHOICES
from colocate.solver.construct.greedy import Look
from colocate.solver.construct.orders import Order
from colocate.solver.construct.packing import Fit
from colocate.solver.improve.kicks import Kick
from colocate.solver.improve.ruin import Recreate

CLASSES = {block.__name__: block for block in CHOICES}
ENUMS = {kind.__name__: kind for kind in (Order, Look, Fit, Kick, Recreate)}


def text_of(value: Any) -> str:
    """Return the text that makes a block or a value in one; default parameters are left out."""
    if isinstance(value, IntEnum):
        return f"{type(value).__name__}.{value.name}"
    if type(value) in CHOICES:
        return f"{type(value).__name__}({', '.join(_arguments(value))})"
    if isinstance(value, tuple):
        inner = ", ".join(map(text_of, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def _arguments(block: Any) -> list[str]:
    defaults = block._field_defaults
    values = block._asdict()
    needed = [text_of(value) for field, value in values.items() if field not in defaults]
    told = {field: values[field] for field in defaults if values[field] != defaults[field]}
    return needed + [f"{field}={text_of(value)}" for field, value in told.items()]


def value_of(node: ast.expr) -> Any:
    """Return the block or value that a parsed text makes, without running it.

    Raises
    ------
    ValueError
        If it is anything but a block, a value in one, or a tuple of such.
    """
    match node:
        case ast.Constant(value=bool() | int() | float()):
            return node.value
        case ast.Tuple():
            return tuple(map(value_of, node.elts))
        case ast.Attribute(value=ast.Name(id=kind), attr=name) if kind in ENUMS:
            if name in ENUMS[kind].__members__:
                return ENUMS[kind][name]
        case ast.Call(func=ast.Name(id=name)) if name in CLASSES:
            return _made(node, CLASSES[name])
    raise ValueError(f"found {ast.unparse(node)!r}, expected a block or a value in one")


def _made(call: ast.Call, block: type) -> Any:
    named = {str(keyword.arg): value_of(keyword.value) for keyword in call.keywords}
    try:
        made = block(*map(value_of, call.args), **named)
    except TypeError as error:
        raise ValueError(f"{ast.unparse(call)!r}: {error}") from error
    for (field, hint), value in zip(get_type_hints(block).items(), made, strict=True):
        if not _is_a(value, hint):
            raise ValueError(f"{ast.unparse(call)!r}: {field} is {value!r}, must be {hint}")
    return made


def _is_a(value: object, hint: Any) -> bool:
    if get_origin(hint) is tuple and isinstance(value, tuple):
        return all(type(item) is get_args(hint)[0] for item in value)
    return type(value) is hint
