"""The blocks that a program is made of, from its syntax tree."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from colocate.lab.patches.evolve_block import sections
from colocate.lab.patches.refusal import PatchRefused
from colocate.lab.patches.syntax import ENTRY, syntax_tree, tree_key
from colocate.lab.review.composition import (
    Definition,
    bindings,
    composed_blocks,
    elements_of,
    seeds_of,
)
from colocate.lab.review.mechanism import Mechanism
from colocate.lab.review.mechanisms import CodeSpot, Finder

MOST_KEPT = 4096
"""Programs whose anatomy is cached: every review looks at all of them again."""


@dataclass(frozen=True)
class Anatomy:
    """The blocks of a program.

    Parameters
    ----------
    key
        Equal for programs that are the same to Python.
    blocks
        Their names, with their settings.
    mechanisms
        Of a program without a composition: what it does, and where, in the order of the code.
    functions
        Of a program without a composition: its own functions that run.
    groups
        Of a composed program: the blocks of each constant of the composition.
    elements
        Of a composed program: the text of each element of these constants.
    seeds
        Of a composed program: the constants that only decide which random numbers come.
    """

    key: str
    blocks: frozenset[str]
    mechanisms: tuple[Mechanism, ...] = ()
    functions: frozenset[str] = frozenset()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    elements: tuple[tuple[str, tuple[str, ...]], ...] = ()
    seeds: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of its blocks without their settings."""
        return frozenset(map(bare_name, self.blocks))

    def group_of(self, name: str) -> str:
        """Return the constant of the composition that holds a block of that name, if any."""
        holding = (
            group for group, blocks in self.groups if name in {bare_name(each) for each in blocks}
        )
        return next(holding, "")

    def holder_of(self, name: str) -> str:
        """Return the function that holds a mechanism of that name; empty if none does."""
        held = (each.where for each in self.mechanisms if bare_name(each.block) == name)
        return next(held, "")


@dataclass(frozen=True)
class _Part:
    """A function, class or constant at the top level of a program."""

    key: str
    """Its syntax key, see `syntax_key`."""
    names: frozenset[str]
    """All names in it."""


@lru_cache(MOST_KEPT)
def anatomy(source: str, entry: str = ENTRY) -> Anatomy:
    """Take a program apart.

    The blocks of a composed program are the calls in its composition, with their settings that are
    not calls themselves: `Packing(Fit.BEST, Order.VIRTUAL)`. The blocks of any other program are
    the functions that its evolve block uses and the entry can reach, and their mechanisms.

    Parameters
    ----------
    source
        The text of a program; one that does not compile has no blocks.
    entry
        The function that the task calls.
    """
    try:
        tree = syntax_tree(source)
        cut = sections(source.split("\n"), "the program")
    except PatchRefused:
        return Anatomy(source, frozenset())
    groups = tuple(composed_blocks(tree))
    if groups:
        blocks = frozenset(block for _, held in groups for block in held)
        elements, seeds = tuple(elements_of(tree)), tuple(seeds_of(tree))
        return Anatomy(tree_key(tree), blocks, groups=groups, elements=elements, seeds=seeds)
    first = len(cut.before) + 1
    lines = range(first, first + len(cut.inside))
    functions = frozenset(_used_functions(tree, lines, entry))
    found = Finder(tree, _places(tree, lines, entry)).all()
    mechanisms = tuple(dict.fromkeys(found))
    blocks = functions | {each.block for each in mechanisms}
    return Anatomy(tree_key(tree), blocks, mechanisms, functions)


def likely_entry(source: str) -> str:
    """Return the function that a program is made for: the usual one, or the last that runs last.

    That is the last function at the top level that no other part of the program names.
    """
    try:
        tree = syntax_tree(source)
    except PatchRefused:
        return ENTRY
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if ENTRY in names:
        return ENTRY
    return next((name for name in reversed(names) if name not in used), ENTRY)


