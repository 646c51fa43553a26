"""How much Python writes for blocks that end with `finally`, known before it writes any.

The compiler writes a `finally` block once for each way out of what stands before it: the usual one,
an exception, and every `return`, `break` and `continue`. In blocks within blocks that multiplies: a
kilobyte of text can take gigabytes, in one call that nothing can interrupt.
"""

import ast

FEW = 5
"""So many ends of blocks in a text never multiply to much."""
MOST_WRITTEN = 500_000
"""Nodes of a tree, each counted as often as it is written; they compile in less than a second."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
WAYS_OUT = (ast.Return, ast.Break, ast.Continue)


def multiplies(source: str, tree: ast.Module) -> bool:
    """Whether compiling a program would take far longer than its text is long.

    Parameters
    ----------
    source
        The text of the program.
    tree
        Its tree.
    """
    if source.count("finally") <= FEW:
        return False
    counted: dict[int, tuple[int, int]] = {}
    for node in reversed(list(ast.walk(tree))):  # parts before what they are in
        counted[id(node)] = _counted(node, counted)
    return counted[id(tree)][0] > MOST_WRITTEN


def _counted(node: ast.AST, parts: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return how many nodes are written for one, and how many ways out of it."""
    ending = list(node.finalbody) if isinstance(node, ast.Try | ast.TryStar) else []
    at_its_end = set(map(id, ending))
    before = [part for part in ast.iter_child_nodes(node) if id(part) not in at_its_end]
    written, ways = _sum(before, parts)
    more, more_ways = _sum(ending, parts)
    times = 2 + ways
    written, ways = 1 + written + times * more, ways + times * more_ways
    return written, 0 if isinstance(node, FUNCTIONS) else ways + isinstance(node, WAYS_OUT)


def _sum(
    nodes: list[ast.AST] | list[ast.stmt], parts: dict[int, tuple[int, int]]
) -> tuple[int, int]:
    known = [parts[id(node)] for node in nodes]
    return sum(written for written, _ in known), sum(ways for _, ways in known)
