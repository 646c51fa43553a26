"""Kernels as plain Python on lists: the same steps, without arrays.

Programs of the lab run without a compiler, where reading an element of a list is several times
faster than reading one of an array. The public form has one time window, no further resource and no
rules, so a loop over windows shrinks to its body, and the rest disappears. A task that has windows,
or copies of models, keeps what it needs.

Only the spelling changes. Code that no rule covers stays the same, and fails when it runs.
"""

import ast
from collections.abc import Sequence
from copy import deepcopy
from functools import cache

from colocate.arena.source.program_tree import expression_tree, module_tree

TABLES = (".load", ".use")
"""How the names of arrays with a column for each window, or for each resource, end."""
KERNEL_DECORATORS = ("entry_kernel", "kernel", "kernel_section", "leaf_kernel", "leaf_section")

RULES = {
    "Floats": "list",
    "Ints": "list",
    "tuple[T, ...]": "tuple",
    "cast(T, X)": "X",
    "A.shape[0]": "len(A)",
    "A[I, J]": "A[I][J]",
    "A.max()": "max(A)",
    "A.sum()": "sum(A)",
    "A.mean()": "sum(A) / len(A)",
    "A.tolist()": "list(A)",
    "np.array(A, dtype=np.int64).reshape(-1, 2)": "list(A)",
    "np.argsort(A, kind='mergesort')": "sorted(range(len(A)), key=A.__getitem__)",
    "np.empty_like(A)": "[0] * len(A)",
    "np.empty(N)": "[0.0] * N",
    "np.empty(N, np.int64)": "[0] * N",
    "np.zeros(N, np.bool_)": "[False] * N",
    "np.zeros(N)": "[0.0] * N",
    "np.full(N, X)": "[X] * N",
    "np.int64(-1)": "-1",
    "np.int64(X)": "int(X)",
    "np.rint(X)": "round(X)",
    "np.isinf(X)": "isinf(X)",
    "np.exp(X)": "exp(X)",
    "np.inf": "inf",
    "np.ones(1, np.int64)": "[1]",
    "A.go[0] == 0": "False",
    "Rules": "None",
}
"""The spelling with arrays, and the one with lists; a single capital letter matches anything."""
ONE_WINDOW = {
    "load.shape[1]": "1",
    "A.load.shape[1]": "1",
    "load[I, J]": "load[I]",
    "A.load[I, J]": "A.load[I]",
    "np.zeros((N, M))": "[0.0] * N",
}
"""Rules without time windows: an array with a column for each is a plain list."""
WINDOWS = {
    "load.shape[1]": "len(load[0])",
    "A.load.shape[1]": "len(A.load[0])",
    "A.load[:, J]": "[each[J] for each in A.load]",
    "np.zeros((N, M))": "[[0.0] * M for _ in range(N)]",
}
"""Rules with time windows: a list of lists."""
NO_COPIES = {
    "A.limit.shape[1]": "0",
    "admits(A, B, C, D, E)": "True",
    "X and (not True)": "False",
}
"""Rules without further limits, where any models may share a GPU."""
COPIES = {
    "A.limit.shape[1]": "len(A.limit[0])",
    "A[I, J, L]": "A[I][J][L]",
    "admits(A, B, C, D, E)": "parted(A, B, C, D, E)",
}
"""Rules with them; the frame of the task defines `parted`."""


def on_lists(definition: ast.stmt, windows: bool = False, copies: bool = False) -> str:
    """Return the text of a function, class or constant in plain Python.

    Parameters
    ----------
    definition
        The parsed source.
    windows, copies
        What the task has beyond the public benchmark, as `Frame` tells it.
    """
    return ast.unparse(plain_tree(definition, windows, copies))


def plain_tree(definition: ast.stmt, windows: bool = False, copies: bool = False) -> ast.stmt:
    """Return a function, class or constant in plain Python, as a tree.

    Parts that no rule changed keep the line numbers of their source.

    Parameters
    ----------
    definition, windows, copies
        As `on_lists` takes them.
    """
    plain: ast.stmt = _Respelling(windows, copies).visit(deepcopy(definition))
    if isinstance(plain, ast.FunctionDef):
        _leave_out_unread(plain)
    return ast.fix_missing_locations(plain)


