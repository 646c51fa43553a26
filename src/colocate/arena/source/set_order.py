"""Whether a program may see the order of sets, which follows from the seed of hashes.

The test reads the text alone, and errs on the safe side: a program that passes has no way to come
by a set, or by a hash, that these rules know of. One that does not pass is run twice and compared.
"""

import ast
from typing import TypeGuard

from colocate.arena.source.program_tree import module_tree

MODULES = """
__future__ abc bisect collections copy dataclasses enum functools heapq itertools math numpy
operator random statistics time typing warnings
"""
"""Modules that give no set to a program, and no other way to one."""
NAMES = """
set frozenset hash eval exec compile __import__ getattr globals locals vars dir __builtins__ open
"""
"""Built-in names that lead to a set, a hash, or anything at all."""
ATTRIBUTES = """
attrgetter methodcaller Set KeysView ItemsView
fromfile fromregex genfromtxt loadtxt memmap open_memmap DataSource
_collections_abc _os _random _sys _thread bltns builtins contextlib copyreg ctypes inspect io
os re stdlib_re sys tempfile types weakref
get_type_hints ForwardRef _eval_type singledispatch singledispatchmethod
_copy_dispatch _deepcopy_dispatch safe_eval
"""
"""Names in those modules that do: of functions, of readers of files, of modules that they use, of
what evaluates annotations and other texts, and of tables whose keys are types."""
READERS = """
list tuple sorted len max min sum enumerate zip reversed dict map filter any all iter deque next
"""
"""Functions that take the keys of a dict in their order."""

VIEWS = ("keys", "items")
"""Attributes of a dict that are as good as a set, unless a program only goes through them."""
MODULE_NAME = "__name__"
"""Says whether a program is imported, unless the program binds it."""
LONGEST_READ = 100_000
"""Letters: Python reads them in a second, and nothing can interrupt it. Programs have a tenth."""
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, SystemError)
"""What reading a text that is no program, or one that is nested too deeply, may raise."""


def may_see_order(source: str) -> bool:
    """Whether a program may see the order of sets; True for a text that cannot be read."""
    if len(source) > LONGEST_READ:
        return True
    try:
        return _tree_may_see_order(module_tree(source))
    except UNREADABLE:
        return True


def _tree_may_see_order(tree: ast.Module) -> bool:
    kept = [part for part in tree.body if not _is_left_out(part)]
    if not _may_bind_its_name(kept):
        tree.body = kept
    taken = [part for node in ast.walk(tree) for part in _taken_in_order(node)]
    in_order = {id(part.func) for part in taken if isinstance(part, ast.Call)}
    in_order |= {id(node.func) for node in ast.walk(tree) if _gets_a_plain_name(node)}
    return any(_leads_to_a_set(node, in_order) for node in ast.walk(tree))


def _is_left_out(part: ast.stmt) -> bool:
    """Whether a part does not run where a program is imported: it is under the usual condition."""
    match part:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant("__main__")]
            ),
            orelse=[],
        ):
            return True
    return False


def _may_bind_its_name(parts: list[ast.stmt]) -> bool:
    """Whether the text `__name__` stands anywhere in parts of a program.

    Imports, functions, patterns, assignments and more can bind it, each by a field of its own.
    """
    return any(
        MODULE_NAME in (found if isinstance(found, list) else [found])
        for part in parts
        for node in ast.walk(part)
        for _, found in ast.iter_fields(node)
    )


def _gets_a_plain_name(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether a part is `getattr` with a name in the text, which the attribute then stands for."""
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return not name.startswith("__") and name not in (*VIEWS, *ATTRIBUTES.split())
    return False


def _taken_in_order(node: ast.AST) -> list[ast.expr]:
    """Return what a part of a program does no more with than to go through it."""
    match node:
        case ast.For() | ast.comprehension():
            return [node.iter]
        case ast.Call(func=ast.Name(id=name)) if name in READERS.split():
            return node.args
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return node.comparators
    return []


def _is_a_way(attribute: str) -> bool:
    """Whether an attribute leads to a set, a hash, or anything at all."""
    dunder = attribute.startswith("__") and attribute != "__init__"
    return dunder or attribute in VIEWS or attribute in ATTRIBUTES.split()


def _leads_to_a_set(node: ast.AST, in_order: set[int]) -> bool:
    match node:
        case ast.Set() | ast.SetComp() | ast.Name(id="__name__", ctx=ast.Store()):
            return True
        case ast.Name(id=name):
            return name in NAMES.split() and id(node) not in in_order
        case ast.Attribute(attr=name):
            return _is_a_way(name) and not (name in VIEWS and id(node) in in_order)
        case ast.MatchClass(kwd_attrs=names):
            return any(map(_is_a_way, names))
    return _imports_a_way(node)


def _imports_a_way(node: ast.AST) -> bool:
    """Whether a part imports a module that may lead to a set, or a name in one that does."""
    match node:
        case ast.Import(names=names):
            return any(each.name.split(".")[0] not in MODULES.split() for each in names)
        case ast.ImportFrom(module=module, names=names):
            home = (module or "").split(".")[0]
            whole = home != "math" and any(each.name == "*" for each in names)
            closed = whole or any(each.name in ATTRIBUTES.split() for each in names)
            return closed or home not in MODULES.split()
    return False
