"""The parts of the product's source that a program needs, so each block is written only once."""

import ast
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from colocate.arena.source.program_tree import module_tree
from colocate.arena.tasks.frame import Frame
from colocate.lab.proposers.composer.plain_python import on_lists

PACKAGE = "colocate."

CATALOGUE = "colocate.solver.strategies"
"""The module that imports all blocks."""


@dataclass(frozen=True, order=True)
class Home:
    """The module and name of a top-level definition."""

    module: str
    name: str


@dataclass(frozen=True)
class Definition:
    """A function, class or constant in plain Python.

    Parameters
    ----------
    place
        Its position in a program: after its module's imports, in the order of the module.
    text
        Its source.
    needs
        The other definitions of the product that its source names.
    """

    place: tuple[int, int]
    text: str
    needs: tuple[Home, ...]


@dataclass(frozen=True)
class _Source:
    """A module: its definitions by name, and the homes of what it imports of the product."""

    definitions: dict[str, ast.stmt]
    imports: dict[str, Home]


def definitions_for(classes: Iterable[type], frame: Frame) -> list[str]:
    """Return the texts of classes and of everything they need, in an order that runs.

    The order does not depend on the classes, so programs made of the same blocks differ only where
    their blocks do.

    Parameters
    ----------
    classes
        The classes.
    frame
        What the task has beyond the public benchmark, which decides how blocks are written.
    """
    found: dict[Home, Definition] = {}
    waiting = [Home(each.__module__, each.__name__) for each in classes]
    while waiting:
        home = waiting.pop()
        if home not in found:
            found[home] = _definition(home, frame.windows, frame.copies)
            waiting += found[home].needs
    _refuse_namesakes(found)
    return [each.text for each in sorted(found.values(), key=lambda each: each.place)]


def _refuse_namesakes(homes: Iterable[Home]) -> None:
    seen: dict[str, Home] = {}
    for home in homes:
        other = seen.setdefault(home.name, home)
        if other != home:
            raise AssertionError(
                f"{home.name} is defined in {other.module} and in {home.module}, but a program "
                "has room for one; rename one of them"
            )


@cache
def _definition(home: Home, windows: bool, copies: bool) -> Definition:
    source = _source(home.module)
    text = on_lists(source.definitions[home.name], windows, copies)
    names = {node.id for node in ast.walk(module_tree(text)) if isinstance(node, ast.Name)}
    own = {name: Home(home.module, name) for name in source.definitions}
    reachable = source.imports | own
    place = _ranks()[home.module], list(source.definitions).index(home.name)
    return Definition(place, text, tuple(sorted(reachable[n] for n in names & reachable.keys())))


@cache
def _source(module: str) -> _Source:
    definitions: dict[str, ast.stmt] = {}
    imports: dict[str, Home] = {}
    for part in module_tree(inspect.getsource(import_module(module))).body:
        if isinstance(part, ast.ImportFrom) and part.module and part.module.startswith(PACKAGE):
            imports |= {each.name: Home(part.module, each.name) for each in part.names}
        elif isinstance(part, ast.FunctionDef | ast.ClassDef):
            definitions[part.name] = part
        elif isinstance(part, ast.Assign):
            definitions[ast.unparse(part.targets[0])] = part
    return _Source(definitions, imports)


@cache
def _ranks() -> dict[str, int]:
    """Return the modules with their numbers, each after the modules that it imports."""
    return {module: rank for rank, module in enumerate(dict.fromkeys(_imported_first(CATALOGUE)))}


def _imported_first(module: str) -> Iterator[str]:
    for home in _source(module).imports.values():
        yield from _imported_first(home.module)
    yield module