class _Respelling(ast.NodeTransformer):
    """Applies the rules, and drops code that only the compiler and the type checker need."""

    def __init__(self, windows: bool, copies: bool) -> None:
        self._rows = windows
        self._rules = _rules(windows, copies)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        return _respelt(node, self._rules) if isinstance(node, ast.expr) else node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """Fill a list by an assignment, since lists have no method for that."""
        self.generic_visit(node)
        found: dict[str, ast.expr] = {}
        if not _fits(_FILL, node.value, found):
            return node
        whole, value = (ast.unparse(found[letter]) for letter in "AX")
        if self._rows and whole.endswith(TABLES):
            return module_tree(f"{whole}[:] = [[{value}] * len(each) for each in {whole}]").body[0]
        return module_tree(f"{whole}[:] = [{value}] * len({whole})").body[0]

    def visit_If(self, node: ast.If) -> ast.If | list[ast.stmt]:
        """Leave out branches that never run."""
        self.generic_visit(node)
        return node.orelse if ast.unparse(node.test) == "False" else node

    def visit_For(self, node: ast.For) -> ast.For | list[ast.stmt]:
        self.generic_visit(node)
        turns = ast.unparse(node.iter)
        if turns == "range(0)":
            return []
        leaves = any(isinstance(part, ast.Break | ast.Continue) for part in ast.walk(node))
        return node.body if turns == "range(1)" and not leaves else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.decorator_list = [
            each for each in node.decorator_list if ast.unparse(each) not in KERNEL_DECORATORS
        ]
        node.returns = None
        for argument in node.args.args:
            argument.annotation = None
        node.body = [_untyped(part) for part in _with_short_docstring(node)]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        node.body = _with_short_docstring(node)
        return node


def _respelt(node: ast.expr, rules: Sequence[tuple[ast.expr, ast.expr]]) -> ast.expr:
    """Apply the first rule that fits to an expression."""
    for pattern, spelling in rules:
        found: dict[str, ast.expr] = {}
        if _fits(pattern, node, found):
            filled: ast.expr = _Filling(found).visit(deepcopy(spelling))
            return filled
    return node


def _fits(pattern: object, node: object, found: dict[str, ast.expr]) -> bool:
    """Whether a part of a tree matches a pattern; also records what the letters stand for."""
    if isinstance(pattern, ast.expr_context):
        return True
    if isinstance(pattern, ast.Name) and _is_letter(pattern) and isinstance(node, ast.expr):
        found[pattern.id] = node
        return True
    if type(pattern) is not type(node):
        return False
    if isinstance(pattern, list) and isinstance(node, list):
        pairs = zip(pattern, node, strict=False)
        return len(pattern) == len(node) and all(_fits(*pair, found) for pair in pairs)
    if isinstance(pattern, ast.AST):
        pairs_of_fields = ((getattr(pattern, f), getattr(node, f)) for f in pattern._fields)
        return all(_fits(*pair, found) for pair in pairs_of_fields)
    return pattern == node


def _is_letter(name: ast.Name) -> bool:
    return len(name.id) == 1 and name.id.isupper()


class _Filling(ast.NodeTransformer):
    """Replaces the letters by the parts that they matched."""

    def __init__(self, found: dict[str, ast.expr]) -> None:
        self.found = found

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return deepcopy(self.found[node.id]) if _is_letter(node) else node


def _untyped(part: ast.stmt) -> ast.stmt:
    if not isinstance(part, ast.AnnAssign) or part.value is None:
        return part
    return ast.Assign([part.target], part.value)


def _with_short_docstring(node: ast.FunctionDef | ast.ClassDef) -> list[ast.stmt]:
    """Return a body with the first line of its docstring, and without other bare strings."""
    docstring = ast.get_docstring(node)
    told = [part for part in node.body if not _is_bare_string(part)]
    return [ast.Expr(ast.Constant(docstring.split("\n")[0])), *told] if docstring else told


def _is_bare_string(part: ast.stmt) -> bool:
    return (
        isinstance(part, ast.Expr)
        and isinstance(part.value, ast.Constant)
        and isinstance(part.value.value, str)
    )


def _leave_out_unread(function: ast.FunctionDef) -> None:
    """Drop variables that only a removed loop used."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    function.body = [part for part in function.body if not _is_unread(part, read)]


def _is_unread(part: ast.stmt, read: set[str]) -> bool:
    if not isinstance(part, ast.Assign) or not isinstance(part.targets[0], ast.Name):
        return False
    return part.targets[0].id not in read and not any(
        isinstance(node, ast.Call) for node in ast.walk(part.value)
    )


def _expression(text: str) -> ast.expr:
    return expression_tree(text)


@cache
def _rules(windows: bool, copies: bool) -> list[tuple[ast.expr, ast.expr]]:
    """Return the rules as trees, the narrower ones first."""
    own = (WINDOWS if windows else ONE_WINDOW) | (COPIES if copies else NO_COPIES)
    texts = {**own, **RULES}
    return [(_expression(array), _expression(plain)) for array, plain in texts.items()]


_FILL = _expression("A.fill(X)")
