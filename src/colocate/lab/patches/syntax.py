"""The syntax tree of a program, without the words that only readers need."""

import ast
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from reprlib import Repr
from symtable import symtable
from warnings import catch_warnings

from colocate.arena.source.program_tree import module_tree
from colocate.lab.patches.nested_ends import binds_many, multiplies
from colocate.lab.patches.refusal import PatchRefused, RefusalCode
from colocate.lab.patches.seed_constants import seed_constants

ENTRY = "compute_model_placement"
"""The function that a program defines at top level, unless its task has another one."""

MOST_KEPT = 10_000
"""Keys to cache: more programs than a long run makes, at 64 letters each."""

LONGEST_QUOTE = 100
"""Letters of a quoted line: a common limit for a line of code."""

SILENT_FIELDS = frozenset({"kind", "type_comment", "type_ignores"})
"""Parts of a tree that have no effect: the u in u'text', and comments on types."""


def quoted_code(text: str) -> str:
    """Return a line of code in quotes, letter for letter, without its middle if it is long.

    Unlike quotes of prose, it keeps every blank, since the indentation may be the difference.
    """
    short = Repr()
    short.maxstring = LONGEST_QUOTE
    return short.repr(text.rstrip())


def syntax_tree(source: str, whose: str = "the program") -> ast.Module:
    """Compile `source` and return its tree.

    Parameters
    ----------
    source
        The text of a program.
    whose
        The name of the program in messages.

    Raises
    ------
    PatchRefused
        If it does not compile, with the line at fault.
    """
    try:
        with catch_warnings(action="ignore"):
            tree = module_tree(source)
            reason = _far_too_long(source, tree)
            if not reason:
                # Parsing alone lets a `return` outside of a function pass.
                compile(source, "<program>", "exec", dont_inherit=True)
                return tree
    except SyntaxError as error:
        place = f" at its line {error.lineno}, {_line(source, error)}" if error.lineno else ""
        reason = f"{error.msg}{place}"
    except (MemoryError, RecursionError):
        reason = "it is nested too deeply"
    except ValueError as error:
        reason = str(error)
    fault = f"{whose} does not compile: {reason}"
    raise PatchRefused(RefusalCode.DOES_NOT_COMPILE, fault, "send a change that does")


def _far_too_long(source: str, tree: ast.Module) -> str:
    """Return why Python would write far more than the text has; empty if it would not."""
    if multiplies(source, tree):
        return "its `finally` blocks are nested too deeply"
    return "one of its patterns binds too many names" if binds_many(source, tree) else ""


def _line(source: str, error: SyntaxError) -> str:
    lines = source.split("\n")
    number = error.lineno or 0
    return quoted_code(lines[number - 1] if 0 < number <= len(lines) else error.text or "")


def defines_entry(source: str, entry: str = ENTRY, tree: ast.Module | None = None) -> bool:
    """Whether a program that compiles defines a function at top level.

    Parameters
    ----------
    source
        The text of the program.
    entry
        The name of the function.
    tree
        The tree of the program if there is one already. It settles this for all but odd programs,
        such as one that assigns the function in a loop.
    """
    if tree and any(isinstance(p, ast.FunctionDef) and p.name == entry for p in tree.body):
        return True
    try:
        with catch_warnings(action="ignore"):
            name = symtable(source, "<program>", "exec").lookup(entry)
    except KeyError:
        return False
    return name.is_assigned() or name.is_imported()


@lru_cache(MOST_KEPT)
def syntax_key(source: str, whose: str = "the program") -> str:
    """Return a digest that ignores comments, docstrings, layout and seeds of random numbers.

    Every bare string that is a statement counts as a docstring, wherever it stands. Refusals call
    the program `whose`.

    Raises
    ------
    PatchRefused
        If `source` does not compile.
    """
    return tree_key(syntax_tree(source, whose))


def same_program(one: str, other: str) -> bool:
    """Whether two programs that compile are the same, docstrings and seeds aside."""
    return syntax_key(one) == syntax_key(other)


def tree_key(tree: ast.Module) -> str:
    """Return the digest of a tree, see `syntax_key`."""
    return _digest(tree, seed_constants(tree))


def seeds_alone_differ(one: ast.Module, other: ast.Module) -> bool:
    """Whether two trees with the same key differ all the same: in seeds of random numbers."""
    return _digest(one, frozenset()) != _digest(other, frozenset())


def _digest(tree: ast.Module, seeds: frozenset[int]) -> str:
    return sha256("\n".join(_tokens(tree, seeds)).encode()).hexdigest()


def _tokens(tree: ast.Module, seeds: frozenset[int]) -> Iterator[str]:
    """Yield the tokens that distinguish one tree from another, each node before its children.

    `ast.dump` fails on two kinds of programs that compile: it recurses too deeply on a sum of a
    thousand terms, and cannot write a number of five thousand digits.
    """
    stack: list[object] = [tree]
    while stack:
        part = stack.pop()
        if id(part) in seeds:
            yield "seed"
        elif isinstance(part, ast.AST):
            yield type(part).__name__
            fields = (name for name in reversed(part._fields) if name not in SILENT_FIELDS)
            stack.extend(getattr(part, name, None) for name in fields)
        elif isinstance(part, list):
            told = [item for item in part if not _is_bare_string(item)]
            yield f"list {len(told)}"
            stack.extend(reversed(told))
        elif isinstance(part, int):
            yield f"{type(part).__name__} {part:x}"
        else:
            yield f"{type(part).__name__} {part!r}"


def _is_bare_string(item: object) -> bool:
    if not isinstance(item, ast.Expr) or not isinstance(item.value, ast.Constant):
        return False
    return isinstance(item.value.value, str)
