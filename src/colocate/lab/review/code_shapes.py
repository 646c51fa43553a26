"""Shapes of code: what a few lines are, whatever their names."""

import ast
from collections.abc import Collection, Iterator, Sequence

Loop = ast.For | ast.While
Function = ast.FunctionDef | ast.AsyncFunctionDef


def inside_of(loop: Loop) -> Iterator[ast.AST]:
    """Yield the nodes in a loop, without functions that are defined there."""
    waiting: list[ast.AST] = [*loop.body]
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, Function | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def halves(inside: Sequence[ast.AST]) -> bool:
    """Whether a name becomes the middle of two others, and one of them becomes that name."""
    assigns = [node for node in inside if isinstance(node, ast.Assign)]
    given = {
        (target.id, node.value.id)
        for node in assigns
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Name)
    }
    return any(
        isinstance(node.targets[0], ast.Name) and (end, node.targets[0].id) in given
        for node in assigns
        for end in _middle_of(node.value)
    )


def _middle_of(value: ast.expr) -> tuple[str, ...]:
    """Return the two names that an expression is the middle of, or nothing."""
    if not isinstance(value, ast.BinOp):
        return ()
    half = isinstance(value.op, ast.Div | ast.FloorDiv) and is_number(value.right, 2)
    half = half or (isinstance(value.op, ast.Mult) and is_number(value.right, 0.5))
    swapped = isinstance(value.op, ast.Mult) and is_number(value.left, 0.5)
    inner = value.left if half else value.right if swapped else None
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add):
        sides = (inner.left, inner.right)
        return tuple(each.id for each in sides if isinstance(each, ast.Name))
    return ()


def moves_items(inside: Sequence[ast.AST]) -> bool:
    """Whether items leave one collection and join another."""
    functions = [node.func for node in inside if isinstance(node, ast.Call)]
    called = {each.attr for each in functions if isinstance(each, ast.Attribute)}
    return bool(called & {"remove", "pop", "discard"}) and bool(
        called & {"append", "insert", "add"}
    )


def swaps_items(inside: Sequence[ast.AST]) -> bool:
    """Whether two items change places, by two statements or by four."""
    for node in inside:
        for statements in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(statements, list) and (
                _both_leave(statements) or _both_change(statements)
            ):
                return True
    return False


def _both_leave(statements: Sequence[ast.stmt]) -> bool:
    """Whether two items leave a collection, and two join one, in one row of statements."""
    plain = [each for each in statements if isinstance(each, ast.Expr | ast.Assign)]
    called = [each.value.func for each in plain if isinstance(each.value, ast.Call)]
    names = [each.attr for each in called if isinstance(each, ast.Attribute)]
    left = sum(name in ("remove", "pop", "discard") for name in names)
    return left >= 2 and sum(name in ("append", "insert", "add") for name in names) >= 2


def _both_change(statements: Sequence[ast.stmt]) -> bool:
    """Whether two places are read, and each is then given what the other held."""
    read: dict[str, str] = {}
    written: dict[str, str] = {}
    for each in statements:
        if isinstance(each, ast.Assign):
            target, value = each.targets[0], each.value
            if isinstance(target, ast.Name) and isinstance(value, ast.Subscript):
                read[_spelt(value)] = target.id
            elif isinstance(target, ast.Subscript) and isinstance(value, ast.Name):
                written[_spelt(target)] = value.id
    places = [place for place in written if place in read]
    return any(
        one != other and written[one] == read[other] and written[other] == read[one]
        for one in places
        for other in places
    )


def is_emptied(node: ast.AST) -> bool:
    """Whether a place of a collection becomes an empty list."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.List):
        return False
    return not node.value.elts and isinstance(node.targets[0], ast.Subscript)


def takes_place(node: ast.stmt, places: Collection[str]) -> bool:
    """Whether a statement keeps the place that a loop is at, or puts something there."""
    if isinstance(node, ast.Assign):
        return isinstance(node.value, ast.Name) and node.value.id in places
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    owner = call.func.value
    there = isinstance(owner, ast.Subscript) and _is_name(owner.slice, *places)
    return there and call.func.attr in ("append", "add")


def is_swap(node: ast.Assign) -> bool:
    """Whether two places of collections exchange what they hold."""
    target, value = node.targets[0], node.value
    if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)):
        return False
    ours, theirs = ([_spelt(each) for each in pair.elts] for pair in (target, value))
    places = all(isinstance(each, ast.Subscript) for each in target.elts)
    return places and len(ours) == 2 and ours == theirs[::-1]


def _spelt(node: ast.expr) -> str:
    """Return a place as text, whether it is read or written."""
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return ""


def calls_itself(node: Function) -> bool:
    """Whether a function names itself in a call."""
    return any(isinstance(n, ast.Call) and _is_name(n.func, node.name) for n in ast.walk(node))


def is_flag(test: ast.expr) -> bool:
    """Whether a loop goes on while something is still true, such as `improved`."""
    return isinstance(test, ast.Name)


def never_ends(loop: ast.While, inside: Sequence[ast.AST]) -> bool:
    """Whether nothing ends a loop."""
    endless = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    return endless and not any(isinstance(n, ast.Break | ast.Return | ast.Raise) for n in inside)


def is_square(node: ast.AST) -> bool:
    """Whether an expression is a square."""
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, ast.Pow):
        return is_number(node.right, 2)
    same = isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Name)
    return same and _is_name(node.right, names_in(node.left))


def counter_of(node: ast.AST) -> str:
    """Return the name that a statement raises by one; empty for any other."""
    if not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add):
        return ""
    one = isinstance(node.target, ast.Name) and is_number(node.value, 1)
    return names_in(node.target) if one else ""


def is_number(node: ast.expr, value: float) -> bool:
    """Whether an expression is this very number."""
    known = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return known and node.value == value  # type: ignore[attr-defined]


def _is_name(node: ast.expr, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def names_in(node: ast.AST) -> str:
    """Return the names in a piece of code, with blanks between them."""
    return " ".join(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names that a statement gives a value, with the value if it is one expression."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            elif isinstance(target, ast.Tuple):
                yield from ((each.id, None) for each in target.elts if isinstance(each, ast.Name))
    elif isinstance(node, ast.AnnAssign | ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.value if isinstance(node, ast.AnnAssign) else None
    elif isinstance(node, Function):
        yield from defaults(node.args)
    elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
        yield node.target.id, None


def defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the arguments of a function, with their default values."""
    plain = [*arguments.posonlyargs, *arguments.args]
    given: list[ast.expr | None] = [*arguments.defaults]
    missing: list[ast.expr | None] = [None] * (len(plain) - len(given))
    for name, value in zip(plain, missing + given, strict=True):
        yield name.arg, value
    for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield name.arg, value


def as_float(value: object) -> float | None:
    """Return a number as a float, if it is not too long for one."""
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return None
