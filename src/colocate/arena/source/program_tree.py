"""Syntax trees of programs, one at a time.

Python 3.11 counts how deep it is in a tree for all threads together: if two make one at the same
time, it may end with a SystemError.
"""

import ast
from threading import Lock

_lock = Lock()


def module_tree(source: str) -> ast.Module:
    """Return the tree of a program.

    Parameters
    ----------
    source
        Its text.

    Raises
    ------
    SyntaxError, ValueError, MemoryError, RecursionError
        As `ast.parse` does.
    """
    with _lock:
        return ast.parse(source)


def expression_tree(text: str) -> ast.expr:
    """Return the tree of an expression; see `module_tree`."""
    with _lock:
        return ast.parse(text, mode="eval").body
