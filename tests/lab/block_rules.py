"""What the composer demands of the solver's blocks, checked on their sources.

The rules are those of `src/colocate/lab/proposers/composer/README.md`, by number.
"""

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from symtable import SymbolTable, symtable

import numpy as np

from colocate.lab.proposers.composer.plain_python import KERNEL_DECORATORS, plain_tree
from colocate.lab.proposers.composer.source import IMPORTS

PACKAGE = "colocate."
README = "src/colocate/lab/proposers/composer/README.md"
OTHER_DECORATORS = ("dataclass",)
ARRAYS = ("Floats", "Ints")
"""Annotations of arrays."""
ONLY_OF_ARRAYS = {name for name in dir(np.ndarray) if not name.startswith("_")} - set(dir(list))

RULES = {
    1: "a program has room for one definition of a name",
    2: "product code is imported as `from colocate.room.module import name`",
    3: "a module defines names by `def`, `class` or `NAME = value` at its top level",
    4: "a block names only its module, the product, built-ins and what every program imports",
    5: "numpy is spelt as one of the rules in plain_python.py spells it",
    6: "an array with a column for each time window is called `load`",
    7: "a function is decorated by nothing or as a kernel",
    8: "arrays have no methods or attributes that lists lack",
    9: "arithmetic is done on elements, not on whole arrays",
    10: "a slice is a copy: nothing is written into it",
}


@dataclass(frozen=True)
class BrokenRule:
    """A place where a block breaks a rule."""

    file: str
    line: int
    rule: int
    found: str
    remedy: str

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line}: found {self.found}, but {RULES[self.rule]} "
            f"(rule {self.rule} of {README}); {self.remedy}"
        )


@dataclass(frozen=True)
class Module:
    """The source of a module, taken apart."""

    name: str
    file: str
    tree: ast.Module

    @property
    def definitions(self) -> dict[str, ast.stmt]:
        found: dict[str, ast.stmt] = {}
        for part in self.tree.body:
            if isinstance(part, ast.FunctionDef | ast.ClassDef):
                found[part.name] = part
            elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                found[part.targets[0].id] = part
        return found

    def imports(self) -> Iterator[tuple[str, str, str, ast.stmt]]:
        """Yield the name here, the module, the name there, and the statement."""
        for part in ast.walk(self.tree):
            if isinstance(part, ast.ImportFrom) and part.module:
                for alias in part.names:
                    yield alias.asname or alias.name, part.module, alias.name, part
            elif isinstance(part, ast.Import):
                for alias in part.names:
                    yield alias.asname or alias.name.partition(".")[0], alias.name, "", part


class Inspection:
    """Follows blocks through all that they need, and notes which rules are broken.

    Parameters
    ----------
    source_of
        Returns the file and the text of a module.
    """

    def __init__(self, source_of: Callable[[str], tuple[str, str]]) -> None:
        self._source_of = source_of
        self._modules: dict[str, Module] = {}
        self._seen: dict[tuple[str, str], None] = {}
        self.broken: list[BrokenRule] = []

    @property
    def definitions(self) -> list[tuple[str, str]]:
        """Every module and name that was looked at."""
        return list(self._seen)

    def look_at(self, module: str, name: str) -> None:
        """Check a definition and all that it needs."""
        if (module, name) in self._seen:
            return
        self._seen[module, name] = None
        home = self._module(module)
        part = home.definitions[name]
        for other, same in self._seen:
            if same == name and other != module:
                found = f"a second {name!r}, the first is in {other}"
                self._note(home, part, 1, found, "rename one of the two")
        plain = plain_tree(part)
        self.broken += _spelling(home.file, part, plain)
        for free in sorted(_free_names(plain)):
            self._follow(home, part, free)

    def _module(self, name: str) -> Module:
        if name not in self._modules:
            file, text = self._source_of(name)
            self._modules[name] = Module(name, file, ast.parse(text))
        return self._modules[name]

    def _follow(self, home: Module, part: ast.stmt, free: str) -> None:
        """Find out where a name comes from."""
        if free in AVAILABLE:
            return
        if free in home.definitions:
            self.look_at(home.name, free)
            return
        node = next((n for n in ast.walk(part) if _names(n, free)), part)
        for here, module, there, statement in home.imports():
            if here != free:
                continue
            if not module.startswith(PACKAGE):
                remedy = "do without it, or let `IMPORTS` in source.py import it for every program"
                self._note(home, node, 4, f"{free!r} of {module!r}", remedy)
            elif here != there:
                remedy = "import the name itself, without `as`"
                self._note(home, statement, 2, f"`{ast.unparse(statement)}`", remedy)
            else:
                self.look_at(module, there)
            return
        bound = next((n for n in ast.walk(home.tree) if _binds(n, free)), None)
        if bound is not None and not _is_within(bound, part):
            remedy = f"define {free} by itself, as `{free} = ...`, without an annotation"
            self._note(home, bound, 3, f"{free!r} bound in another way", remedy)
        elif bound is not None:
            remedy = "use it only as the second index of `load`: there is one window, so no loop"
            self._note(home, node, 6, f"{free!r} where its loop over windows is gone", remedy)
        else:
            remedy = "define it in the module or import it from the product"
            self._note(home, node, 4, f"{free!r}, which nothing defines", remedy)

    def _note(self, home: Module, node: ast.AST, rule: int, found: str, remedy: str) -> None:
        line = getattr(node, "lineno", 1)
        self.broken.append(BrokenRule(home.file, line, rule, found, remedy))


