"""How a program differs from its parent: constants, functions, and lines."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from colocate.lab.patches.refusal import PatchRefused
from colocate.lab.patches.syntax import syntax_tree, tree_key
from colocate.lab.review.code_names import dotted
from colocate.lab.review.code_shapes import Function, defaults
from colocate.lab.review.composition import Definition

MOST_KEPT = 4096
"""Differences to cache: every review looks at all pairs again."""
MOST_STATEMENTS = 1_500
"""Statements of a function; more take too long to compare one by one."""
LONGEST_VALUE = 24
"""Letters of a constant."""
MOST_CONSTANTS = 20
"""Constants of one difference; a table of data has thousands."""
SEED_WORD = re.compile("seed|rng|random_state", re.IGNORECASE)


@dataclass(frozen=True)
class ConstantChange:
    """A number that is another one.

    Parameters
    ----------
    name
        The name that it is given, or the call that it is for; empty if it has none.
    where
        The function or the block that it is in; empty at the top level.
    old, new
        The number, as text.
    """

    name: str
    where: str
    old: str
    new: str

    @property
    def is_seed(self) -> bool:
        """Whether it only decides which random numbers come."""
        return bool(SEED_WORD.search(self.name))

    @property
    def rises(self) -> bool | None:
        """Whether the number rises; None if it is no number or has no name."""
        try:
            old, new = float(self.old), float(self.new)
        except ValueError:
            return None
        return new > old if self.name and new != old else None


@dataclass(frozen=True)
class FunctionChange:
    """A function of which some lines are others."""

    name: str
    """Empty for the lines outside of functions."""
    added: int
    removed: int
    """How many statements came and went."""
    before: str = ""
    after: str = ""
    """The first line of the first statement that went, and of the first that came."""


@dataclass(frozen=True)
class CodeDifference:
    """How a program differs from its parent."""

    constants: tuple[ConstantChange, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Functions and classes that only one of them has."""
    changed: tuple[FunctionChange, ...] = ()
    """Functions that differ in more than constants."""

    @property
    def only_constants(self) -> bool:
        """Whether nothing but constants differs."""
        return bool(self.constants) and not (self.added or self.removed or self.changed)

    @property
    def only_seeds(self) -> bool:
        """Whether nothing but seeds differs."""
        return self.only_constants and all(each.is_seed for each in self.constants)


@dataclass(frozen=True)
class _Statement:
    """A statement without its numbers, and the numbers."""

    shape: str
    numbers: tuple[tuple[str, str], ...]
    """The name and the text of each."""
    where: str
    node: ast.AST

    @property
    def line(self) -> str:
        """Its first line, as Python would write it."""
        try:
            return ast.unparse(self.node).partition("\n")[0]
        except (RecursionError, ValueError, AttributeError):
            return ""


@lru_cache(MOST_KEPT)
def difference(parent: str, child: str) -> CodeDifference:
    """Compare two programs; one that does not compile differs in nothing that can be named."""
    try:
        old, new = _parts(parent), _parts(child)
    except PatchRefused:
        return CodeDifference()
    constants: list[ConstantChange] = []
    changed: list[FunctionChange] = []
    for name in [each for each in old if each in new]:
        if tree_key(old[name]) != tree_key(new[name]):
            told, others = _compared(old[name], new[name], name)
            constants += told
            changed += [others] if others.added or others.removed else []
    return CodeDifference(
        tuple(dict.fromkeys(constants))[:MOST_CONSTANTS],
        tuple(name for name in new if name not in old),
        tuple(name for name in old if name not in new),
        tuple(changed),
    )


@lru_cache(MOST_KEPT)
def named_constants(source: str) -> dict[tuple[str, str], str]:
    """Return the numbers of a program that have one value, by their name and their function."""
    try:
        tree = syntax_tree(source)
    except PatchRefused:
        return {}
    found: dict[tuple[str, str], set[str]] = {}
    for each in _statements(tree.body, ""):
        for name, value in each.numbers:
            found.setdefault((name, each.where), set()).add(value)
    return {key: min(values) for key, values in found.items() if key[0] and len(values) == 1}


