"""Finds the mechanisms of any program in Python, whatever its task.

What a mechanism is called follows from the shape of the code alone: a loop that halves an interval
is a bisection, whatever its author calls it.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from colocate.lab.review.code_names import dotted, imported_names
from colocate.lab.review.code_shapes import (
    Function,
    Loop,
    as_float,
    assigned,
    calls_itself,
    counter_of,
    halves,
    inside_of,
    is_emptied,
    is_flag,
    is_number,
    is_square,
    is_swap,
    moves_items,
    names_in,
    never_ends,
    swaps_items,
    takes_place,
)
from colocate.lab.review.mechanism import Mechanism, Role
from colocate.lab.review.sort_keys import OrderFinder

LIBRARIES = ("scipy", "ortools", "networkx", "sklearn", "heapq", "itertools", "numpy.linalg")
"""Modules whose calls do the work; of others, a call says little."""
TELLING = ("method", "maxiter", "tol", "ftol", "gtol", "xtol", "niter", "popsize", "n", "r", "k")
"""Settings of such calls that are told."""
ORDERS = frozenset({"shuffle", "permutation", "permuted"})
CHOICES = frozenset({"choice", "choices", "sample", "randint", "randrange", "integers"})
NUMBERS = frozenset({"random", "uniform", "normal", "gauss", "normalvariate", "standard_normal"})
NUMBERS_TOO = frozenset({"rand", "randn", "exponential", "triangular", "random_sample"})
SEEDS = frozenset({"seed", "Random", "default_rng", "RandomState"})
CLOCKS = frozenset({"time", "monotonic", "perf_counter", "process_time"})
RANDOM_OWNERS = ("random", "rng", "rnd", "rand", "generator")
SMALL = 1e-3
"""Constants up to this in a comparison are tolerances."""
RESTART_WORDS = ("restart", "start", "trial", "attempt", "tries")


@dataclass(frozen=True)
class CodeSpot:
    """A node that runs, and what surrounds it."""

    node: ast.AST
    where: str
    """The innermost function around it; empty at the top level."""
    part: str
    """The function or class at the top level around it."""


class Finder:
    """Finds mechanisms in the places of a program that run.

    Parameters
    ----------
    tree
        The whole program.
    places
        The nodes that run and may change.
    """

    def __init__(self, tree: ast.Module, places: Iterable[CodeSpot]) -> None:
        self._tree = tree
        self._places = list(places)
        self._imported = imported_names(tree)
        self._keys = OrderFinder(tree)

    def all(self) -> Iterator[Mechanism]:
        """Yield the mechanisms in the order of the code, some of them several times."""
        found = [
            Mechanism(*each, place.where, place.part)
            for place in self._places
            for each in self._found(place)
        ]
        accepting = {each.where for each in found if each.name in ("annealing", "chance")}
        for each in found:
            # The number that decides about a step is no random number of its own.
            if each.name != "random numbers" or each.where not in accepting:
                yield each

    def _found(self, place: CodeSpot) -> Iterator[tuple[Role, str, str]]:
        node = place.node
        if isinstance(node, ast.Call):
            yield from self._call(node)
        elif isinstance(node, ast.For | ast.While):
            yield from self._loop(node)
        elif isinstance(node, ast.Compare):
            yield from self._comparison(node)
        elif isinstance(node, ast.Assign) and is_swap(node):
            yield Role.SEARCH, "swap", ""
        elif isinstance(node, Function) and calls_itself(node):
            yield Role.SEARCH, "recursion", ""

    def _call(self, call: ast.Call) -> Iterator[tuple[Role, str, str]]:
        yield from self._keys.of(call)
        name = self._full_name(call.func)
        last = name.rpartition(".")[2]
        if self._is_random(name):
            yield from _random_call(call, last)
        elif name.startswith(LIBRARIES):
            yield Role.SOLVER, name, ", ".join(_told_settings(call))
        elif last == "sum" and any(map(is_square, ast.walk(call))):
            yield Role.ACCEPTANCE, "sum of squares", ""

    def _loop(self, loop: Loop) -> Iterator[tuple[Role, str, str]]:
        rounds = self._rounds(loop)
        inside = list(inside_of(loop))
        if halves(inside):
            yield Role.SEARCH, "bisection", f"{rounds} times" if rounds else ""
            return
        random = any(isinstance(n, ast.Call) and self._draws(n.func) for n in inside)
        changes = any(isinstance(n, Loop | ast.Call) for n in inside)
        if rounds and changes:
            yield self._repeated(loop, rounds, random)
        if isinstance(loop, ast.While) and is_flag(loop.test):
            yield Role.SEARCH, "until nothing improves", ""
        if isinstance(loop, ast.While) and never_ends(loop, inside):
            yield Role.LIMIT, "endless loop", ""
        if swaps_items([loop, *inside]):
            yield Role.SEARCH, "swap", ""
        elif moves_items(inside):
            yield Role.SEARCH, "move", ""
        if random and any(map(is_emptied, inside)):
            yield Role.PERTURBATION, "ruin and recreate", ""
        yield from self._patience(inside)
        if any(isinstance(n, Loop) for n in inside):
            yield from _improvement(loop)

    def _repeated(self, loop: Loop, rounds: str, random: bool) -> tuple[Role, str, str]:
        text = names_in(loop.iter if isinstance(loop, ast.For) else loop.test)
        text += names_in(loop.target) if isinstance(loop, ast.For) else ""
        if any(word in text.lower() for word in RESTART_WORDS):
            return Role.PERTURBATION, "restarts", rounds
        if random:
            return Role.PERTURBATION, "random rounds", rounds
        return Role.SEARCH, "rounds", rounds

    def _rounds(self, loop: Loop) -> str:
        """Return how often a loop goes round at most, if that is a constant above 1."""
        bound: ast.expr | None = None
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
            if dotted(loop.iter.func) == "range" and len(loop.iter.args) in (1, 2):
                bound = loop.iter.args[-1]
        elif isinstance(loop, ast.While) and isinstance(loop.test, ast.Compare):
            bound = loop.test.comparators[0]
        value = self._value(bound)
        return f"{value:g}" if value is not None and value > 1 and value == int(value) else ""

    def _comparison(self, compare: ast.Compare) -> Iterator[tuple[Role, str, str]]:
        inner = list(ast.walk(compare))
        calls = [self._full_name(n.func) for n in inner if isinstance(n, ast.Call)]
        if any(name.rpartition(".")[2] in CLOCKS for name in calls):
            yield Role.LIMIT, "time limit", ""
        elif any(self._is_random(name) for name in calls):
            if any(name.rpartition(".")[2] == "exp" for name in calls):
                yield Role.ACCEPTANCE, "annealing", ""
            elif (chance := self._share(compare)) is not None:
                yield Role.ACCEPTANCE, "chance", f"{chance:g}"
        else:
            found = (self._value(n) for n in inner if isinstance(n, ast.expr))
            small = [v for v in found if v is not None and 0 < v <= SMALL]
            if small:
                yield Role.LIMIT, "tolerance", f"{max(small):g}"

    def _share(self, compare: ast.Compare) -> float | None:
        sides = (self._value(each) for each in (compare.left, *compare.comparators))
        return next((v for v in sides if v is not None and 0 < v < 1), None)

    def _patience(self, inside: Sequence[ast.AST]) -> Iterator[tuple[Role, str, str]]:
        """Yield a counter that is raised by one, compared with a constant, and set back to 0."""
        raised = {counter_of(node) for node in inside} - {""}
        reset = {
            target.id
            for n in inside
            if isinstance(n, ast.Assign) and is_number(n.value, 0)
            for target in n.targets
            if isinstance(target, ast.Name)
        }
        for node in inside:
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
                limit = self._value(node.comparators[0])
                if node.left.id in raised & reset and limit is not None and limit > 1:
                    yield Role.LIMIT, "patience", f"{limit:g}"

    def _value(self, node: ast.expr | None) -> float | None:
        """Return the number that an expression stands for, if a constant names one."""
        if isinstance(node, ast.Name):
            return self._constants.get(node.id)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return as_float(node.value)
        return None

    @cached_property
    def _constants(self) -> dict[str, float]:
        """Names that are given one number and nothing else, anywhere in the program."""
        found: dict[str, set[float | None]] = {}
        for node in ast.walk(self._tree):
            for name, value in assigned(node):
                known = isinstance(value, ast.Constant) and type(value.value) in (int, float)
                number = as_float(value.value) if known else None  # type: ignore[union-attr]
                found.setdefault(name, set()).add(number)
        single = {name: next(iter(each)) for name, each in found.items() if len(each) == 1}
        return {name: value for name, value in single.items() if value is not None}

    def _full_name(self, node: ast.expr) -> str:
        """Return a dotted name with the module that its first part was imported from."""
        first, dot, rest = dotted(node).partition(".")
        return f"{self._imported.get(first, first)}{dot}{rest}"

    def _is_random(self, name: str) -> bool:
        owner, _, last = name.rpartition(".")
        known = ORDERS | CHOICES | NUMBERS | NUMBERS_TOO | SEEDS
        return last in known and owner.lower().endswith(RANDOM_OWNERS)

    def _draws(self, function: ast.expr) -> bool:
        name = self._full_name(function)
        return self._is_random(name) and name.rpartition(".")[2] not in SEEDS


def _random_call(call: ast.Call, last: str) -> Iterator[tuple[Role, str, str]]:
    if last in SEEDS:
        given = next(iter(call.args), None)
        fixed = isinstance(given, ast.Constant) and type(given.value) is int
        if fixed:
            yield Role.PERTURBATION, "seed", str(given.value)[:20]  # type: ignore[union-attr]
    elif last in ORDERS:
        yield Role.PERTURBATION, "random order", ""
    elif last in CHOICES:
        yield Role.PERTURBATION, "random choice", ""
    else:
        yield Role.PERTURBATION, "random numbers", ""


def _told_settings(call: ast.Call) -> Iterator[str]:
    """Yield the constants among the settings of a call that matter, those in a dict too."""
    for keyword in call.keywords:
        if isinstance(keyword.value, ast.Dict):
            for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in TELLING:
                    yield from _told_setting(str(key.value), value)
        elif keyword.arg in TELLING:
            yield from _told_setting(str(keyword.arg), keyword.value)


def _told_setting(name: str, value: ast.expr | None) -> Iterator[str]:
    if isinstance(value, ast.Constant) and len(text := repr(value.value)) <= 20:
        yield f"{name}={text}"


def _improvement(loop: Loop) -> Iterator[tuple[Role, str, str]]:
    """Yield how loops within a loop take a candidate: the best of all, or the first."""
    inside = list(inside_of(loop))
    places = {
        n.target.id for n in inside if isinstance(n, ast.For) and isinstance(n.target, ast.Name)
    }
    for node in inside:
        if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare | ast.BoolOp):
            continue
        compared = {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}
        kept = {name for each in node.body for name, _ in assigned(each)}
        stops = any(isinstance(each, ast.Break) for each in node.body)
        if stops and any(takes_place(each, places) for each in node.body):
            yield Role.CHOICE, "first fit", ""
        elif stops and len(node.body) > 1 and not compared & kept:
            yield Role.CHOICE, "first improvement", ""
        elif compared & kept and not stops:
            yield Role.CHOICE, "best of all", ""