def bare_name(block: str) -> str:
    """Return the name of a block without its settings."""
    return block.partition("(")[0]


def differ_in_one_block(one: str, other: str, entry: str = ENTRY) -> bool:
    """Whether two programs differ only in one block, or in the settings of one.

    The mechanisms of a function that only one of them has are part of that function. Top-level
    parts that neither name the block nor hold it must be the same if both programs have them.

    Parameters
    ----------
    one, other
        The texts of the programs.
    entry
        The function that the task calls.
    """
    mine, theirs = anatomy(one, entry), anatomy(other, entry)
    new = mine.functions ^ theirs.functions
    here, there = (_units(each, new) for each in (mine, theirs))
    names = {bare_name(block) for block in here ^ there}
    if max(len(here - there), len(there - here)) != 1 or len(names) != 1:
        return False
    (name,) = names
    root = name.partition(".")[0]
    held = {m.part for each in (mine, theirs) for m in each.mechanisms if m.name == name}
    my_parts, their_parts = _parts(one), _parts(other)
    shared = ((part, my_parts[part], their_parts[part]) for part in my_parts.keys() & their_parts)
    return all(a.key == b.key or root in a.names | b.names or part in held for part, a, b in shared)


def _units(found: Anatomy, new: frozenset[str]) -> frozenset[str]:
    """Return the blocks without those that came with a new function."""
    kept = {each.block for each in found.mechanisms if not {each.where, each.part} & new}
    elsewhere = {each.block for each in found.mechanisms} - kept
    return found.blocks - elsewhere


@lru_cache(MOST_KEPT)
def _parts(source: str) -> Mapping[str, _Part]:
    return {name: _part(statement) for name, statement in bindings(syntax_tree(source))}


def _part(statement: ast.stmt) -> _Part:
    names = frozenset(each.id for each in ast.walk(statement) if isinstance(each, ast.Name))
    return _Part(tree_key(ast.Module([statement], [])), names)


def _used_functions(tree: ast.Module, lines: range, entry: str) -> Iterator[str]:
    """Yield own functions and classes that are named on these lines."""
    own = _definitions(tree).keys() - {entry}
    for node in _reached(tree, entry):
        if isinstance(node, ast.Name) and node.id in own and node.lineno in lines:
            yield node.id


def _places(tree: ast.Module, lines: range, entry: str) -> list[CodeSpot]:
    """Return the nodes that run on these lines, in their order, with what surrounds them."""
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found = []
    for node in _reached(tree, entry):
        if getattr(node, "lineno", 0) in lines:
            around = list(_surrounding(node, above))
            inner = next((each.name for each in around if not isinstance(each, ast.ClassDef)), "")
            found.append((CodeSpot(node, inner, around[-1].name if around else ""), node))
    found.sort(key=lambda each: (each[1].lineno, each[1].col_offset))  # type: ignore[attr-defined]
    return [place for place, _ in found]


def _surrounding(node: ast.AST, above: Mapping[ast.AST, ast.AST]) -> Iterator[Definition]:
    """Yield the definitions around a node, the innermost first, itself if it is one."""
    at: ast.AST | None = node
    while at is not None:
        if isinstance(at, Definition):
            yield at
        at = above.get(at)


def _reached(tree: ast.Module, entry: str) -> Iterator[ast.AST]:
    """Yield the nodes that run when the program is loaded and its entry is called."""
    definitions = _definitions(tree)
    seen = {entry}
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
            if not waits or child is definitions.get(entry):
                waiting.append(child)


def _definitions(tree: ast.Module) -> dict[str, Definition]:
    """Return functions and classes at any depth, without methods, which have no name alone."""
    found = [node for node in ast.walk(tree) if isinstance(node, Definition)]
    methods = {part for node in found if isinstance(node, ast.ClassDef) for part in node.body}
    return {node.name: node for node in found if node not in methods}