def _parts(source: str) -> dict[str, ast.Module]:
    """Return the functions and classes of a program by name, and under no name the rest of it."""
    found: dict[str, ast.Module] = {"": ast.Module([], [])}
    for node in syntax_tree(source).body:
        name = node.name if isinstance(node, Definition) else ""
        if name or not isinstance(node, ast.Import | ast.ImportFrom):
            found.setdefault(name, ast.Module([], [])).body.append(node)
    return found


def _compared(
    old: ast.Module, new: ast.Module, name: str
) -> tuple[list[ConstantChange], FunctionChange]:
    mine, theirs = list(_statements(old.body, "")), list(_statements(new.body, ""))
    if max(len(mine), len(theirs)) > MOST_STATEMENTS:
        return [], FunctionChange(name, len(theirs), len(mine))
    constants = []
    came: list[_Statement] = []
    went: list[_Statement] = []
    before, after = ([each.shape for each in side] for side in (mine, theirs))
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            for one, other in zip(mine[i:j], theirs[k:m], strict=True):
                constants += list(_other_numbers(one, other))
        else:
            went += mine[i:j]
            came += theirs[k:m]
    first = [side[0].line if side else "" for side in (went, came)]
    return constants, FunctionChange(name, len(came), len(went), *first)


def _other_numbers(one: _Statement, other: _Statement) -> Iterator[ConstantChange]:
    for (name, old), (_, new) in zip(one.numbers, other.numbers, strict=True):
        if old != new:
            yield ConstantChange(name, other.where, old, new)


def _statements(body: Sequence[ast.AST], where: str) -> Iterator[_Statement]:
    """Yield statements in their order, those within others after the first line of these."""
    waiting: list[tuple[ast.AST, str]] = [(each, where) for each in reversed(body)]
    while waiting:
        node, place = waiting.pop()
        inner = node.name if isinstance(node, Definition) else place
        if not _is_docstring(node):
            yield _statement(node, inner)
        within = [
            each
            for field in ("body", "handlers", "orelse", "finalbody", "cases")
            for each in getattr(node, field, None) or ()
            if isinstance(each, ast.stmt | ast.ExceptHandler | ast.match_case)
        ]
        waiting.extend((each, inner) for each in reversed(within))


def _statement(node: ast.AST, where: str) -> _Statement:
    """Return the first line of a statement, with its numbers apart."""
    shape: list[str] = []
    numbers: list[tuple[str, str]] = []
    waiting: list[tuple[object, str]] = [(node, "")]
    while waiting:
        part, name = waiting.pop()
        if isinstance(part, ast.Constant) and type(part.value) in (int, float, bool):
            shape.append("a number")
            numbers.append((name, _text(part.value)))
        elif isinstance(part, ast.AST):
            shape.append(type(part).__name__)
            waiting.extend(reversed(list(_children(part, name, part is node))))
        elif isinstance(part, list):
            shape.append(str(len(part)))
            waiting.extend((each, name) for each in reversed(part))
        else:
            shape.append(repr(part))
    return _Statement("\n".join(shape), tuple(numbers), where, node)


def _children(node: ast.AST, name: str, first: bool) -> Iterator[tuple[object, str]]:
    """Yield the parts of a node, each with the name that numbers in it have."""
    if isinstance(node, Function) and first:
        yield node.name, name
        for argument, value in defaults(node.args):
            yield argument, name
            yield value, argument
        return
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield key, name
            yield value, str(key.value) if isinstance(key, ast.Constant) else name
        return
    for field, value in ast.iter_fields(node):
        within = first and isinstance(value, list) and field in ("body", "handlers", "finalbody")
        if not within and not (first and field == "orelse" and isinstance(value, list)):
            yield value, _name_for(node, field, name)


def _name_for(node: ast.AST, field: str, name: str) -> str:
    """Return what a number in a part of a node is called."""
    if isinstance(node, ast.Assign) and field == "value":
        return dotted(node.targets[0]) or name
    if isinstance(node, ast.AnnAssign | ast.AugAssign) and field == "value":
        return dotted(node.target) or name
    if isinstance(node, ast.keyword):
        return node.arg or name
    if isinstance(node, ast.Call) and field == "args":
        called = dotted(node.func).rpartition(".")[2]
        if SEED_WORD.search(called) or called in ("range", "Random"):
            return "seed" if called != "range" else "rounds"
        return name or called
    return name


def _text(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        return "..."
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def _is_docstring(node: ast.AST) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)
