"""The constants of a program that do nothing but seed random numbers.

Another seed is another draw of luck, not another program: the referee replaces it anyway.
"""

import ast
from collections import Counter
from collections.abc import Iterator

SEEDING = frozenset(
    {
        "random.seed",
        "random.Random",
        *(
            f"numpy.random.{name}"
            for name in (
                *("seed", "default_rng", "RandomState", "SeedSequence"),
                *("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"),
            )
        ),
    }
)
"""What takes a seed, by its full name."""
MAKERS = frozenset(SEEDING - {"random.seed", "numpy.random.seed"})
"""Those that return a generator, which may be seeded again."""


def seed_constants(tree: ast.Module) -> frozenset[int]:
    """Return the identities of the nodes that are constants of seeds.

    They are the constants in the arguments of a seeding call, and those that a name gets which is
    used in such arguments alone.
    """
    nodes = list(ast.walk(tree))
    names = _full_names(nodes)
    generators = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _full_name(node.value, names) in MAKERS
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    arguments = [
        part
        for node in nodes
        if isinstance(node, ast.Call) and _seeds(node, names, generators)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords))
        for part in ast.walk(argument)
    ]
    only_here = _used_only_in(arguments, nodes)
    given = (value for node in nodes for value in _given(node, only_here))
    return frozenset(map(id, filter(_is_constant, (*arguments, *given))))


def _full_names(nodes: list[ast.AST]) -> dict[str, str]:
    """Return what imported names stand for."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                found[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def _full_name(node: ast.AST, names: dict[str, str]) -> str:
    """Return the full name of what is called or named; empty if that is not known."""
    if isinstance(node, ast.Call):
        node = node.func
    after: list[str] = []
    while isinstance(node, ast.Attribute):
        after.append(node.attr)
        node = node.value
    first = names.get(node.id, "") if isinstance(node, ast.Name) else ""
    return ".".join([first, *reversed(after)]) if first else ""


def _seeds(call: ast.Call, names: dict[str, str], generators: set[str]) -> bool:
    """Whether a call sets a seed."""
    if _full_name(call.func, names) in SEEDING:
        return True
    named = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
    return named and call.func.attr == "seed" and call.func.value.id in generators  # type: ignore[attr-defined]


def _used_only_in(arguments: list[ast.AST], nodes: list[ast.AST]) -> set[str]:
    """Return the names that nothing else reads."""
    here, everywhere = (Counter(map(_read, parts)) for parts in (arguments, nodes))
    return {name for name, times in here.items() if name and everywhere[name] == times}


def _read(node: ast.AST) -> str:
    reads = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    return node.id if reads else ""  # type: ignore[attr-defined]


def _given(node: ast.AST, wanted: set[str]) -> Iterator[ast.AST]:
    """Yield what a node gives to any of the names: by an assignment, as a default or in a call."""
    if isinstance(node, ast.Assign):
        if any(isinstance(to, ast.Name) and to.id in wanted for to in node.targets):
            yield node.value
    elif isinstance(node, ast.AnnAssign):
        if isinstance(node.target, ast.Name) and node.target.id in wanted and node.value:
            yield node.value
    elif isinstance(node, ast.arguments):
        positional = [*node.posonlyargs, *node.args]
        defaults = zip(positional[len(positional) - len(node.defaults) :], node.defaults,
                       strict=True)  # fmt: skip
        for argument, default in (*defaults, *zip(node.kwonlyargs, node.kw_defaults, strict=True)):
            if argument.arg in wanted and default:
                yield default
    elif isinstance(node, ast.keyword) and node.arg in wanted:
        yield node.value


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | str | bytes)
