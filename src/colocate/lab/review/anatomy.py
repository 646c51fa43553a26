"""The blocks that a program is made of, from its syntax tree."""

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from colocate.lab.patches.evolve_block import sections
from colocate.lab.patches.refusal import PatchRefused
from colocate.lab.patches.syntax import ENTRY, syntax_tree, tree_key

COMPOSITION = ("STARTS", "EACH", "FINISH")
"""The constants in which a composed program names its blocks."""

LONGEST_SETTING = 60
"""Letters of a setting in the name of a block: sentences hold several of them."""
BUILT_IN = frozenset(dir(builtins))
MOST_KEPT = 4096
"""Programs whose anatomy is cached: every review looks at all of them again."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Assignment = ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class Anatomy:
    """The blocks of a program."""

    key: str
    """Equal for programs that are the same to Python."""
    blocks: frozenset[str]


@dataclass(frozen=True)
class _Part:
    """A function, class or constant at the top level of a program."""

    key: str
    """Its syntax key, see `syntax_key`."""
    names: frozenset[str]
    """All names in it."""


@lru_cache(MOST_KEPT)
def anatomy(source: str) -> Anatomy:
    """Take a program apart.

    The blocks of a composed program are the calls in its composition, with their settings that are
    not calls themselves: `Packing(Fit.BEST, Order.VIRTUAL)`. The blocks of any other program are
    the functions that its evolve block uses and the entry can reach.

    Parameters
    ----------
    source
        The text of a program; one that does not compile has no blocks.
    """
    try:
        tree = syntax_tree(source)
        cut = sections(source.split("\n"), "the program")
    except PatchRefused:
        return Anatomy(source, frozenset())
    first = len(cut.before) + 1
    lines = range(first, first + len(cut.inside))
    blocks = frozenset(_composed(tree)) or frozenset(_used_functions(tree, lines))
    return Anatomy(tree_key(tree), blocks)


def bare_name(block: str) -> str:
    """Return the name of a block without its settings."""
    return block.partition("(")[0]


def differ_in_one_block(one: str, other: str) -> bool:
    """Whether two programs differ only in one block, or in the settings of one.

    Top-level parts that do not name the block must be the same if both programs have them.
    """
    here, there = anatomy(one).blocks, anatomy(other).blocks
    names = {bare_name(block) for block in here ^ there}
    if max(len(here - there), len(there - here)) != 1 or len(names) != 1:
        return False
    (root,) = (name.partition(".")[0] for name in names)
    mine, theirs = _parts(one), _parts(other)
    shared = ((mine[name], theirs[name]) for name in mine.keys() & theirs)
    return all(a.key == b.key or root in a.names | b.names for a, b in shared)


@lru_cache(MOST_KEPT)
def _parts(source: str) -> Mapping[str, _Part]:
    return {name: _part(statement) for name, statement in _bindings(syntax_tree(source))}


def _part(statement: ast.stmt) -> _Part:
    names = frozenset(each.id for each in ast.walk(statement) if isinstance(each, ast.Name))
    return _Part(tree_key(ast.Module([statement], [])), names)


def _bindings(tree: ast.Module) -> Iterator[tuple[str, Definition | Assignment]]:
    """Yield the names at the top level, with their definitions."""
    for node in tree.body:
        if isinstance(node, Definition):
            yield node.name, node
        elif isinstance(node, Assignment):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, node) for target in targets if isinstance(target, ast.Name))


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    bound = ((name, node) for name, node in _bindings(tree) if isinstance(node, Assignment))
    return {name: node.value for name, node in bound if node.value}


def _composed(tree: ast.Module) -> Iterator[str]:
    """Yield the calls in the composition, and in the constants that it names."""
    constants = _constants(tree)
    waiting = [constants[name] for name in COMPOSITION if name in constants]
    seen = set(COMPOSITION)
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Name) and node.id in constants and node.id not in seen:
                seen.add(node.id)
                waiting.append(constants[node.id])
            elif isinstance(node, ast.Call) and _dotted(node.func) not in BUILT_IN | {""}:
                yield _spelt(node, constants)


def _spelt(call: ast.Call, constants: Mapping[str, ast.expr]) -> str:
    settings = [_setting(value, constants) for value in call.args]
    for keyword in call.keywords:
        value = _setting(keyword.value, constants)
        name = f"{keyword.arg}=" if keyword.arg else "**"
        settings.append(value and f"{name}{value}")
    told = ", ".join(filter(None, settings))
    return _dotted(call.func) + (f"({told})" if told else "")


def _setting(value: ast.expr, constants: Mapping[str, ast.expr]) -> str:
    """Return a setting as text; empty if it holds blocks, which count separately."""
    if isinstance(value, ast.Name):
        value = constants.get(value.id, value)
    for node in ast.walk(value):
        if isinstance(node, ast.Call) or (isinstance(node, ast.Name) and node.id in constants):
            return ""
    try:
        text = ast.unparse(value)
    except (RecursionError, ValueError):
        # A sum of thousands of terms, or a number of thousands of digits.
        return "..."
    return text if len(text) <= LONGEST_SETTING else f"{text[: LONGEST_SETTING - 3]}..."


def _used_functions(tree: ast.Module, lines: range) -> Iterator[str]:
    """Yield own functions that are named, and imported ones that are called, on these lines."""
    own = _definitions(tree).keys() - {ENTRY}
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for node in _reached(tree):
        if isinstance(node, ast.Name) and node.id in own and node.lineno in lines:
            yield node.id
        elif isinstance(node, ast.Call) and node.lineno in lines:
            name = _dotted(node.func)
            if name.partition(".")[0] in imported:
                yield name


def _reached(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes that run when the program is loaded and its entry is called."""
    definitions = _definitions(tree)
    seen = {ENTRY}
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.Name) and node.id in definitions and node.id not in seen:
            seen.add(node.id)
            waiting.append(definitions[node.id])
        for child in ast.iter_child_nodes(node):
            # Definitions wait until something names them; methods are part of their class.
            waits = isinstance(child, Definition) and not isinstance(node, ast.ClassDef)
            if not waits or child is definitions.get(ENTRY):
                waiting.append(child)


def _definitions(tree: ast.Module) -> dict[str, Definition]:
    """Return functions and classes at any depth, without methods, which have no name alone."""
    found = [node for node in ast.walk(tree) if isinstance(node, Definition)]
    methods = {part for node in found if isinstance(node, ast.ClassDef) for part in node.body}
    return {node.name: node for node in found if node not in methods}


def _dotted(node: ast.expr) -> str:
    """Return a dotted name; empty for any other expression."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return ".".join([node.id, *names]) if isinstance(node, ast.Name) else ""
