"""What Python writes far more for than its text is long, known before it writes any.

The compiler writes a `finally` block once for each way out of what stands before it: the usual one,
an exception, and every `return`, `break` and `continue`. In blocks within blocks that multiplies: a
kilobyte of text can take gigabytes, in one call that nothing can interrupt. A pattern of `match`
takes a step for every two names that it binds.
"""

import ast

MOST_WRITTEN = 500_000
"""Nodes of a tree beside those of the text, each counted as often as it is written; they compile in
less than a second."""
MOST_NAMES = 1000
"""Names that a pattern may bind; so many compile in a tenth of a second."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
WAYS_OUT = (ast.Return, ast.Break, ast.Continue)


def multiplies(source: str, tree: ast.Module) -> bool:
    """Whether the ends of blocks would take far longer to compile than their text is long.

    Parameters
    ----------
    source
        The text of the program.
    tree
        Its tree.
    """
    if "finally" not in source:
        return False
    counted: dict[int, tuple[int, int]] = {}
    nodes = list(ast.walk(tree))
    for node in reversed(nodes):  # parts before what they are in
        counted[id(node)] = _counted(node, counted)
    return counted[id(tree)][0] - len(nodes) > MOST_WRITTEN


def binds_many(source: str, tree: ast.Module) -> bool:
    """Whether a pattern binds so many names that it would take far longer to compile than others.

    Parameters
    ----------
    source, tree
        As for `multiplies`.
    """
    if "match" not in source or "case" not in source:
        return False
    patterns = (node.pattern for node in ast.walk(tree) if isinstance(node, ast.match_case))
    return any(sum(map(_binds, ast.walk(pattern))) > MOST_NAMES for pattern in patterns)


def _binds(part: ast.AST) -> bool:
    named = isinstance(part, ast.MatchAs | ast.MatchStar) and part.name is not None
    return named or (isinstance(part, ast.MatchMapping) and part.rest is not None)


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