def _spelling(file: str, part: ast.stmt, plain: ast.stmt) -> Iterator[BrokenRule]:
    """Yield what the rewriter leaves or changes in meaning."""
    for line, rule, found, remedy in (
        *_decorated(part),
        *_left_of_numpy(plain),
        *_whole_arrays(part),
        *_written_slices(part),
    ):
        yield BrokenRule(file, line, rule, found, remedy)


Finding = tuple[int, int, str, str]
"""Line, rule, what was found, remedy."""


def _decorated(part: ast.stmt) -> Iterator[Finding]:
    for node in ast.walk(part):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for each in node.decorator_list:
                bare = each.func if isinstance(each, ast.Call) else each
                name = ast.unparse(bare)
                if name not in (*KERNEL_DECORATORS, *OTHER_DECORATORS):
                    kernels = ", ".join(KERNEL_DECORATORS)
                    remedy = f"take it away or use one of {kernels}"
                    yield each.lineno, 7, f"@{ast.unparse(each)}", remedy


def _left_of_numpy(plain: ast.stmt) -> Iterator[Finding]:
    """Yield what of arrays is still there after the rewriting."""
    fields = _fields(plain)
    for node in ast.walk(plain):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np":
            remedy = f"spell it another way, or add a rule for `{ast.unparse(node)}` to RULES there"
            yield node.lineno, 5, f"`{ast.unparse(node)}`", remedy
        elif isinstance(node, ast.Attribute) and node.attr == "shape":
            remedy = "use `A.shape[0]`, `load.shape[1]` or `A.limit.shape[1]`"
            yield node.lineno, 6, f"`{ast.unparse(node)}`", remedy
        elif isinstance(node, ast.Attribute) and node.attr in ONLY_OF_ARRAYS - FIELDS - fields:
            remedy = "write a loop, or add a rule to RULES in plain_python.py"
            yield node.lineno, 8, f"`.{node.attr}` of an array", remedy
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            yield node.lineno, 6, f"`{ast.unparse(node)}`", "use one or two indices"


def _whole_arrays(part: ast.stmt) -> Iterator[Finding]:
    for function in ast.walk(part):
        if not isinstance(function, ast.FunctionDef):
            continue
        annotated = [each for each in function.args.args if each.annotation]
        arrays = {each.arg for each in annotated if ast.unparse(each.annotation) in ARRAYS}
        for node in ast.walk(function):
            for operand in _operands(node):
                if isinstance(operand, ast.Name) and operand.id in arrays:
                    found = f"`{ast.unparse(node)}` on the whole of {operand.id!r}"
                    yield operand.lineno, 9, found, "write a loop over its elements"


def _operands(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.value] + ([node.target] if isinstance(node.target, ast.Name) else [])
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return [node.operand]
    if isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Is | ast.IsNot):
        return [node.left, *node.comparators]
    return []


def _written_slices(part: ast.stmt) -> Iterator[Finding]:
    for function in ast.walk(part):
        if not isinstance(function, ast.FunctionDef):
            continue
        slices = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript)
            if any(isinstance(each, ast.Slice) for each in ast.walk(node.value.slice))
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                whole = node.value
                if isinstance(whole, ast.Name) and whole.id in slices:
                    remedy = "write into the array itself, with the offset added to the index"
                    yield node.lineno, 10, f"`{ast.unparse(node)} = ...`, a slice", remedy


def _free_names(plain: ast.stmt) -> set[str]:
    """Return the names that a definition takes from around it."""
    own = {plain.name} if isinstance(plain, ast.FunctionDef | ast.ClassDef) else set()
    return set(_globals(symtable(ast.unparse(plain), "<block>", "exec"))) - own


def _globals(table: SymbolTable) -> Iterator[str]:
    for symbol in table.get_symbols():
        at_top = table.get_type() == "module"
        if symbol.is_global() or (at_top and symbol.is_referenced() and not symbol.is_assigned()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _globals(child)


def _fields(tree: ast.AST) -> set[str]:
    return {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def _names(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _binds(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _is_within(node: ast.AST, part: ast.stmt) -> bool:
    return any(each is node for each in ast.walk(part))


AVAILABLE = {alias.name for part in ast.parse(IMPORTS).body for alias in part.names}
AVAILABLE = (AVAILABLE - {"numpy"}) | {"np"} | set(dir(builtins))
"""Names that every program has."""

FIELDS = {"size"}
"""Fields of an instance that arrays have as well."""
